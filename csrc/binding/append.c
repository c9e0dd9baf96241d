/*
 * binding/append.c: what a spool is to native calls; and its append() of plain bytes.
 *
 * In Python a call costs several times what the core does: who is in it, what it puts, what it
 * waits for.  Here it is done at once, if nothing has to be looked at; all else is the function's
 * (ADR 176).
 * Not here: the method over the function (binding/socket.c), lists of messages (binding/spool.c).
 * Law: what is left to the function has not been put; a spool is not closed while a call is in it.
 */
#include "binding/binding.h"

#include <structmember.h>

#include "meshmsg_spool.h"

enum {
    APPEND_LOCKED_MAX = 64 *
        1024, /* octets that are copied without letting go of the interpreter */
    APPEND_SLICE_MS = 100          /* until signals are looked at, as SLICE_MS in Python */
};

static const double APPEND_MS = 1000;   /* a second */

/* Who is in a call with a spool (Inside): those that are native. */
typedef struct native_inside {
    PyObject_HEAD Py_ssize_t calls;
} native_inside;

typedef struct native_spool {
    PyObject_HEAD unsigned long long door; /* of an mm_spool; 0: all calls are for the function */
    unsigned long long told_jumps;
    PyObject *inside; /* an Inside; NULL: not made yet */
    double look_at;   /* from when on its folder is looked at again, in s; monotonic */
    char ages, waits; /* files go by their age; it takes the system until something is kept */
} native_spool;

static PyTypeObject *spool_type, *inside_type;
static PyObject *append_kept; /* append_kept(spool, number) does the rest for what was put */
static PyObject
    *append_left; /* append_left(inside): no native call is in it, and the door is shut */

/* The call is over: who shuts the spool may wait for that.  false: an error is set. */
static bool
append_leave(const native_spool *s, native_inside *in)
{
    in->calls--;
    if (in->calls > 0 || s->door != 0) {
        return true;
    }
    PyObject *done = PyObject_CallFunctionObjArgs(append_left, in, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* It is put; with waits, until it is kept.  A code of the core. */
static int
append_put(mm_spool *spool, const mm_body *body, bool waits, mm_spool_did *did)
{
    const mm_spool_plan plan = { .meta_size = 0 };
    int rc;
    if (!waits && body->size <= APPEND_LOCKED_MAX) {
        rc = mm_spool_append_once_nowait(spool, body, 1, &plan, NULL, did);
        if (rc == MM_OK) {
            mm_spool_write_soon(spool);
        }
        return rc;
    }
    Py_BEGIN_ALLOW_THREADS rc = mm_spool_append_once(
        spool, body, 1, &plan, NULL, waits ? MM_SPOOL_WAITS : 0, -1, APPEND_SLICE_MS, did);
    Py_END_ALLOW_THREADS return rc;
}

static bool
append_is_plain(const native_spool *s, PyObject *data)
{
    const mm_spool *spool = (const mm_spool *)(uintptr_t)s->door;
    return spool != NULL && s->inside != NULL && PyObject_TypeCheck(s->inside, inside_type) &&
           PyBytes_Check(data) &&
           (double)(mm_spool_clock_ms() + 1) <
               s->look_at * APPEND_MS && /* or nearly: Python looks */
           (s->ages == 0 || mm_spool_clock_jumps(spool) == s->told_jumps);
}

/* An error is set: whoever catches it sees whether the message was put all the same. */
static PyObject *
append_tell(long sent)
{
    PyObject *type, *error, *trace, *count = PyLong_FromLong(sent);
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (count == NULL || error == NULL || PyObject_SetAttrString(error, "sent", count) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(count);
    PyErr_Restore(type, error, trace);
    return NULL;
}

PyObject *
mmi_py_append(PyObject *object, PyObject *data, PyObject *wait)
{
    native_spool *s = (native_spool *)object;
    if (!PyObject_TypeCheck(object, spool_type) || (wait != Py_True && wait != Py_False) ||
        !append_is_plain(s, data)) {
        return NULL;
    }
    const mm_body body = mmi_py_body(data);
    mm_spool_did did = { .done = 0 };
    native_inside *in = (native_inside *)s->inside;
    Py_INCREF(in);
    in->calls++;
    int rc =
        append_put((mm_spool *)(uintptr_t)s->door, &body, wait == Py_True && s->waits != 0, &did);
    bool left = append_leave(s, in);
    Py_DECREF(in);
    if (left && did.done == 0) {
        return NULL;
    }
    /* Signals: here, as behind it nobody could tell whether it was put. */
    if (!left || PyErr_CheckSignals() != 0) {
        return append_tell(did.first > 0);
    }
    PyObject *number = PyLong_FromUnsignedLongLong(did.first);
    if ((rc == MM_OK && did.first > 0) || number == NULL) {
        return number;
    }
    PyObject *kept = PyObject_CallFunctionObjArgs(append_kept, object, number, NULL);
    Py_DECREF(number);
    return kept;
}

static PyMemberDef spool_members[] = {
    { "_door", T_ULONGLONG, offsetof(native_spool, door), 0, NULL },
    { "_told_jumps", T_ULONGLONG, offsetof(native_spool, told_jumps), 0, NULL },
    { "_inside", T_OBJECT_EX, offsetof(native_spool, inside), 0, NULL },
    { "_look_at", T_DOUBLE, offsetof(native_spool, look_at), 0, NULL },
    { "_ages", T_BOOL, offsetof(native_spool, ages), 0, NULL },
    { "_waits", T_BOOL, offsetof(native_spool, waits), 0, NULL },
    { NULL, 0, 0, 0, NULL },
};

static int
spool_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((const native_spool *)self)->inside);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int
spool_clear(PyObject *self)
{
    Py_CLEAR(((native_spool *)self)->inside);
    return 0;
}

static void
spool_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)spool_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot spool_slots[] = {
    { Py_tp_members, spool_members },
    { Py_tp_traverse, (void *)spool_traverse },
    { Py_tp_clear, (void *)spool_clear },
    { Py_tp_dealloc, (void *)spool_dealloc },
    { 0, NULL },
};

static PyType_Spec spool_spec = {
    .name = "meshmsg._native.Spool",
    .basicsize = sizeof(native_spool),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = spool_slots,
};

static PyMemberDef inside_members[] = {
    { "_calls", T_PYSSIZET, offsetof(native_inside, calls), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot inside_slots[] = {
    { Py_tp_members, inside_members },
    { 0, NULL },
};

static PyType_Spec inside_spec = {
    .name = "meshmsg._native.Inside",
    .basicsize = sizeof(native_inside),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = inside_slots,
};

static void
append_give(PyObject **to, PyObject *function)
{
    PyObject *before = *to;
    Py_INCREF(function);
    *to = function;
    Py_XDECREF(before);
}

void
mmi_py_append_rest(PyObject *kept, PyObject *left)
{
    append_give(&append_kept, kept);
    append_give(&append_left, left);
}

bool
mmi_py_append_init(PyObject *module)
{
    spool_type = (PyTypeObject *)PyType_FromSpec(&spool_spec);
    inside_type = (PyTypeObject *)PyType_FromSpec(&inside_spec);
    return spool_type != NULL && inside_type != NULL &&
           PyModule_AddObjectRef(module, "Spool", (PyObject *)spool_type) == 0 &&
           PyModule_AddObjectRef(module, "Inside", (PyObject *)inside_type) == 0;
}
