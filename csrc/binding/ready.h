/*
 * binding/ready.h: what a socket has received and not given out (binding/ready.c), for who receives more
 * (binding/receive.c, binding/survey.c).
 *
 * Law: as in binding/ready.c.
 */
#ifndef MMI_BINDING_READY_H
#define MMI_BINDING_READY_H

#include "binding/form.h"
#include "binding/lock.h"
#include "binding/run.h"

/* The runs, the oldest first; none is empty. */
typedef struct mmi_ready {
    PyObject_HEAD
    mmi_run *run;              /* NULL: none */
    mmi_form *form;            /* of its messages */
    PyObject *type;            /* the class of a peer, the last that was asked for; NULL: none yet */
    uint64_t peer;
    bool plain;                /* making one of that type runs nothing else */
    uint64_t drops;            /* how often all was dropped */
    bool takes;                /* a thread takes answers of a survey, without waiting */
    mmi_lock lock;             /* held by a thread that prefetches, or goes to sleep */
    uint32_t sleepers;         /* threads that wait for a message inside the core */
    bool watched;              /* from outside: by the descriptor, in a poller; nobody prefetches */
    bool told;                 /* what the core was told last, if it is watched: there are some */
    mmi_want one;              /* of the socket: one message, waited for */
} mmi_ready;

/* The oldest of a queue, as a new reference; NULL without an error: there is none. */
PyObject *mmi_ready_take(mmi_ready *r, mmi_run **queue);
/* Up to max of the oldest of a queue, as a list. */
PyObject *mmi_ready_take_list(mmi_ready *r, mmi_run **queue, Py_ssize_t max);
PyObject *mmi_ready_next(mmi_ready *r);                   /* as take; it is watched: NULL */
PyObject *mmi_ready_quick(mmi_ready *r);                  /* the same; also: others are due a turn */
void mmi_ready_drop(mmi_ready *r);                        /* all; may run anything */
/* What was found, once the core knows of what is left, if somebody watches; whatever error is set. */
PyObject *mmi_ready_settled(mmi_ready *r, PyObject *found);
void mmi_ready_settle(mmi_ready *r);                      /* the core is told of it */
/* Something was given back: the core is told, and threads that sleep in it look. */
void mmi_ready_keep(mmi_ready *r);
/* Puts a list's first items before all others, in their order.  false: an error is set. */
bool mmi_ready_insert(mmi_run **queue, PyObject *list, Py_ssize_t count);
void mmi_run_link(mmi_run **queue, mmi_run *runs);        /* before those of the queue */
/* The same of what a receive took when so often all had been dropped; if it was since, as the socket
 * was closed, these are, too. */
void mmi_ready_give_back(mmi_ready *r, mmi_run *runs, uint64_t drops);

/* binding/ready_type.c */
bool mmi_ready_is(PyObject *object);
/* Who answers what it received: the owner, or NULL as these are no requests. */
static inline PyObject *
mmi_ready_answers(const mmi_ready *r, PyObject *owner)
{
    return mmi_form_is_request(r->form) ? owner : NULL;
}

/* The methods of binding/receive.c. */
PyObject *mmi_ready_recv(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_serve(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_one(PyObject *self, PyObject *owner);
PyObject *mmi_ready_recv_many(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_turn(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_sleeps(PyObject *self, PyObject *change);
PyObject *mmi_ready_hold(PyObject *self, PyObject *const *args, Py_ssize_t count);   /* binding/hold.c */
/* The next message, waited for; NULL without an error: there is more to it, for Python to do. */
PyObject *mmi_ready_await(mmi_ready *r, PyObject *owner, const mmi_want *want);

/* binding/survey.c: as a method; and the next answer to that survey, waited for: NULL without an
 * error: there is more to it, for Python to do. */
PyObject *mmi_ready_answer(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_await_answer(mmi_ready *r, PyObject *owner, const mmi_want *want, uint64_t id);

#endif
