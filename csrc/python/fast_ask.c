/*
 * fast_ask.c: what is asked, as Python functions: requests, and taking their replies.
 * Not here: asking all (fast_survey.c); answering (fast_reply.c); messages that nobody answers
 * (fast.c).
 * Law: as in fast.c.
 */
#include "python/fast.h"

/* request(handle, data: bytes, timeout_ms, slice_ms, out: list) -> code; out[0] is then the id:
 * there before a signal's function can raise, so that whoever catches it knows what to give up */
PyObject *
mmi_fast_request(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    char *body;
    Py_ssize_t size;
    if (count != 5 || !PyList_Check(args[4])) {
        return mmi_fast_arguments("(handle, data, timeout_ms, slice_ms, list)");
    }
    int64_t timeout_ms = PyLong_AsLongLong(args[2]), slice_ms = PyLong_AsLongLong(args[3]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL ||
        PyBytes_AsStringAndSize(args[1], &body, &size) != 0) {
        return NULL;
    }
    int rc;
    uint64_t id = 0, length = (uint64_t)size;
    Py_BEGIN_ALLOW_THREADS
    rc = mm_request(handle, (const uint8_t *)body, &length, 1, timeout_ms, slice_ms, &id);
    Py_END_ALLOW_THREADS
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    if (number == NULL || PyList_SetItem(args[4], 0, number) != 0) {
        return NULL;
    }
    return PyLong_FromLong(rc);
}

/* The message in a batch of a single frame, of a peer whose type is known; else the code, as always
 * without types (NULL). */
static PyObject *
fast_formed(int rc, const mm_batch *batch, PyObject *types)
{
    if (rc < 0 || types == NULL || batch->frame_count != 1 || batch->big != NULL) {
        return PyLong_FromLong(rc);
    }
    PyObject *key = PyLong_FromUnsignedLongLong(mmi_fast_peer(batch, 0));
    PyObject *type = key == NULL ? NULL : PyDict_GetItemWithError(types, key);   /* borrowed */
    Py_XDECREF(key);
    if (type == NULL || !PyType_Check(type)) {
        return PyErr_Occurred() != NULL ? NULL : PyLong_FromLong(rc);
    }
    Py_ssize_t size;
    const uint8_t *data = mmi_fast_frame(batch, 0, &size);
    return mmi_fast_plain((PyTypeObject *)type, data, size);
}

/* A reply or an answer, as fast_formed gives it: waits for it as mm_reply does. */
static PyObject *
fast_take_reply(PyObject *const *args, int64_t timeout_ms, int64_t slice_ms, PyObject *types)
{
    mm_handle handle;
    uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
    mm_batch *batch = PyLong_AsVoidPtr(args[2]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL || batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_fast_arguments("a batch");
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = mm_reply(handle, id, batch, timeout_ms, slice_ms);
    Py_END_ALLOW_THREADS
    return fast_formed(rc, batch, types);
}

/* await_reply(handle, id, batch address, timeout_ms, slice_ms) -> code */
PyObject *
mmi_fast_await_reply(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 5) {
        return mmi_fast_arguments("(handle, id, batch, timeout_ms, slice_ms)");
    }
    int64_t timeout_ms = PyLong_AsLongLong(args[3]), slice_ms = PyLong_AsLongLong(args[4]);
    return PyErr_Occurred() != NULL ? NULL : fast_take_reply(args, timeout_ms, slice_ms, NULL);
}

/* reply_now(handle, id, batch address, types by peer) -> the reply if it is there, or a code; 1: it
 * is in the batch, to be read from there */
PyObject *
mmi_fast_reply_now(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyDict_Check(args[3])) {
        return mmi_fast_arguments("(handle, id, batch, types)");
    }
    return fast_take_reply(args, 0, 0, args[3]);
}

/* call(handle, data: bytes, batch address, timeout_ms, slice_ms, types by peer, out: list) -> the
 * reply, or a code: of the request if out[0], its id, is 0 then; else as reply_now, but waits.  The
 * request does not wait for room. */
PyObject *
mmi_fast_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    char *body;
    Py_ssize_t size;
    if (count != 7 || !PyDict_Check(args[5]) || !PyList_Check(args[6])) {
        return mmi_fast_arguments("(handle, data, batch, timeout_ms, slice_ms, types, list)");
    }
    mm_batch *batch = PyLong_AsVoidPtr(args[2]);
    int64_t timeout_ms = PyLong_AsLongLong(args[3]), slice_ms = PyLong_AsLongLong(args[4]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL ||
        PyBytes_AsStringAndSize(args[1], &body, &size) != 0 || batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_fast_arguments("a batch");
    }
    int rc;
    uint64_t id = 0, length = (uint64_t)size;
    Py_BEGIN_ALLOW_THREADS
    rc = mm_request(handle, (const uint8_t *)body, &length, 1, 0, 0, &id);
    if (rc == MM_OK) {
        rc = mm_reply(handle, id, batch, timeout_ms, slice_ms);
    }
    Py_END_ALLOW_THREADS
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    if (number == NULL || PyList_SetItem(args[6], 0, number) != 0) {
        return NULL;
    }
    return fast_formed(rc, batch, args[5]);
}
