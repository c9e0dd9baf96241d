/*
 * binding/ask.c: what is asked, as Python functions: requests, and taking their replies.
 * Not here: asking all (binding/survey.c); answering (binding/reply.c); messages that nobody
 * answers (binding/send.c, binding/receive.c).
 * Law: as in binding/module.c.
 */
#include "binding/binding.h"

/* The memory of bytes. false: an error is set. */
static bool
ask_bytes(PyObject *object, const uint8_t **data, size_t *size)
{
    char *octets;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(object, &octets, &length) != 0) {
        return false;
    }
    *data = (const uint8_t *)octets;
    *size = (size_t)length;
    return true;
}

static bool
ask_frames(PyObject *tuple, mmi_question *out)
{
    const uint8_t *sizes;
    size_t octets, size, total = 0;
    Py_ssize_t parts = PyTuple_Size(tuple);
    if (parts != 2 && parts != 3) {
        (void)mmi_py_arguments("(frames end to end, their sizes, what goes with them)");
        return false;
    }
    if (!ask_bytes(PyTuple_GetItem(tuple, 0), &out->data, &size) ||
        !ask_bytes(PyTuple_GetItem(tuple, 1), &sizes, &octets) ||
        (parts > 2 && !ask_bytes(PyTuple_GetItem(tuple, 2), &out->note, &out->note_size))) {
        return false;
    }
    out->sizes = (const uint64_t *)(const void *)sizes;
    out->count = (uint32_t)(octets / sizeof(uint64_t));
    out->size = size;
    uint32_t i = 0;
    for (; i < out->count && out->sizes[i] <= size - total; i++) {
        total += (size_t)out->sizes[i];
    }
    if (i < out->count || total != size || octets % sizeof(uint64_t) != 0 || out->count == 0) {
        (void)mmi_py_arguments("frames and their sizes");
        return false;
    }
    return true;
}

bool
mmi_py_question(PyObject *arg, mmi_question *out)
{
    out->note = NULL;
    out->note_size = 0;
    if (PyTuple_Check(arg)) {
        return ask_frames(arg, out);
    }
    size_t size;
    if (!ask_bytes(arg, &out->data, &size)) {
        return false;
    }
    out->size = size;
    out->sizes = &out->size;
    out->count = 1;
    return true;
}

bool
mmi_py_tell_id(PyObject *out, mm_handle handle, uint64_t id)
{
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    if (number != NULL && PyList_SetItem(out, 0, number) == 0) {
        return true;
    }
    if (id != 0) {
        Py_BEGIN_ALLOW_THREADS(void) mm_request_cancel(handle, id);
        Py_END_ALLOW_THREADS
    }
    return false;
}

/* request(handle, question, timeout_ms, slice_ms, out: list) -> code; out[0] is then the id:
 * there before a signal's function can raise, so that whoever catches it knows what to give up */
PyObject *
mmi_py_request(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    mmi_question q;
    if (count != 5 || !PyList_Check(args[4])) {
        return mmi_py_arguments("(handle, question, timeout_ms, slice_ms, list)");
    }
    int64_t timeout_ms = PyLong_AsLongLong(args[2]), slice_ms = PyLong_AsLongLong(args[3]);
    if (!mmi_py_handle(args[0], &handle) || PyErr_Occurred() != NULL ||
        !mmi_py_question(args[1], &q)) {
        return NULL;
    }
    int rc;
    uint64_t id = 0;
    Py_BEGIN_ALLOW_THREADS rc = mm_request_packed(handle, q.data, q.sizes, q.count, q.note,
                                                  q.note_size, timeout_ms, slice_ms, &id);
    Py_END_ALLOW_THREADS return mmi_py_tell_id(args[4], handle, id) ? PyLong_FromLong(rc) : NULL;
}

/* The class of who sent the first message, if it is there: a new reference, as an allocation may
 * run what takes it out of types. */
