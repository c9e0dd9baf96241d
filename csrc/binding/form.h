/*
 * binding/form.h: a form: what the messages of a role are made of, given to the native side once, when
 * the module that has their classes is imported.
 *
 * Law: it does not change, so it needs no look at each message.
 */
#ifndef MMI_BINDING_FORM_H
#define MMI_BINDING_FORM_H

#include "binding/binding.h"

/* What the first of several frames is. */
typedef enum mmi_first_frame {
    MMI_FIRST_FRAME,       /* a frame like the others */
    MMI_FIRST_TOPIC,       /* and the topic */
    MMI_FIRST_PEER,        /* who sent it, and not among the frames */
    MMI_FIRST_WAY,         /* part of the way back, or the question: all messages are requests */
    MMI_FIRST_LEASE,       /* a frame like the others; each message says how it is acknowledged */
    MMI_FIRST_NUMBERED     /* as TOPIC; and each message says which number it has */
} mmi_first_frame;

typedef struct mmi_form {
    PyObject_HEAD
    PyObject *classes;     /* classes(peer) is the class of a peer's messages of one frame; NULL: all
                            * are requests */
    PyTypeObject *full;    /* the class of messages of several frames, or of requests */
    mmi_first_frame first;
} mmi_form;

bool mmi_form_is(PyObject *object);
static inline bool
mmi_form_is_request(const mmi_form *form)
{
    return form->first == MMI_FIRST_WAY;
}
static inline bool
mmi_form_is_leased(const mmi_form *form)
{
    return form->first == MMI_FIRST_LEASE || form->first == MMI_FIRST_NUMBERED;
}
static inline bool
mmi_form_is_topical(const mmi_form *form)
{
    return form->first == MMI_FIRST_TOPIC || form->first == MMI_FIRST_NUMBERED;
}
/* classes(peer), or where more is known of who sent messages of the batch, theirs; may run anything. */
PyObject *mmi_form_class(const mmi_form *form, const mm_batch *batch, uint64_t peer);
/* Is message i of the batch, of frames [from, to), one frame and nothing else? */
static inline bool
mmi_form_is_plain(const mmi_form *form, const mm_batch *batch, uint32_t i, uint32_t from, uint32_t to)
{
    const uint8_t *data;
    uint32_t size;
    return to - from == 1 && !mmi_form_is_leased(form) &&
           (batch->noted == 0 || mm_batch_meta(batch, i, &data, &size) == 0);
}
/* Tells a message, made of message i, what goes with it; false: an error is set. */
bool mmi_form_note(PyObject *message, const mm_batch *batch, uint32_t i);
/* Message i of the batch, which is not plain, of frames [from, to). */
PyObject *mmi_form_full(const mmi_form *form, const mm_batch *batch, uint32_t i, uint32_t from, uint32_t to);

#endif
