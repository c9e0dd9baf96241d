/*
 * binding/stream.c: the iterator of a socket, or of a survey's answers: what is ready
 * (binding/ready.c), made as it is taken, so that a message costs a loop one native call and no
 * frame of Python.
 * Not here: receiving (binding/receive.c, binding/survey.c); where there is more to it, a Python
 * function is asked.
 * Law: it keeps no message of its own, so leaving a loop loses none, and several threads may share
 * one.
 */
#include "binding/ready.h"

typedef struct stream {
    PyObject_HEAD PyObject *ready, *refill;
    PyObject *owner;           /* the socket */
    PyObject *peers;           /* of a survey, a list: who gave each answer; else NULL */
    uint64_t survey;           /* its id */
    mmi_want want;
} stream;

static PyTypeObject *stream_type;

/* false: an error is set. */
static bool
stream_note(PyObject *peers, PyObject *message)
{
    static PyObject *name;
    if (name == NULL) {
        name = PyUnicode_InternFromString("peer");
    }
    PyObject *peer = name != NULL ? PyObject_GetAttr(message, name) : NULL;
    bool noted = peer != NULL && PyList_Append(peers, peer) == 0;
    Py_XDECREF(peer);
    return noted;
}

static PyObject *
stream_next(PyObject *self)
{
    const stream *s = (const stream *)self;
    mmi_ready *ready = (mmi_ready *)s->ready;
    PyObject *found = mmi_ready_next(ready);
    if (found == NULL && PyErr_Occurred() == NULL) {
        found = s->peers == NULL ? mmi_ready_await(ready, s->owner, &s->want)
                                 : mmi_ready_await_answer(ready, s->owner, &s->want, s->survey);
    }
    if (found != NULL && s->peers != NULL && !stream_note(s->peers, found)) {
        Py_CLEAR(found);
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
    Py_VISIT(s->peers);
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
    Py_XDECREF(s->peers);
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
    .name = "meshmsg._native.Stream",
    .basicsize = sizeof(stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = stream_slots,
};

static stream *
stream_new(PyObject *ready, PyObject *refill, PyObject *owner, PyObject *peers)
{
    stream *s = (stream *)PyType_GenericNew(stream_type, NULL, NULL);
    if (s != NULL) {
        Py_INCREF(ready);
        Py_INCREF(refill);
        Py_INCREF(owner);
        Py_XINCREF(peers);
        s->ready = ready;
        s->refill = refill;
        s->owner = owner;
        s->peers = peers;
    }
    return s;
}

/* stream(ready, refill, owner, handle, max_messages, max_bytes, timeout_ms, slice_ms) -> iterator:
 * what is ready, or comes (as ready.turn), else what refill() gives until it raises
 * StopIteration */
PyObject *
mmi_py_stream(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mmi_want want;
    if (count < 2 || !mmi_ready_is(args[0])) {
        return mmi_py_arguments("(ready, refill, and what ready.turn takes)");
    }
    if (!mmi_want_of(args + 2, count - 2, &want)) {
        return NULL;
    }
    stream *s = stream_new(args[0], args[1], args[2], NULL);
    if (s != NULL) {
        s->want = want;
    }
    return (PyObject *)s;
}

/* answers(ready, refill, owner, handle, id, slice_ms, peers: list) -> iterator: what is ready, or
 * comes (as ready.answer), whose peer is noted, else what refill() gives, which notes it itself,
 * until it raises StopIteration */
PyObject *
mmi_py_answers(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mmi_want want = { .timeout_ms = -1 };
    if (count != 7 || !mmi_ready_is(args[0]) || !PyList_Check(args[6])) {
        return mmi_py_arguments("(ready, refill, owner, handle, id, slice_ms, list)");
    }
    uint64_t id = PyLong_AsUnsignedLongLong(args[4]);
    want.slice_ms = PyLong_AsLongLong(args[5]);
    if (!mmi_py_handle(args[3], &want.handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    stream *s = stream_new(args[0], args[1], args[2], args[6]);
    if (s != NULL) {
        s->survey = id;
        s->want = want;
    }
    return (PyObject *)s;
}

bool
mmi_py_stream_init(void)
{
    stream_type = (PyTypeObject *)PyType_FromSpec(&stream_spec);
    return stream_type != NULL;
}
