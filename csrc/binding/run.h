/*
 * binding/run.h: messages that are given out one by one: a batch as it was received, or a list.
 *
 * Law: the interpreter's lock is held; a run belongs to who refers to it, and its batch lives while
 * anything is made of it.
 */
#ifndef MMI_PYTHON_FAST_RUN_H
#define MMI_PYTHON_FAST_RUN_H

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
    PyObject *list;            /* the messages; NULL: they are in the batch */
    PyObject *owner;           /* owner._unpack_at(address) makes it; NULL: each is bytes */
    mm_handle handle;          /* the owner's */
    struct mmi_run *next;
} mmi_run;

mmi_run *mmi_run_new(void);    /* NULL: an error is set */
void mmi_run_unref(mmi_run *run);
uint64_t mmi_run_bytes(const mmi_run *run);              /* of what the batch has still to give */
/* Receives into it: a code.  Its messages are bytes, if plain and there are no others. */
int mmi_run_recv(mmi_run *run, PyObject *owner, bool plain, const mmi_want *want);
/* The same for one that is there, by who keeps the interpreter's lock meanwhile; MM_EAGAIN: there is
 * none, or it takes mmi_run_recv. */
int mmi_run_recv_here(mmi_run *run, PyObject *owner, const mmi_want *want);
/* What a receive into it came to: the code. */
int mmi_run_received(mmi_run *run, PyObject *owner, bool plain, int rc);
/* Makes the list of the batch, which may run anything.  false: an error, and it is as it was. */
bool mmi_run_unpack(mmi_run *run);
void mmi_run_fill(mmi_run *run, PyObject *list);         /* with these; takes the reference */
PyObject *mmi_run_next(mmi_run *run);                    /* of a list */
static inline uint64_t
mmi_run_peer(const mmi_run *run)                         /* of a batch: who sent the next */
{
    return mmi_fast_peer(run->batch, (uint32_t)run->at);
}
/* Message i of the batch as an object of that class, which is bytes without attributes of their
 * own. */
PyObject *mmi_run_make(const mmi_run *run, uint32_t i, PyObject *type);

#endif
