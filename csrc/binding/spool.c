/*
 * binding/spool.c: putting a list of messages into a spool.
 *
 * Not here: reading them (binding/spool_read.c); a spool's other calls, which cffi makes.
 * Law: as in binding/send.c.
 */
#include "binding/binding.h"

#include "meshmsg_spool.h"

enum { SPOOL_PRODUCER = 16 /* octets */ };

/* What goes with each, and how long the call waits. */
typedef struct spool_call {
    mm_spool *spool;
    mm_spool_plan plan;
    const uint8_t *producer; /* NULL: they have no origin */
    uint64_t number;        /* of the first of the list, its producer's */
    uint32_t flags;         /* of mm_spool_append */
    bool now;               /* for an event loop: only what has room at this moment */
    int64_t timeout_ms, slice_ms;
} spool_call;

/* The time that is left of a call. */
static int64_t
spool_left(const spool_call *c, uint64_t start_ms)
{
    int64_t took = (int64_t)(mm_spool_clock_ms() - start_ms);
    return c->timeout_ms <= 0 ? c->timeout_ms : took < c->timeout_ms ? c->timeout_ms - took : 1;
}

/* Some of it. */
static int
spool_put_some(const spool_call *c, Py_ssize_t at, const mm_body *bodies, size_t count,
               uint32_t flags, int64_t left_ms, mm_spool_did *did)
{
    const mm_spool_origin first = { c->producer, c->number + (uint64_t)at };
    const mm_spool_origin *origin = c->producer != NULL ? &first : NULL;
    return c->now ? mm_spool_append_once_nowait(c->spool, bodies, count, &c->plan, origin, did)
                  : mm_spool_append_once(c->spool, bodies, count, &c->plan, origin, flags, left_ms,
                                         c->slice_ms, did);
}

/* The list from *at on.  A code of the core; *error: an error is set. */
static int
spool_put(const spool_call *c, PyObject *list, Py_ssize_t *at, mm_spool_did *all, bool *error)
{
    mmi_py_held held;
    const uint64_t start_ms = mm_spool_clock_ms();
    int rc = MM_OK;
    bool ends = false;
    while (rc == MM_OK && !ends) {
        mm_spool_did did = { .done = 0 };
        if (!mmi_py_list_hold(&held, list, *at)) {
            *error = true;
            return MM_OK;
        }
        ends = *at + held.count >= PyList_Size(list);
        int64_t left_ms = spool_left(c, start_ms);
        uint32_t flags = ends ? c->flags : c->flags & ~(uint32_t)MM_SPOOL_WAITS;
        Py_BEGIN_ALLOW_THREADS rc =
            spool_put_some(c, *at, held.bodies, (size_t)held.count, flags, left_ms, &did);
        Py_END_ALLOW_THREADS mmi_py_list_let_go(&held);
        *at += (Py_ssize_t)did.done;
        mm_spool_did_add(&did, all);
        if ((c->flags & MM_SPOOL_IN_A_ROW) != 0) {
            break;
        }
    }
    return rc;
}

/* Counts it: a list of one number has what is kept; one of two (Taken.counts) has what was taken,
 * in both. */
static bool
spool_tell(PyObject *told, const mm_spool_did *did)
{
    const uint64_t more = PyList_Size(told) > 1 ? did->done : did->done - did->unkept;
    for (Py_ssize_t i = 0; i < PyList_Size(told); i++) {
        PyObject *was = PyList_GetItem(told, i);
        PyObject *sum = PyLong_FromUnsignedLongLong(PyLong_AsUnsignedLongLong(was) + more);
        if (sum == NULL || PyList_SetItem(told, i, sum) != 0) {
            return false;
        }
    }
    return PyErr_Occurred() == NULL;
}

static PyObject *
spool_run(const spool_call *c, PyObject *list, Py_ssize_t at, PyObject *told)
{
    bool error = false;
    mm_spool_did did = { .done = 0 };
    int rc = spool_put(c, list, &at, &did, &error);
    /* Here, since a signal's function may raise before the caller has what is returned. */
    if ((did.done > 0 && !spool_tell(told, &did)) || error) {
        return NULL;
    }
    unsigned long long first = did.first, last = did.last;
    return c->producer == NULL
               ? Py_BuildValue("(inKK)", rc, at, first, last)
               : Py_BuildValue("(inKKKKK)", rc, at, first, last, (unsigned long long)did.repeated,
                               (unsigned long long)did.original, (unsigned long long)did.until);
}

