/*
 * binding/form.c: forms (binding/form.h): what a message of several frames has, and whole batches.
 *
 * Not here: messages that are given out one by one (binding/ready.c); those of one frame, and
 * filling them (binding/message.c); requests (binding/reply.c).
 * Law: limited API; what the classes are is looked at when a form is made, and no more.
 */
#include "binding/form.h"

static PyTypeObject *form_type;
/* Names of attributes, made once: each is found by its address. */
static PyObject *form_peer_name, *form_frames_name, *form_topic_name, *form_lease_name,
    *form_meta_name;

bool
mmi_form_is(PyObject *object)
{
    return Py_TYPE(object) == form_type;
}

static bool
form_is_bytes(PyObject *type)
{
    return PyType_Check(type) &&
           (PyType_GetFlags((PyTypeObject *)type) & Py_TPFLAGS_BYTES_SUBCLASS) != 0;
}

PyObject *
mmi_form_class(const mmi_form *form, const mm_batch *batch, uint64_t peer)
{
    if (batch->known != 0) {
        return mmi_py_known_class(batch, peer);
    }
    PyObject *number = PyLong_FromUnsignedLongLong(peer), *type = NULL;
    if (number != NULL) {
        type = PyObject_CallFunctionObjArgs(form->classes, number, NULL);
    }
    Py_XDECREF(number);
    if (type != NULL && !form_is_bytes(type)) {
        Py_DECREF(type);
        return mmi_py_arguments("a class of bytes");
    }
    return type;
}

