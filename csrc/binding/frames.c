/*
 * binding/frames.c: the frames of messages in a batch, as Python objects.
 *
 * Not here: messages (binding/message.c, binding/form.c).
 */
#include "binding/binding.h"

void
mmi_py_span(const mm_batch *batch, uint32_t i, uint32_t *from, uint32_t *to)
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
mmi_py_frames(const mm_batch *batch, uint32_t from, uint32_t to)
{
    PyObject *frames = PyTuple_New((Py_ssize_t)(to - from));
    for (uint32_t j = from; frames != NULL && j < to; j++) {
        Py_ssize_t size;
        const uint8_t *data = mmi_py_frame(batch, j, &size);
        PyObject *frame = PyBytes_FromStringAndSize((const char *)data, size);
        if (frame == NULL || PyTuple_SetItem(frames, (Py_ssize_t)(j - from), frame) != 0) {
            Py_DECREF(frames);
            return NULL;
        }
    }
    return frames;
}

uint32_t
mmi_py_envelope(const mm_batch *batch, uint32_t i)
{
    return batch->envelope != NULL ? batch->envelope[i] : 0;
}

/* parts(batch address) -> list: (frames, peer, envelope) of each message */
PyObject *
mmi_py_parts(PyObject *self, PyObject *arg)
{
    (void)self;
    const mm_batch *batch = PyLong_AsVoidPtr(arg);
    if (batch == NULL) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a batch");
    }
    PyObject *list = PyList_New((Py_ssize_t)batch->message_count);
    for (uint32_t i = 0; list != NULL && i < batch->message_count; i++) {
        uint32_t from, to;
        mmi_py_span(batch, i, &from, &to);
        PyObject *frames = mmi_py_frames(batch, from, to), *parts = NULL;
        if (frames != NULL) {
            parts = Py_BuildValue("(NKI)", frames, (unsigned long long)mmi_py_peer(batch, i),
                                  mmi_py_envelope(batch, i));
        }
        if (parts == NULL || PyList_SetItem(list, (Py_ssize_t)i, parts) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}
