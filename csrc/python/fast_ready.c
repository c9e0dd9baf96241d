/*
 * fast_ready.c: what a socket has received and not given out, as a Python object: a deque as far as
 * Python sees, made of the batches it came in.
 *
 * So a message is made when somebody takes it, not 512 at once: it is still in the cache then.
 * Not here: the batches (fast_run.c); iterating (fast_stream.c); locks, waiting, order among
 * threads (_inbox.py, _recv.py).
 * Law: the interpreter's lock is held; making an object, and a signal's function, may run anything,
 * so a message is claimed before it is made; what was received is here before a signal's function
 * can raise.
 */
#include "python/fast_run.h"

/* The runs, the oldest first; none is empty. */
typedef struct ready {
    PyObject_HEAD
    mmi_run *run;              /* NULL: none */
    mmi_run *spare;            /* for the next receive; NULL: none */
    PyObject *classes;         /* classes(peer) is the class of a peer's messages of one frame;
                                * None: they are more than bytes */
    PyObject *type;            /* classes(peer), the last that was asked for; NULL: none yet */
    uint64_t peer;
    bool held;                 /* an iterator is to ask each time */
} ready;

static PyTypeObject *ready_type;

/* A run that nobody is to take from any more. */
static void
ready_retire(ready *r, mmi_run *run)
{
    if (r->spare != NULL) {
        mmi_run_unref(run);
    } else if (mmi_run_reuse(run)) {
        r->spare = run;
    }
}

static mmi_run *
ready_unlink(ready *r)
{
    mmi_run *run = r->run;
    r->run = run->next;
    run->next = NULL;
    return run;
}

static void
ready_link(ready *r, mmi_run *run)
{
    run->next = r->run;
    r->run = run;
}

static Py_ssize_t
ready_length(PyObject *self)
{
    Py_ssize_t length = 0;
    for (const mmi_run *run = ((const ready *)self)->run; run != NULL; run = run->next) {
        length += run->count - run->at;
    }
    return length;
}

/* Puts a list's items before all others, in their order.  false: an error is set. */
static bool
ready_insert(ready *r, PyObject *list)
{
    if (PyList_Size(list) == 0) {
        return true;
    }
    PyObject *copy = PyList_GetSlice(list, 0, PyList_Size(list));
    mmi_run *run = copy != NULL ? mmi_run_new() : NULL;
    if (run == NULL) {
        Py_XDECREF(copy);
        return false;
    }
    mmi_run_fill(run, copy);
    ready_link(r, run);
    return true;
}

/* The class of a peer's messages, as a new reference; asking for it may run anything. */
static PyObject *
ready_class(ready *r, uint64_t peer)
{
    if (r->type == NULL || r->peer != peer) {
        PyObject *type = PyObject_CallFunction(r->classes, "K", (unsigned long long)peer);
        if (type != NULL && !PyType_Check(type)) {
            Py_DECREF(type);
            return mmi_fast_arguments("a class");
        }
        if (type == NULL) {
            return NULL;
        }
        PyObject *before = r->type;
        r->type = type;
        r->peer = peer;
        Py_INCREF(type);
        Py_XDECREF(before);   /* may run anything as well */
        return type;
    }
    Py_INCREF(r->type);
    return r->type;
}

/* The next of the first run, a batch of bytes, if it still has one; NULL without an error: it was
 * taken meanwhile. */
static PyObject *
ready_make(ready *r)
{
    mmi_run *run = r->run;
    uint64_t peer = mmi_run_peer(run);
    PyObject *made = NULL;
    run->refs++;
    PyObject *type = ready_class(r, peer);
    if (type != NULL && r->run == run && mmi_run_peer(run) == peer) {
        made = mmi_run_make(run, type);
    }
    Py_XDECREF(type);
    bool over = r->run == run && run->at == run->count;
    mmi_run_unref(run);   /* not the last reference, if it is still the run */
    if (over) {
        ready_retire(r, ready_unlink(r));
    }
    return made;
}

/* The first run's messages become a list.  Meanwhile nobody else sees it. */
static void
ready_unpack(ready *r)
{
    mmi_run *run = ready_unlink(r);
    if (!mmi_run_unpack(run) || run->count > 0) {
        ready_link(r, run);
    } else {
        ready_retire(r, run);
    }
}

/* The oldest one; NULL without an error: there is none. */
static PyObject *
ready_take(ready *r)
{
    PyObject *found = NULL;
    while (found == NULL && r->run != NULL && PyErr_Occurred() == NULL) {
        if (r->run->list != NULL) {
            found = mmi_run_next(r->run);
            if (r->run->at == r->run->count) {
                ready_retire(r, ready_unlink(r));
            }
        } else if (r->run->owner != NULL) {
            ready_unpack(r);
        } else {
            found = ready_make(r);
        }
    }
    return found;
}

