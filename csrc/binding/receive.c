/*
 * binding/receive.c: receiving: what comes out of the core is given out, or becomes ready.
 *
 * Not here: what is ready (binding/ready.c); order among several threads
 * (binding/lock.h, _sync/receiving.py).
 * Law: nobody waits for the core's lock with the interpreter's in hand (ADR 12); what was received
 * is its call's own until it is given out, and is ready before a signal's function can raise.
 */
#include "binding/ready.h"

/* Of what came, which nobody else sees, the first, or with many a list of all; NULL without an
 * error: the socket was closed meanwhile.  What is left, also by an error, is ready then. */
static PyObject *
receive_give(mmi_ready *r, mmi_run *run, uint64_t drops, bool many)
{
    mmi_run *own = run;
    PyObject *found = NULL;
    if (PyErr_CheckSignals() == 0) {   /* now, rather than once a message was taken */
        found = many ? mmi_ready_take_list(r, &own, run->count) : mmi_ready_take(r, &own);
    }
    if (own != NULL) {
        mmi_ready_give_back(r, own, drops);
    }
    if (many && found != NULL && PyList_Size(found) == 0) {
        Py_DECREF(found);
        return NULL;
    }
    return found;
}

/* As an object: what was given, or the code that nothing was. */
static PyObject *
receive_result(PyObject *found)
{
    return found != NULL || PyErr_Occurred() != NULL ? found : PyLong_FromLong(MM_ECLOSED);
}

/* What is ready goes first: a signal's function may have received since the caller looked. */
static PyObject *
receive_ready(mmi_ready *r, const mmi_want *want, bool many)
{
    if (r->run == NULL) {
        return NULL;
    }
    if (!many) {
        return mmi_ready_take(r, &r->run);
    }
    PyObject *found = mmi_ready_take_list(r, &r->run, (Py_ssize_t)want->messages);
    if (found != NULL && PyList_Size(found) == 0) {
        Py_CLEAR(found);
    }
    return found;
}

static PyObject *
receive_into(mmi_ready *r, PyObject *owner, const mmi_want *want, bool many)
{
    PyObject *found = receive_ready(r, want, many);
    if (found != NULL || PyErr_Occurred() != NULL) {
        return mmi_ready_settled(r, found);
    }
    mmi_run *run = mmi_run_new();
    if (run == NULL) {
        return NULL;
    }
    uint64_t drops = r->drops;
    /* A request that is there, as when a Poller told of it, costs neither a wait nor a copy. */
    bool here = mmi_form_is_request(r->form) && want->messages == 1;
    int rc = here ? mmi_run_recv_nowait(run, owner, want) : MM_EAGAIN;
    if (rc < 0) {
        rc = mmi_run_recv(run, mmi_ready_answers(r, owner), want);
    }
    if (rc > 0) {
        found = receive_give(r, run, drops, many);
        return receive_result(mmi_ready_settled(r, found));
    }
    mmi_run_unref(run);
    return PyLong_FromLong(rc);
}

static PyObject *
receive_as_told(PyObject *self, PyObject *const *args, Py_ssize_t count, bool many)
{
    mmi_want want;
    bool told = mmi_want_of(args, count, &want);
    return told ? receive_into((mmi_ready *)self, args[0], &want, many) : NULL;
}

/* recv(owner, handle, max_messages, max_bytes, timeout_ms, slice_ms) -> the first message of what
 * came, the others are ready then; or a code.  A request is answered by way of owner and handle.
 * More than one message only when nothing is ready, and no other thread receives: order would be
 * lost. */
PyObject *
mmi_ready_recv(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return receive_as_told(self, args, count, false);
}

/* serve(handle, slice_ms): the socket that one() receives from */
PyObject *
mmi_ready_serve(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_want *one = &((mmi_ready *)self)->one;
    if (count != 2) {
        return mmi_py_arguments("(handle, slice_ms)");
    }
    *one = (mmi_want){
        .messages = 1, .bytes = 1, .timeout_ms = -1, .slice_ms = PyLong_AsLongLong(args[1])
    };
    bool good = mmi_py_handle(args[0], &one->handle) && PyErr_Occurred() == NULL;
    return good ? mmi_py_none() : NULL;
}

