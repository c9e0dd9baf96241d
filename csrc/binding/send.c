/*
 * binding/send.c: sending one message, and a list of them.
 *
 * Not here: send() as a method of a socket (binding/socket.c), and in an event loop
 * (binding/async.c).
 * Law: the interpreter's lock is let go of only for what may enter the kernel, or takes long.
 */
#include "binding/binding.h"

int
mmi_py_send_parts(mm_handle handle, const mm_body *frames, uint32_t count)
{
    int more = 0;
    int rc = mm_send_queue(handle, frames, count, &more);
    if (more != 0) {
        Py_BEGIN_ALLOW_THREADS rc = more == MM_MORE_SETTLE
                                        ? mm_settle(handle)
                                        : mm_send_frames(handle, 0, frames, count, 0, 0);
        Py_END_ALLOW_THREADS
    }
    return rc;
}

/* send(handle, data: bytes) -> code */
PyObject *
mmi_py_send(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    if (count != 2 || !PyBytes_Check(args[1])) {
        return mmi_py_arguments("(handle, bytes)");
    }
    if (!mmi_py_handle(args[0], &handle)) {
        return NULL;
    }
    const mm_body body = mmi_py_body(args[1]);
    return PyLong_FromLong(mmi_py_send_parts(handle, &body, 1));
}

/* send_confirmed(handle, data: bytes) -> the number of its receipt, or a code: nothing was sent */
PyObject *
mmi_py_send_confirmed(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    if (count != 2 || !PyBytes_Check(args[1])) {
        return mmi_py_arguments("(handle, bytes)");
    }
    if (!mmi_py_handle(args[0], &handle)) {
        return NULL;
    }
    const mm_push_opts opts = { .confirm = 1 };
    const mm_body body = mmi_py_body(args[1]);
    const uint64_t size = body.size;
    uint64_t receipt;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = mm_push(handle, body.data, &size, 1, &opts, 0, 0, &receipt);
    Py_END_ALLOW_THREADS return rc == MM_OK ? PyLong_FromUnsignedLongLong(receipt)
                                            : PyLong_FromLong(rc);
}

/* The items of what is plainly a list or tuple, borrowed, and how many; 0: more than fit, or not
 * plain. */
static uint32_t
send_items(PyObject *frames, PyObject **items, uint32_t room)
{
    bool is_list = PyList_CheckExact(frames);
    if (!is_list && !PyTuple_CheckExact(frames)) {
        return 0;
    }
    Py_ssize_t count = is_list ? PyList_Size(frames) : PyTuple_Size(frames);
    if (count > (Py_ssize_t)room) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        items[i] = is_list ? PyList_GetItem(frames, i) : PyTuple_GetItem(frames, i);
        if (!PyBytes_Check(items[i])) {
            return 0;
        }
    }
    return (uint32_t)count;
}

/* send_frames(handle, frames, least, topic or None) -> code, or None: that is not plain, or fewer
 * than least, and to be looked at by Python; nothing was done */
PyObject *
mmi_py_send_frames(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    mm_body bodies[MM_PARTS_MAX];
    PyObject *items[MM_PARTS_MAX];
    if (count != 4) {
        return mmi_py_arguments("(handle, frames, least, topic)");
    }
    long least = PyLong_AsLong(args[2]);
    if (!mmi_py_handle(args[0], &handle) || (least == -1 && PyErr_Occurred() != NULL)) {
        return NULL;
    }
    uint32_t topics = args[3] != Py_None;
    uint32_t given = send_items(args[1], items, MM_PARTS_MAX - topics);
    if (given == 0 || given < least || (topics == 1 && !mmi_py_topic(args[3], &bodies[0]))) {
        return mmi_py_none();
    }
    for (uint32_t i = 0; i < given; i++) {
        Py_IncRef(items[i]); /* others may change the list while the interpreter's lock is theirs */
        bodies[topics + i] = mmi_py_body(items[i]);
    }
    int rc = mmi_py_send_parts(handle, bodies, topics + given);
    for (uint32_t i = 0; i < given; i++) {
        Py_DecRef(items[i]);
    }
    return PyLong_FromLong(rc);
}

/* After a run: what the call is to return; MM_OK: to go on with the time that is *left.  Signals
 * are looked at between runs as well, in case none of them has to wait. */
static int
send_go_on(int rc, int64_t took_ms, int64_t timeout_ms, int64_t slice_ms, int64_t *left_ms)
{
    if (timeout_ms > 0) {
        *left_ms = took_ms < timeout_ms ? timeout_ms - took_ms : 0;
        rc = rc == MM_EAGAIN && *left_ms == 0 ? MM_ETIMEDOUT : rc;
    }
    return rc == MM_OK && slice_ms > 0 && took_ms >= slice_ms ? MM_EINTR : rc;
}

