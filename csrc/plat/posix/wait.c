/*
 * plat/posix/wait.c: see plat/thread.h.
 */
#include <time.h>

#include "plat/posix/posix.h"
#include "plat/thread.h"

static const uint64_t WAIT_NS_PER_S = 1000000000, WAIT_NS_PER_US = 1000;

uint64_t
mmi_thread_now_ns(void)
{
    return mmi_posix_now_ns();
}

uint64_t
mmi_thread_wall_us(void *arg)
{
    (void)arg;
    return mmi_posix_wall_clock(NULL) / WAIT_NS_PER_US + (uint64_t)mmi_wall_ahead_us();
}

void
mmi_thread_random(void *arg, void *buf, size_t size)
{
    (void)arg;
    mmi_posix_random(NULL, buf, size);
}

int
mmi_thread_start(void (*run)(void *arg), void *arg, void **thread)
{
    return mmi_posix_thread_start(NULL, run, arg, thread);
}

void
mmi_thread_join(void *thread)
{
    mmi_posix_thread_join(NULL, thread);
}

int
mmi_thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int error = pthread_condattr_init(&attr);
    if (error == 0) {
        error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        error = error == 0 ? pthread_cond_init(cond, &attr) : error;
        pthread_condattr_destroy(&attr);
    }
    return error == 0 ? MM_OK : MM_ENOMEM;
}

void
mmi_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        pthread_cond_wait(cond, lock);
        return;
    }
    const struct timespec t = { .tv_sec = (time_t)(deadline_ns / WAIT_NS_PER_S),
                                .tv_nsec = (long)(deadline_ns % WAIT_NS_PER_S) };
    (void)pthread_cond_timedwait(cond, lock, &t);
}
