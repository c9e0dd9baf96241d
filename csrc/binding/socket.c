/*
 * binding/socket.c: what a socket is to native calls, its handle and what it has received; and its
 * send(), and in an event loop its recv(), as native methods; and append() of a spool.
 *
 * A function of Python costs a message of 64 bytes more than the core does.  So a method stands
 * over it that does at once what is plain, and leaves the rest to the function: what is not bytes,
 * other arguments, no room, errors (ADR 39).
 * Law: as in binding/module.c; to all but the interpreter the method is the function: its names,
 * text, source, class, attributes.
 */
#include "binding/ready.h"

#include <structmember.h>

enum {
    SOCKET_CALLS_MAX = 256 /* until the function gets its turn, and with it signals and threads */
};

typedef struct native_socket {
    PyObject_HEAD unsigned long long handle;
    PyObject *ready;  /* what it has received; NULL: not opened yet, or it receives nothing */
    PyObject *spool;  /* what is sent is put there, by append; NULL: it has none */
    long long spool_max; /* octets of a message that it may send so; below 0: none */
} native_socket;

typedef enum method_kind {
    METHOD_SEND,       /* send(data, timeout=) */
    METHOD_SEND_ASYNC, /* the same, awaited: a coroutine sends */
    METHOD_RECV_ASYNC, /* recv(timeout=), awaited */
    METHOD_APPEND      /* append(data, wait=), of a spool */
} method_kind;

typedef struct native_method {
    PyObject_HEAD PyObject *function; /* does the same, in Python */
    PyObject *wrong; /* says so of arguments that it does not take */
    PyObject *weak; /* references to it */
    PyObject *names; /* a tuple of those that its function takes by name, or NULL */
    bool topics; /* it takes one */
    method_kind kind;
} native_method;

static PyTypeObject *socket_type, *method_type;
static PyObject *method_class; /* types.MethodType */
static PyObject *name_data, *name_timeout, *name_topic, *name_wait;

/* What send(socket, data, timeout=, topic=) was given, borrowed; a topic may be NULL. */
typedef struct method_given {
    PyObject *socket, *data, *timeout, *topic;
} method_given;

/* false: these are arguments for the function. */
static bool
method_read(const native_method *m, PyObject *args, PyObject *named, method_given *given)
{
    if (PyTuple_Size(args) != 2 || !PyObject_TypeCheck(PyTuple_GetItem(args, 0), socket_type)) {
        return false;
    }
    *given = (method_given){ PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), Py_None, NULL };
    if (named == NULL || PyDict_Size(named) == 0) {
        return true;
    }
    PyObject *timeout = PyDict_GetItemWithError(named, name_timeout);
    given->timeout = timeout != NULL ? timeout : Py_None;
    given->topic = m->topics ? PyDict_GetItemWithError(named, name_topic) : NULL;
    PyErr_Clear(); /* of a name that cannot be compared: the function will tell */
    return PyDict_Size(named) == (timeout != NULL) + (given->topic != NULL);
}

/* What the native way leaves. */
static PyObject *
method_call_function(const native_method *m, PyObject *args, PyObject *named)
{
    Py_ssize_t placed = PyTuple_Size(args), known = 0;
    Py_ssize_t count = named != NULL ? PyDict_Size(named) : 0;
    if (count > 0) {
        known += placed < 2 && PyDict_GetItemWithError(named, name_data) != NULL;
        for (Py_ssize_t i = 0; m->names != NULL && i < PyTuple_Size(m->names); i++) {
            known += PyDict_GetItemWithError(named, PyTuple_GetItem(m->names, i)) != NULL;
        }
        PyErr_Clear();
    }
    bool wrong = placed > 2 || count > known;
    return PyObject_Call(wrong ? m->wrong : m->function, args, named);
}

static PyObject *
method_call_send_async(const native_method *m, PyObject *args, PyObject *named)
{
    method_given given;
    if (!method_read(m, args, named, &given)) {
        return method_call_function(m, args, named);
    }
    return mmi_py_send_async(given.socket, ((const native_socket *)given.socket)->handle,
                             given.data, given.timeout, given.topic);
}

/* Through a spool: 1, it is put, and kept; 0: it is for the function; -1: an error is set. */
static int
method_put(const native_socket *s, const method_given *given, const mm_body *body)
{
    uint32_t peers;
    if (given->timeout != Py_None || (long long)body->size > s->spool_max ||
        mm_peer_count(s->handle, &peers) < 0) {
        return 0;
    }
    PyObject *number = mmi_py_append(s->spool, given->data, Py_True);
    if (number == NULL) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    Py_DECREF(number);
    return 1;
}

