/*
 * binding/list.c: a run of a list's messages, held while the core has them.
 *
 * Not here: what it does with them (binding/send.c, binding/spool.c).
 * Law: the interpreter's lock is held; what was held is let go once.
 */
#include "binding/binding.h"

bool
mmi_py_list_hold(mmi_py_held *held, PyObject *list, Py_ssize_t at)
{
    held->count = 0;
    for (Py_ssize_t end = PyList_Size(list); held->count < MMI_PY_RUN && at < end; at++) {
        PyObject *item = PyList_GetItem(list, at); /* borrowed */
        char *body;
        Py_ssize_t size;
        if (item == NULL || PyBytes_AsStringAndSize(item, &body, &size) != 0) {
            mmi_py_list_let_go(held);
            PyErr_Clear();
            (void)mmi_py_arguments("bytes");
            return false;
        }
        Py_IncRef(item);
        held->items[held->count] = item;
        held->bodies[held->count++] =
            (mm_body){ .data = (const uint8_t *)body, .size = (size_t)size };
    }
    return true;
}

void
mmi_py_list_let_go(mmi_py_held *held)
{
    while (held->count > 0) {
        Py_DecRef(held->items[--held->count]);
    }
}
