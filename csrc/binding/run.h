/*
 * binding/run.h: messages that are given out one by one: a batch as it was received, or a list.
 *
 * Law: the interpreter's lock is held; a run belongs to who refers to it, and its batch lives while
 * anything is made of it.
 */
#ifndef MMI_BINDING_RUN_H
#define MMI_BINDING_RUN_H

#include "binding/binding.h"

/* What a receive is to take, and how it waits. */
typedef struct mmi_want {
    mm_handle handle;
    uint32_t messages;
    uint64_t bytes;
    int64_t timeout_ms, slice_ms;
} mmi_want;

/* Of (owner, handle, max_messages, max_bytes, timeout_ms, slice_ms); false: an error is set. */
bool mmi_want_of(PyObject *const *args, Py_ssize_t count, mmi_want *want);

/* [at, count) are to be given out. */
typedef struct mmi_run {
    uint32_t refs;
    Py_ssize_t at, count;
    uint32_t bytes;            /* of the batch; UINT32_MAX: it is a large message */
    mm_batch *batch;
    PyObject *list;            /* the messages, which were given back; NULL: they are in the batch */
    bool single;               /* each is one frame */
    PyObject *owner;           /* each is a request, to be answered by that socket; else NULL */
    mm_handle handle;          /* the owner's */
    struct mmi_run *next;
} mmi_run;

mmi_run *mmi_run_new(void);    /* NULL: an error is set */
mmi_run *mmi_run_of(mm_batch *batch);   /* the same, of a batch that is another's as well */
void mmi_run_unref(mmi_run *run);
uint64_t mmi_run_bytes(const mmi_run *run);              /* of what the batch has still to give */
/* Receives into it: a code.  owner: the socket, if all are requests; else NULL. */
int mmi_run_recv(mmi_run *run, PyObject *owner, const mmi_want *want);
/* The same for one that is there, by who keeps the interpreter's lock meanwhile; MM_EAGAIN: there is
 * none, or it takes mmi_run_recv. */
int mmi_run_recv_nowait(mmi_run *run, PyObject *owner, const mmi_want *want);
/* What a receive into it came to: the code. */
int mmi_run_received(mmi_run *run, PyObject *owner, int rc);
void mmi_run_fill(mmi_run *run, PyObject *list);         /* with these; takes the reference */
PyObject *mmi_run_next(mmi_run *run);                    /* of a list */
static inline uint64_t
mmi_run_peer(const mmi_run *run)                         /* of a batch: who sent the next */
{
    return mmi_py_peer(run->batch, (uint32_t)run->at);
}
/* Frame j of the batch as an object of that class, which is bytes without attributes of their own. */
PyObject *mmi_run_make(const mmi_run *run, uint32_t j, PyObject *type);

#endif