/* Up to max of the oldest, as a list. */
static PyObject *
ready_take_list(ready *r, Py_ssize_t max)
{
    PyObject *list = PyList_New(0);
    while (list != NULL && PyList_Size(list) < max) {
        PyObject *found = ready_take(r);
        int rc = found != NULL ? PyList_Append(list, found) : -1;
        Py_XDECREF(found);
        if (rc != 0) {
            break;
        }
    }
    if (PyErr_Occurred() == NULL) {
        return list;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (list != NULL && !ready_insert(r, list)) {
        PyErr_Clear();   /* no memory to put it back; the first error says so */
    }
    Py_XDECREF(list);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *
ready_popleft(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *found = ready_take((ready *)self);
    if (found == NULL && PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_IndexError, "nothing is ready");
    }
    return found;
}

/* take(max) -> list: of what is there, perhaps nothing */
static PyObject *
ready_take_some(PyObject *self, PyObject *arg)
{
    Py_ssize_t max = PyLong_AsSsize_t(arg);
    return PyErr_Occurred() != NULL ? NULL : ready_take_list((ready *)self, max);
}

/* put_back(list): before all others, in their order */
static PyObject *
ready_put_back(PyObject *self, PyObject *list)
{
    if (!PyList_Check(list)) {
        return mmi_fast_arguments("a list");
    }
    if (!ready_insert((ready *)self, list)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Each may run anything, which finds the rest. */
static void
ready_drop(ready *r)
{
    while (r->run != NULL) {
        mmi_run_unref(ready_unlink(r));
    }
}

static PyObject *
ready_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    ready_drop((ready *)self);
    Py_RETURN_NONE;
}

/* hold(): iterators go by their refill for every message */
static PyObject *
ready_hold(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((ready *)self)->held = true;
    Py_RETURN_NONE;
}

/* items() -> list: all, which stay */
static PyObject *
ready_items(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = ready_take_list((ready *)self, PY_SSIZE_T_MAX);
    if (list != NULL && !ready_insert((ready *)self, list)) {
        Py_CLEAR(list);
    }
    return list;
}

/* Receives: what came is the first run then.  A code, 0: an error is set (and something may have
 * come). */
static int
ready_receive(ready *r, PyObject *const *args, Py_ssize_t count, mmi_want *want)
{
    if (!mmi_want_of(args, count, want)) {
        return 0;
    }
    mmi_run *run = r->spare;
    r->spare = NULL;
    if (run == NULL && (run = mmi_run_new()) == NULL) {
        return 0;
    }
    int rc = mmi_run_recv(run, args[0], r->classes != Py_None, want);
    if (rc <= 0) {
        ready_retire(r, run);
        return rc;
    }
    ready_link(r, run);
    return PyErr_CheckSignals() == 0 ? rc : 0;   /* now, rather than once it was taken */
}

/* recv(owner, handle, max_messages, max_bytes, timeout_ms, slice_ms) -> the first message of what
 * came, the others are ready then; or a code.  owner._unpack_at(address) makes a list of a batch
 * whose messages are more than bytes.  More than one message only when nothing is ready, by one
 * thread at a time. */
static PyObject *
ready_recv(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_want want;
    int rc = ready_receive((ready *)self, args, count, &want);
    PyObject *first = rc > 0 ? ready_take((ready *)self) : NULL;
    if (first != NULL || PyErr_Occurred() != NULL) {
        return first;
    }
    return PyLong_FromLong(rc > 0 ? MM_EAGAIN : rc);   /* a signal's function took it */
}

/* recv_many(as recv) -> list of all that came; or a code */
static PyObject *
ready_recv_many(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_want want;
    int rc = ready_receive((ready *)self, args, count, &want);
    PyObject *list = rc > 0 ? ready_take_list((ready *)self, rc) : NULL;
    if (PyErr_Occurred() != NULL || (list != NULL && PyList_Size(list) > 0)) {
        return list;
    }
    Py_XDECREF(list);
    return PyLong_FromLong(rc > 0 ? MM_EAGAIN : rc);
}

static int
ready_traverse(PyObject *self, visitproc visit, void *arg)
{
    const ready *r = (const ready *)self;
    for (const mmi_run *run = r->run; run != NULL; run = run->next) {
        Py_VISIT(run->list);
        Py_VISIT(run->owner);
    }
    Py_VISIT(r->classes);
    Py_VISIT(r->type);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
ready_forget(PyObject *self)
{
    ready_drop((ready *)self);
    return 0;
}

static void
ready_dealloc(PyObject *self)
{
    ready *r = (ready *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    ready_drop(r);
    if (r->spare != NULL) {
        mmi_run_unref(r->spare);
    }
    Py_XDECREF(r->classes);
    Py_XDECREF(r->type);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef ready_methods[] = {
    { "popleft", ready_popleft, METH_NOARGS, NULL },
    { "put_back", ready_put_back, METH_O, NULL },
    { "clear", ready_clear, METH_NOARGS, NULL },
    { "hold", ready_hold, METH_NOARGS, NULL },
    { "items", ready_items, METH_NOARGS, NULL },
    { "take", ready_take_some, METH_O, NULL },
    { "recv", (PyCFunction)(void (*)(void))ready_recv, METH_FASTCALL, NULL },
    { "recv_many", (PyCFunction)(void (*)(void))ready_recv_many, METH_FASTCALL, NULL },
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
    .basicsize = sizeof(ready),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = ready_slots,
};

bool
mmi_ready_is(PyObject *object)
{
    return Py_TYPE(object) == ready_type;
}

PyObject *
mmi_ready_next(PyObject *self)
{
    ready *r = (ready *)self;
    return r->held ? NULL : ready_take(r);
}

/* ready(classes) */
PyObject *
mmi_fast_ready(PyObject *self, PyObject *classes)
{
    (void)self;
    ready *r = (ready *)PyType_GenericNew(ready_type, NULL, NULL);
    if (r != NULL) {
        Py_INCREF(classes);
        r->classes = classes;
    }
    return (PyObject *)r;
}

bool
mmi_fast_ready_init(void)
{
    ready_type = (PyTypeObject *)PyType_FromSpec(&ready_spec);
    return ready_type != NULL;
}
