/*
 * binding/ready_type.c: what a socket has received and not given out, as Python sees it: the type,
 * its methods, and what is known of what is there.
 *
 * Not here: how a message is made and taken (binding/ready.c), the methods that receive more
 * (binding/receive.c, binding/survey.c).
 * Law: as in binding/ready.c.
 */
#include "binding/ready.h"

static PyTypeObject *ready_type;

static Py_ssize_t
ready_length(PyObject *self)
{
    Py_ssize_t length = 0;
    for (const mmi_run *run = ((const mmi_ready *)self)->run; run != NULL; run = run->next) {
        length += run->count - run->at;
    }
    return length;
}

/* What was taken; None: nothing was there. */
static PyObject *
ready_or_none(PyObject *found)
{
    return found != NULL || PyErr_Occurred() != NULL ? found : mmi_fast_none();
}

/* pop() -> the oldest; None: there is none */
static PyObject *
ready_pop(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    return ready_or_none(mmi_ready_take(r, &r->run));
}

/* quick(limit) -> the oldest; None: there is none, all is held, or so many were taken so since
 * rested() */
static PyObject *
ready_quick(PyObject *self, PyObject *limit)
{
    unsigned long most = PyLong_AsUnsignedLong(limit);
    return ready_or_none(mmi_ready_quick((mmi_ready *)self, (uint32_t)most));
}

/* rested() -> how many were taken by quick since the last rest */
static PyObject *
ready_rested(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    unsigned long count = r->quick;
    r->quick = 0;
    return PyLong_FromUnsignedLong(count);
}

/* take(max) -> list: of what is there, perhaps nothing */
static PyObject *
ready_take_some(PyObject *self, PyObject *arg)
{
    mmi_ready *r = (mmi_ready *)self;
    Py_ssize_t max = PyLong_AsSsize_t(arg);
    return PyErr_Occurred() != NULL ? NULL : mmi_ready_take_list(r, &r->run, max);
}

/* put_back(list): before all others, in their order */
static PyObject *
ready_put_back(PyObject *self, PyObject *list)
{
    if (!PyList_Check(list)) {
        return mmi_fast_arguments("a list");
    }
    if (!mmi_ready_insert(&((mmi_ready *)self)->run, list, PyList_Size(list))) {
        return NULL;
    }
    return mmi_fast_none();
}

static PyObject *
ready_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready_drop((mmi_ready *)self);
    return mmi_fast_none();
}

/* hold(): iterators go by their refill for every message */
static PyObject *
ready_hold(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((mmi_ready *)self)->held = true;
    return mmi_fast_none();
}

/* tell() -> whether there are some, which the caller tells the core */
static PyObject *
ready_tell(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    r->told = r->run != NULL;
    return PyBool_FromLong(r->told);
}

/* known() -> (messages, bytes) of what is not made yet, and a list of what is */
static PyObject *
ready_known(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_ssize_t count = 0;
    uint64_t bytes = 0;
    PyObject *made = PyList_New(0);
    const mmi_ready *r = (const mmi_ready *)self;
    for (const mmi_run *run = r->run; made != NULL && run != NULL; run = run->next) {
        if (run->list == NULL) {
            count += run->count - run->at;
            bytes += mmi_run_bytes(run);
        }
        for (Py_ssize_t i = run->at; run->list != NULL && i < run->count; i++) {
            if (PyList_Append(made, PyList_GetItem(run->list, i)) != 0) {
                Py_DECREF(made);
                return NULL;
            }
        }
    }
    return made == NULL ? NULL : Py_BuildValue("(nKN)", count, (unsigned long long)bytes, made);
}

static int
ready_traverse(PyObject *self, visitproc visit, void *arg)
{
    const mmi_ready *r = (const mmi_ready *)self;
    for (const mmi_run *run = r->run; run != NULL; run = run->next) {
        Py_VISIT(run->list);
        Py_VISIT(run->owner);
    }
    Py_VISIT(r->classes);
    Py_VISIT(r->request);
    Py_VISIT(r->type);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
ready_forget(PyObject *self)
{
    mmi_ready_drop((mmi_ready *)self);
    return 0;
}

static void
ready_dealloc(PyObject *self)
{
    mmi_ready *r = (mmi_ready *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    mmi_ready_drop(r);
    Py_XDECREF(r->classes);
    Py_XDECREF(r->request);
    Py_XDECREF(r->type);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef ready_methods[] = {
    { "pop", ready_pop, METH_NOARGS, NULL },
    { "quick", ready_quick, METH_O, NULL },
    { "rested", ready_rested, METH_NOARGS, NULL },
    { "put_back", ready_put_back, METH_O, NULL },
    { "clear", ready_clear, METH_NOARGS, NULL },
    { "hold", ready_hold, METH_NOARGS, NULL },
    { "tell", ready_tell, METH_NOARGS, NULL },
    { "known", ready_known, METH_NOARGS, NULL },
    { "take", ready_take_some, METH_O, NULL },
    { "recv", (PyCFunction)(void (*)(void))mmi_ready_recv, METH_FASTCALL, NULL },
    { "serve", (PyCFunction)(void (*)(void))mmi_ready_serve, METH_FASTCALL, NULL },
    { "one", mmi_ready_one, METH_O, NULL },
    { "recv_many", (PyCFunction)(void (*)(void))mmi_ready_recv_many, METH_FASTCALL, NULL },
    { "turn", (PyCFunction)(void (*)(void))mmi_ready_turn, METH_FASTCALL, NULL },
    { "answer", (PyCFunction)(void (*)(void))mmi_ready_answer, METH_FASTCALL, NULL },
    { "sleeps", mmi_ready_sleeps, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot ready_slots[] = {
    { Py_tp_methods, ready_methods },
    { Py_tp_traverse, (void *)ready_traverse },
    { Py_tp_clear, (void *)ready_forget },
    { Py_tp_dealloc, (void *)ready_dealloc },
    { Py_sq_length, (void *)ready_length },
    { 0, NULL },
};

static PyType_Spec ready_spec = {
    .name = "meshmsg._fast.Ready",
    .basicsize = sizeof(mmi_ready),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = ready_slots,
};

bool
mmi_ready_is(PyObject *object)
{
    return Py_TYPE(object) == ready_type;
}

/* ready(classes): for messages; ready(class): for requests */
PyObject *
mmi_fast_ready(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 1 || !PyCallable_Check(args[0])) {
        return mmi_fast_arguments("(classes by peer, or the class of requests)");
    }
    mmi_ready *r = (mmi_ready *)PyType_GenericNew(ready_type, NULL, NULL);
    if (r != NULL) {
        Py_INCREF(args[0]);
        *(PyType_Check(args[0]) ? &r->request : &r->classes) = args[0];
    }
    return (PyObject *)r;
}

bool
mmi_fast_ready_init(void)
{
    ready_type = (PyTypeObject *)PyType_FromSpec(&ready_spec);
    return ready_type != NULL;
}