/* More were sent: of this list, and of all.  It is noted here, as a signal's function may raise
 * before the caller has anything that is returned.  false: an error is set. */
static bool
send_note(PyObject *counts, Py_ssize_t sent)
{
    for (Py_ssize_t i = 0; i < 2; i++) {
        Py_ssize_t before = PyLong_AsSsize_t(PyList_GetItem(counts, i)); /* borrowed */
        PyObject *now = PyErr_Occurred() == NULL ? PyLong_FromSsize_t(before + sent) : NULL;
        if (now == NULL || PyList_SetItem(counts, i, now) != 0) {
            return false;
        }
    }
    return true;
}

/* A list that is sent, and what goes with each of it. */
typedef struct send_list {
    mm_handle handle;
    PyObject *list, *counts;
    int64_t timeout_ms, slice_ms;
    mm_note *note; /* NULL: nothing */
    uint64_t receipt; /* of the first of the list; 0: none */
} send_list;

/* The run that is held from at on. */
static int
send_run(const send_list *l, const mmi_py_held *held, Py_ssize_t at, int64_t left_ms, size_t *sent)
{
    const mm_body *bodies = held->bodies;
    size_t run = (size_t)held->count;
    if (l->note == NULL && l->receipt == 0) {
        return mm_send_many(l->handle, bodies, run, left_ms, l->slice_ms, sent);
    }
    uint64_t receipt = l->receipt != 0 ? l->receipt + (uint64_t)at : 0;
    return mm_send_run(l->handle, bodies, run, l->note, receipt, left_ms, l->slice_ms, sent);
}

static PyObject *
send_all(const send_list *l)
{
    mmi_py_held held;
    Py_ssize_t at = PyLong_AsSsize_t(PyList_GetItem(l->counts, 0)), end = PyList_Size(l->list);
    int rc = MM_OK;
    int64_t start_ms = -1, left_ms = l->timeout_ms;
    while (rc == MM_OK && at < end) {
        if (!mmi_py_list_hold(&held, l->list, at)) {
            return NULL;
        }
        size_t sent = 0;
        int64_t now_ms = 0;
        Py_BEGIN_ALLOW_THREADS start_ms = start_ms < 0 ? mm_now_ms(l->handle) : start_ms;
        rc = send_run(l, &held, at, left_ms, &sent);
        now_ms = at + (Py_ssize_t)sent < end ? mm_now_ms(l->handle) : now_ms;
        Py_END_ALLOW_THREADS mmi_py_list_let_go(&held);
        if (!send_note(l->counts, (Py_ssize_t)sent)) {
            return NULL;
        }
        at += (Py_ssize_t)sent;
        end = PyList_Size(l->list); /* others may have changed it meanwhile */
        if (at < end) {
            rc = send_go_on(rc, now_ms - start_ms, l->timeout_ms, l->slice_ms, &left_ms);
        }
    }
    return PyLong_FromLong(rc);
}

/* send_list(handle, messages: list[bytes], counts: list, timeout_ms, slice_ms, note: bytes,
 * receipt) -> code; sends from counts[0] on, and adds what it sent to counts[0] and counts[1].
 * note: what goes with each; empty: nothing.  receipt: of the first of the list; 0: none */
PyObject *
mmi_py_send_list(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 7 || !PyList_Check(args[1]) || !PyList_Check(args[2]) ||
        PyList_Size(args[2]) != 2 || !PyBytes_Check(args[5])) {
        return mmi_py_arguments(
            "(handle, list, list of two, timeout_ms, slice_ms, bytes, receipt)");
    }
    send_list l = { .list = args[1],
                    .counts = args[2],
                    .timeout_ms = PyLong_AsLongLong(args[3]),
                    .slice_ms = PyLong_AsLongLong(args[4]),
                    .receipt = PyLong_AsUnsignedLongLong(args[6]) };
    (void)PyLong_AsSsize_t(PyList_GetItem(l.counts, 0));
    if (!mmi_py_handle(args[0], &l.handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    const mm_body note = mmi_py_body(args[5]);
    int rc = note.size > 0 ? mm_note_new(note.data, note.size, &l.note) : MM_OK;
    PyObject *result = rc == MM_OK ? send_all(&l) : PyLong_FromLong(rc);
    mm_note_free(l.note);
    return result;
}

/* all_bytes(list) -> bool: is every item exactly what send_list takes */
PyObject *
mmi_py_all_bytes(PyObject *self, PyObject *list)
{
    (void)self;
    if (!PyList_Check(list)) {
        return mmi_py_arguments("a list");
    }
    for (Py_ssize_t i = 0, end = PyList_Size(list); i < end; i++) {
        if (!PyBytes_Check(PyList_GetItem(list, i))) {
            return PyBool_FromLong(0);
        }
    }
    return PyBool_FromLong(1);
}
