/*
 * binding/binding.h: what the native calls share: arguments, and messages made of what C received.
 * Not here: the calls' names in Python (binding/module.c has the table).
 * Law: each function that returns an object returns a new reference, or NULL with an error set.
 */
#ifndef MMI_BINDING_H
#define MMI_BINDING_H

#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "meshmsg_binding.h"

bool mmi_py_is_plain(PyTypeObject *type);   /* making one runs nothing else; see mmi_py_plain */
/* binding/args.c */
bool mmi_py_handle(PyObject *arg, mm_handle *handle);   /* false: an error is set */
PyObject *mmi_py_arguments(const char *form); /* NULL: a TypeError of what was expected */
/* None, counted: headers of Python 3.12 and later do not count, as it is immortal there; but what
 * is built with them runs on older ones as well. */
static inline PyObject *
mmi_py_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* What is asked or answered: bytes, or a tuple of frames as bytes end to end, their sizes, as the
 * octets of uint64_t, and perhaps what goes with it.  It points into the object, and sizes may be &size, so it is not
 * copied. */
typedef struct mmi_question {
    const uint8_t *data;
    const uint64_t *sizes;
    uint64_t size;             /* of all frames */
    uint32_t count;
    const uint8_t *note;       /* what goes with it; of 0 octets: nothing */
    size_t note_size;
} mmi_question;
bool mmi_py_question(PyObject *arg, mmi_question *out);   /* false: an error is set */
/* out[0] becomes the id of what was asked; 0: nothing was.  false: it cannot, as the error says, and
 * what was asked is given up, as nobody would take the answer. */
bool mmi_py_tell_id(PyObject *out, mm_handle handle, uint64_t id);

/* binding/send.c.  Sends up to MM_PARTS_MAX frames, and never waits: a code of the core. */
int mmi_py_send_parts(mm_handle handle, const mm_body *frames, uint32_t count);
mm_body mmi_py_body(PyObject *bytes);
/* The frames of what is to be sent, MM_PARTS_MAX at most, and how many; topic: NULL for none.  0:
 * that is not plain, and to be looked at by Python. */
uint32_t mmi_py_frames_of(PyObject *data, PyObject *timeout, PyObject *topic, mm_body *frames);
/* A topic that is not empty as a frame.  false: it is looked at by Python. */
bool mmi_py_topic(PyObject *topic, mm_body *frame);
/* What is surely a time, or None for none, need not be looked at by Python. */
bool mmi_py_is_time(PyObject *timeout);

/* A new object of a subclass of bytes, with these bytes. */
PyObject *mmi_py_make(PyTypeObject *type, const uint8_t *data, Py_ssize_t size);
/* The same of one whose objects have no attributes of their own: not looked at by the garbage
 * collector, as it can be in no cycle. */
PyObject *mmi_py_plain(PyTypeObject *type, const uint8_t *data, Py_ssize_t size);

/* binding/frames.c.  Of a batch: the frames [*from, *to) of message i; frame j; some frames as a tuple; who sent
 * message i, and how many of its frames are routing. */
void mmi_py_span(const mm_batch *batch, uint32_t i, uint32_t *from, uint32_t *to);
PyObject *mmi_py_frames(const mm_batch *batch, uint32_t from, uint32_t to);
uint32_t mmi_py_envelope(const mm_batch *batch, uint32_t i);
static inline uint64_t
mmi_py_peer(const mm_batch *batch, uint32_t i)
{
    return batch->peer != NULL ? batch->peer[i] : batch->one_peer;
}
static inline const uint8_t *
mmi_py_frame(const mm_batch *batch, uint32_t j, Py_ssize_t *size)
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

/* binding/peer.c.  Where more is known of peers than an id: the class of a peer's messages of one frame; may run
 * anything.  The same without that: NULL without an error: it is not there. */
PyObject *mmi_py_known_class(const mm_batch *batch, uint64_t peer);
PyObject *mmi_py_known_at_hand(uint64_t peer);
/* Who sent a message of the batch (NULL: of peers of which no more is known), or by the name that a ROUTER has for
 * it; may run anything. */
