/*
 * fast_stream.c: the iterator of a socket: what is ready (fast_ready.c), made as it is taken, so
 * that a message costs a loop one native call and no frame of Python.
 * Not here: receiving; what is not ready is asked of a Python function.
 * Law: it keeps no message of its own, so leaving a loop loses none, and several threads may share
 * one.
 */
#include "python/fast.h"

typedef struct stream {
    PyObject_HEAD
    PyObject *ready, *refill;
} stream;

static PyTypeObject *stream_type;

static PyObject *
stream_next(PyObject *self)
{
    const stream *s = (const stream *)self;
    PyObject *found = mmi_ready_next(s->ready);
    if (found != NULL || PyErr_Occurred() != NULL) {
        return found;
    }
    return PyObject_CallObject(s->refill, NULL);
}

static PyObject *
stream_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static int
stream_traverse(PyObject *self, visitproc visit, void *arg)
{
    const stream *s = (const stream *)self;
    Py_VISIT(s->ready);
    Py_VISIT(s->refill);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
stream_dealloc(PyObject *self)
{
    stream *s = (stream *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(s->ready);
    Py_XDECREF(s->refill);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot stream_slots[] = {
    { Py_tp_iter, (void *)stream_self },
    { Py_tp_iternext, (void *)stream_next },
    { Py_tp_traverse, (void *)stream_traverse },
    { Py_tp_dealloc, (void *)stream_dealloc },
    { 0, NULL },
};

static PyType_Spec stream_spec = {
    .name = "meshmsg._fast.Stream",
    .basicsize = sizeof(stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = stream_slots,
};

/* stream(ready, refill) -> iterator: what is ready, else what refill() gives until it raises
 * StopIteration */
PyObject *
mmi_fast_stream(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !mmi_ready_is(args[0])) {
        return mmi_fast_arguments("(ready, refill)");
    }
    stream *s = (stream *)PyType_GenericNew(stream_type, NULL, NULL);
    if (s != NULL) {
        Py_INCREF(args[0]);
        Py_INCREF(args[1]);
        s->ready = args[0];
        s->refill = args[1];
    }
    return (PyObject *)s;
}

bool
mmi_fast_stream_init(void)
{
    stream_type = (PyTypeObject *)PyType_FromSpec(&stream_spec);
    return stream_type != NULL;
}
