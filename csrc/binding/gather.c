/*
 * binding/gather.c: what a send_many takes out of its iterable to send it, as a Python function.
 * Not here: sending it (binding/send.c).
 * Law: what came out of the iterable is in the list before any function of Python runs, so that
 * whatever ends the call, nothing that was taken is gone.
 */
#include "binding/binding.h"

typedef struct gathering {
    PyObject *list, *convert, *clock;
    double before, slow_s;
} gathering;

/* false: an error is set. */
static bool
gather_clock(const gathering *g, double *now)
{
    PyObject *time = PyObject_CallObject(g->clock, NULL);
    *now = time != NULL ? PyFloat_AsDouble(time) : -1.0;
    Py_XDECREF(time);
    return *now != -1.0 || PyErr_Occurred() == NULL;
}

/* What is no bytes becomes such.  < 0: an error is set, and it stands last in the list as it came;
 * else its size. */
static Py_ssize_t
gather_size(const gathering *g, PyObject *item)
{
    if (PyBytes_Check(item)) {
        return PyBytes_Size(item);
    }
    PyObject *body = PyObject_CallFunctionObjArgs(g->convert, item, NULL);
    Py_ssize_t size = body != NULL ? PyBytes_Size(body) : -1;
    if (size < 0) {
        Py_XDECREF(body);
        return -1;
    }
    return PyList_SetItem(g->list, PyList_Size(g->list) - 1, body) == 0 ? size : -1;
}

/* Takes the next; *size is its size, *slow whether it took its time.  1: taken; 0: there are no
 * more; < 0: an error is set. */
static int
gather_next(gathering *g, PyObject *iterator, Py_ssize_t *size, bool *slow)
{
    PyObject *item = PyIter_Next(iterator);
    if (item == NULL) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    int rc = PyList_Append(g->list, item);
    *size = rc == 0 ? gather_size(g, item) : -1;
    Py_DECREF(item);
    double now;
    if (*size < 0 || !gather_clock(g, &now)) {
        return -1;
    }
    *slow = now - g->before > g->slow_s;
    g->before = now;
    return 1;
}

/* gather(iterator, list, max_messages, max_bytes, slow_s, clock, convert) -> bool: may there be
 * more.  Appends messages until there are so many, so many bytes, or one took longer to come than
 * slow_s; what is no bytes becomes what convert(it) returns. */
PyObject *
mmi_py_gather(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 7 || !PyIter_Check(args[0]) || !PyList_Check(args[1])) {
        return mmi_py_arguments("(iterator, list, max_messages, max_bytes, slow_s, clock, "
                                "convert)");
    }
    Py_ssize_t messages = PyLong_AsSsize_t(args[2]), bytes = PyLong_AsSsize_t(args[3]);
    gathering g = {
        .list = args[1], .convert = args[6], .clock = args[5], .slow_s = PyFloat_AsDouble(args[4])
    };
    if (PyErr_Occurred() != NULL || !gather_clock(&g, &g.before)) {
        return NULL;
    }
    int rc = 1;
    bool slow = false;
    while (rc == 1 && messages-- > 0 && bytes > 0 && !slow) {
        Py_ssize_t size = 0;
        rc = gather_next(&g, args[0], &size, &slow);
        bytes -= size;
    }
    return rc < 0 ? NULL : PyBool_FromLong(rc);
}
