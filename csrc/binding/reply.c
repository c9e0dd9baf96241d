/*
 * binding/reply.c: what a Rep or a Respondent receives, and how it is answered: a request is bytes
 * and its way back, a native object that one call sends the answer along.
 * Not here: receiving (binding/receive.c); what an error is called (_binding/message.py,
 * _roles/questions.py).
 * Law: limited API; of all answers to a request one is sent.  Its way is claimed before the answer
 * is sent, and free again only if nothing was: another thread that answers meanwhile is told that
 * it was answered already.
 */
#include "binding/form.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct way {
    PyObject_VAR_HEAD PyObject *owner; /* the socket; NULL: it was answered, or no socket gave it */
    mm_handle socket;
    uint64_t peer;
    PyObject *known; /* the peer as an object, where more is known of it than its id; else NULL */
    atomic_flag answered; /* or just being answered */
    bool refused; /* that was the answer */
    uint32_t count; /* frames of the way back */
    uint64_t sizes[]; /* theirs, and that of the answer; then the frames, end to end */
} way;

static PyTypeObject *way_type;

static uint8_t *
way_frames(way *w)
{
    return (uint8_t *)&w->sizes[w->count + 1];
}

static size_t
way_size(const way *w)
{
    size_t size = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        size += (size_t)w->sizes[i];
    }
    return size;
}

/* With room for so many frames of so many octets in all, which are left to the caller. */
static way *
way_new(PyObject *owner, mm_handle socket, uint64_t peer, uint32_t count, size_t size)
{
    Py_ssize_t room = (Py_ssize_t)((count + (size_t)1) * sizeof(uint64_t) + size);
    way *w = PyObject_GC_NewVar(way, way_type, room);
    if (w != NULL) {
        Py_XINCREF(owner);
        w->owner = owner;
        w->socket = socket;
        w->peer = peer;
        w->known = NULL;
        w->count = count;
        w->refused = false;
        atomic_flag_clear(&w->answered);
    }
    return w;
}

/* Back from message i, whose first count frames from that one on are routing. */
static PyObject *
way_of(const mm_batch *batch, uint32_t i, uint32_t from, uint32_t count, PyObject *owner,
       mm_handle socket)
{
    Py_ssize_t size, total = 0;
    for (uint32_t j = from; j < from + count; j++) {
        (void)mmi_py_frame(batch, j, &size);
        total += size;
    }
    way *w = way_new(owner, socket, mmi_py_peer(batch, i), count, (size_t)total);
    if (w == NULL) {
        return NULL;
    }
    uint8_t *to = way_frames(w);
    for (uint32_t j = 0; j < count; j++) {
        const uint8_t *data = mmi_py_frame(batch, from + j, &size);
        w->sizes[j] = (uint64_t)size;
        if (size > 0) {
            memcpy(to, data, (size_t)size);
        }
        to += size;
    }
    PyObject_GC_Track((PyObject *)w);
    if (batch->known != 0 && (w->known = mmi_py_peer_of(batch, mmi_py_peer(batch, i))) == NULL) {
        Py_CLEAR(w);
    }
    return (PyObject *)w;
}

/* Names of attributes, made once: each is found by its address. */
static PyObject *reply_way_name, *reply_frames_name;

PyObject *
mmi_py_request_of(const mm_batch *batch, uint32_t i, PyTypeObject *type, PyObject *owner,
                  mm_handle socket)
{
    uint32_t from, to;
    mmi_py_span(batch, i, &from, &to);
    uint32_t envelope = mmi_py_envelope(batch, i), body = from + envelope;
    Py_ssize_t size;
    const uint8_t *data = mmi_py_frame(batch, to - 1, &size);
    PyObject *made = mmi_py_make(type, data, size);
    PyObject *back = made != NULL ? way_of(batch, i, from, envelope, owner, socket) : NULL;
    bool good = back != NULL && PyObject_SetAttr(made, reply_way_name, back) == 0;
    if (good && body + 1 < to) {
        PyObject *frames = mmi_py_frames(batch, body, to);
        good = frames != NULL && PyObject_SetAttr(made, reply_frames_name, frames) == 0;
        Py_XDECREF(frames);
    }
    good = good && mmi_form_note(made, batch, i);
    Py_XDECREF(back);
    if (!good) {
        Py_CLEAR(made);
    }
    return made;
}

/* Several frames along the way: a code. */
static int
way_send_frames(const way *w, const mmi_question *q)
{
    const size_t routed = way_size(w), count = (size_t)w->count + q->count;
    uint64_t *sizes = malloc(count * sizeof(*sizes) + routed + (size_t)q->size);
    if (sizes == NULL) {
        return MM_ENOMEM;
    }
    uint8_t *bodies = (uint8_t *)&sizes[count];
    memcpy(sizes, w->sizes, w->count * sizeof(*sizes));
    memcpy(sizes + w->count, q->sizes, q->count * sizeof(*sizes));
    memcpy(bodies, &w->sizes[w->count + 1], routed);
    if (q->size > 0) {
        memcpy(bodies + routed, q->data, (size_t)q->size);
    }
    int rc = mm_send_packed(w->socket, w->peer, bodies, sizes, (uint32_t)count, q->note,
                            q->note_size, 0, 0);
    free(sizes);
    return rc;
}

/* What came of an answer: as reply. */
static PyObject *
way_told(way *w, int rc)
{
    if (rc == MM_OK || rc == MM_EHOSTUNREACH) { /* gone, or its queue is full: counted */
        Py_CLEAR(w->owner); /* who keeps the request does not keep the socket */
        return PyBool_FromLong(rc == MM_OK);
    }
    atomic_flag_clear(&w->answered);
    return PyLong_FromLong(rc);
}

