/*
 * binding/socket.c: what a socket is to native calls, its handle; and its send() as a native
 * method.
 *
 * A function of Python costs a message of 64 bytes more than the core does.  So one stands in its
 * place that sends plain bytes at once, and leaves the rest to the function: what is not bytes,
 * other arguments, no room, errors (docs/adr: native calls).
 * Law: as in binding/module.c; to all but the interpreter the method is the function: its names,
 * text, source, class, attributes.
 */
#include "binding/binding.h"

#include <structmember.h>

enum {
    SOCKET_CALLS_MAX = 256   /* until the function gets its turn, and with it signals and threads */
};

typedef struct fast_socket {
    PyObject_HEAD
    unsigned long long handle;
} fast_socket;

typedef struct fast_method {
    PyObject_HEAD
    PyObject *function;   /* does the same, in Python */
    PyObject *wrong;      /* says so of arguments that it does not take */
    PyObject *weak;       /* references to it */
    bool topics;          /* it takes one */
    bool soon;            /* it is awaited: a coroutine sends */
} fast_method;

static PyTypeObject *socket_type, *method_type;
static PyObject *method_class;   /* types.MethodType */
static PyObject *name_data, *name_timeout, *name_topic;

/* What send(socket, data, timeout=, topic=) was given, borrowed; a topic may be NULL. */
typedef struct method_given {
    PyObject *socket, *data, *timeout, *topic;
} method_given;

/* false: these are arguments for the function. */
static bool
method_read(const fast_method *m, PyObject *args, PyObject *named, method_given *given)
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
    PyErr_Clear();   /* of a name that cannot be compared: the function will tell */
    return PyDict_Size(named) == (timeout != NULL) + (given->topic != NULL);
}

/* What the native way leaves. */
static PyObject *
method_call_function(const fast_method *m, PyObject *args, PyObject *named)
{
    Py_ssize_t placed = PyTuple_Size(args), known = 0;
    Py_ssize_t count = named != NULL ? PyDict_Size(named) : 0;
    if (count > 0) {
        known += placed < 2 && PyDict_GetItemWithError(named, name_data) != NULL;
        known += PyDict_GetItemWithError(named, name_timeout) != NULL;
        known += m->topics && PyDict_GetItemWithError(named, name_topic) != NULL;
        PyErr_Clear();
    }
    bool wrong = placed > 2 || count > known;
    return PyObject_Call(wrong ? m->wrong : m->function, args, named);
}

static PyObject *
method_call_soon(const fast_method *m, PyObject *args, PyObject *named)
{
    method_given given;
    if (!method_read(m, args, named, &given)) {
        return method_call_function(m, args, named);
    }
    return mmi_fast_send_soon(given.socket, ((const fast_socket *)given.socket)->handle, given.data,
                              given.timeout, given.topic);
}

static PyObject *
method_call_now(const fast_method *m, PyObject *args, PyObject *named)
{
    static _Thread_local unsigned calls;
    mm_body frames[MM_PARTS_MAX];
    method_given given;
    bool turn = ++calls % SOCKET_CALLS_MAX == 0;
    bool plain = !turn && method_read(m, args, named, &given);
    uint32_t count = plain ? mmi_fast_frames_of(given.data, given.timeout, given.topic, frames) : 0;
    if (count > 0) {
        const fast_socket *s = (const fast_socket *)given.socket;
        if (mmi_fast_send_parts(s->handle, frames, count) == MM_OK) {
            return mmi_fast_none();
        }
    }
    return method_call_function(m, args, named);
}

static PyObject *
method_call(PyObject *self, PyObject *args, PyObject *named)
{
    const fast_method *m = (const fast_method *)self;
    return m->soon ? method_call_soon(m, args, named) : method_call_now(m, args, named);
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
    PyObject *function = ((fast_method *)self)->function;
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
    return PyObject_SetAttr(((fast_method *)self)->function, name, value);
}

/* pydoc asks for it past method_attribute. */
static PyObject *
method_text(PyObject *self, void *arg)
{
    (void)arg;
    return PyObject_GetAttrString(((fast_method *)self)->function, "__doc__");
}

/* Pickled and copied by its name, as a function is. */
static PyObject *
method_reduce(PyObject *self, PyObject *arg)
{
    (void)arg;
    return PyObject_GetAttrString(((fast_method *)self)->function, "__qualname__");
}

static PyObject *
method_repr(PyObject *self)
{
    return PyObject_Repr(((fast_method *)self)->function);
}

static int
method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((fast_method *)self)->function);
    Py_VISIT(((fast_method *)self)->wrong);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
method_clear(PyObject *self)
{
    Py_CLEAR(((fast_method *)self)->function);
    Py_CLEAR(((fast_method *)self)->wrong);
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
    { "_handle", T_ULONGLONG, offsetof(fast_socket, handle), 0, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot socket_slots[] = {
    { Py_tp_members, socket_members },
    { 0, NULL },
};

static PyType_Spec socket_spec = {
    .name = "meshmsg._fast.Socket",
    .basicsize = sizeof(fast_socket),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = socket_slots,
};

static PyMemberDef method_members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(fast_method, weak), READONLY, NULL },
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
    { Py_tp_members, method_members },
    { Py_tp_getset, method_getters },
    { Py_tp_methods, method_methods },
    { Py_tp_setattro, (void *)method_assign },
    { Py_tp_call, (void *)method_call },
    { Py_tp_descr_get, (void *)method_get },
    { Py_tp_repr, (void *)method_repr },
    { Py_tp_getattro, (void *)method_attribute },
    { Py_tp_traverse, (void *)method_traverse },
    { Py_tp_clear, (void *)method_clear },
    { Py_tp_dealloc, (void *)method_dealloc },
    { 0, NULL },
};

/* A method descriptor: a call of it through a socket makes no bound one first. */
static PyType_Spec method_spec = {
    .name = "meshmsg._fast.SendMethod",
    .basicsize = sizeof(fast_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

/* send_method(function, topics, soon, wrong) -> method: what a class has instead of a function as
 * send(self, data, *, timeout=None), and topic=, if it takes topics; soon: a coroutine function;
 * wrong: called instead, to raise, with what such a function does not take */
PyObject *
mmi_fast_send_method(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyCallable_Check(args[0]) || !PyCallable_Check(args[3])) {
        return mmi_fast_arguments("(function, topics, soon, wrong)");
    }
    fast_method *m = (fast_method *)PyType_GenericNew(method_type, NULL, NULL);
    if (m != NULL) {
        Py_INCREF(args[0]);
        m->function = args[0];
        Py_INCREF(args[3]);
        m->wrong = args[3];
        m->topics = args[1] == Py_True;
        m->soon = args[2] == Py_True;
    }
    return (PyObject *)m;
}

bool
mmi_fast_socket_init(PyObject *module)
{
    PyObject *types = PyImport_ImportModule("types");
    method_class = types != NULL ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    socket_type = (PyTypeObject *)PyType_FromSpec(&socket_spec);
    method_type = (PyTypeObject *)PyType_FromSpec(&method_spec);
    name_data = PyUnicode_InternFromString("data");
    name_timeout = PyUnicode_InternFromString("timeout");
    name_topic = PyUnicode_InternFromString("topic");
    return name_data != NULL && name_timeout != NULL && name_topic != NULL &&
           method_class != NULL && socket_type != NULL && method_type != NULL &&
           PyModule_AddObjectRef(module, "Socket", (PyObject *)socket_type) == 0;
}
