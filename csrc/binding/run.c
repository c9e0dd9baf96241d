/*
 * binding/run.c: see binding/run.h.
 * Not here: what is ready, in which order (binding/ready.c).
 */
#include "binding/run.h"

/* Kept for the next receive, as whoever has taken all of one receives again. */
static mmi_run *run_spare;

/* The batch of a larger run has memory worth freeing. */
enum {
    RUN_KEEP = 64,               /* messages */
    RUN_KEEP_BYTES = 64 * 1024
};

bool
mmi_want_of(PyObject *const *args, Py_ssize_t count, mmi_want *want)
{
    if (count != 6) {
        (void)mmi_py_arguments("(owner, handle, max_messages, max_bytes, timeout_ms, slice_ms)");
        return false;
    }
    want->messages = (uint32_t)PyLong_AsUnsignedLong(args[2]);
    want->bytes = PyLong_AsUnsignedLongLong(args[3]);
    want->timeout_ms = PyLong_AsLongLong(args[4]);
    want->slice_ms = PyLong_AsLongLong(args[5]);
    return mmi_py_handle(args[1], &want->handle) && PyErr_Occurred() == NULL;
}

static void
run_free(mmi_run *run)
{
    mm_batch_free(run->batch);
    Py_XDECREF(run->list);
    Py_XDECREF(run->owner);
    PyMem_Free(run);
}

mmi_run *
mmi_run_new(void)
{
    mmi_run *run = run_spare;
    if (run != NULL) {
        run_spare = NULL;
        return run;
    }
    run = PyMem_Malloc(sizeof *run);
    mm_batch *batch = NULL;
    if (run == NULL || mm_batch_new(&batch) != MM_OK) {
        PyMem_Free(run);
        PyErr_NoMemory();
        return NULL;
    }
    *run = (mmi_run){ .refs = 1, .batch = batch };
    return run;
}

mmi_run *
mmi_run_of(mm_batch *batch)
{
    mmi_run *run = PyMem_Malloc(sizeof *run);
    if (run == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *run = (mmi_run){ .refs = 1, .batch = mm_batch_share(batch) };
    return run;
}

void
mmi_run_unref(mmi_run *run)
{
    if (--run->refs > 0) {
        return;
    }
    if (run_spare != NULL || run->count > RUN_KEEP || run->bytes >= RUN_KEEP_BYTES) {
        run_free(run);
        return;
    }
    PyObject *list = run->list, *owner = run->owner;
    mm_batch_drop(run->batch);
    *run = (mmi_run){ .refs = 1, .batch = run->batch };
    run_spare = run;   /* before anything is let go that may receive as it goes */
    Py_XDECREF(list);
    Py_XDECREF(owner);
}

/* Of the frames of messages [at, count). */
uint64_t
mmi_run_bytes(const mmi_run *run)
{
    uint64_t bytes = 0;
    for (Py_ssize_t i = run->at; i < run->count; i++) {
        uint32_t from, to;
        mmi_py_span(run->batch, (uint32_t)i, &from, &to);
        for (uint32_t j = from; j < to; j++) {
            Py_ssize_t size;
            (void)mmi_py_frame(run->batch, j, &size);
            bytes += (uint64_t)size;
        }
    }
    return bytes;
}

/* Each of its messages is one frame, and nothing else. */
static bool
run_is_single(const mm_batch *batch)
{
    bool single = batch->big != NULL ? mm_msg_frame_count(batch->big) == 1
                                     : batch->frame_count == batch->message_count;
    return single && batch->noted == 0;
}

int
mmi_run_received(mmi_run *run, PyObject *owner, int rc)
{
    run->count = rc > 0 ? rc : 0;
    if (rc > 0) {
        const mm_batch *batch = run->batch;
        run->bytes =
            batch->big != NULL ? UINT32_MAX : batch->offset[batch->frame_count] - batch->offset[0];
        run->single = run_is_single(batch);
        Py_XINCREF(owner);
        run->owner = owner;
    }
    return rc;
}

int
mmi_run_recv(mmi_run *run, PyObject *owner, const mmi_want *want)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = mm_recv(want->handle, run->batch, want->messages, want->bytes,
                                        want->timeout_ms, want->slice_ms);
    Py_END_ALLOW_THREADS run->handle = want->handle;
    return mmi_run_received(run, owner, rc);
}

int
mmi_run_recv_nowait(mmi_run *run, PyObject *owner, const mmi_want *want)
{
    int more, rc = mm_recv_nowait(want->handle, run->batch, &more);
    if (more != 0) {
        Py_BEGIN_ALLOW_THREADS(void) mm_settle(want->handle);
        Py_END_ALLOW_THREADS
    }
    run->handle = want->handle;
    rc = mmi_run_received(run, owner, rc);
    run->bytes = 0;   /* lent, whatever its size: it goes as the batch is dropped */
    return rc;
}

void
mmi_run_fill(mmi_run *run, PyObject *list)
{
    run->list = list;
    run->at = 0;
    run->count = PyList_Size(list);
}

PyObject *
mmi_run_next(mmi_run *run)
{
    PyObject *item = PyList_GetItem(run->list, run->at++);
    if (item != NULL) {
        Py_INCREF(item);
        Py_INCREF(Py_None);
        (void)PyList_SetItem(run->list, run->at - 1, Py_None);   /* it belongs to who took it */
    }
    return item;
}

PyObject *
mmi_run_make(const mmi_run *run, uint32_t j, PyObject *type)
{
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(run->batch, j, &size);
    return mmi_py_plain((PyTypeObject *)type, data, size);
}