/* one(owner) -> as recv, of a single message and as long as it takes: what is asked for most often
 * has no numbers to be converted */
PyObject *
mmi_ready_one(PyObject *self, PyObject *owner)
{
    mmi_ready *r = (mmi_ready *)self;
    return receive_into(r, owner, &r->one, false);
}

/* recv_many(as recv) -> list of all that came; or a code */
PyObject *
mmi_ready_recv_many(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return receive_as_told(self, args, count, true);
}

/* sleeps(change) -> how many threads wait for a message inside the core, after that change */
PyObject *
mmi_ready_sleeps(PyObject *self, PyObject *change)
{
    mmi_ready *r = (mmi_ready *)self;
    long by = PyLong_AsLong(change);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    r->sleepers = (uint32_t)((long)r->sleepers + by);
    return PyLong_FromUnsignedLong(r->sleepers);
}

/* Takes what is there, with the lock held: the first message, and those behind it are
 * ready then; NULL without an error: none, and *rc says why (MM_EAGAIN: this thread counts as
 * asleep). */
static PyObject *
receive_ahead(mmi_ready *r, PyObject *owner, const mmi_want *want, int *rc)
{
    *rc = MM_EINTR;
    bool shared = r->watched || r->run != NULL || r->sleepers > 0;
    mmi_run *run = shared ? NULL : mmi_run_new();
    if (run == NULL) {
        return NULL;
    }
    uint64_t drops = r->drops;
    mmi_want now = *want;
    now.timeout_ms = 0;
    *rc = mmi_run_recv(run, mmi_ready_answers(r, owner), &now);
    if (*rc > 0) {
        return receive_give(r, run, drops, false);
    }
    mmi_run_unref(run);
    r->sleepers += *rc == MM_EAGAIN;
    return NULL;
}

/* Sleeps for one message: what comes behind it stays in the core, for who else receives then. */
static PyObject *
receive_asleep(mmi_ready *r, PyObject *owner, const mmi_want *want, int *rc)
{
    uint64_t drops = r->drops;
    mmi_want one = *want;
    mmi_run *run = mmi_run_new();
    one.messages = 1;
    if (run != NULL) {
        *rc = mmi_run_recv(run, mmi_ready_answers(r, owner), &one);
    }
    r->sleepers--;
    if (run != NULL && *rc > 0) {
        return receive_give(r, run, drops, false);
    }
    if (run != NULL) {
        mmi_run_unref(run);
    }
    return NULL;
}

PyObject *
mmi_ready_await(mmi_ready *r, PyObject *owner, const mmi_want *want)
{
    if (PyErr_CheckSignals() != 0) {
        return NULL;
    }
    PyObject *found = NULL;
    int rc = MM_EINTR;
    if (mmi_lock_try(&r->lock)) {
        found = receive_ahead(r, owner, want, &rc);
        mmi_lock_drop(&r->lock);
    }
    if (rc == MM_EAGAIN) {
        found = receive_asleep(r, owner, want, &rc);
    }
    if (found == NULL && rc == MM_ENOMEM && PyErr_Occurred() == NULL) {
        PyErr_NoMemory();
    }
    if (found == NULL && PyErr_Occurred() != NULL) {
        mmi_ready_keep(r);   /* what it had is ready again */
    }
    return mmi_ready_settled(r, found);
}

/* turn(as recv) -> the next message, waited for; None: there is more to it, for Python to do: other
 * threads wait, a descriptor is to be kept right, the wait was interrupted, the socket closed. */
PyObject *
mmi_ready_turn(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_want want;
    if (!mmi_want_of(args, count, &want)) {
        return NULL;
    }
    PyObject *found = mmi_ready_await((mmi_ready *)self, args[0], &want);
    if (found != NULL || PyErr_Occurred() != NULL) {
        return found;
    }
    return mmi_py_none();
}