static PyObject *
ask_type(const mm_batch *batch, PyObject *types)
{
    uint64_t peer = mmi_py_peer(batch, 0);
    if (batch->known != 0) {
        return mmi_py_known_at_hand(peer);
    }
    PyObject *key = PyLong_FromUnsignedLongLong(peer);
    PyObject *type = key == NULL ? NULL : PyDict_GetItemWithError(types, key);
    Py_XDECREF(key);
    Py_XINCREF(type);
    return type;
}

/* The message in a batch of a single frame and nothing else, of a peer whose type is known; else
 * the code, as always without types (NULL). */
static PyObject *
ask_formed(int rc, const mm_batch *batch, PyObject *types)
{
    if (rc < 0 || types == NULL || batch->frame_count != 1 || batch->big != NULL ||
        batch->noted > 0) {
        return PyLong_FromLong(rc);
    }
    PyObject *type = ask_type(batch, types);
    if (type == NULL || !PyType_Check(type)) {
        Py_XDECREF(type);
        return PyErr_Occurred() != NULL ? NULL : PyLong_FromLong(rc);
    }
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(batch, 0, &size);
    PyObject *made = mmi_py_plain((PyTypeObject *)type, data, size);
    Py_DECREF(type);
    return made;
}

/* A reply or an answer, as ask_formed gives it: waits for it as mm_recv_reply does. */
static PyObject *
ask_take_reply(PyObject *const *args, int64_t timeout_ms, int64_t slice_ms, PyObject *types)
{
    mm_handle handle;
    uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
    mm_batch *batch = PyLong_AsVoidPtr(args[2]);
    if (!mmi_py_handle(args[0], &handle) || PyErr_Occurred() != NULL || batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a batch");
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = mm_recv_reply(handle, id, batch, timeout_ms, slice_ms);
    Py_END_ALLOW_THREADS return ask_formed(rc, batch, types);
}

/* await_reply(handle, id, batch address, timeout_ms, slice_ms) -> code */
PyObject *
mmi_py_await_reply(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 5) {
        return mmi_py_arguments("(handle, id, batch, timeout_ms, slice_ms)");
    }
    int64_t timeout_ms = PyLong_AsLongLong(args[3]), slice_ms = PyLong_AsLongLong(args[4]);
    return PyErr_Occurred() != NULL ? NULL : ask_take_reply(args, timeout_ms, slice_ms, NULL);
}

/* reply_now(handle, id, batch address, types by peer) -> the reply if it is there, or a code; 1: it
 * is in the batch, to be read from there */
PyObject *
mmi_py_reply_now(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyDict_Check(args[3])) {
        return mmi_py_arguments("(handle, id, batch, types)");
    }
    return ask_take_reply(args, 0, 0, args[3]);
}

/* call(handle, question, batch address, timeout_ms, slice_ms, types by peer, out: list) -> the
 * reply, or a code: of the request if out[0], its id, is 0 then; else as reply_now, but waits.  The
 * request does not wait for room. */
PyObject *
mmi_py_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    mmi_question q;
    if (count != 7 || !PyDict_Check(args[5]) || !PyList_Check(args[6])) {
        return mmi_py_arguments("(handle, question, batch, timeout_ms, slice_ms, types, list)");
    }
    mm_batch *batch = PyLong_AsVoidPtr(args[2]);
    int64_t timeout_ms = PyLong_AsLongLong(args[3]), slice_ms = PyLong_AsLongLong(args[4]);
    if (!mmi_py_handle(args[0], &handle) || PyErr_Occurred() != NULL ||
        !mmi_py_question(args[1], &q) || batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a batch");
    }
    int rc;
    uint64_t id = 0;
    Py_BEGIN_ALLOW_THREADS rc =
        mm_request_packed(handle, q.data, q.sizes, q.count, q.note, q.note_size, 0, 0, &id);
    if (rc == MM_OK) {
        rc = mm_recv_reply(handle, id, batch, timeout_ms, slice_ms);
    }
    Py_END_ALLOW_THREADS return mmi_py_tell_id(args[6], handle, id) ? ask_formed(rc, batch, args[5])
                                                                    : NULL;
}
