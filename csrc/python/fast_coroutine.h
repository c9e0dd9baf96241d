/*
 * fast_coroutine.h: a coroutine without a frame, for what is awaited once a message: most calls
 * need not wait.  One that has to goes on as a coroutine of Python, to which everything is passed on.
 *
 * Law: nothing is done before it is awaited, or its task has the first step.
 */
#ifndef MMI_PYTHON_FAST_COROUTINE_H
#define MMI_PYTHON_FAST_COROUTINE_H

#include "python/fast.h"

typedef enum mmi_coroutine_state {
    MMI_COROUTINE_NEW, MMI_COROUTINE_RUNS, MMI_COROUTINE_WAITS, MMI_COROUTINE_OVER
} mmi_coroutine_state;

typedef struct mmi_coroutine mmi_coroutine;
/* What it returns, as a new reference; NULL: an error is set, or c->rest is what goes on. */
typedef PyObject *mmi_coroutine_begin(mmi_coroutine *c);

struct mmi_coroutine {
    PyObject_HEAD
    mmi_coroutine_begin *begin;
    const char *name;      /* of the call that it is */
    PyObject *owner;       /* the socket */
    PyObject *what;        /* is to be sent, or is ready to be taken */
    PyObject *timeout;     /* None: none */
    PyObject *rest;        /* a coroutine of Python; NULL: none */
    mm_handle handle;      /* of the socket, to send */
    mmi_coroutine_state state;
};

mmi_coroutine *mmi_coroutine_new(mmi_coroutine_begin *begin, const char *name, PyObject *owner,
                                 PyObject *what, PyObject *timeout);

#endif
