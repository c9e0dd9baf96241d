/*
 * binding/ready.c: what a socket has received and not given out: a deque as far as Python sees,
 * made of the batches it came in.
 *
 * So a message is made when somebody takes it, not 512 at once: it is still in the cache then.
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
ready_class(mmi_ready *r, uint64_t peer)
{
    if (r->type != NULL && r->peer == peer) {
        Py_INCREF(r->type);
        return r->type;
    }
    PyObject *number = PyLong_FromUnsignedLongLong(peer);
    PyObject *type =
        number != NULL ? PyObject_CallFunctionObjArgs(r->classes, number, NULL) : NULL;
    Py_XDECREF(number);
    if (type != NULL && !(PyType_Check(type) && (PyType_GetFlags((PyTypeObject *)type) &
                                                 Py_TPFLAGS_BYTES_SUBCLASS) != 0)) {
        Py_DECREF(type);
        return mmi_fast_arguments("a class of bytes");
    }
    if (type != NULL) {
        PyObject *before = r->type;
        r->type = type;
        r->peer = peer;
        r->plain = mmi_fast_is_plain((PyTypeObject *)type);
        Py_INCREF(type);
        Py_XDECREF(before);   /* may run anything as well */
    }
    return type;
}

/* The class of the next message of a run, as a new reference; that of requests is known. */
static PyObject *
ready_type_of(mmi_ready *r, const mmi_run *run)
{
    if (run->owner == NULL) {
        return ready_class(r, mmi_run_peer(run));
    }
    Py_INCREF(r->request);
    return r->request;
}

static PyObject *
ready_make_one(const mmi_run *run, uint32_t i, PyObject *type)
{
    return run->owner == NULL ? mmi_run_make(run, i, type)
                              : mmi_fast_request_of(run->batch, i, (PyTypeObject *)type, run->owner,
                                                    run->handle);
}

/* The next message of the first run, which is a batch of bytes or of requests.  NULL without an
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
        made = ready_make_one(run, (uint32_t)at, type);
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

/* The first run's messages become a list.  Meanwhile nobody sees it: who unpacks it a second time
 * would double them. */
static void
ready_unpack(mmi_ready *r, mmi_run **queue)
{
    mmi_run *run = run_unlink(queue);
    uint64_t drops = r->drops;
    (void)mmi_run_unpack(run);
    if (run->at < run->count && r->drops == drops) {
        mmi_run_link(queue, run);
    } else {
        mmi_run_unref(run);
    }
}

/* The usual case, where nothing that is done runs anything else: bytes of the peer whose class was
 * asked for last.  NULL without an error: it is another case. */
static PyObject *
ready_make_plain(const mmi_ready *r, mmi_run **queue)
{
    mmi_run *run = *queue;
    if (run == NULL || run->list != NULL || run->owner != NULL || !r->plain ||
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
        } else if (run->owner != NULL && r->request == NULL) {
            ready_unpack(r, queue);
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
mmi_ready_quick(mmi_ready *r, uint32_t most)
{
    PyObject *found = r->held || r->quick >= most ? NULL : mmi_ready_take(r, &r->run);
    r->quick += found != NULL;
    return found;
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

PyObject *
mmi_ready_next(mmi_ready *r)
{
    return r->held ? NULL : mmi_ready_take(r, &r->run);
}
