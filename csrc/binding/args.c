/*
 * binding/args.c: what a native call is given: handles, and what is to be sent, as frames.
 *
 * Not here: what is asked or answered (binding/ask.c).
 * Law: what is not plain is left to Python, and nothing here runs any of it.
 */
#include "binding/binding.h"

bool
mmi_py_handle(PyObject *arg, mm_handle *handle)
{
    *handle = PyLong_AsUnsignedLongLong(arg);
    return *handle != (mm_handle)-1 || PyErr_Occurred() == NULL;
}

PyObject *
mmi_py_arguments(const char *form)
{
    PyErr_Format(PyExc_TypeError, "expected %s", form);
    return NULL;
}

mm_body
mmi_py_body(PyObject *bytes)
{
    return (mm_body){ .data = (const uint8_t *)PyBytes_AsString(bytes),
                      .size = (size_t)PyBytes_Size(bytes) };
}

bool
mmi_py_is_time(PyObject *timeout)
{
    if (PyLong_CheckExact(timeout)) {
        int beyond;
        return PyLong_AsLongLongAndOverflow(timeout, &beyond) >= 0 && beyond == 0;
    }
    return timeout == Py_None || (PyFloat_CheckExact(timeout) && PyFloat_AsDouble(timeout) >= 0);
}

bool
mmi_py_topic(PyObject *topic, mm_body *frame)
{
    Py_ssize_t size;
    const char *text = PyUnicode_Check(topic) ? PyUnicode_AsUTF8AndSize(topic, &size) : NULL;
    if (text != NULL) {
        *frame = (mm_body){ .data = (const uint8_t *)text, .size = (size_t)size };
    } else if (PyBytes_Check(topic)) {
        *frame = mmi_py_body(topic);
    } else {
        PyErr_Clear();   /* surrogates */
        return false;
    }
    return frame->size > 0;
}

uint32_t
mmi_py_frames_of(PyObject *data, PyObject *timeout, PyObject *topic, mm_body *frames)
{
    uint32_t count = 0;
    if (!PyBytes_Check(data) || !mmi_py_is_time(timeout) ||
        (topic != NULL && !mmi_py_topic(topic, &frames[count++]))) {
        return 0;
    }
    frames[count++] = mmi_py_body(data);
    return count;
}