/* The last arguments of a call, if they are there: who puts, and the number of the first. */
static bool
spool_origin(spool_call *c, PyObject *const *args, Py_ssize_t count)
{
    if (count == 0) {
        return true;
    }
    if (!PyBytes_Check(args[0]) || PyBytes_Size(args[0]) != SPOOL_PRODUCER) {
        (void)mmi_py_arguments("a producer of 16 octets");
        return false;
    }
    c->producer = mmi_py_body(args[0]).data;
    c->number = PyLong_AsUnsignedLongLong(args[1]);
    return PyErr_Occurred() == NULL;
}

/* What is the same for each: bytes that go with it; or a tuple of those, due_us, priority and
 * topic_size, as mm_spool_plan has them. */
static bool
spool_plan(mm_spool_plan *plan, PyObject *given)
{
    PyObject *meta = given;
    if (PyTuple_Check(given) && PyTuple_Size(given) == 4) {
        meta = PyTuple_GetItem(given, 0);
        plan->due_us = PyLong_AsUnsignedLongLong(PyTuple_GetItem(given, 1));
        plan->priority = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(given, 2));
        plan->topic_size = PyLong_AsUnsignedLongLong(PyTuple_GetItem(given, 3));
    }
    if (!PyBytes_Check(meta)) {
        (void)mmi_py_arguments("bytes, or (bytes, due_us, priority, topic_size)");
        return false;
    }
    const mm_body octets = mmi_py_body(meta);
    plan->meta = octets.data;
    plan->meta_size = (uint32_t)octets.size;
    return PyErr_Occurred() == NULL;
}

/* spool_append(spool's address, messages: list[bytes], at, told, plan, flags, timeout_ms,
 * slice_ms) -> (code, how many of the list were taken, the numbers of the first and the last that
 * was put; 0: of none).  told: a list that counts, whatever becomes of what is returned
 * (spool_tell).  With a producer: bytes and the number of the list's first message behind them:
 * also how many were repeated, the number of the last of those, and the number that is kept when
 * all is. */
PyObject *
mmi_py_spool_append(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if ((count != 8 && count != 10) || !PyList_Check(args[1]) || !PyList_Check(args[3])) {
        return mmi_py_arguments("(address, list, at, told, plan, flags, timeout_ms, slice_ms)");
    }
    Py_ssize_t at = PyLong_AsSsize_t(args[2]);
    spool_call c = { .spool = (mm_spool *)PyLong_AsVoidPtr(args[0]),
                     .flags = (uint32_t)PyLong_AsUnsignedLong(args[5]),
                     .timeout_ms = PyLong_AsLongLong(args[6]),
                     .slice_ms = PyLong_AsLongLong(args[7]) };
    if (!spool_plan(&c.plan, args[4]) || !spool_origin(&c, args + 8, count - 8)) {
        return NULL;
    }
    if (PyErr_Occurred() != NULL || at < 0) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a place in the list");
    }
    return spool_run(&c, args[1], at, args[3]);
}

/* spool_put(spool's address, messages: list[bytes], at, told, plan) -> as spool_append,
 * of those that had room at this moment */
PyObject *
mmi_py_spool_put(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if ((count != 5 && count != 7) || !PyList_Check(args[1]) || !PyList_Check(args[3])) {
        return mmi_py_arguments("(address, list, at, told, plan)");
    }
    Py_ssize_t at = PyLong_AsSsize_t(args[2]);
    spool_call c = { .spool = (mm_spool *)PyLong_AsVoidPtr(args[0]), .now = true };
    if (!spool_plan(&c.plan, args[4]) || !spool_origin(&c, args + 5, count - 5)) {
        return NULL;
    }
    if (PyErr_Occurred() != NULL || at < 0) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a place in the list");
    }
    return spool_run(&c, args[1], at, args[3]);
}
