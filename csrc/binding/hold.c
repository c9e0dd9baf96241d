/*
 * binding/hold.c: a batch that Python fills: if the call that does so fails, its messages are ready
 * again, as a run.
 *
 * What that takes is there before anything is received: it needs no memory, and nothing of Python's
 * runs between the failure and the run that is ready.
 * Not here: batches that nobody else sees (binding/receive.c).
 * Law: the interpreter's lock is held; who left the block without an error has the batch.
 */
#include "binding/ready.h"

typedef struct hold {
    PyObject_HEAD mmi_ready *ready;
    mmi_run *run;              /* of the batch; NULL: it was left */
    mm_handle handle;
    uint64_t drops;            /* of the ready messages, as it was made */
} hold;

static PyTypeObject *hold_type;

/* hold(handle, batch address) -> a context: what the batch has when the block raises is ready then,
 * before all others, and threads that sleep in the core look */
PyObject *
mmi_ready_hold(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    mmi_ready *r = (mmi_ready *)self;
    mm_handle handle = 0;
    mm_batch *batch = NULL;
    if (count != 2 || mmi_form_is_request(r->form)) {
        return mmi_py_arguments("(handle, batch), and not of requests");
    }
    batch = PyLong_AsVoidPtr(args[1]);
    if (batch == NULL || !mmi_py_handle(args[0], &handle)) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("the address of a batch");
    }
    hold *h = (hold *)PyType_GenericNew(hold_type, NULL, NULL);
    if (h == NULL || (h->run = mmi_run_of(batch)) == NULL) {
        Py_XDECREF(h);
        return NULL;
    }
    Py_INCREF(self);
    h->ready = r;
    h->handle = handle;
    h->drops = r->drops;
    return (PyObject *)h;
}

static PyObject *
hold_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_INCREF(self);
    return self;
}

/* The batch may have been gathering. */
static void
hold_give_back(hold *h)
{
    mmi_run *run = h->run;
    h->run = NULL;
    Py_BEGIN_ALLOW_THREADS(void) mm_batch_finish(h->handle, run->batch);
    Py_END_ALLOW_THREADS if (mmi_run_received(run, NULL, (int)run->batch->message_count) > 0)
    {
        run->bytes = UINT32_MAX;   /* others may know the batch: it is not used again */
        mmi_ready_give_back(h->ready, run, h->drops);
    }
    else
    {
        mmi_run_unref(run);
    }
    mmi_ready_keep(h->ready);
}

static PyObject *
hold_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    hold *h = (hold *)self;
    if (count != 3) {
        return mmi_py_arguments("what a block ended with");
    }
    if (h->run != NULL && args[0] != Py_None) {
        hold_give_back(h);
    }
    if (h->run != NULL) {
        h->run->bytes = UINT32_MAX;   /* the batch is its caller's */
        mmi_run_unref(h->run);
        h->run = NULL;
    }
    return mmi_py_none();
}

static void
hold_dealloc(PyObject *self)
{
    hold *h = (hold *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (h->run != NULL && h->ready != NULL) {
        hold_give_back(h); /* the block was not left as others are: a signal's function raised */
    }
    Py_XDECREF(h->ready);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef hold_methods[] = {
    { "__enter__", hold_enter, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))hold_exit, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot hold_slots[] = {
    { Py_tp_methods, hold_methods },
    { Py_tp_dealloc, (void *)hold_dealloc },
    { 0, NULL },
};

static PyType_Spec hold_spec = {
    .name = "meshmsg._native.Hold",
    .basicsize = sizeof(hold),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = hold_slots,
};

bool
mmi_py_hold_init(void)
{
    hold_type = (PyTypeObject *)PyType_FromSpec(&hold_spec);
    return hold_type != NULL;
}