PyObject *mmi_py_peer_of(const mm_batch *batch, uint64_t peer);
PyObject *mmi_py_peer_named(const mm_batch *batch, uint64_t peer, const uint8_t *data, Py_ssize_t size);
PyObject *mmi_py_peers(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Message i as a request to that socket: its body, of that type, with _way, by which it is answered,
 * and, if there are more frames, _frames. */
PyObject *mmi_py_request_of(const mm_batch *batch, uint32_t i, PyTypeObject *type,
                              PyObject *owner, mm_handle socket);

/* The function of binding/form.c. */
bool mmi_py_form_init(void);                   /* false: an error is set */
PyObject *mmi_py_form(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/list.c.  Some messages of a list, to be handed to the core without the interpreter's lock: others may change
 * the list meanwhile. */
enum {
    MMI_PY_RUN = 512   /* messages handed to the core at once */
};
typedef struct mmi_py_held {
    int count;
    PyObject *items[MMI_PY_RUN];
    mm_body bodies[MMI_PY_RUN];
} mmi_py_held;
/* Takes references to up to MMI_PY_RUN messages from at on, whose bodies stay where they are until they are let go.
 * false: one is not bytes, and an error is set; none is held. */
bool mmi_py_list_hold(mmi_py_held *held, PyObject *list, Py_ssize_t at);
void mmi_py_list_let_go(mmi_py_held *held);

/* The functions of binding/send.c, and of binding/frames.c. */
PyObject *mmi_py_send(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_send_frames(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_send_confirmed(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_send_list(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_all_bytes(PyObject *self, PyObject *list);
PyObject *mmi_py_parts(PyObject *self, PyObject *arg);
/* The functions of binding/spool.c, binding/spool_read.c and binding/spool_blocks.c. */
PyObject *mmi_py_spool_append(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_spool_put(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_spool_take(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_spool_rows(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* Takes what a capsule of spool_blocks has, once.  NULL: it is none, or it was taken, and that is raised. */
mm_msg *mmi_py_room_take(PyObject *capsule);
PyObject *mmi_py_spool_blocks(PyObject *self, PyObject *const *args, Py_ssize_t count);
bool mmi_py_spool_init(void);                  /* false: an error is set */
/* binding/append.c.  What append(spool, data, wait=) returns; NULL without an error: nothing was put, and it is for the
 * function. */
PyObject *mmi_py_append(PyObject *spool, PyObject *data, PyObject *wait);
/* What goes on for what was put, and is not kept yet; and what is called as no native call is in a spool any more. */
void mmi_py_append_rest(PyObject *kept, PyObject *left);
bool mmi_py_append_init(PyObject *module);
/* The function of binding/gather.c. */
PyObject *mmi_py_gather(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The function of binding/socket.c, and its types. */
PyObject *mmi_py_send_method(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_recv_method(PyObject *self, PyObject *function);
PyObject *mmi_py_append_method(PyObject *self, PyObject *const *args, Py_ssize_t count);
bool mmi_py_socket_init(PyObject *module);
/* The functions of binding/message.c. */
PyObject *mmi_py_class(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_check(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The functions of binding/loop.c, and of binding/poll.c. */
PyObject *mmi_py_waker_take(PyObject *self, PyObject *arg);
PyObject *mmi_py_ask(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_replies(PyObject *self, PyObject *arg);
PyObject *mmi_py_poll(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_watch(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The functions of binding/ask.c. */
PyObject *mmi_py_request(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_await_reply(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_reply_now(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_call(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* The function of binding/survey.c. */
PyObject *mmi_py_survey(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/reply.c */
bool mmi_py_reply_init(void);
PyObject *mmi_py_no_way(PyObject *self, PyObject *unused);

/* binding/ready_type.c */
bool mmi_py_ready_init(void);                  /* false: an error is set */
PyObject *mmi_py_ready(PyObject *self, PyObject *const *args, Py_ssize_t count);

bool mmi_py_hold_init(void);                   /* binding/hold.c */

/* binding/turns.c */
enum {
    MMI_PY_ASYNC_MAX = 64   /* calls that need not wait, in a row; others may run then */
};
bool mmi_py_async_due(void);                   /* others of this thread's loop, with the next call */
bool mmi_py_async_count(uint32_t calls);       /* so many more were made: whether others are due now */
/* Its functions. */
PyObject *mmi_py_async_calls(PyObject *self, PyObject *calls);
PyObject *mmi_py_async_turn(PyObject *self, PyObject *unused);

/* binding/coroutine.c, and binding/async.c */
bool mmi_py_coroutine_init(void);
bool mmi_py_async_init(void);
PyObject *mmi_py_async_rests(PyObject *self, PyObject *table);
/* A coroutine that sends or, also where others are to run first, goes on as the table's
 * send(owner, data, timeout), or, with a topic that is not NULL, publish(owner, data, timeout, topic). */
PyObject *mmi_py_send_async(PyObject *owner, mm_handle handle, PyObject *data, PyObject *timeout,
                             PyObject *topic);
/* What is ready, which is a Ready's, or goes on as the table's recv(owner, timeout). */
PyObject *mmi_py_recv_async(PyObject *owner, PyObject *ready, PyObject *timeout);
PyObject *mmi_py_aiter(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* binding/stream.c */
bool mmi_py_stream_init(void);
PyObject *mmi_py_stream(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *mmi_py_answers(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
