/*
 * fast_ask.c: what is asked and answered, as Python functions: requests and their replies; and what
 * a Rep or a Respondent receives and replies.
 * Not here: messages that nobody answers (fast.c).  Law: as in fast.c.
 */
#include "python/fast.h"

#include <string.h>

enum {
    FAST_REPLY_SIZE = 4096,   /* bytes of a reply that are put together without an allocation */
    FAST_ROUTE_MAX = 64       /* frames of one, its way back included; more go by way of cffi */
};

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

/* Names of attributes, made once: each is found by its address. */
static PyObject *
fast_name(PyObject **name, const char *text)
{
    if (*name == NULL) {
        *name = PyUnicode_InternFromString(text);
    }
    return *name;
}

static bool
fast_set(PyObject *object, PyObject *name, PyObject *value)
{
    return name != NULL && PyObject_SetAttr(object, name, value) == 0;
}

PyObject *
mmi_fast_request_of(const mm_batch *batch, uint32_t i, PyTypeObject *type, PyObject *sender)
{
    uint32_t from, to;
    mmi_fast_span(batch, i, &from, &to);
    uint32_t body = from + mmi_fast_envelope(batch, i);
    Py_ssize_t size;
    const uint8_t *data = mmi_fast_frame(batch, to - 1, &size);
    PyObject *made = mmi_fast_make(type, data, size);
    PyObject *id = PyLong_FromUnsignedLongLong(mmi_fast_peer(batch, i));
    PyObject *route = mmi_fast_frames(batch, from, body);
    PyObject *way = NULL, *more = NULL;
    static PyObject *peer_name, *way_name;
    bool good = made != NULL && id != NULL && route != NULL &&
                (way = PyTuple_Pack(3, sender, id, route)) != NULL &&
                fast_set(made, fast_name(&peer_name, "peer"), id) &&
                fast_set(made, fast_name(&way_name, "_way"), way);
    if (good && body + 1 < to) {
        PyObject *frames = mmi_fast_frames(batch, body, to);
        more = frames == NULL ? NULL : PyList_AsTuple(frames);
        Py_XDECREF(frames);
        good = more != NULL && PyObject_SetAttrString(made, "_frames", more) == 0;
    }
    Py_XDECREF(id);
    Py_XDECREF(route);
    Py_XDECREF(way);
    Py_XDECREF(more);
    if (!good) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}

/* Adds a frame to what is sent; false: it is not bytes, or there is no room in to. */
static bool
fast_append(PyObject *frame, char **to, char *end, uint64_t *size)
{
    char *body;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(frame, &body, &length) != 0) {
        return false;
    }
    if (end - *to < length) {
        PyErr_SetString(PyExc_ValueError, "no room");
        return false;
    }
    memcpy(*to, body, (size_t)length);
    *to += length;
    *size = (uint64_t)length;
    return true;
}

/* reply(handle, peer, route: list[bytes], body: bytes) -> code: never waits.  Small ones only: up
 * to FAST_ROUTE_MAX frames and FAST_REPLY_SIZE bytes, else ValueError. */
PyObject *
mmi_fast_reply(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    char bodies[FAST_REPLY_SIZE], *to = bodies;
    uint64_t sizes[FAST_ROUTE_MAX];
    if (count != 4 || !PyList_Check(args[2])) {
        return mmi_fast_arguments("(handle, peer, route, body)");
    }
    uint64_t peer = PyLong_AsUnsignedLongLong(args[1]);
    Py_ssize_t route = PyList_Size(args[2]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (route >= FAST_ROUTE_MAX) {
        PyErr_SetString(PyExc_ValueError, "no room");
        return NULL;
    }
    for (Py_ssize_t i = 0; i <= route; i++) {
        PyObject *frame = i < route ? PyList_GetItem(args[2], i) : args[3];
        if (!fast_append(frame, &to, bodies + sizeof bodies, &sizes[i])) {
            return NULL;
        }
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = mm_send_frames(handle, peer, (const uint8_t *)bodies, sizes, (uint32_t)route + 1, 0, 0);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(rc);
}
