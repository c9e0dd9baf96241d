/*
 * binding/ready.h: what a socket has received and not given out (binding/ready.c), for who receives more
 * (binding/receive.c, binding/survey.c).
 *
 * Law: as in binding/ready.c.
 */
#ifndef MMI_PYTHON_FAST_READY_H
#define MMI_PYTHON_FAST_READY_H

#include "binding/run.h"

/* The runs, the oldest first; none is empty. */
typedef struct mmi_ready {
    PyObject_HEAD
    mmi_run *run;              /* NULL: none */
    PyObject *classes;         /* classes(peer) is the class of a peer's messages of one frame;
                                * NULL: all are requests */
    PyObject *request;         /* the class of requests, if all messages are; else NULL */
    PyObject *type;            /* classes(peer), the last that was asked for; NULL: none yet */
    uint64_t peer;
    bool plain;                /* making one of that type runs nothing else */
    uint64_t drops;            /* how often all was dropped */
    uint32_t quick;            /* taken by quick since the last rest */
    bool takes;                /* a thread takes answers of a survey, without waiting */
    uint32_t sleepers;         /* threads that wait for a message inside the core */
    bool held;                 /* an iterator is to ask each time */
    bool told;                 /* what the core was told last: there are some */
    mmi_want one;              /* of the socket: one message, waited for */
} mmi_ready;

/* The oldest of a queue, as a new reference; NULL without an error: there is none. */
PyObject *mmi_ready_take(mmi_ready *r, mmi_run **queue);
/* Up to max of the oldest of a queue, as a list. */
PyObject *mmi_ready_take_list(mmi_ready *r, mmi_run **queue, Py_ssize_t max);
PyObject *mmi_ready_next(mmi_ready *r);                   /* as take; all is held: NULL */
/* The same; NULL also: so many were taken so since ready.rested(). */
PyObject *mmi_ready_quick(mmi_ready *r, uint32_t most);
void mmi_ready_drop(mmi_ready *r);                        /* all; may run anything */
/* Puts a list's first items before all others, in their order.  false: an error is set. */
bool mmi_ready_insert(mmi_run **queue, PyObject *list, Py_ssize_t count);
void mmi_run_link(mmi_run **queue, mmi_run *runs);        /* before those of the queue */

/* binding/ready_type.c */
bool mmi_ready_is(PyObject *object);

/* The methods of binding/receive.c. */
PyObject *mmi_ready_recv(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_serve(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_one(PyObject *self, PyObject *owner);
PyObject *mmi_ready_recv_many(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_turn(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_sleeps(PyObject *self, PyObject *change);
/* The next message, waited for; NULL without an error: there is more to it, for Python to do. */
PyObject *mmi_ready_await(mmi_ready *r, PyObject *owner, const mmi_want *want);

/* binding/survey.c: as a method; and the next answer to that survey, waited for: NULL without an
 * error: there is more to it, for Python to do. */
PyObject *mmi_ready_answer(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_ready_await_answer(mmi_ready *r, PyObject *owner, const mmi_want *want, uint64_t id);

#endif
