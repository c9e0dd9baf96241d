/*
 * binding/coroutine.c: a coroutine without a frame (binding/coroutine.h): what makes it one to
 * Python.
 * Not here: what each begins with (binding/async.c).
 * Law: as Python's own in what it refuses and raises.
 */
#include "binding/coroutine.h"

static mmi_coroutine *coroutine_spare;   /* freed, for the next */
static PyTypeObject *coroutine_type;

mmi_coroutine *
mmi_coroutine_new(const mmi_coroutine_kind *kind, PyObject *owner, PyObject *what,
                  PyObject *timeout)
{
    mmi_coroutine *c = coroutine_spare;
    if (c != NULL) {
        coroutine_spare = NULL;
        PyObject_Init((PyObject *)c, coroutine_type);
    } else if ((c = PyObject_GC_New(mmi_coroutine, coroutine_type)) == NULL) {
        return NULL;
    }
    Py_INCREF(owner);
    Py_INCREF(what);
    Py_INCREF(timeout);
    c->kind = kind;
    c->owner = owner;
    c->what = what;
    c->timeout = timeout;
    c->topic = NULL;
    c->rest = NULL;
    c->handle = 0;
    c->state = MMI_COROUTINE_NEW;
    c->asked = false;
    PyObject_GC_Track(c);
    return c;
}

/* false: it cannot be gone on with, as the error says. */
static bool
coroutine_enter(mmi_coroutine *c)
{
    if (c->state == MMI_COROUTINE_RUNS) {
        PyErr_SetString(PyExc_ValueError, "coroutine already executing");
    } else if (c->state == MMI_COROUTINE_OVER) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
    } else {
        c->state = MMI_COROUTINE_RUNS;
        return true;
    }
    return false;
}

/* It is over, or waits. */
static void
coroutine_leave(mmi_coroutine *c, bool waits)
{
    PyObject *rest = waits ? NULL : c->rest;
    c->rest = waits ? c->rest : NULL;
    c->state = waits ? MMI_COROUTINE_WAITS : MMI_COROUTINE_OVER;
    Py_XDECREF(rest);
}

static PySendResult
coroutine_step(PyObject *self, PyObject *value, PyObject **result)
{
    mmi_coroutine *c = (mmi_coroutine *)self;
    *result = NULL;
    if (c->state == MMI_COROUTINE_NEW && value != Py_None) {
        PyErr_SetString(PyExc_TypeError, "can't send non-None value to a just-started coroutine");
        return PYGEN_ERROR;
    }
    bool begins = c->state == MMI_COROUTINE_NEW;
    if (!coroutine_enter(c)) {
        return PYGEN_ERROR;
    }
    *result = begins ? c->kind->begin(c) : NULL;
    PySendResult came = *result != NULL ? PYGEN_RETURN : PYGEN_ERROR;
    if (begins && *result == NULL && PyErr_Occurred() == NULL) {
        c->rest = c->kind->rest(c);
    }
    if (c->rest != NULL) {
        came = PyIter_Send(c->rest, value, result);
    }
    coroutine_leave(c, came == PYGEN_NEXT);
    return came;
}

/* As Python's methods say it: what it returned, which is no tuple, as a StopIteration. */
static PyObject *
coroutine_tell(PySendResult came, PyObject *result)
{
    if (came == PYGEN_RETURN) {
        PyErr_SetObject(PyExc_StopIteration, result);
        Py_DECREF(result);
    }
    return came == PYGEN_NEXT ? result : NULL;
}

/* send(value) */
static PyObject *
coroutine_send_value(PyObject *self, PyObject *value)
{
    PyObject *result;
    PySendResult came = coroutine_step(self, value, &result);
    return coroutine_tell(came, result);
}

/* Where interpreters go on with it by this, nothing returned needs no StopIteration. */
static PyObject *
coroutine_iternext(PyObject *self)
{
    PyObject *result;
    PySendResult came = coroutine_step(self, Py_None, &result);
    if (came == PYGEN_RETURN && result == Py_None) {
        Py_DECREF(result);
        return NULL;
    }
    return coroutine_tell(came, result);
}

static PyObject *
coroutine_await(PyObject *self)
{
    mmi_coroutine *c = (mmi_coroutine *)self;
    if (c->state == MMI_COROUTINE_RUNS ||
        (c->state == MMI_COROUTINE_WAITS && !c->kind->awaited_again)) {
        PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
        return NULL;
    }
    c->asked = true;
    Py_INCREF(self);
    return self;
}

/* What is awaited has to be an iterator; who only forgot to is not to iterate over it. */
static PyObject *
coroutine_iter(PyObject *self)
{
    const mmi_coroutine *c = (const mmi_coroutine *)self;
    if (!c->asked && c->state == MMI_COROUTINE_NEW) {
        PyErr_SetString(PyExc_TypeError, "'coroutine' object is not iterable");
        return NULL;
    }
    Py_INCREF(self);
    return self;
}

/* What was thrown in was none, so it has not begun: it is not to warn of that. */
static void
coroutine_forget(PyObject *rest)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(PyObject_CallMethod(rest, "close", NULL));
    PyErr_Restore(type, value, traceback);
}

