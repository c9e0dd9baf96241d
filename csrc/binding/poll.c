/*
 * binding/poll.c: what a thread that waits for several sockets does each time, as a Python
 * function.
 * Not here: the waiting (sched/pollset.c); going on after a signal (_sync/poller.py).
 * Law: as in binding/module.c; a closed socket is told of once, and is then in the dict no more.
 */
#include "binding/binding.h"

enum {
    POLL_READY_MAX = 256   /* sockets told of by one call */
};

/* Appends the socket of a handle, if the dict still has it; false: an error is set. */
static bool
poll_append(PyObject *list, PyObject *events, PyObject *sockets, const mm_ready *ready)
{
    PyObject *key = PyLong_FromUnsignedLongLong(ready->socket);
    PyObject *socket = key != NULL ? PyDict_GetItemWithError(sockets, key) : NULL; /* borrowed */
    bool done = socket != NULL ? PyList_Append(list, socket) == 0 : PyErr_Occurred() == NULL;
    if (done && socket != NULL && events != NULL) {
        PyObject *what = PyLong_FromUnsignedLong(ready->events);
        done = what != NULL && PyList_Append(events, what) == 0;
        Py_XDECREF(what);
    }
    if (done && socket != NULL && ready->events == 0) {
        done = PyDict_DelItem(sockets, key) == 0;
    }
    Py_XDECREF(key);
    return done;
}

/* Beside the list, what each is ready for; NULL: an error is set. Takes the list over. */
static PyObject *
poll_told(PyObject *list, PyObject *events)
{
    PyObject *told = list != NULL && events != NULL ? PyTuple_Pack(2, list, events) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(events);
    return told;
}

/* poll(pollset, sockets by handle, timeout_ms, slice_ms) -> list of those that can be received
 * from, empty if what was ready is in the dict no more; (list, events of each) if one is ready for
 * something else, or was closed; or a code */
PyObject *
mmi_py_poll(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle pollset;
    mm_ready ready[POLL_READY_MAX];
    if (count != 4 || !PyDict_Check(args[1])) {
        return mmi_py_arguments("(pollset, sockets by handle, timeout_ms, slice_ms)");
    }
    int64_t timeout_ms = PyLong_AsLongLong(args[2]), slice_ms = PyLong_AsLongLong(args[3]);
    if (!mmi_py_handle(args[0], &pollset) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS rc =
        mm_pollset_poll(pollset, ready, POLL_READY_MAX, timeout_ms, slice_ms);
    Py_END_ALLOW_THREADS if (rc < 0)
    {
        return PyLong_FromLong(rc);
    }
    bool plain = true;
    for (int i = 0; i < rc; i++) {
        plain = plain && ready[i].events == MM_READABLE;
    }
    PyObject *list = PyList_New(0), *events = plain ? NULL : PyList_New(0);
    for (int i = 0; list != NULL && (plain || events != NULL) && i < rc; i++) {
        if (!poll_append(list, events, args[1], &ready[i])) {
            Py_CLEAR(list);
        }
    }
    return plain ? list : poll_told(list, events);
}
