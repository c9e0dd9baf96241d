/*
 * binding/lock.h: the order among threads that prefetch for one socket: a lock that a thread may take again
 * while it holds it, as a signal's function or a finalizer may run then that receives as well.
 * Not here: what is done while it is held (binding/receive.c, and `with socket._ready:` in Python).
 * Law: its fields change with the interpreter's lock held; whoever holds it waits for nothing but the
 * engine's lock, except in a signal's function or a finalizer that comes while it does.
 */
#ifndef MMI_BINDING_LOCK_H
#define MMI_BINDING_LOCK_H

#include "binding/binding.h"

typedef struct mmi_lock {
    PyThread_type_lock lock;
    unsigned long owner;       /* the thread that holds it, while depth is not 0 */
    uint32_t depth;            /* how often that thread took it */
} mmi_lock;

bool mmi_lock_init(mmi_lock *l);   /* false: an error is set; a forked child does so anew */
void mmi_lock_fini(mmi_lock *l);
bool mmi_lock_try(mmi_lock *l);    /* false: another thread holds it */
void mmi_lock_take(mmi_lock *l);   /* whatever error is set */
bool mmi_lock_wait(mmi_lock *l);   /* the same, while signals' functions run; false: one raised */
void mmi_lock_drop(mmi_lock *l);   /* of a thread that does not hold it, as after a fork: nothing */

#endif