static PyObject *
method_call_send(const native_method *m, PyObject *args, PyObject *named)
{
    static _Thread_local unsigned calls;
    mm_body frames[MM_PARTS_MAX];
    method_given given;
    bool turn = ++calls % SOCKET_CALLS_MAX == 0;
    bool plain = !turn && method_read(m, args, named, &given);
    uint32_t count = plain ? mmi_py_frames_of(given.data, given.timeout, given.topic, frames) : 0;
    if (count > 0) {
        const native_socket *s = (const native_socket *)given.socket;
        int put = s->spool != NULL && count == 1 ? method_put(s, &given, &frames[0]) : 0;
        if (put == -1) {
            return NULL;
        }
        if (put == 1 ||
            (s->spool == NULL && mmi_py_send_parts(s->handle, frames, count) == MM_OK)) {
            return mmi_py_none();
        }
    }
    return method_call_function(m, args, named);
}

static PyObject *
method_call_recv_async(const native_method *m, PyObject *args, PyObject *named)
{
    PyObject *socket = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *timeout = Py_None;
    if (named != NULL && PyDict_Size(named) > 0) {
        PyObject *given = PyDict_GetItemWithError(named, name_timeout);
        timeout = PyDict_Size(named) == 1 ? given : NULL;
        PyErr_Clear(); /* of a name that cannot be compared: the function will tell */
    }
    if (socket != NULL && timeout != NULL && PyObject_TypeCheck(socket, socket_type)) {
        PyObject *ready = ((const native_socket *)socket)->ready;
        if (ready != NULL && mmi_ready_is(ready)) {
            return mmi_py_recv_async(socket, ready, timeout);
        }
    }
    return PyObject_Call(m->function, args, named);
}

static PyObject *
method_call_append(const native_method *m, PyObject *args, PyObject *named)
{
    static _Thread_local unsigned calls;
    PyObject *wait = Py_True;
    if (named != NULL && PyDict_Size(named) > 0) {
        PyObject *given = PyDict_GetItemWithError(named, name_wait);
        wait = PyDict_Size(named) == 1 ? given : NULL;
        PyErr_Clear(); /* of a name that cannot be compared: the function will tell */
    }
    if (++calls % SOCKET_CALLS_MAX != 0 && wait != NULL && PyTuple_Size(args) == 2) {
        PyObject *done = mmi_py_append(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), wait);
        if (done != NULL || PyErr_Occurred() != NULL) {
            return done;
        }
    }
    return PyObject_Call(m->function, args, named);
}

static PyObject *
method_call(PyObject *self, PyObject *args, PyObject *named)
{
    const native_method *m = (const native_method *)self;
    switch (m->kind) {
    case METHOD_SEND_ASYNC: return method_call_send_async(m, args, named);
    case METHOD_RECV_ASYNC: return method_call_recv_async(m, args, named);
    case METHOD_APPEND: return method_call_append(m, args, named);
    default: return method_call_send(m, args, named);
    }
}

static PyObject *
method_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object != NULL && object != Py_None) {
        return PyObject_CallFunctionObjArgs(method_class, self, object, NULL);
    }
    Py_INCREF(self);
    return self;
}

static PyObject *
method_attribute(PyObject *self, PyObject *name)
{
    PyObject *function = ((native_method *)self)->function;
    if (PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0) {
        return PyObject_GenericGetAttr(self, name);
    }
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        Py_INCREF(function);
        return function;
    }
    return PyObject_GetAttr(function, name);
}

static int
method_assign(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((native_method *)self)->function, name, value);
}

/* pydoc asks for it past method_attribute. */
static PyObject *
method_text(PyObject *self, void *arg)
{
    (void)arg;
    return PyObject_GetAttrString(((native_method *)self)->function, "__doc__");
}

/* Pickled and copied by its name, as a function is. */
static PyObject *
method_reduce(PyObject *self, PyObject *arg)
{
    (void)arg;
    return PyObject_GetAttrString(((native_method *)self)->function, "__qualname__");
}

static PyObject *
method_repr(PyObject *self)
{
    return PyObject_Repr(((native_method *)self)->function);
}

static int
method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((native_method *)self)->function);
    Py_VISIT(((native_method *)self)->wrong);
    Py_VISIT(((native_method *)self)->names);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
method_clear(PyObject *self)
{
    Py_CLEAR(((native_method *)self)->function);
    Py_CLEAR(((native_method *)self)->wrong);
    Py_CLEAR(((native_method *)self)->names);
    return 0;
}

static void
method_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyObject_ClearWeakRefs(self);
    (void)method_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef socket_members[] = {
    { "_handle", T_ULONGLONG, offsetof(native_socket, handle), 0, NULL },
    { "_ready", T_OBJECT_EX, offsetof(native_socket, ready), 0, NULL },
    { "_puts_into", T_OBJECT, offsetof(native_socket, spool), 0, NULL },
    { "_puts_max", T_LONGLONG, offsetof(native_socket, spool_max), 0, NULL },
    { NULL, 0, 0, 0, NULL },
};

