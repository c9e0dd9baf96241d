/*
 * binding/binding.h: what the native calls share: arguments, and messages made of what C received.
 * Not here: the calls' names in Python (binding/module.c has the table).
 * Law: each function that returns an object returns a new reference, or NULL with an error set.
 */
#ifndef MMI_PYTHON_FAST_H
#define MMI_PYTHON_FAST_H

#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "meshmsg_binding.h"

bool mmi_fast_is_plain(PyTypeObject *type);   /* making one runs nothing else; see mmi_fast_plain */
/* binding/args.c */
bool mmi_fast_handle(PyObject *arg, mm_handle *handle);   /* false: an error is set */
PyObject *mmi_fast_arguments(const char *form); /* NULL: a TypeError of what was expected */
/* None, counted: headers of Python 3.12 and later do not count, as it is immortal there; but what
 * is built with them runs on older ones as well. */
static inline PyObject *
mmi_fast_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* What is asked or answered: bytes, or a tuple of frames as bytes end to end and their sizes, as the
 * octets of uint64_t.  It points into the object, and sizes may be &size, so it is not copied. */
typedef struct mmi_question {
    const uint8_t *data;
    const uint64_t *sizes;
    uint64_t size;             /* of all frames */
    uint32_t count;
} mmi_question;
bool mmi_fast_question(PyObject *arg, mmi_question *out);   /* false: an error is set */
/* out[0] becomes the id of what was asked; 0: nothing was.  false: it cannot, as the error says, and
 * what was asked is given up, as nobody would take the answer. */
bool mmi_fast_tell_id(PyObject *out, mm_handle handle, uint64_t id);

/* binding/send.c.  Sends up to MM_PARTS_MAX frames, and never waits: a code of the core. */
int mmi_fast_send_parts(mm_handle handle, const mm_body *frames, uint32_t count);
mm_body mmi_fast_body(PyObject *bytes);
/* The frames of what is to be sent, MM_PARTS_MAX at most, and how many; topic: NULL for none.  0:
 * that is not plain, and to be looked at by Python. */
uint32_t mmi_fast_frames_of(PyObject *data, PyObject *timeout, PyObject *topic, mm_body *frames);
/* What is surely a time, or None for none, need not be looked at by Python. */
bool mmi_fast_is_time(PyObject *timeout);

/* A new object of a subclass of bytes, with these bytes. */
PyObject *mmi_fast_make(PyTypeObject *type, const uint8_t *data, Py_ssize_t size);
/* The same of one whose objects have no attributes of their own: not looked at by the garbage
 * collector, as it can be in no cycle. */
PyObject *mmi_fast_plain(PyTypeObject *type, const uint8_t *data, Py_ssize_t size);

/* binding/frames.c.  Of a batch: the frames [*from, *to) of message i; frame j; some frames as a list; who sent
 * message i, and how many of its frames are routing. */
void mmi_fast_span(const mm_batch *batch, uint32_t i, uint32_t *from, uint32_t *to);
PyObject *mmi_fast_frames(const mm_batch *batch, uint32_t from, uint32_t to);
uint32_t mmi_fast_envelope(const mm_batch *batch, uint32_t i);
static inline uint64_t
mmi_fast_peer(const mm_batch *batch, uint32_t i)
{
    return batch->peer != NULL ? batch->peer[i] : batch->one_peer;
}
static inline const uint8_t *
mmi_fast_frame(const mm_batch *batch, uint32_t j, Py_ssize_t *size)
{
    if (batch->big != NULL) {
        uint64_t length;
        const uint8_t *data = mm_msg_frame(batch->big, j, &length);
        *size = (Py_ssize_t)length;
        return data;
    }
    *size = (Py_ssize_t)(batch->offset[j + 1] - batch->offset[j]);
    return batch->data + batch->offset[j];
}

/* Message i as a request to that socket: its body, of that type, with _way, by which it is answered,
 * and, if there are more frames, _frames. */
PyObject *mmi_fast_request_of(const mm_batch *batch, uint32_t i, PyTypeObject *type,
                              PyObject *owner, mm_handle socket);

/* The functions of binding/send.c, and of binding/frames.c. */
PyObject *mmi_fast_send(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_send_list(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_all_bytes(PyObject *self, PyObject *list);
PyObject *mmi_fast_parts(PyObject *self, PyObject *arg);
/* The function of binding/gather.c. */
PyObject *mmi_fast_gather(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The function of binding/socket.c, and its types. */
PyObject *mmi_fast_send_method(PyObject *self, PyObject *const *args, Py_ssize_t count);
bool mmi_fast_socket_init(PyObject *module);
/* The functions of binding/message.c. */
PyObject *mmi_fast_class(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_check(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The functions of binding/loop.c, and of binding/poll.c. */
PyObject *mmi_fast_waker_take(PyObject *self, PyObject *arg);
PyObject *mmi_fast_ask(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_replies(PyObject *self, PyObject *arg);
PyObject *mmi_fast_poll(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_watch(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The functions of binding/ask.c. */
PyObject *mmi_fast_request(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_await_reply(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_reply_now(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_call(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The function of binding/survey.c. */
PyObject *mmi_fast_survey(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/reply.c */
bool mmi_fast_reply_init(void);
PyObject *mmi_fast_no_way(PyObject *self, PyObject *unused);

/* binding/ready_type.c */
bool mmi_fast_ready_init(void);                  /* false: an error is set */
PyObject *mmi_fast_ready(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/receive.c */
bool mmi_fast_receive_init(void);

/* binding/coroutine.c, and binding/soon.c */
enum {
    MMI_FAST_SOON_MAX = 64   /* calls that need not wait, in a row; others may run then */
};
bool mmi_fast_coroutine_init(void);
bool mmi_fast_soon_init(void);
/* A coroutine that sends or, also where others are to run first, goes on as
 * owner._send_on(data, timeout), or, with a topic that is not NULL, as
 * owner._publish_on(data, timeout, topic). */
PyObject *mmi_fast_send_soon(PyObject *owner, mm_handle handle, PyObject *data, PyObject *timeout,
                             PyObject *topic);
PyObject *mmi_fast_recv_soon(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_next_soon(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_course(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/stream.c */
bool mmi_fast_stream_init(void);
PyObject *mmi_fast_stream(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_fast_answers(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