/* Sends an answer, if there was none: as reply. */
static PyObject *
way_answer(way *w, const mmi_question *q)
{
    if (atomic_flag_test_and_set(&w->answered)) {
        return PyLong_FromLong(MM_ESTATE);
    }
    w->sizes[w->count] = q->size;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc =
        q->count == 1 && q->note_size == 0
            ? mm_send_reply_along(w->socket, w->peer, way_frames(w), w->sizes, w->count, q->data)
            : way_send_frames(w, q);
    Py_END_ALLOW_THREADS return way_told(w, rc);
}

/* reply(bytes or frames) -> bool: was it sent, or is whoever asked gone; None: that is neither; or
 * a code: nothing was sent, MM_ESTATE: as it was answered before */
static PyObject *
way_reply(PyObject *self, PyObject *data)
{
    mmi_question q;
    if (!PyBytes_Check(data) && !PyTuple_Check(data)) {
        return mmi_py_none();
    }
    return mmi_py_question(data, &q) ? way_answer((way *)self, &q) : NULL;
}

/* reply_room(room, octets) -> as reply: with what spool_blocks has read, which it takes, whatever
 * comes of it */
static PyObject *
way_reply_room(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    way *w = (way *)self;
    if (count != 2) {
        return mmi_py_arguments("(room, octets)");
    }
    uint64_t size = PyLong_AsUnsignedLongLong(args[1]);
    mm_msg *room = PyErr_Occurred() == NULL ? mmi_py_room_take(args[0]) : NULL;
    if (room == NULL) {
        return NULL;
    }
    if (atomic_flag_test_and_set(&w->answered)) {
        mm_room_free(room);
        return PyLong_FromLong(MM_ESTATE);
    }
    w->sizes[w->count] = size;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc =
        mm_send_reply_room(w->socket, w->peer, way_frames(w), w->sizes, w->count, room);
    Py_END_ALLOW_THREADS return way_told(w, rc);
}

/* refuse(reason: bytes) -> bool: is the refusal on its way; False: nothing was sent, and it may
 * still be answered; or a code: likewise, MM_ESTATE: as it was answered before */
static PyObject *
way_refuse(PyObject *self, PyObject *reason)
{
    way *w = (way *)self;
    char *body;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(reason, &body, &size) != 0) {
        return NULL;
    }
    if (atomic_flag_test_and_set(&w->answered)) {
        return PyLong_FromLong(MM_ESTATE);
    }
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = mm_send_refusal_along(
        w->socket, w->peer, way_frames(w), w->sizes, w->count, (const uint8_t *)body, (size_t)size);
    Py_END_ALLOW_THREADS if (rc == MM_OK)
    {
        w->refused = true;
        Py_CLEAR(w->owner);
        return PyBool_FromLong(1);
    }
    atomic_flag_clear(&w->answered);
    bool untold = rc == MM_ENOTSUP || rc == MM_EHOSTUNREACH || rc == MM_EAGAIN;
    return untold ? PyBool_FromLong(0) : PyLong_FromLong(rc);
}

/* about() -> the socket (None: there is none), how many frames lead back, octets in them, and
 * whether it was refused */
static PyObject *
way_about(PyObject *self, PyObject *unused)
{
    (void)unused;
    const way *w = (const way *)self;
    return Py_BuildValue("(OknN)", w->owner != NULL ? w->owner : Py_None, (unsigned long)w->count,
                         (Py_ssize_t)way_size(w), PyBool_FromLong(w->refused));
}

static PyObject *
way_peer(PyObject *self, void *unused)
{
    (void)unused;
    const way *w = (const way *)self;
    if (w->known == NULL) {
        return mmi_py_peer_of(NULL, w->peer);
    }
    Py_INCREF(w->known);
    return w->known;
}

static int
way_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((const way *)self)->owner);
    Py_VISIT(((const way *)self)->known);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
way_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((way *)self)->owner);
    Py_XDECREF(((way *)self)->known);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef way_methods[] = {
    { "reply", way_reply, METH_O, NULL },
    { "reply_room", (PyCFunction)(void (*)(void))way_reply_room, METH_FASTCALL, NULL },
    { "refuse", way_refuse, METH_O, NULL },
    { "about", way_about, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef way_values[] = {
    { "peer", way_peer, NULL, NULL, NULL }, /* who asked */
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot way_slots[] = {
    { Py_tp_methods, way_methods },
    { Py_tp_getset, way_values },
    { Py_tp_traverse, (void *)way_traverse },
    { Py_tp_dealloc, (void *)way_dealloc },
    { 0, NULL },
};

static PyType_Spec way_spec = {
    .name = "meshmsg._native.Way",
    .basicsize = sizeof(way),
    .itemsize = 1,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = way_slots,
};

/* no_way() -> that of a request which no socket gave: it counts as answered */
PyObject *
mmi_py_no_way(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    way *w = way_new(NULL, 0, 0, 0, 0);
    if (w != NULL) {
        (void)atomic_flag_test_and_set(&w->answered);
        PyObject_GC_Track((PyObject *)w);
    }
    return (PyObject *)w;
}

bool
mmi_py_reply_init(void)
{
    way_type = (PyTypeObject *)PyType_FromSpec(&way_spec);
    reply_way_name = PyUnicode_InternFromString("_way");
    reply_frames_name = PyUnicode_InternFromString("_frames");
    return way_type != NULL && reply_way_name != NULL && reply_frames_name != NULL;
}
