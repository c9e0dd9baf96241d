/*
 * binding/spool_read.c: the messages of a batch of a spool as objects.
 *
 * Not here: which batch, which is loaded by way of cffi; putting (binding/spool.c).
 * Law: the octets were checked as the batch was loaded, and nobody loads another meanwhile.  What
 * was made is in the list, whatever comes after it.
 */
#include "binding/binding.h"

#include "meshmsg_spool.h"

static const double SPOOL_US_PER_S = 1e6;
static PyObject *spool_seq_name, *spool_epoch_name, *spool_stored_name, *spool_meta_name,
    *spool_front_name;

/* What messages of one batch have in common. */
typedef struct spool_shared {
    uint64_t time_us;
    uint32_t epoch;
    PyObject *stored, *number;   /* of those; NULL: none yet */
} spool_shared;

static bool
spool_share(spool_shared *s, const mm_spool_message *m)
{
    if (s->stored == NULL || s->time_us != m->time_us || s->epoch != m->epoch) {
        Py_XDECREF(s->stored);
        Py_XDECREF(s->number);
        s->stored = PyFloat_FromDouble((double)m->time_us / SPOOL_US_PER_S);
        s->number = PyLong_FromUnsignedLong(m->epoch);
        s->time_us = m->time_us;
        s->epoch = m->epoch;
    }
    return s->stored != NULL && s->number != NULL;
}

static bool
spool_set(PyObject *made, PyObject *name, PyObject *value)
{
    bool done = value != NULL && PyObject_SetAttr(made, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

/* The frames in front of the last, as a tuple, and the octets of those among m->data. */
static PyObject *
spool_front(const mm_spool_message *m, uint64_t *among)
{
    uint64_t *sizes = PyMem_Malloc(m->frames * sizeof *sizes);
    if (sizes == NULL) {
        return PyErr_NoMemory();
    }
    mm_spool_message_frames(m, sizes);
    PyObject *front = PyTuple_New((Py_ssize_t)m->frames - 1);
    *among = 0;
    for (uint32_t i = 0; front != NULL && i + 1 < m->frames; i++) {
        const uint8_t *at = i == 0 ? m->first : m->data + *among;
        PyObject *frame = PyBytes_FromStringAndSize((const char *)at, (Py_ssize_t)sizes[i]);
        *among += i == 0 ? 0 : sizes[i];
        if (frame == NULL || PyTuple_SetItem(front, i, frame) != 0) {
            Py_CLEAR(front);
        }
    }
    PyMem_Free(sizes);
    return front;
}

static PyObject *
spool_make(PyTypeObject *type, const mm_spool_message *m, spool_shared *s)
{
    uint64_t among = 0;
    PyObject *front = m->frames > 1 ? spool_front(m, &among) : NULL;
    if (m->frames > 1 && front == NULL) {
        return NULL;
    }
    PyObject *made = mmi_py_make(type, m->data + among, (Py_ssize_t)(m->size - among));
    bool good = made != NULL && spool_share(s, m) &&
                spool_set(made, spool_seq_name, PyLong_FromUnsignedLongLong(m->seq)) &&
                PyObject_SetAttr(made, spool_epoch_name, s->number) == 0 &&
                PyObject_SetAttr(made, spool_stored_name, s->stored) == 0;
    if (good && m->meta_size > 0) { /* else that of the class, which is empty */
        good = spool_set(made, spool_meta_name,
                         PyBytes_FromStringAndSize((const char *)m->meta, m->meta_size));
    }
    if (good && front != NULL) { /* likewise */
        good = PyObject_SetAttr(made, spool_front_name, front) == 0;
    }
    Py_XDECREF(front);
    if (!good) {
        Py_CLEAR(made);
    }
    return made;
}

/* spool_take(reader's address, class, list, most, below) -> code: messages of the loaded batch
 * whose numbers are below that, as objects of that class, go to the end of the list, until it has
 * so many: 1; 0: the batch has no more; after an error the reader loads again */
PyObject *
mmi_py_spool_take(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 5 || !PyType_Check(args[1]) || !PyList_Check(args[2])) {
        return mmi_py_arguments("(address, class, list, most, below)");
    }
    mm_spool_reader *reader = PyLong_AsVoidPtr(args[0]);
    Py_ssize_t most = PyLong_AsSsize_t(args[3]);
    unsigned long long below = PyLong_AsUnsignedLongLong(args[4]);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    spool_shared shared = { .time_us = 0 };
    int rc = 1;
    bool good = true;
    while (good && rc == 1 && PyList_Size(args[2]) < most && mm_spool_reader_seq(reader) < below) {
        mm_spool_message m;
        rc = mm_spool_reader_next(reader, &m);
        if (rc == 1) {
            PyObject *made = spool_make((PyTypeObject *)args[1], &m, &shared);
            good = made != NULL && PyList_Append(args[2], made) == 0;
            Py_XDECREF(made);
            if (!good) {
                mm_spool_reader_seek(reader, m.seq); /* who loads again gets it */
            }
        }
    }
    Py_XDECREF(shared.stored);
    Py_XDECREF(shared.number);
    return good ? PyLong_FromLong(rc) : NULL;
}

/* spool_rows(rows' address, class, from, to) -> list of messages, as objects of that class */
PyObject *
mmi_py_spool_rows(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyType_Check(args[1])) {
        return mmi_py_arguments("(address, class, from, to)");
    }
    const mm_spool_rows *rows = PyLong_AsVoidPtr(args[0]);
    unsigned long from = PyLong_AsUnsignedLong(args[2]), to = PyLong_AsUnsignedLong(args[3]);
    uint64_t all, bytes;
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    mm_spool_rows_facts(rows, &all, &bytes);
    if (from > to || to > all) {
        return mmi_py_arguments("rows that there are");
    }
    spool_shared shared = { .time_us = 0 };
    PyObject *list = PyList_New(0);
    for (unsigned long i = from; list != NULL && i < to; i++) {
        mm_spool_message m;
        mm_spool_rows_at(rows, (uint32_t)i, &m);
        PyObject *made = spool_make((PyTypeObject *)args[1], &m, &shared);
        if (made == NULL || PyList_Append(list, made) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(made);
    }
    Py_XDECREF(shared.stored);
    Py_XDECREF(shared.number);
    return list;
}

bool
mmi_py_spool_init(void)
{
    spool_seq_name = PyUnicode_InternFromString("seq");
    spool_epoch_name = PyUnicode_InternFromString("epoch");
    spool_stored_name = PyUnicode_InternFromString("stored");
    spool_meta_name = PyUnicode_InternFromString("_meta");
    spool_front_name = PyUnicode_InternFromString("_front");
    return spool_seq_name != NULL && spool_epoch_name != NULL && spool_stored_name != NULL &&
           spool_meta_name != NULL && spool_front_name != NULL;
}
