/*
 * fast_stream.c: the iterator of a socket: what is ready (fast_ready.c), made as it is taken, so
 * that a message costs a loop one native call and no frame of Python.
 * Not here: receiving (fast_receive.c); where there is more to it, a Python function is asked.
 * Law: it keeps no message of its own, so leaving a loop loses none, and several threads may share
 * one.
 */
#include "python/fast_ready.h"

typedef struct stream {
    PyObject_HEAD
    PyObject *ready, *refill, *owner;
    mmi_want want;
} stream;

static PyTypeObject *stream_type;

static PyObject *
stream_next(PyObject *self)
{
    const stream *s = (const stream *)self;
    mmi_ready *ready = (mmi_ready *)s->ready;
    PyObject *found = mmi_ready_next(ready);
    if (found == NULL && PyErr_Occurred() == NULL) {
        found = mmi_ready_await(ready, s->owner, &s->want);
    }
    return found != NULL || PyErr_Occurred() != NULL ? found : PyObject_CallObject(s->refill, NULL);
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
    Py_VISIT(s->owner);
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
    Py_XDECREF(s->owner);
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

/* stream(ready, refill, owner, handle, max_messages, max_bytes, timeout_ms, slice_ms) -> iterator:
 * what is ready, or comes (as ready.turn), else what refill() gives until it raises
 * StopIteration */
PyObject *
mmi_fast_stream(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mmi_want want;
    if (count < 2 || !mmi_ready_is(args[0])) {
        return mmi_fast_arguments("(ready, refill, and what ready.turn takes)");
    }
    if (!mmi_want_of(args + 2, count - 2, &want)) {
        return NULL;
    }
    stream *s = (stream *)PyType_GenericNew(stream_type, NULL, NULL);
    if (s != NULL) {
        Py_INCREF(args[0]);
        Py_INCREF(args[1]);
        Py_INCREF(args[2]);
        s->ready = args[0];
        s->refill = args[1];
        s->owner = args[2];
        s->want = want;
    }
    return (PyObject *)s;
}

bool
mmi_fast_stream_init(void)
{
    stream_type = (PyTypeObject *)PyType_FromSpec(&stream_spec);
    return stream_type != NULL;
}
