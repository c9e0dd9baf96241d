/*
 * binding/async.c: sending, receiving and iterating in an event loop, once a message: coroutines
 * (binding/coroutine.c) that are over in one step if nothing has to be waited for.
 * Not here: waiting, letting others run, and what is not plain bytes (aio/_sending.py,
 * aio/_receiving.py).
 * Law: as in binding/module.c; a message is taken by the step that returns it.
 */
#include "binding/coroutine.h"
#include "binding/ready.h"

/* The iterator of a socket in a loop. */
typedef struct aiter {
    PyObject_HEAD PyObject *owner, *ready;
} aiter;

static PyTypeObject *aiter_type;

/* What goes on where the native way ends: coroutine functions of Python, given once. */
typedef enum async_rest { REST_SEND, REST_PUBLISH, REST_RECV, REST_NEXT, REST_COUNT } async_rest;

static const char *const async_names[] = {
    [REST_SEND] = "send", [REST_PUBLISH] = "publish", [REST_RECV] = "recv", [REST_NEXT] = "next"
};
static PyObject *async_rests[REST_COUNT];

/* Calls one with the owner and up to three arguments. */
static PyObject *
async_rest_of(const mmi_coroutine *c, async_rest which, PyObject *one, PyObject *two,
              PyObject *three)
{
    PyObject *rest = async_rests[which];
    if (rest == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "nobody said how an awaited %s goes on",
                            async_names[which]);
    }
    return PyObject_CallFunctionObjArgs(rest, c->owner, one, two, three, NULL);
}

/* async_rests(table: dict): what goes on where the native way ends, each a coroutine function of
 * the socket and: send(data, timeout), publish(data, timeout, topic), recv(timeout), next() */
PyObject *
mmi_py_async_rests(PyObject *self, PyObject *table)
{
    (void)self;
    PyObject *found[REST_COUNT];
    if (!PyDict_Check(table) || PyDict_Size(table) != REST_COUNT) {
        return PyErr_Format(PyExc_TypeError,
                            "%R is no table of send, publish, recv and next, and no others", table);
    }
    for (int i = 0; i < REST_COUNT; i++) {
        found[i] = PyDict_GetItemString(table, async_names[i]); /* borrowed */
        if (found[i] == NULL || !PyCallable_Check(found[i])) {
            return PyErr_Format(PyExc_TypeError, "the table has no function for %s: %R",
                                async_names[i], table);
        }
    }
    for (int i = 0; i < REST_COUNT; i++) {
        PyObject *before = async_rests[i];
        Py_INCREF(found[i]);
        async_rests[i] = found[i];
        Py_XDECREF(before);
    }
    return mmi_py_none();
}

static PyObject *
async_send(const mmi_coroutine *c)
{
    mm_body frames[MM_PARTS_MAX];
    uint32_t count =
        mmi_py_async_count(1) ? 0 : mmi_py_frames_of(c->what, c->timeout, c->topic, frames);
    bool sent = count > 0 && mmi_py_send_parts(c->handle, frames, count) == MM_OK;
    return sent ? mmi_py_none() : NULL;
}

static PyObject *
async_send_rest(const mmi_coroutine *c)
{
    return c->topic != NULL ? async_rest_of(c, REST_PUBLISH, c->what, c->timeout, c->topic)
                            : async_rest_of(c, REST_SEND, c->what, c->timeout, NULL);
}

static PyObject *
async_take(const mmi_coroutine *c)
{
    return mmi_ready_quick((mmi_ready *)c->what);
}

static PyObject *
async_recv_rest(const mmi_coroutine *c)
{
    return async_rest_of(c, REST_RECV, c->timeout, NULL, NULL);
}

static PyObject *
async_next_rest(const mmi_coroutine *c)
{
    return async_rest_of(c, REST_NEXT, NULL, NULL, NULL);
}

static const mmi_coroutine_kind ASYNC_SEND = { .name = "send",
                                               .begin = async_send,
                                               .rest = async_send_rest },
                                ASYNC_RECV = { .name = "recv",
                                               .begin = async_take,
                                               .rest = async_recv_rest },
                                ASYNC_NEXT = { .name = "__anext__",
                                               .begin = async_take,
                                               .rest = async_next_rest,
                                               .awaited_again = true };

static PyObject *
aiter_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyObject *
aiter_next(PyObject *self)
{
    const aiter *c = (const aiter *)self;
    return (PyObject *)mmi_coroutine_new(&ASYNC_NEXT, c->owner, c->ready, Py_None);
}

static int
aiter_traverse(PyObject *self, visitproc visit, void *arg)
{
    const aiter *c = (const aiter *)self;
    Py_VISIT(c->owner);
    Py_VISIT(c->ready);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
aiter_dealloc(PyObject *self)
{
    aiter *c = (aiter *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(c->owner);
    Py_XDECREF(c->ready);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot aiter_slots[] = {
    { Py_am_aiter, (void *)aiter_self },
    { Py_am_anext, (void *)aiter_next },
    { Py_tp_traverse, (void *)aiter_traverse },
    { Py_tp_dealloc, (void *)aiter_dealloc },
    { 0, NULL },
};

static PyType_Spec aiter_spec = {
    .name = "meshmsg._native.AsyncIterator",
    .basicsize = sizeof(aiter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = aiter_slots,
};

PyObject *
mmi_py_send_async(PyObject *owner, mm_handle handle, PyObject *data, PyObject *timeout,
                  PyObject *topic)
{
    mmi_coroutine *made = mmi_coroutine_new(&ASYNC_SEND, owner, data, timeout);
    if (made != NULL) {
        Py_XINCREF(topic);
        made->topic = topic;
        made->handle = handle;
    }
    return (PyObject *)made;
}

PyObject *
mmi_py_recv_async(PyObject *owner, PyObject *ready, PyObject *timeout)
{
    return (PyObject *)mmi_coroutine_new(&ASYNC_RECV, owner, ready, timeout);
}

/* aiter(owner, ready) -> asynchronous iterator: what is ready, else as the table's next(owner) */
PyObject *
mmi_py_aiter(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !mmi_ready_is(args[1])) {
        return mmi_py_arguments("(owner, ready)");
    }
    aiter *c = (aiter *)PyType_GenericNew(aiter_type, NULL, NULL);
    if (c != NULL) {
        Py_INCREF(args[0]);
        Py_INCREF(args[1]);
        c->owner = args[0];
        c->ready = args[1];
    }
    return (PyObject *)c;
}

bool
mmi_py_async_init(void)
{
    aiter_type = (PyTypeObject *)PyType_FromSpec(&aiter_spec);
    return aiter_type != NULL;
}