static int
socket_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((const native_socket *)self)->ready);
    Py_VISIT(((const native_socket *)self)->spool);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
socket_clear(PyObject *self)
{
    Py_CLEAR(((native_socket *)self)->ready);
    Py_CLEAR(((native_socket *)self)->spool);
    return 0;
}

static void
socket_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)socket_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot socket_slots[] = {
    { Py_tp_members, socket_members },
    { Py_tp_traverse, (void *)socket_traverse },
    { Py_tp_clear, (void *)socket_clear },
    { Py_tp_dealloc, (void *)socket_dealloc },
    { 0, NULL },
};

static PyType_Spec socket_spec = {
    .name = "meshmsg._native.Socket",
    .basicsize = sizeof(native_socket),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = socket_slots,
};

static PyMemberDef method_members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(native_method, weak), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef method_getters[] = {
    { "__doc__", method_text, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef method_methods[] = {
    { "__reduce__", method_reduce, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot method_slots[] = {
    { Py_tp_members, method_members },           { Py_tp_getset, method_getters },
    { Py_tp_methods, method_methods },           { Py_tp_setattro, (void *)method_assign },
    { Py_tp_call, (void *)method_call },         { Py_tp_descr_get, (void *)method_get },
    { Py_tp_repr, (void *)method_repr },         { Py_tp_getattro, (void *)method_attribute },
    { Py_tp_traverse, (void *)method_traverse }, { Py_tp_clear, (void *)method_clear },
    { Py_tp_dealloc, (void *)method_dealloc },   { 0, NULL },
};

/* A method descriptor: a call of it through a socket makes no bound one first. */
static PyType_Spec method_spec = {
    .name = "meshmsg._native.Method",
    .basicsize = sizeof(native_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

static PyObject *
method_new(PyObject *function, PyObject *wrong, PyObject *names, method_kind kind)
{
    native_method *m = (native_method *)PyType_GenericNew(method_type, NULL, NULL);
    if (m != NULL) {
        Py_INCREF(function);
        Py_XINCREF(wrong);
        Py_XINCREF(names);
        m->function = function;
        m->wrong = wrong;
        m->names = names;
        m->topics = names != NULL && PySequence_Contains(names, name_topic) == 1;
        m->kind = kind;
    }
    return (PyObject *)m;
}

/* send_method(function, names, awaited, wrong) -> method: what a class has instead of a function
 * as send(self, data, *, timeout=None) and with what else names has, a tuple; awaited: a coroutine
 * function; wrong: called instead, to raise, with what such a function does not take */
PyObject *
mmi_py_send_method(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyCallable_Check(args[0]) || !PyTuple_Check(args[1]) ||
        !PyCallable_Check(args[3])) {
        return mmi_py_arguments("(function, names, awaited, wrong)");
    }
    method_kind kind = args[2] == Py_True ? METHOD_SEND_ASYNC : METHOD_SEND;
    return method_new(args[0], args[3], args[1], kind);
}

/* recv_method(function) -> method: what a class has instead of a coroutine function as
 * recv(self, *, timeout=None) */
PyObject *
mmi_py_recv_method(PyObject *self, PyObject *function)
{
    (void)self;
    return PyCallable_Check(function) ? method_new(function, NULL, NULL, METHOD_RECV_ASYNC)
                                      : mmi_py_arguments("(function)");
}

/* append_method(function, kept, left) -> method: what a spool has instead of a function as
 * append(self, data, *, wait=True) and with whatever else by name.  kept(spool, number) goes on for
 * what was put, and is not kept yet (0: it was dropped), and returns what append does.
 * left(inside): no native call is in that spool any more, and somebody closes it. */
PyObject *
mmi_py_append_method(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 3 || !PyCallable_Check(args[0]) || !PyCallable_Check(args[1]) ||
        !PyCallable_Check(args[2])) {
        return mmi_py_arguments("(function, kept, left)");
    }
    mmi_py_append_rest(args[1], args[2]);
    return method_new(args[0], NULL, NULL, METHOD_APPEND);
}

bool
mmi_py_socket_init(PyObject *module)
{
    PyObject *types = PyImport_ImportModule("types");
    method_class = types != NULL ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    socket_type = (PyTypeObject *)PyType_FromSpec(&socket_spec);
    method_type = (PyTypeObject *)PyType_FromSpec(&method_spec);
    name_data = PyUnicode_InternFromString("data");
    name_timeout = PyUnicode_InternFromString("timeout");
    name_topic = PyUnicode_InternFromString("topic");
    name_wait = PyUnicode_InternFromString("wait");
    return name_wait != NULL && name_data != NULL && name_timeout != NULL && name_topic != NULL &&
           method_class != NULL && socket_type != NULL && method_type != NULL &&
           PyModule_AddObjectRef(module, "Socket", (PyObject *)socket_type) == 0;
}
