/*
 * binding/loop.c: what an event loop does for each thing that is ready, as Python functions: what
 * is ready, asking, and whose replies are there.
 * Not here: how tasks are woken (aio/_loop.py).  Law: as in binding/module.c; none of these waits.
 */
#include "binding/binding.h"

enum {
    LOOP_READY_MAX = 64,    /* sockets told of by one call */
    LOOP_REPLIES_MAX = 256  /* replies                     */
};

/* Appends an unsigned number; false: an error is set. */
static bool
loop_append(PyObject *list, unsigned long long value)
{
    PyObject *number = PyLong_FromUnsignedLongLong(value);
    int rc = number == NULL ? -1 : PyList_Append(list, number);
    Py_XDECREF(number);
    return rc == 0;
}

/* waker_take(waker) -> [socket, events, socket, events, ...], or a code */
PyObject *
mmi_py_waker_take(PyObject *self, PyObject *arg)
{
    (void)self;
    mm_handle waker;
    mm_ready ready[LOOP_READY_MAX];
    if (!mmi_py_handle(arg, &waker)) {
        return NULL;
    }
    int count;
    Py_BEGIN_ALLOW_THREADS count = mm_waker_take(waker, ready, LOOP_READY_MAX);
    Py_END_ALLOW_THREADS if (count < 0)
    {
        return PyLong_FromLong(count);
    }
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < count; i++) {
        if (!loop_append(list, ready[i].socket) || !loop_append(list, ready[i].events)) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* ask(handle, waker, question) -> the id of a request whose socket the waker now watches, or a
 * code: nothing was asked */
PyObject *
mmi_py_ask(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle, waker;
    mmi_question q;
    if (count != 3) {
        return mmi_py_arguments("(handle, waker, question)");
    }
    if (!mmi_py_handle(args[0], &handle) || !mmi_py_handle(args[1], &waker) ||
        !mmi_py_question(args[2], &q)) {
        return NULL;
    }
    int rc;
    uint64_t id = 0;
    Py_BEGIN_ALLOW_THREADS rc =
        mm_request_packed(handle, q.data, q.sizes, q.count, q.note, q.note_size, 0, 0, &id);
    if (rc == MM_OK) {
        rc = mm_watch(handle, waker, MM_READABLE);
        if (rc < 0) {
            (void)mm_request_cancel(handle, id);
        }
    }
    Py_END_ALLOW_THREADS return rc < 0 ? PyLong_FromLong(rc) : PyLong_FromUnsignedLongLong(id);
}

/* replies(handle) -> [id, ...] of requests that something became of, or a code */
PyObject *
mmi_py_replies(PyObject *self, PyObject *arg)
{
    (void)self;
    mm_handle handle;
    uint64_t ids[LOOP_REPLIES_MAX];
    if (!mmi_py_handle(arg, &handle)) {
        return NULL;
    }
    int count;
    Py_BEGIN_ALLOW_THREADS count = mm_replies_ready(handle, ids, LOOP_REPLIES_MAX);
    Py_END_ALLOW_THREADS if (count < 0)
    {
        return PyLong_FromLong(count);
    }
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < count; i++) {
        if (!loop_append(list, ids[i])) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* watch(handle, waker, events) -> code, or which of them are so already */
PyObject *
mmi_py_watch(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle, waker;
    if (count != 3) {
        return mmi_py_arguments("(handle, waker, events)");
    }
    unsigned long events = PyLong_AsUnsignedLong(args[2]);
    if (!mmi_py_handle(args[0], &handle) || !mmi_py_handle(args[1], &waker) ||
        PyErr_Occurred() != NULL) {
        return NULL;
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = mm_watch(handle, waker, (uint32_t)events);
    Py_END_ALLOW_THREADS return PyLong_FromLong(rc);
}
