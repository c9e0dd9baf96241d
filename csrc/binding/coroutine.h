/*
 * binding/coroutine.h: a coroutine without a frame, of a call to a socket that is made once a message:
 * most need not wait.  One that has to goes on as a coroutine of Python, to which all is passed on.
 *
 * Law: nothing is done before it is awaited, or its task has the first step.
 */
#ifndef MMI_BINDING_COROUTINE_H
#define MMI_BINDING_COROUTINE_H

#include "binding/binding.h"

typedef struct mmi_coroutine mmi_coroutine;

typedef struct mmi_coroutine_kind {
    const char *name;      /* of the call */
    /* What it returns, as a new reference; NULL without an error: the rest does it. */
    PyObject *(*begin)(const mmi_coroutine *c);
    /* The same as a coroutine of Python; NULL: an error is set. */
    PyObject *(*rest)(const mmi_coroutine *c);
    bool awaited_again;    /* while it waits: builtins.anext does so at each step */
} mmi_coroutine_kind;

typedef enum mmi_coroutine_state {
    MMI_COROUTINE_NEW, MMI_COROUTINE_RUNS, MMI_COROUTINE_WAITS, MMI_COROUTINE_OVER
} mmi_coroutine_state;

struct mmi_coroutine {
    PyObject_HEAD
    const mmi_coroutine_kind *kind;
    PyObject *owner;       /* the socket */
    PyObject *what;        /* is to be sent, or is ready to be taken */
    PyObject *timeout;     /* None: none */
    PyObject *topic;       /* of what is to be sent; NULL: none */
    PyObject *rest;        /* of Python; NULL: none */
    mm_handle handle;      /* of the socket, to send */
    mmi_coroutine_state state;
    bool asked;            /* for what can be iterated over: it is being awaited */
};

mmi_coroutine *mmi_coroutine_new(const mmi_coroutine_kind *kind, PyObject *owner, PyObject *what,
                                 PyObject *timeout);

#endif
