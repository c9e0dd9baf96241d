/*
 * fast_ready.c: what a socket has received and not given out, as a Python object: a deque as far as
 * Python sees, whose youngest part may still be the batch it came in.
 *
 * So a message is made when somebody takes it, not 512 at once: it is still in the cache then.
 * Not here: iterating (fast_stream.c); locks, waiting, order among threads (_inbox.py, _recv.py).
 * Law: the interpreter's lock is held; making an object may run anything, so a message is claimed
 * before it is made, and a batch lives while one is made of it.
 */
#include "python/fast.h"

#include <string.h>

enum {
    READY_FIRST_CAP = 64,
    READY_RUN_KEEP = 32   /* messages: the batch of a larger run refers to memory worth freeing */
};

/* A batch that is given out message by message, all of one class; or, with unpack, one that is to
 * become items as soon as anybody takes: it stays as it is until that has worked. */
typedef struct ready_run {
    uint32_t refs, at, count;
    mm_batch *batch;
    PyObject *classes, *type;  /* type = classes(peer), NULL until the first is taken */
    PyObject *unpack;          /* unpack(address) -> list; NULL: plain */
    struct ready_run *next;    /* received while this one was being unpacked */
} ready_run;

/* items[head .. head + count) come before those of the runs. */
typedef struct ready {
    PyObject_HEAD
    PyObject **items;
    Py_ssize_t head, count, cap;
    ready_run *run;            /* NULL: none */
    mm_batch *spare;           /* to be filled next; NULL: none */
    bool held;                 /* an iterator is to ask each time */
} ready;

static PyTypeObject *ready_type;

static void
run_unref(ready_run *run)
{
    if (run != NULL && --run->refs == 0) {
        mm_batch_free(run->batch);
        Py_XDECREF(run->classes);
        Py_XDECREF(run->type);
        Py_XDECREF(run->unpack);
        PyMem_Free(run);
    }
}

/* A run that nobody is to take from any more: its batch is for the next one, unless it is large or
 * still read. */
static void
ready_retire(ready *r, ready_run *run)
{
    if (run->refs == 1 && run->count < READY_RUN_KEEP && r->spare == NULL) {
        r->spare = run->batch;
        run->batch = NULL;
    }
    run_unref(run);
}

static void
ready_end_run(ready *r)
{
    ready_run *run = r->run;
    r->run = run->next;
    run->next = NULL;
    ready_retire(r, run);
}

static Py_ssize_t
ready_length(PyObject *self)
{
    const ready *r = (const ready *)self;
    Py_ssize_t length = r->count;
    for (const ready_run *run = r->run; run != NULL; run = run->next) {
        length += (Py_ssize_t)(run->count - run->at);
    }
    return length;
}

/* Lets go of a run that may have ended meanwhile. */
static void
ready_leave_run(ready *r, ready_run *run)
{
    bool over = r->run == run && run->at == run->count;
    run_unref(run);   /* not the last one, if it is still the run */
    if (over) {
        ready_end_run(r);
    }
}

static void
run_resolve(ready_run *run)
{
    PyObject *type = PyObject_CallFunction(run->classes, "K",
                                           (unsigned long long)run->batch->one_peer);
    if (type != NULL && !PyType_Check(type)) {
        (void)mmi_fast_arguments("a class");
    } else if (run->type == NULL) {
        run->type = type;
        return;
    }
    Py_XDECREF(type);
}

