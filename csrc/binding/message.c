/*
 * binding/message.c: messages: their classes, and making them.
 *
 * Not here: from which batch (binding/run.c), what one of several frames has (binding/form.c), and
 * what else a message can have (_binding/message.py).
 * Law: what is laid out here by hand was compared with what Python makes itself (check).
 */
#include "binding/binding.h"

#include <string.h>

/* Whether memory of a bytes object may be filled in place; else each goes by way of a call. */
static bool message_in_place;

/* data may be NULL when there is nothing. */
static void
message_copy(char *to, const uint8_t *data, Py_ssize_t size)
{
    if (size > 0) {
        memcpy(to, data, (size_t)size);
    }
}

PyObject *
mmi_py_make(PyTypeObject *type, const uint8_t *data, Py_ssize_t size)
{
    if (message_in_place) {
        allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
        PyObject *made = alloc(type, size);
        if (made != NULL) {
            char *to = PyBytes_AsString(made);
            message_copy(to, data, size);
            ((Py_hash_t *)(void *)to)[-1] = -1;   /* not computed yet; see mmi_py_check */
        }
        return made;
    }
    PyObject *body = PyBytes_FromStringAndSize((const char *)data, size);
    PyObject *made = NULL;
    if (body != NULL) {
        made = PyObject_CallFunctionObjArgs((PyObject *)type, body, NULL);
    }
    Py_XDECREF(body);
    return made;
}

bool
mmi_py_is_plain(PyTypeObject *type)
{
    return message_in_place && (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) == 0;
}

PyObject *
mmi_py_plain(PyTypeObject *type, const uint8_t *data, Py_ssize_t size)
{
    if (!message_in_place) {
        return mmi_py_make(type, data, size);
    }
    bool collected = (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) != 0;
    PyVarObject *made = collected ? PyObject_GC_NewVar(PyVarObject, type, size)
                                  : PyObject_NewVar(PyVarObject, type, size);
    if (made != NULL) {
        char *to = PyBytes_AsString((PyObject *)made);
        message_copy(to, data, size);
        to[size] = '\0';
        ((Py_hash_t *)(void *)to)[-1] = -1;   /* not computed yet; see mmi_py_check */
    }
    return (PyObject *)made;
}

/* A message is nothing but its bytes: no finalizer, no dictionary, in no cycle. */
static void
message_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Is never called: a class without it would be looked at by the garbage collector, as its base is,
 * which costs each message a header and a count. */
static int
message_traverse(PyObject *self, visitproc visit, void *arg)
{
    (void)self;
    (void)visit;
    (void)arg;
    return 0;
}

/* message_class(base, peer) -> a subclass of base, which is one of bytes, whose peer is that. */
PyObject *
mmi_py_class(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    static PyType_Slot slots[] = {
        { Py_tp_dealloc, (void *)message_dealloc },
        { Py_tp_traverse, (void *)message_traverse },
        { Py_tp_free, (void *)PyObject_Free },
        { 0, NULL },
    };
    static PyType_Spec spec = { .name = "meshmsg.Message",
                                .flags = Py_TPFLAGS_DEFAULT,
                                .slots = slots };
    if (count != 2 || !PyType_Check(args[0]) || !PyLong_Check(args[1])) {
        return mmi_py_arguments("(class of bytes, peer)");
    }
    PyObject *bases = PyTuple_Pack(1, args[0]);
    PyObject *made = bases != NULL ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    Py_XDECREF(bases);
    if (made != NULL && PyObject_SetAttrString(made, "peer", args[1]) != 0) {
        Py_CLEAR(made);
    }
    return made;
}

static bool
message_is_like(PyObject *made, PyObject *sample)
{
    return made != NULL && PyObject_RichCompareBool(made, sample, Py_EQ) == 1 &&
           PyObject_Hash(made) == PyObject_Hash(sample) &&
           PyBytes_Size(made) == PyBytes_Size(sample) &&
           PyBytes_AsString(made)[PyBytes_Size(sample)] == '\0';
}

/* check(type, sample: bytes) -> bool: filling in place gives what calling the type gives. */
PyObject *
mmi_py_check(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    char *body;
    Py_ssize_t size;
    if (count != 2 || !PyType_Check(args[0]) ||
        PyBytes_AsStringAndSize(args[1], &body, &size) != 0) {
        return mmi_py_arguments("(type, sample)");
    }
    PyTypeObject *type = (PyTypeObject *)args[0];
    message_in_place = true;
    PyObject *made[] = { mmi_py_make(type, (const uint8_t *)body, size),
                         mmi_py_plain(type, (const uint8_t *)body, size) };
    for (int i = 0; i < 2; i++) {
        message_in_place = message_in_place && message_is_like(made[i], args[1]);
        Py_XDECREF(made[i]);
    }
    PyErr_Clear();
    return PyBool_FromLong(message_in_place);
}
