/*
 * binding/turns.c: how many calls of asyncio a thread made that needed not wait, since others of
 * its loop had their turn.
 * Not here: whether it is time for one, and having one (aio/_turns.py).
 * Law: each such call counts once, whatever makes it: a native call or a coroutine of Python.
 */
#include "binding/binding.h"

static _Thread_local uint32_t turns_calls;

bool
mmi_py_async_due(void)
{
    return turns_calls + 1 >= MMI_PY_ASYNC_MAX;
}

bool
mmi_py_async_count(uint32_t calls)
{
    turns_calls += calls < MMI_PY_ASYNC_MAX ? calls : MMI_PY_ASYNC_MAX;
    return turns_calls >= MMI_PY_ASYNC_MAX;
}

/* async_calls(calls) -> whether others of this thread's loop are due a turn, with so many more */
PyObject *
mmi_py_async_calls(PyObject *self, PyObject *calls)
{
    (void)self;
    unsigned long more = PyLong_AsUnsignedLong(calls);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    return PyBool_FromLong(
        mmi_py_async_count(more < MMI_PY_ASYNC_MAX ? (uint32_t)more : MMI_PY_ASYNC_MAX));
}

/* async_turn(): they had one, have one now, or it is too early for one */
PyObject *
mmi_py_async_turn(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    turns_calls = 0;
    return mmi_py_none();
}