/* Room for more items, in front of the others or behind them. */
static bool
ready_room(ready *r, Py_ssize_t front, Py_ssize_t back)
{
    if (r->head >= front && r->cap - r->head - r->count >= back) {
        return true;
    }
    Py_ssize_t cap = r->cap > 0 ? r->cap : (Py_ssize_t)READY_FIRST_CAP;
    while (cap < front + r->count + back) {
        cap *= 2;
    }
    PyObject **items = PyMem_Malloc((size_t)cap * sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (r->count > 0) {
        memcpy(items + front, r->items + r->head, (size_t)r->count * sizeof *items);
    }
    PyMem_Free(r->items);
    r->items = items;
    r->head = front;
    r->cap = cap;
    return true;
}

/* Puts a list's items before all others or behind them, in their order.  false: an error is set. */
static bool
ready_insert(ready *r, PyObject *list, bool front)
{
    if (!PyList_Check(list)) {
        (void)mmi_fast_arguments("a list");
        return false;
    }
    Py_ssize_t size = PyList_Size(list);
    if (!ready_room(r, front ? size : 0, front ? 0 : size)) {
        return false;
    }
    Py_ssize_t at = front ? r->head - size : r->head + r->count;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PyList_GetItem(list, i);
        Py_INCREF(item);
        r->items[at + i] = item;
    }
    r->head -= front ? size : 0;
    r->count += size;
    return true;
}

/* The run becomes items, by way of what may run anything.  An error: it stays as it was. */
static void
ready_unpack(ready *r)
{
    ready_run *run = r->run;
    bool front = r->count == 0;   /* what comes in meanwhile is younger */
    r->run = run->next;           /* and must not unpack it as well */
    PyObject *list = PyObject_CallFunction(run->unpack, "K",
                                           (unsigned long long)(uintptr_t)run->batch);
    bool good = list != NULL && ready_insert(r, list, front);
    Py_XDECREF(list);
    if (!good && run->batch->message_count > 0) {
        run->next = r->run;
        r->run = run;
        return;
    }
    run->next = NULL;
    ready_retire(r, run);
}

/* The next of the run, if it still has one; NULL without an error: it was taken meanwhile, or is an
 * item now. */
static PyObject *
ready_take_run(ready *r)
{
    ready_run *run = r->run;
    PyObject *made = NULL;
    if (run->unpack != NULL) {
        ready_unpack(r);
        return NULL;
    }
    run->refs++;
    if (run->type == NULL) {
        run_resolve(run);
    }
    if (run->type != NULL && r->run == run) {
        uint32_t i = run->at++;
        const uint32_t *offset = run->batch->offset + i;
        made = mmi_fast_plain((PyTypeObject *)run->type, run->batch->data + offset[0],
                              (Py_ssize_t)(offset[1] - offset[0]));
        if (made == NULL && run->at == i + 1) {
            run->at = i;   /* nothing was taken */
        }
    }
    ready_leave_run(r, run);
    return made;
}

/* The oldest one; NULL without an error: there is none. */
static PyObject *
ready_take(ready *r)
{
    PyObject *found = NULL;
    while (found == NULL && PyErr_Occurred() == NULL) {
        if (r->count > 0) {
            r->count--;
            return r->items[r->head++];
        }
        if (r->run == NULL) {
            return NULL;
        }
        found = ready_take_run(r);
    }
    return found;
}

