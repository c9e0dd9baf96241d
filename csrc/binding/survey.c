/*
 * binding/survey.c: asking all peers at once, as a Python function, and taking their answers.
 * Not here: asking one (binding/ask.c); giving answers out (binding/ready.c, binding/stream.c).
 * Law: as in binding/module.c; a survey that began is known to its caller before anything else can
 * fail or run.
 */
#include "binding/ready.h"

enum {
    SURVEY_ANSWERS = 64,   /* taken at once                                  */
    SURVEY_ASKED = 256     /* peers whose ids are told without another look */
};

/* Whom it asked, as octets: 8 for each, in the order of this machine.  few: the first of them. */
static PyObject *
survey_asked(mm_handle handle, uint64_t id, const uint64_t *few, int count)
{
    if (count <= SURVEY_ASKED) {
        Py_ssize_t size = count > 0 ? (Py_ssize_t)sizeof(*few) * count : 0;
        return PyBytes_FromStringAndSize((const char *)few, size);
    }
    PyObject *ids = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof(*few) * count);
    uint64_t *all = ids != NULL ? (uint64_t *)(void *)PyBytes_AsString(ids) : NULL;
    int told = 0;
    if (all != NULL) {
        Py_BEGIN_ALLOW_THREADS told = mm_survey_asked(handle, id, all, (uint32_t)count);
        Py_END_ALLOW_THREADS
    }
    if (ids != NULL && told != count) {   /* closed meanwhile */
        Py_DECREF(ids);
        return PyBytes_FromStringAndSize(NULL, 0);
    }
    return ids;
}

/* survey(handle, question, expect, deadline_ms, timeout_ms, slice_ms, out: list) -> code;
 * out is then the id, and whom it asked: there before a signal's function can raise */
PyObject *
mmi_py_survey(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mm_handle handle;
    mmi_question q;
    if (count != 7 || !PyList_Check(args[6]) || PyList_Size(args[6]) != 2) {
        return mmi_py_arguments("(handle, question, expect, deadline_ms, timeout_ms, slice_ms, "
                                "list of two)");
    }
    unsigned long expect = PyLong_AsUnsignedLong(args[2]);
    int64_t deadline_ms = PyLong_AsLongLong(args[3]), timeout_ms = PyLong_AsLongLong(args[4]);
    int64_t slice_ms = PyLong_AsLongLong(args[5]);
    if (!mmi_py_handle(args[0], &handle) || PyErr_Occurred() != NULL ||
        !mmi_py_question(args[1], &q)) {
        return NULL;
    }
    int rc, asked = 0;
    uint64_t id = 0, few[SURVEY_ASKED];
    Py_BEGIN_ALLOW_THREADS rc =
        mm_survey_packed(handle, q.data, q.sizes, q.count, q.note, q.note_size, (uint32_t)expect,
                         deadline_ms, timeout_ms, slice_ms, &id);
    if (rc == MM_OK) {
        asked = mm_survey_asked(handle, id, few, SURVEY_ASKED);
    }
    Py_END_ALLOW_THREADS if (rc != MM_OK)
    {
        return PyLong_FromLong(rc);
    }
    if (!mmi_py_tell_id(args[6], handle, id)) {
        return NULL;
    }
    PyObject *ids = survey_asked(handle, id, few, asked);
    return ids != NULL && PyList_SetItem(args[6], 1, ids) == 0 ? PyLong_FromLong(rc) : NULL;
}

/* Up to max of the next answers of a survey into that run: a code. */
static int
survey_answers(mmi_run *run, const mmi_want *want, uint64_t id, uint32_t max)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS rc =
        mm_recv_answers(want->handle, id, run->batch, max, want->timeout_ms, want->slice_ms);
    Py_END_ALLOW_THREADS return rc;
}

/* Those that are there, or waits for one.  A thread that sleeps learns of none that another took,
 * so nobody takes many meanwhile, nor goes to sleep while another takes many. */
static int
survey_receive(mmi_ready *r, mmi_run *run, const mmi_want *want, uint64_t id)
{
    mmi_want now = *want;
    now.timeout_ms = 0;
    if (r->takes) {
        return MM_EINTR;   /* its answers are ready soon */
    }
    r->takes = true;
    int rc = survey_answers(run, &now, id, r->sleepers > 0 ? 1 : SURVEY_ANSWERS);
    r->takes = false;
    if (rc == MM_EAGAIN && want->timeout_ms != 0) {
        r->sleepers++;
        rc = survey_answers(run, want, id, 1);
        r->sleepers--;
    }
    return rc;
}

/* Receives as mm_recv_answers does, and makes it ready before anything else can run: a code. */
static int
survey_fetch(mmi_ready *r, mmi_run *run, PyObject *owner, const mmi_want *want, uint64_t id)
{
    int rc = survey_receive(r, run, want, id);
    rc = mmi_run_received(run, mmi_ready_answers(r, owner), rc);
    if (rc > 0) {
        mmi_run_link(&r->run, run);   /* what is there came meanwhile, and is younger */
    } else {
        mmi_run_unref(run);
    }
    return rc;
}

/* The next answer, of those that are ready or as mm_recv_answers gives it; NULL without an error:
 * none, and *rc is the code. */
static PyObject *
survey_next(mmi_ready *r, PyObject *owner, const mmi_want *want, uint64_t id, int *rc)
{
    PyObject *found = mmi_ready_take(r, &r->run);
    mmi_run *run = found == NULL && PyErr_Occurred() == NULL ? mmi_run_new() : NULL;
    if (run == NULL) {
        return found;
    }
    *rc = survey_fetch(r, run, owner, want, id);
    if (*rc <= 0 || PyErr_CheckSignals() != 0) {   /* now, rather than once an answer was taken */
        return NULL;
    }
    *rc = MM_EINTR;   /* another thread may have taken all */
    return mmi_ready_take(r, &r->run);
}

/* answer(owner, handle, id, timeout_ms, slice_ms) -> the next answer of a survey; or a code */
PyObject *
mmi_ready_answer(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_want want = { 0 };
    if (count != 5) {
        return mmi_py_arguments("(owner, handle, id, timeout_ms, slice_ms)");
    }
    uint64_t id = PyLong_AsUnsignedLongLong(args[2]);
    want.timeout_ms = PyLong_AsLongLong(args[3]);
    want.slice_ms = PyLong_AsLongLong(args[4]);
    if (!mmi_py_handle(args[1], &want.handle) || PyErr_Occurred() != NULL) {
        return NULL;
    }
    int rc = MM_OK;
    PyObject *found = survey_next((mmi_ready *)self, args[0], &want, id, &rc);
    return found != NULL || PyErr_Occurred() != NULL ? found : PyLong_FromLong(rc);
}

PyObject *
mmi_ready_await_answer(mmi_ready *r, PyObject *owner, const mmi_want *want, uint64_t id)
{
    int rc;
    return PyErr_CheckSignals() == 0 ? survey_next(r, owner, want, id, &rc) : NULL;
}
