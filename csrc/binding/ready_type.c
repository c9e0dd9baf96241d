/*
 * binding/ready_type.c: what a socket has received and not given out, as Python sees it: the type,
 * its methods, and what is known of what is there.
 *
 * Not here: how a message is made and taken (binding/ready.c), the methods that receive more
 * (binding/receive.c, binding/survey.c).
 * Law: as in binding/ready.c.
 */
#include "binding/ready.h"

#include <structmember.h>

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
    return found != NULL || PyErr_Occurred() != NULL ? found : mmi_py_none();
}

/* pop() -> the oldest; None: there is none */
static PyObject *
ready_pop(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    return ready_or_none(mmi_ready_settled(r, mmi_ready_take(r, &r->run)));
}

/* quick() -> the oldest; None: there is none, it is watched, or others are due a turn */
static PyObject *
ready_quick(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ready_or_none(mmi_ready_quick((mmi_ready *)self));
}

/* take(max) -> list: of what is there, perhaps nothing */
static PyObject *
ready_take_some(PyObject *self, PyObject *arg)
{
    mmi_ready *r = (mmi_ready *)self;
    Py_ssize_t max = PyLong_AsSsize_t(arg);
    return PyErr_Occurred() != NULL ? NULL
                                    : mmi_ready_settled(r, mmi_ready_take_list(r, &r->run, max));
}

/* put_back(list): before all others, in their order */
static PyObject *
ready_put_back(PyObject *self, PyObject *list)
{
    if (!PyList_Check(list)) {
        return mmi_py_arguments("a list");
    }
    if (!mmi_ready_insert(&((mmi_ready *)self)->run, list, PyList_Size(list))) {
        return NULL;
    }
    return mmi_py_none();
}

static PyObject *
ready_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready_drop((mmi_ready *)self);
    return mmi_py_none();
}

/* keep(list): as put_back, by a call that failed: most likely a signal's function raised, or it was
 * cancelled; who waits looks, also for what the call had left here itself */
static PyObject *
ready_keep(PyObject *self, PyObject *list)
{
    PyObject *done = ready_put_back(self, list);
    mmi_ready_keep((mmi_ready *)self);
    return done;
}

/* watch(): somebody does, from outside: from now on iterators go by their refill for every message,
 * nobody prefetches, and the core is told of what is left here */
static PyObject *
ready_watch(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    mmi_lock_take(&r->lock);
    r->watched = true;
    mmi_ready_settle(r);
    mmi_lock_drop(&r->lock);
    return mmi_py_none();
}

/* forget(): in a forked child: what is ready is the parent's, and threads that held the lock are
 * not here */
static PyObject *
ready_after_fork(PyObject *self, PyObject *unused)
{
    (void)unused;
    mmi_ready *r = (mmi_ready *)self;
    mmi_ready_drop(r);
    return mmi_lock_init(&r->lock) ? mmi_py_none() : NULL;
}

/* with ready: no other thread prefetches, nor goes to sleep */
static PyObject *
ready_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!mmi_lock_wait(&((mmi_ready *)self)->lock)) {
        return NULL;
    }
    Py_INCREF(self);
    return self;
}

static PyObject *
ready_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    mmi_lock_drop(&((mmi_ready *)self)->lock);
    return mmi_py_none();
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
    Py_VISIT(r->form);
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
    mmi_lock_fini(&r->lock);
    Py_XDECREF(r->form);
    Py_XDECREF(r->type);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef ready_methods[] = {
    { "pop", ready_pop, METH_NOARGS, NULL },
    { "quick", ready_quick, METH_NOARGS, NULL },
    { "put_back", ready_put_back, METH_O, NULL },
    { "clear", ready_clear, METH_NOARGS, NULL },
    { "keep", ready_keep, METH_O, NULL },
    { "watch", ready_watch, METH_NOARGS, NULL },
    { "forget", ready_after_fork, METH_NOARGS, NULL },
    { "__enter__", ready_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))ready_exit, METH_FASTCALL, NULL },
    { "known", ready_known, METH_NOARGS, NULL },
    { "take", ready_take_some, METH_O, NULL },
    { "recv", (PyCFunction)(void (*)(void))mmi_ready_recv, METH_FASTCALL, NULL },
    { "serve", (PyCFunction)(void (*)(void))mmi_ready_serve, METH_FASTCALL, NULL },
    { "one", mmi_ready_one, METH_O, NULL },
    { "recv_many", (PyCFunction)(void (*)(void))mmi_ready_recv_many, METH_FASTCALL, NULL },
    { "turn", (PyCFunction)(void (*)(void))mmi_ready_turn, METH_FASTCALL, NULL },
    { "answer", (PyCFunction)(void (*)(void))mmi_ready_answer, METH_FASTCALL, NULL },
    { "hold", (PyCFunction)(void (*)(void))mmi_ready_hold, METH_FASTCALL, NULL },
    { "sleeps", mmi_ready_sleeps, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef ready_members[] = {
    { "watched", T_BOOL, offsetof(mmi_ready, watched), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot ready_slots[] = {
    { Py_tp_members, ready_members },
    { Py_tp_methods, ready_methods },
    { Py_tp_traverse, (void *)ready_traverse },
    { Py_tp_clear, (void *)ready_forget },
    { Py_tp_dealloc, (void *)ready_dealloc },
    { Py_sq_length, (void *)ready_length },
    { 0, NULL },
};

static PyType_Spec ready_spec = {
    .name = "meshmsg._native.Ready",
    .basicsize = sizeof(mmi_ready),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = ready_slots,
};

bool
mmi_ready_is(PyObject *object)
{
    return Py_TYPE(object) == ready_type;
}

/* ready(form) -> Ready: for messages of that form */
PyObject *
mmi_py_ready(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 1 || !mmi_form_is(args[0])) {
        return mmi_py_arguments("(form)");
    }
    mmi_ready *r = (mmi_ready *)PyType_GenericNew(ready_type, NULL, NULL);
    if (r != NULL) {
        Py_INCREF(args[0]);
        r->form = (mmi_form *)args[0];
    }
    if (r != NULL && !mmi_lock_init(&r->lock)) {
        Py_CLEAR(r);
    }
    return (PyObject *)r;
}

bool
mmi_py_ready_init(void)
{
    ready_type = (PyTypeObject *)PyType_FromSpec(&ready_spec);
    return ready_type != NULL;
}