/* All of the run become items, behind those there are.  false: an error is set. */
static bool
ready_unroll(ready *r)
{
    while (r->run != NULL && ready_room(r, 0, 1)) {
        PyObject *made = ready_take_run(r);
        if (PyErr_Occurred() != NULL || (made != NULL && !ready_room(r, 0, 1))) {
            Py_XDECREF(made);
            break;
        }
        if (made != NULL) {
            r->items[r->head + r->count++] = made;
        }
    }
    return PyErr_Occurred() == NULL;
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

/* put_back(list): before all others, in their order */
static PyObject *
ready_put_back(PyObject *self, PyObject *list)
{
    if (!ready_insert((ready *)self, list, true)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static void
ready_drop(ready *r)
{
    while (r->run != NULL) {
        ready_run *run = r->run;
        r->run = run->next;
        run->next = NULL;
        run_unref(run);
    }
    while (r->count > 0) {
        r->count--;
        Py_DECREF(r->items[r->head++]);   /* may run anything, which finds the rest */
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
    ready *r = (ready *)self;
    if (!ready_unroll(r)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < r->count; i++) {
        if (PyList_Append(list, r->items[r->head + i]) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Whether all messages of a batch are bytes and nothing else, of one peer. */
static bool
ready_is_plain(const mm_batch *batch, const PyObject *classes)
{
    return classes != Py_None && mmi_fast_is_in_place() && batch->big == NULL &&
           batch->frame_count == batch->message_count && batch->one_peer != 0;
}

/* Receives into the run's batch, which becomes the last run.  A code. */
static int
ready_receive(ready *r, ready_run *run, mm_handle handle, uint32_t messages, uint64_t bytes,
              PyObject *unpack)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc = mm_recv(handle, run->batch, messages, bytes, 0, 0);
    Py_END_ALLOW_THREADS
    if (rc <= 0) {
        ready_retire(r, run);
        return rc;
    }
    run->count = (uint32_t)rc;
    if (!ready_is_plain(run->batch, run->classes)) {
        Py_INCREF(unpack);
        run->unpack = unpack;
    }
    ready_run **last = &r->run;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = run;
    return rc;
}

/* fill(handle, max_messages, max_bytes, classes, unpack) -> the first message, or a code.
 * Only when nothing is ready, one thread at a time.  classes(peer) is the class of a peer's
 * messages of one frame, None: they are more than bytes; unpack(address) makes a list of a batch.
 */
static PyObject *
ready_fill(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    ready *r = (ready *)self;
    mm_handle handle;
    if (count != 5) {
        return mmi_fast_arguments("(handle, max_messages, max_bytes, classes, unpack)");
    }
    unsigned long messages = PyLong_AsUnsignedLong(args[1]);
    uint64_t bytes = PyLong_AsUnsignedLongLong(args[2]);
    if (!mmi_fast_handle(args[0], &handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    ready_run *run = PyMem_Malloc(sizeof *run);
    mm_batch *batch = r->spare;
    r->spare = NULL;
    if (run == NULL || (batch == NULL && mm_batch_new(&batch) != MM_OK)) {
        PyMem_Free(run);
        mm_batch_free(batch);
        return PyErr_NoMemory();
    }
    Py_INCREF(args[3]);
    *run = (ready_run){ .refs = 1, .batch = batch, .classes = args[3] };
    int rc = ready_receive(r, run, handle, (uint32_t)messages, bytes, args[4]);
    PyObject *first = rc <= 0 ? NULL : ready_take(r);
    if (first != NULL || PyErr_Occurred() != NULL) {
        return first;
    }
    return PyLong_FromLong(rc > 0 ? MM_EAGAIN : rc);   /* others took all of it meanwhile */
}

static int
ready_traverse(PyObject *self, visitproc visit, void *arg)
{
    const ready *r = (const ready *)self;
    for (Py_ssize_t i = 0; i < r->count; i++) {
        Py_VISIT(r->items[r->head + i]);
    }
    for (const ready_run *run = r->run; run != NULL; run = run->next) {
        Py_VISIT(run->classes);
        Py_VISIT(run->type);
        Py_VISIT(run->unpack);
    }
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
    PyMem_Free(r->items);
    mm_batch_free(r->spare);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef ready_methods[] = {
    { "popleft", ready_popleft, METH_NOARGS, NULL },
    { "put_back", ready_put_back, METH_O, NULL },
    { "clear", ready_clear, METH_NOARGS, NULL },
    { "hold", ready_hold, METH_NOARGS, NULL },
    { "items", ready_items, METH_NOARGS, NULL },
    { "fill", (PyCFunction)(void (*)(void))ready_fill, METH_FASTCALL, NULL },
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

PyObject *
mmi_fast_ready(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyType_GenericNew(ready_type, NULL, NULL);
}

bool
mmi_fast_ready_init(void)
{
    ready_type = (PyTypeObject *)PyType_FromSpec(&ready_spec);
    return ready_type != NULL;
}
