/*
 * binding/ready.c: what a socket has received and not given out: a deque as far as Python sees,
 * made of the batches it came in.
 *
 * So a message is made when somebody takes it, not 512 at once: it is still in the cache then.
 * The core is told of what is left here, if somebody watches the socket or sleeps in it.
 * Not here: its type (binding/ready_type.c); the batches (binding/run.c); receiving
 * (binding/receive.c); iterating (binding/stream.c).
 * Law: the interpreter's lock is held; making an object, and a signal's function, may run anything,
 * so a message is claimed before it is made; what was received is here before a signal's function
 * can raise.
 */
#include "binding/ready.h"

static mmi_run *
run_unlink(mmi_run **queue)
{
    mmi_run *run = *queue;
    *queue = run->next;
    run->next = NULL;
    return run;
}

void
mmi_run_link(mmi_run **queue, mmi_run *runs)
{
    mmi_run **last = &runs;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = *queue;
    *queue = runs;
}

bool
mmi_ready_insert(mmi_run **queue, PyObject *list, Py_ssize_t count)
{
    if (count == 0) {
        return true;
    }
    PyObject *copy = PyList_GetSlice(list, 0, count);
    mmi_run *run = copy != NULL ? mmi_run_new() : NULL;
    if (run == NULL) {
        Py_XDECREF(copy);
        return false;
    }
    mmi_run_fill(run, copy);
    mmi_run_link(queue, run);
    return true;
}

/* The class of a peer's messages, as a new reference; asking for it may run anything. */
static PyObject *
ready_class(mmi_ready *r, const mmi_run *run)
{
    uint64_t peer = mmi_run_peer(run);
    if (r->type != NULL && r->peer == peer) {
        Py_INCREF(r->type);
        return r->type;
    }
    PyObject *type = mmi_form_class(r->form, run->batch, peer);
    if (type != NULL) {
        PyObject *before = r->type;
        r->type = type;
        r->peer = peer;
        r->plain = mmi_py_is_plain((PyTypeObject *)type);
        Py_INCREF(type);
        Py_XDECREF(before);   /* may run anything as well */
    }
    return type;
}

/* The class of the next message of a run, as a new reference, if it is one frame; others, and
 * requests, have one class each. */
static PyObject *
ready_type_of(mmi_ready *r, const mmi_run *run)
{
    uint32_t from, to;
    mmi_py_span(run->batch, (uint32_t)run->at, &from, &to);
    if (run->owner == NULL && mmi_form_is_plain(r->form, run->batch, (uint32_t)run->at, from, to)) {
        return ready_class(r, run);
    }
    Py_INCREF(r->form->full);
    return (PyObject *)r->form->full;
}

/* Message i, of the class that ready_type_of gave. */
static PyObject *
ready_make_one(const mmi_ready *r, const mmi_run *run, uint32_t i, PyObject *type)
{
    if (run->owner != NULL) {
        return mmi_py_request_of(run->batch, i, (PyTypeObject *)type, run->owner, run->handle);
    }
    uint32_t from, to;
    mmi_py_span(run->batch, i, &from, &to);
    return mmi_form_is_plain(r->form, run->batch, i, from, to)
               ? mmi_run_make(run, from, type)
               : mmi_form_full(r->form, run->batch, i, from, to);
}

/* The next message of the first run, which is a batch.  NULL without an
 * error: it is another run's turn meanwhile. */
static PyObject *
ready_make(mmi_ready *r, mmi_run **queue)
{
    mmi_run *run = *queue;
    uint64_t peer = mmi_run_peer(run);
    run->refs++;
    PyObject *type = ready_type_of(r, run), *made = NULL;
    if (type != NULL && *queue == run && mmi_run_peer(run) == peer) {
        /* Claimed, and the run gone with its last one, before an allocation runs anything. */
        Py_ssize_t at = run->at++;
        bool last = run->at == run->count;
        if (last) {
            (void)run_unlink(queue);
        }
        made = ready_make_one(r, run, (uint32_t)at, type);
        if (made != NULL && last) {
            mmi_run_unref(run);   /* the queue's reference; not the last */
        } else if (made == NULL && last) {
            run->at = at;
            mmi_run_link(queue, run);
        } else if (made == NULL && run->at == at + 1) {
            run->at = at;
        }
    }
    Py_XDECREF(type);
    mmi_run_unref(run);
    return made;
}

