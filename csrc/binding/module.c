/*
 * binding/module.c: the few calls that are made once a message, as Python functions of their own.
 *
 * cffi converts each argument and lets go of the interpreter's lock around each call; for a message
 * of 64 bytes that costs several times what the core does (docs/adr: native calls).  These take
 * bytes objects as they are, and let go of the lock only for what may enter the kernel.
 * Not here: asking (binding/ask.c) and answering (binding/reply.c); anything that is not done once
 * a message; other kinds of buffers than bytes.
 * Law: limited API; a function gives the core's code, and raises only for what is no call at all.
 */
#include "binding/binding.h"

enum {
    FAST_RUN = 512   /* messages handed to the core at once */
};

bool
mmi_fast_handle(PyObject *arg, mm_handle *handle)
{
    *handle = PyLong_AsUnsignedLongLong(arg);
    return *handle != (mm_handle)-1 || PyErr_Occurred() == NULL;
}

PyObject *
mmi_fast_arguments(const char *form)
{
    PyErr_Format(PyExc_TypeError, "expected %s", form);
    return NULL;
}

int
mmi_fast_send_parts(mm_handle handle, const mm_body *frames, uint32_t count)
{
    int more = 0;
    int rc = mm_send_queue(handle, frames, count, &more);
    if (more != 0) {
        Py_BEGIN_ALLOW_THREADS
        rc = more == MM_MORE_SETTLE ? mm_settle(handle)
                                    : mm_send_frames(handle, 0, frames, count, 0, 0);
        Py_END_ALLOW_THREADS
    }
    return rc;
}

mm_body
mmi_fast_body(PyObject *bytes)
{
    return (mm_body){ .data = (const uint8_t *)PyBytes_AsString(bytes),
                      .size = (size_t)PyBytes_Size(bytes) };
}

bool
mmi_fast_is_time(PyObject *timeout)
{
    if (PyLong_CheckExact(timeout)) {
        int beyond;
        return PyLong_AsLongLongAndOverflow(timeout, &beyond) >= 0 && beyond == 0;
    }
    return timeout == Py_None || (PyFloat_CheckExact(timeout) && PyFloat_AsDouble(timeout) >= 0);
}

/* A topic that is not empty as a frame.  false: it is looked at by Python. */
static bool
fast_topic(PyObject *topic, mm_body *frame)
{
    Py_ssize_t size;
    const char *text = PyUnicode_Check(topic) ? PyUnicode_AsUTF8AndSize(topic, &size) : NULL;
    if (text != NULL) {
        *frame = (mm_body){ .data = (const uint8_t *)text, .size = (size_t)size };
    } else if (PyBytes_Check(topic)) {
        *frame = mmi_fast_body(topic);
    } else {
        PyErr_Clear();   /* surrogates */
        return false;
    }
    return frame->size > 0;
}

uint32_t
mmi_fast_frames_of(PyObject *data, PyObject *timeout, PyObject *topic, mm_body *frames)
{
    uint32_t count = 0;
    if (!PyBytes_Check(data) || !mmi_fast_is_time(timeout) ||
        (topic != NULL && !fast_topic(topic, &frames[count++]))) {
        return 0;
    }
    frames[count++] = mmi_fast_body(data);
    return count;
}

/* send(handle, data: bytes) -> code */
static PyObject *
fast_send(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    if (count != 2 || !PyBytes_Check(args[1])) {
        return mmi_fast_arguments("(handle, bytes)");
    }
    if (!mmi_fast_handle(args[0], &handle)) {
        return NULL;
    }
    const mm_body body = mmi_fast_body(args[1]);
    return PyLong_FromLong(mmi_fast_send_parts(handle, &body, 1));
}

/* Takes references to up to FAST_RUN messages from at on; how many, -1: one is not bytes. */
static int
fast_take(PyObject *list, Py_ssize_t at, Py_ssize_t end, PyObject **held, mm_body *bodies)
{
    int count = 0;
    for (; count < FAST_RUN && at + count < end; count++) {
        PyObject *item = PyList_GetItem(list, at + count);   /* borrowed */
        char *body;
        Py_ssize_t size;
        if (item == NULL || PyBytes_AsStringAndSize(item, &body, &size) != 0) {
            while (count > 0) {
                Py_DecRef(held[--count]);
            }
            return -1;
        }
        Py_IncRef(item);
        held[count] = item;
        bodies[count] = (mm_body){ .data = (const uint8_t *)body, .size = (size_t)size };
    }
    return count;
}