/* Sets an attribute to a new reference, which it takes; false: an error is set. */
static bool
form_set(PyObject *message, PyObject *name, PyObject *value)
{
    bool done = value != NULL && PyObject_SetAttr(message, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

static PyObject *
form_peer(const mmi_form *form, const mm_batch *batch, uint32_t i, uint32_t from)
{
    if (form->first != MMI_FIRST_PEER) {
        return mmi_py_peer_of(batch, mmi_py_peer(batch, i));
    }
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(batch, from, &size);
    return mmi_py_peer_named(batch, mmi_py_peer(batch, i), data, size);
}

static PyObject *
form_topic(const mm_batch *batch, uint32_t from)
{
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(batch, from, &size);
    return PyUnicode_DecodeUTF8((const char *)data, size, "surrogateescape");
}

/* (peer, number, epoch, sequence, attempt); None: it is not acknowledged. */
static PyObject *
form_lease(const mm_batch *batch, uint32_t i)
{
    mm_lease lease;
    return mm_batch_lease(batch, i, &lease) == 0
               ? mmi_py_none()
               : Py_BuildValue("(KKKKI)", (unsigned long long)lease.peer,
                               (unsigned long long)lease.number, (unsigned long long)lease.epoch,
                               (unsigned long long)lease.seq, (unsigned int)lease.attempt);
}

bool
mmi_form_note(PyObject *message, const mm_batch *batch, uint32_t i)
{
    const uint8_t *data;
    uint32_t size;
    return batch->noted == 0 || mm_batch_meta(batch, i, &data, &size) == 0 ||
           form_set(message, form_meta_name,
                    PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size));
}

PyObject *
mmi_form_full(const mmi_form *form, const mm_batch *batch, uint32_t i, uint32_t from, uint32_t to)
{
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(batch, to - 1, &size);
    PyObject *made = mmi_py_make(form->full, data, size);
    uint32_t rest = form->first == MMI_FIRST_PEER ? from + 1 : from;
    if (made != NULL &&
        (!form_set(made, form_peer_name, form_peer(form, batch, i, from)) ||
         !form_set(made, form_frames_name, mmi_py_frames(batch, rest, to)) ||
         (mmi_form_is_leased(form) && !form_set(made, form_lease_name, form_lease(batch, i))) ||
         !mmi_form_note(made, batch, i) ||
         (mmi_form_is_topical(form) && to - from > 1 &&
          !form_set(made, form_topic_name, form_topic(batch, from))))) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *
form_message(const mmi_form *form, const mm_batch *batch, uint32_t i)
{
    uint32_t from, to;
    mmi_py_span(batch, i, &from, &to);
    if (!mmi_form_is_plain(form, batch, i, from, to)) {
        return mmi_form_full(form, batch, i, from, to);
    }
    PyObject *type = mmi_form_class(form, batch, mmi_py_peer(batch, i)), *made = NULL;
    if (type != NULL) {
        Py_ssize_t size;
        const uint8_t *data = mmi_py_frame(batch, from, &size);
        made = mmi_py_plain((PyTypeObject *)type, data, size);
        Py_DECREF(type);
    }
    return made;
}

/* unpack(batch address) -> list: all messages of a batch that is the caller's; not of requests */
static PyObject *
form_unpack(PyObject *self, PyObject *arg)
{
    const mmi_form *form = (const mmi_form *)self;
    const mm_batch *batch = PyLong_AsVoidPtr(arg);
    if (batch == NULL || mmi_form_is_request(form)) {
        return PyErr_Occurred() != NULL ? NULL : mmi_py_arguments("a batch, and not of requests");
    }
    PyObject *list = PyList_New((Py_ssize_t)batch->message_count);
    for (uint32_t i = 0; list != NULL && i < batch->message_count; i++) {
        PyObject *made = form_message(form, batch, i);
        if (made == NULL || PyList_SetItem(list, (Py_ssize_t)i, made) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static int
form_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((const mmi_form *)self)->classes);
    Py_VISIT(((const mmi_form *)self)->full);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
form_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((mmi_form *)self)->classes);
    Py_XDECREF(((mmi_form *)self)->full);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef form_methods[] = {
    { "unpack", form_unpack, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot form_slots[] = {
    { Py_tp_methods, form_methods },
    { Py_tp_traverse, (void *)form_traverse },
    { Py_tp_dealloc, (void *)form_dealloc },
    { 0, NULL },
};

static PyType_Spec form_spec = {
    .name = "meshmsg._native.Form",
    .basicsize = sizeof(mmi_form),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = form_slots,
};

/* What the first frame is, by the name it has in Python; false: an error is set. */
static bool
form_first(PyObject *name, mmi_first_frame *first)
{
    static const char *const NAMES[] = {
        [MMI_FIRST_FRAME] = "frame", [MMI_FIRST_TOPIC] = "topic", [MMI_FIRST_PEER] = "peer",
        [MMI_FIRST_WAY] = "way",     [MMI_FIRST_LEASE] = "lease", [MMI_FIRST_NUMBERED] = "numbered"
    };
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof(NAMES) / sizeof(*NAMES); i++) {
        if (PyUnicode_CompareWithASCIIString(name, NAMES[i]) == 0) {
            *first = (mmi_first_frame)i;
            return true;
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "a form's first frame is %R; it is 'frame', 'topic', 'peer', 'way', 'lease' or "
                 "'numbered'",
                 name);
    return false;
}

/* form(classes, full, first) -> Form: classes(peer), None for requests, is the class of a peer's
 * messages of one frame; full, that of several or of requests; first, what the first frame is */
PyObject *
mmi_py_form(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    mmi_first_frame first;
    if (count != 3) {
        return mmi_py_arguments("(classes by peer, class of several frames, first frame)");
    }
    if (!form_first(args[2], &first)) {
        return NULL;
    }
    bool requests = first == MMI_FIRST_WAY;
    if (requests ? args[0] != Py_None : !PyCallable_Check(args[0])) {
        return PyErr_Format(PyExc_TypeError, "a form's classes are %R; they are %s", args[0],
                            requests ? "None, for requests" : "a function of the peer");
    }
    if (!form_is_bytes(args[1])) {
        return PyErr_Format(PyExc_TypeError, "a form's class is %R; it is one of bytes", args[1]);
    }
    mmi_form *form = PyObject_GC_New(mmi_form, form_type);
    if (form != NULL) {
        form->first = first;
        form->classes = requests ? NULL : args[0];
        Py_XINCREF(form->classes);
        Py_INCREF(args[1]);
        form->full = (PyTypeObject *)args[1];
        PyObject_GC_Track(form);
    }
    return (PyObject *)form;
}

bool
mmi_py_form_init(void)
{
    form_type = (PyTypeObject *)PyType_FromSpec(&form_spec);
    form_peer_name = PyUnicode_InternFromString("peer");
    form_frames_name = PyUnicode_InternFromString("_frames");
    form_topic_name = PyUnicode_InternFromString("topic");
    form_lease_name = PyUnicode_InternFromString("_lease");
    form_meta_name = PyUnicode_InternFromString("_meta");
    return form_type != NULL && form_peer_name != NULL && form_frames_name != NULL &&
           form_topic_name != NULL && form_lease_name != NULL && form_meta_name != NULL;
}
