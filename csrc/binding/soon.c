/*
 * binding/soon.c: sending, receiving and iterating in an event loop, once a message: coroutines
 * (binding/coroutine.c) that are over in one step if nothing has to be waited for.
 * Not here: waiting, letting others run, and what is not plain bytes (aio/_sending.py,
 * aio/_receiving.py).
 * Law: as in binding/module.c; a message is taken by the step that returns it.
 */
#include "binding/coroutine.h"
#include "binding/ready.h"

/* The iterator of a socket in a loop. */
typedef struct course {
    PyObject_HEAD
    PyObject *owner, *ready;
} course;

static PyTypeObject *course_type;

/* Calls a method of the owner with up to three arguments. */
static PyObject *
soon_call(const mmi_coroutine *c, const char *name, PyObject *one, PyObject *two, PyObject *three)
{
    PyObject *method = PyObject_GetAttrString(c->owner, name);
    PyObject *made =
        method != NULL ? PyObject_CallFunctionObjArgs(method, one, two, three, NULL) : NULL;
    Py_XDECREF(method);
    return made;
}

static PyObject *
soon_send(const mmi_coroutine *c)
{
    static _Thread_local unsigned calls;
    mm_body frames[MM_PARTS_MAX];
    bool enough = ++calls % MMI_FAST_SOON_MAX == 0;
    uint32_t count = enough ? 0 : mmi_fast_frames_of(c->what, c->timeout, c->topic, frames);
    bool sent = count > 0 && mmi_fast_send_parts(c->handle, frames, count) == MM_OK;
    return sent ? mmi_fast_none() : NULL;
}

static PyObject *
soon_send_rest(const mmi_coroutine *c)
{
    return c->topic != NULL ? soon_call(c, "_publish_on", c->what, c->timeout, c->topic)
                            : soon_call(c, "_send_on", c->what, c->timeout, NULL);
}

static PyObject *
soon_take(const mmi_coroutine *c)
{
    return mmi_ready_quick((mmi_ready *)c->what, MMI_FAST_SOON_MAX - 1);
}

static PyObject *
soon_recv_rest(const mmi_coroutine *c)
{
    return soon_call(c, "_recv_on", c->timeout, NULL, NULL);
}

static PyObject *
soon_next_rest(const mmi_coroutine *c)
{
    return soon_call(c, "_next_on", NULL, NULL, NULL);
}

static const mmi_coroutine_kind
    SOON_SEND = { .name = "send", .begin = soon_send, .rest = soon_send_rest },
    SOON_RECV = { .name = "recv", .begin = soon_take, .rest = soon_recv_rest },
    SOON_NEXT = { .name = "__anext__", .begin = soon_take, .rest = soon_next_rest,
                  .awaited_again = true };

static PyObject *
course_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyObject *
course_next(PyObject *self)
{
    const course *c = (const course *)self;
    return (PyObject *)mmi_coroutine_new(&SOON_NEXT, c->owner, c->ready, Py_None);
}

static int
course_traverse(PyObject *self, visitproc visit, void *arg)
{
    const course *c = (const course *)self;
    Py_VISIT(c->owner);
    Py_VISIT(c->ready);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
course_dealloc(PyObject *self)
{
    course *c = (course *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(c->owner);
    Py_XDECREF(c->ready);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot course_slots[] = {
    { Py_am_aiter, (void *)course_self },
    { Py_am_anext, (void *)course_next },
    { Py_tp_traverse, (void *)course_traverse },
    { Py_tp_dealloc, (void *)course_dealloc },
    { 0, NULL },
};

static PyType_Spec course_spec = {
    .name = "meshmsg._fast.Course",
    .basicsize = sizeof(course),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = course_slots,
};

PyObject *
mmi_fast_send_soon(PyObject *owner, mm_handle handle, PyObject *data, PyObject *timeout,
                   PyObject *topic)
{
    mmi_coroutine *made = mmi_coroutine_new(&SOON_SEND, owner, data, timeout);
    if (made != NULL) {
        Py_XINCREF(topic);
        made->topic = topic;
        made->handle = handle;
    }
    return (PyObject *)made;
}

/* recv_soon(owner, ready, timeout) -> coroutine: what is ready, or goes on as
 * owner._recv_on(timeout) */
PyObject *
mmi_fast_recv_soon(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 3 || !mmi_ready_is(args[1])) {
        return mmi_fast_arguments("(owner, ready, timeout)");
    }
    return (PyObject *)mmi_coroutine_new(&SOON_RECV, args[0], args[1], args[2]);
}

/* next_soon(owner, ready) -> coroutine: what is ready, or goes on as owner._next_on() */
PyObject *
mmi_fast_next_soon(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !mmi_ready_is(args[1])) {
        return mmi_fast_arguments("(owner, ready)");
    }
    return (PyObject *)mmi_coroutine_new(&SOON_NEXT, args[0], args[1], Py_None);
}

/* course(owner, ready) -> asynchronous iterator, of what next_soon gives */
PyObject *
mmi_fast_course(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !mmi_ready_is(args[1])) {
        return mmi_fast_arguments("(owner, ready)");
    }
    course *c = (course *)PyType_GenericNew(course_type, NULL, NULL);
    if (c != NULL) {
        Py_INCREF(args[0]);
        Py_INCREF(args[1]);
        c->owner = args[0];
        c->ready = args[1];
    }
    return (PyObject *)c;
}

bool
mmi_fast_soon_init(void)
{
    course_type = (PyTypeObject *)PyType_FromSpec(&course_spec);
    return course_type != NULL;
}