/* After a run: what the call is to return; MM_OK: to go on with the time that is *left.  Signals
 * are looked at between runs as well, in case none of them has to wait. */
static int
fast_go_on(int rc, int64_t took_ms, int64_t timeout_ms, int64_t slice_ms, int64_t *left_ms)
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
fast_note_sent(PyObject *counts, Py_ssize_t sent)
{
    for (Py_ssize_t i = 0; i < 2; i++) {
        Py_ssize_t before = PyLong_AsSsize_t(PyList_GetItem(counts, i));   /* borrowed */
        PyObject *now = PyErr_Occurred() == NULL ? PyLong_FromSsize_t(before + sent) : NULL;
        if (now == NULL || PyList_SetItem(counts, i, now) != 0) {
            return false;
        }
    }
    return true;
}

/* send_list(handle, messages: list[bytes], counts: list, timeout_ms, slice_ms) -> code; sends from
 * counts[0] on, and adds what it sent to counts[0] and counts[1] */
static PyObject *
fast_send_list(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    PyObject *held[FAST_RUN];
    mm_body bodies[FAST_RUN];
    if (count != 5 || !PyList_Check(args[1]) || !PyList_Check(args[2]) ||
        PyList_Size(args[2]) != 2) {
        return mmi_fast_arguments("(handle, list, list of two, timeout_ms, slice_ms)");
    }
    Py_ssize_t at = PyLong_AsSsize_t(PyList_GetItem(args[2], 0)), end = PyList_Size(args[1]);
    int64_t timeout_ms = PyLong_AsLongLong(args[3]), slice_ms = PyLong_AsLongLong(args[4]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    int rc = MM_OK;
    int64_t start_ms = -1, left_ms = timeout_ms;
    while (rc == MM_OK && at < end) {
        int run = fast_take(args[1], at, end, held, bodies);
        if (run < 0) {
            return NULL;
        }
        size_t sent = 0;
        int64_t now_ms = 0;
        Py_BEGIN_ALLOW_THREADS
        start_ms = start_ms < 0 ? mm_now_ms(handle) : start_ms;
        rc = mm_send_many(handle, bodies, (size_t)run, left_ms, slice_ms, &sent);
        now_ms = at + (Py_ssize_t)sent < end ? mm_now_ms(handle) : now_ms;
        Py_END_ALLOW_THREADS
        for (int i = 0; i < run; i++) {
            Py_DecRef(held[i]);
        }
        if (!fast_note_sent(args[2], (Py_ssize_t)sent)) {
            return NULL;
        }
        at += (Py_ssize_t)sent;
        end = PyList_Size(args[1]);   /* others may have changed it meanwhile */
        if (at < end) {
            rc = fast_go_on(rc, now_ms - start_ms, timeout_ms, slice_ms, &left_ms);
        }
    }
    return PyLong_FromLong(rc);
}

/* all_bytes(list) -> bool: is every item exactly what send_list takes */
static PyObject *
fast_all_bytes(PyObject *self, PyObject *list)
{
    (void)self;
    if (!PyList_Check(list)) {
        return mmi_fast_arguments("a list");
    }
    for (Py_ssize_t i = 0, end = PyList_Size(list); i < end; i++) {
        if (!PyBytes_Check(PyList_GetItem(list, i))) {
            return PyBool_FromLong(0);
        }
    }
    return PyBool_FromLong(1);
}

void
mmi_fast_span(const mm_batch *batch, uint32_t i, uint32_t *from, uint32_t *to)
{
    const uint32_t *first = batch->first_frame;
    if (batch->big != NULL) {
        *from = 0;
        *to = mm_msg_frame_count(batch->big);
        return;
    }
    *from = first != NULL ? first[i] : i;
    *to = first != NULL ? first[i + 1] : i + 1;
}

PyObject *
mmi_fast_frames(const mm_batch *batch, uint32_t from, uint32_t to)
{
    PyObject *frames = PyList_New((Py_ssize_t)(to - from));
    for (uint32_t j = from; frames != NULL && j < to; j++) {
        Py_ssize_t size;
        const uint8_t *data = mmi_fast_frame(batch, j, &size);
        PyObject *frame = PyBytes_FromStringAndSize((const char *)data, size);
        if (frame == NULL || PyList_SetItem(frames, (Py_ssize_t)(j - from), frame) != 0) {
            Py_DECREF(frames);
            return NULL;
        }
    }
    return frames;
}

uint32_t
mmi_fast_envelope(const mm_batch *batch, uint32_t i)
{
    return batch->envelope != NULL ? batch->envelope[i] : 0;
}

/* parts(batch address) -> list: (frames, peer, envelope) of each message */
static PyObject *
fast_parts(PyObject *self, PyObject *arg)
{
    (void)self;
    const mm_batch *batch = PyLong_AsVoidPtr(arg);
    if (batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_fast_arguments("a batch");
    }
    PyObject *list = PyList_New((Py_ssize_t)batch->message_count);
    for (uint32_t i = 0; list != NULL && i < batch->message_count; i++) {
        uint32_t from, to;
        mmi_fast_span(batch, i, &from, &to);
        PyObject *frames = mmi_fast_frames(batch, from, to), *parts = NULL;
        if (frames != NULL) {
            parts = Py_BuildValue("(NKI)", frames, (unsigned long long)mmi_fast_peer(batch, i),
                                  mmi_fast_envelope(batch, i));
        }
        if (parts == NULL || PyList_SetItem(list, (Py_ssize_t)i, parts) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyMethodDef fast_methods[] = {
    { "send", (PyCFunction)(void (*)(void))fast_send, METH_FASTCALL, NULL },
    { "send_method", (PyCFunction)(void (*)(void))mmi_fast_send_method, METH_FASTCALL, NULL },
    { "recv_soon", (PyCFunction)(void (*)(void))mmi_fast_recv_soon, METH_FASTCALL, NULL },
    { "next_soon", (PyCFunction)(void (*)(void))mmi_fast_next_soon, METH_FASTCALL, NULL },
    { "course", (PyCFunction)(void (*)(void))mmi_fast_course, METH_FASTCALL, NULL },
    { "send_list", (PyCFunction)(void (*)(void))fast_send_list, METH_FASTCALL, NULL },
    { "gather", (PyCFunction)(void (*)(void))mmi_fast_gather, METH_FASTCALL, NULL },
    { "all_bytes", fast_all_bytes, METH_O, NULL },
    { "parts", fast_parts, METH_O, NULL },
    { "request", (PyCFunction)(void (*)(void))mmi_fast_request, METH_FASTCALL, NULL },
    { "await_reply", (PyCFunction)(void (*)(void))mmi_fast_await_reply, METH_FASTCALL, NULL },
    { "no_way", mmi_fast_no_way, METH_NOARGS, NULL },
    { "waker_take", mmi_fast_waker_take, METH_O, NULL },
    { "ask", (PyCFunction)(void (*)(void))mmi_fast_ask, METH_FASTCALL, NULL },
    { "replies", mmi_fast_replies, METH_O, NULL },
    { "watch", (PyCFunction)(void (*)(void))mmi_fast_watch, METH_FASTCALL, NULL },
    { "poll", (PyCFunction)(void (*)(void))mmi_fast_poll, METH_FASTCALL, NULL },
    { "reply_now", (PyCFunction)(void (*)(void))mmi_fast_reply_now, METH_FASTCALL, NULL },
    { "call", (PyCFunction)(void (*)(void))mmi_fast_call, METH_FASTCALL, NULL },
    { "survey", (PyCFunction)(void (*)(void))mmi_fast_survey, METH_FASTCALL, NULL },
    { "ready", (PyCFunction)(void (*)(void))mmi_fast_ready, METH_FASTCALL, NULL },
    { "stream", (PyCFunction)(void (*)(void))mmi_fast_stream, METH_FASTCALL, NULL },
    { "answers", (PyCFunction)(void (*)(void))mmi_fast_answers, METH_FASTCALL, NULL },
    { "message_class", (PyCFunction)(void (*)(void))mmi_fast_class, METH_FASTCALL, NULL },
    { "check", (PyCFunction)(void (*)(void))mmi_fast_check, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef fast_module = {
    PyModuleDef_HEAD_INIT, "meshmsg._fast", "Calls made once a message.", -1, fast_methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    bool there = mmi_fast_ready_init() && mmi_fast_receive_init() && mmi_fast_stream_init() &&
                 mmi_fast_reply_init() && mmi_fast_coroutine_init() && mmi_fast_soon_init();
    PyObject *module = there ? PyModule_Create(&fast_module) : NULL;
    if (module != NULL &&
        (PyModule_AddIntConstant(module, "SOON_MAX", MMI_FAST_SOON_MAX) != 0 ||
         !mmi_fast_socket_init(module))) {
        Py_CLEAR(module);
    }
    return module;
}
