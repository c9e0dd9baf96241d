/*
 * thread.h: what a part of the core needs that blocks on the disk, with threads of its own: clocks, randomness, threads
 * and waiting.  Not here: the engine's, which are in its table (plat/plat.h) and can be simulated.
 * Law: signals belong to the threads of the application.
 */
#ifndef MMI_THREAD_H
#define MMI_THREAD_H

#include <pthread.h>

#include "base/base.h"

uint64_t mmi_thread_now_ns(void);                       /* monotonic */
uint64_t mmi_thread_wall_us(void *arg);                 /* since 1970; arg: nothing */
void mmi_thread_random(void *arg, void *buf, size_t size);
int mmi_thread_start(void (*run)(void *arg), void *arg, void **thread);   /* MM_ENOMEM */
void mmi_thread_join(void *thread);
int mmi_thread_cond_init(pthread_cond_t *cond);         /* for the next; MM_ENOMEM */
/* Until it is signalled, or that time (monotonic; UINT64_MAX: for ever) has come, or for no reason. */
void mmi_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);
/* A descriptor for an event loop: readable once it was rung, until it is cleared; neither waits.  MM_EMFILE,
 * MM_ENOMEM. */
int mmi_thread_bell_open(int *bell);
void mmi_thread_bell_ring(int bell);
void mmi_thread_bell_clear(int bell);
void mmi_thread_bell_close(int bell);

#endif
