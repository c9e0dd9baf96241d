/*
 * binding/lock.c: see binding/lock.h.
 * Not here: the core's locks, of which Python knows nothing (base/).
 */
#include "binding/lock.h"

bool
mmi_lock_init(mmi_lock *l)
{
    PyThread_type_lock made = PyThread_allocate_lock();
    if (made == NULL) {
        PyErr_NoMemory();
        return false;
    }
    mmi_lock_fini(l);
    *l = (mmi_lock){ .lock = made };
    return true;
}

void
mmi_lock_fini(mmi_lock *l)
{
    if (l->lock != NULL) {
        PyThread_free_lock(l->lock);
        l->lock = NULL;
    }
}

static bool
lock_is_mine(const mmi_lock *l)
{
    return l->depth > 0 && l->owner == PyThread_get_thread_ident();
}

static void
lock_own(mmi_lock *l)
{
    l->owner = PyThread_get_thread_ident();
    l->depth = 1;
}

bool
mmi_lock_try(mmi_lock *l)
{
    if (lock_is_mine(l)) {
        l->depth++;
        return true;
    }
    if (PyThread_acquire_lock(l->lock, NOWAIT_LOCK) == 0) {
        return false;
    }
    lock_own(l);
    return true;
}

void
mmi_lock_take(mmi_lock *l)
{
    if (!mmi_lock_try(l)) {
        Py_BEGIN_ALLOW_THREADS(void) PyThread_acquire_lock(l->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS lock_own(l);
    }
}

bool
mmi_lock_wait(mmi_lock *l)
{
    PyLockStatus status = PY_LOCK_INTR;
    if (mmi_lock_try(l)) {
        return true;
    }
    while (status == PY_LOCK_INTR && PyErr_CheckSignals() == 0) {
        Py_BEGIN_ALLOW_THREADS status = PyThread_acquire_lock_timed(l->lock, -1, 1);
        Py_END_ALLOW_THREADS
    }
    if (status == PY_LOCK_ACQUIRED) {
        lock_own(l);
    }
    return status == PY_LOCK_ACQUIRED;
}

void
mmi_lock_drop(mmi_lock *l)
{
    if (lock_is_mine(l) && --l->depth == 0) {
        PyThread_release_lock(l->lock);
    }
}