/* throw(exception), throw(type, value, traceback): into the rest, also where that has not begun */
static PyObject *
coroutine_throw(PyObject *self, PyObject *args)
{
    mmi_coroutine *c = (mmi_coroutine *)self;
    bool new = c->state == MMI_COROUTINE_NEW;
    if (!coroutine_enter(c)) {
        return NULL;
    }
    c->rest = new ? c->kind->rest(c) : c->rest;
    PyObject *method = c->rest != NULL ? PyObject_GetAttrString(c->rest, "throw") : NULL;
    PyObject *result = method != NULL ? PyObject_CallObject(method, args) : NULL;
    Py_XDECREF(method);
    if (result == NULL && new && c->rest != NULL) {
        coroutine_forget(c->rest);
    }
    coroutine_leave(c, result != NULL);
    return result;
}

/* close() */
static PyObject *
coroutine_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_coroutine *c = (mmi_coroutine *)self;
    bool waits = c->state == MMI_COROUTINE_WAITS;
    if (c->state == MMI_COROUTINE_OVER) {
        return mmi_py_none();
    }
    if (!coroutine_enter(c)) {
        return NULL;
    }
    PyObject *result = waits ? PyObject_CallMethod(c->rest, "close", NULL) : mmi_py_none();
    coroutine_leave(c, false);
    return result;
}

static PyObject *
coroutine_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((const mmi_coroutine *)self)->kind->name);
}

static PyObject *
coroutine_qualname(PyObject *self, void *unused)
{
    (void)unused;
    const mmi_coroutine *c = (const mmi_coroutine *)self;
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(c->owner), "__qualname__");
    PyObject *whole = name != NULL ? PyUnicode_FromFormat("%S.%s", name, c->kind->name) : NULL;
    Py_XDECREF(name);
    return whole;
}

/* What tools look at, of the coroutine that goes on; where there is none, there is nothing. */
static PyObject *
coroutine_of_rest(PyObject *self, void *name)
{
    const mmi_coroutine *c = (const mmi_coroutine *)self;
    if (c->rest == NULL) {
        PyErr_SetString(PyExc_AttributeError, name);
        return NULL;
    }
    return PyObject_GetAttrString(c->rest, name);
}

static PyObject *
coroutine_suspended(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((const mmi_coroutine *)self)->state == MMI_COROUTINE_WAITS);
}

static PyObject *
coroutine_running(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((const mmi_coroutine *)self)->state == MMI_COROUTINE_RUNS);
}

/* Nothing was done, and nobody would know. */
static void
coroutine_warn(PyObject *self)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = coroutine_qualname(self, NULL);
    if (name == NULL ||
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "coroutine '%U' was never awaited", name) != 0) {
        PyErr_WriteUnraisable(name);
    }
    Py_XDECREF(name);
    PyErr_Restore(type, value, traceback);
}

static int
coroutine_traverse(PyObject *self, visitproc visit, void *arg)
{
    const mmi_coroutine *c = (const mmi_coroutine *)self;
    Py_VISIT(c->owner);
    Py_VISIT(c->what);
    Py_VISIT(c->timeout);
    Py_VISIT(c->topic);
    Py_VISIT(c->rest);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
coroutine_dealloc(PyObject *self)
{
    mmi_coroutine *c = (mmi_coroutine *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (c->state == MMI_COROUTINE_NEW) {
        coroutine_warn(self);
    }
    Py_DECREF(c->owner);
    Py_DECREF(c->what);
    Py_DECREF(c->timeout);
    Py_XDECREF(c->topic);
    Py_XDECREF(c->rest);
    if (coroutine_spare == NULL) {
        coroutine_spare = c;
    } else {
        PyObject_GC_Del(self);
    }
    Py_DECREF(type);
}

static PyMethodDef coroutine_methods[] = {
    { "send", coroutine_send_value, METH_O, NULL },
    { "throw", coroutine_throw, METH_VARARGS, NULL },
    { "close", coroutine_close, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef coroutine_getset[] = {
    { "__name__", coroutine_name, NULL, NULL, NULL },
    { "__qualname__", coroutine_qualname, NULL, NULL, NULL },
    { "cr_running", coroutine_running, NULL, NULL, NULL },
    { "cr_suspended", coroutine_suspended, NULL, NULL, NULL },
    { "cr_code", coroutine_of_rest, NULL, NULL, (void *)"cr_code" },
    { "cr_frame", coroutine_of_rest, NULL, NULL, (void *)"cr_frame" },
    { "cr_await", coroutine_of_rest, NULL, NULL, (void *)"cr_await" },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot coroutine_slots[] = {
    { Py_am_await, (void *)coroutine_await },
    { Py_am_send, (void *)coroutine_step },
    { Py_tp_iter, (void *)coroutine_iter },
    { Py_tp_iternext, (void *)coroutine_iternext },
    { Py_tp_methods, coroutine_methods },
    { Py_tp_getset, coroutine_getset },
    { Py_tp_traverse, (void *)coroutine_traverse },
    { Py_tp_dealloc, (void *)coroutine_dealloc },
    { 0, NULL },
};

static PyType_Spec coroutine_spec = {
    .name = "meshmsg._native.Coroutine",
    .basicsize = sizeof(mmi_coroutine),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = coroutine_slots,
};

bool
mmi_py_coroutine_init(void)
{
    coroutine_type = (PyTypeObject *)PyType_FromSpec(&coroutine_spec);
    return coroutine_type != NULL;
}