/* The usual case, where nothing that is done runs anything else: one frame of the peer whose class
 * was asked for last.  NULL without an error: it is another case. */
static PyObject *
ready_make_plain(const mmi_ready *r, mmi_run **queue)
{
    mmi_run *run = *queue;
    if (run == NULL || run->list != NULL || run->owner != NULL || !run->single || !r->plain ||
        mmi_run_peer(run) != r->peer) {
        return NULL;
    }
    PyObject *made = mmi_run_make(run, (uint32_t)run->at, r->type);
    if (made != NULL && ++run->at == run->count) {
        mmi_run_unref(run_unlink(queue));
    }
    return made;
}

PyObject *
mmi_ready_take(mmi_ready *r, mmi_run **queue)
{
    PyObject *found = ready_make_plain(r, queue);
    while (found == NULL && *queue != NULL && PyErr_Occurred() == NULL) {
        mmi_run *run = *queue;
        if (run->list != NULL) {
            found = mmi_run_next(run);
            if (run->at == run->count) {
                mmi_run_unref(run_unlink(queue));
            }
        } else {
            found = ready_make(r, queue);
        }
    }
    return found;
}

PyObject *
mmi_ready_take_list(mmi_ready *r, mmi_run **queue, Py_ssize_t max)
{
    PyObject *list = PyList_New(0), *found = NULL;
    Py_ssize_t count = 0;
    /* Each has its place before it is taken: who is taken and finds none would be lost. */
    while (list != NULL && count < max && PyList_Append(list, Py_None) == 0 &&
           (found = mmi_ready_take(r, queue)) != NULL) {
        (void)PyList_SetItem(list, count++, found);
    }
    if (PyErr_Occurred() == NULL && PyList_SetSlice(list, count, count + 1, NULL) == 0) {
        return list;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (list != NULL && !mmi_ready_insert(queue, list, count)) {
        PyErr_Clear();   /* no memory to put it back; the first error says so */
    }
    Py_XDECREF(list);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

PyObject *
mmi_ready_quick(mmi_ready *r)
{
    PyObject *found = r->watched || mmi_py_async_due() ? NULL : mmi_ready_take(r, &r->run);
    if (found != NULL) {
        (void)mmi_py_async_count(1);
    }
    return found;
}

void
mmi_ready_settle(mmi_ready *r)
{
    bool told;
    mmi_lock_take(&r->lock);   /* what is told last is so */
    do {
        told = r->told = r->run != NULL;
        Py_BEGIN_ALLOW_THREADS(void) mm_mark_unclaimed(r->one.handle, told);
        Py_END_ALLOW_THREADS
    } while (told != (r->run != NULL));   /* others may receive meanwhile */
    mmi_lock_drop(&r->lock);
}

PyObject *
mmi_ready_settled(mmi_ready *r, PyObject *found)
{
    if (r->watched && found != NULL && r->told != (r->run != NULL)) {
        mmi_ready_settle(r);
    }
    return found;
}

void
mmi_ready_keep(mmi_ready *r)
{
    if (r->run == NULL) {
        return;
    }
    if (r->watched) {
        mmi_ready_settle(r);
    }
    Py_BEGIN_ALLOW_THREADS(void) mm_interrupt(r->one.handle);
    Py_END_ALLOW_THREADS
}

/* Each may run anything, which finds the rest. */
void
mmi_ready_drop(mmi_ready *r)
{
    r->drops++;
    while (r->run != NULL) {
        mmi_run_unref(run_unlink(&r->run));
    }
}

void
mmi_ready_give_back(mmi_ready *r, mmi_run *runs, uint64_t drops)
{
    mmi_run_link(&r->run, runs);   /* what is there came meanwhile, and is younger */
    if (r->drops != drops) {
        mmi_ready_drop(r);         /* closed meanwhile */
    }
}

PyObject *
mmi_ready_next(mmi_ready *r)
{
    return r->watched ? NULL : mmi_ready_take(r, &r->run);
}
