/*
 * wire/sp/body.h: one SP message <-> a message with frames.  Pure.
 *
 * On the wire: a head (its length; where it is marked, 01 in front of that), then header words of 4
 * octets as the protocol's form says, then the body.  In a message the words stand as they came in
 * the first frame, and an empty frame divides them from the body, as in a ZMTP envelope: so the
 * roles need not know which wire a request came by, and what goes out is the head and then all
 * frames' octets.
 * Law: no word beyond hops_max is looked at; what a peer sends is a result, never an assertion.
 */
#ifndef MMI_SP_BODY_H
#define MMI_SP_BODY_H

#include "wire/framing.h"
#include "wire/sp/sp.h"

/* The mappings to TCP and to IPC in its RFCs: the second marks each message. */
typedef enum mmi_sp_mapping { MMI_SP_PLAIN = 1, MMI_SP_MARKED } mmi_sp_mapping;

enum {
    MMI_SP_LENGTH_MAX = 9,           /* octets: 01 and the length                            */
    MMI_SP_WORD = 4,                 /* octets of a header word                              */
    MMI_SP_ENVELOPE_FRAMES = 2,      /* frames: all words, and an empty one                  */
    MMI_SP_HEAD_MAX = MMI_SP_LENGTH_MAX + MMI_SP_WORD
};

/* Octets that the length takes in a mapping: 8 or 9. */
size_t mmi_sp_length_size(int mapping);
/* > 0: octets taken; 0: need more; MM_EPROTO: no mark where there is one. */
int mmi_sp_length_parse(int mapping, const uint8_t *buf, size_t len, uint64_t *size)
    MMI_WARN_UNUSED;

/* How many octets of a whole SP message are header: >= 0.  MM_EPROTO: it ends inside the header, or
 * its hop count is none; MM_EMSGSIZE: over hops_max, or an answer to nothing: it is to be dropped,
 * its peer is to be kept. */
int mmi_sp_header_parse(int form, uint32_t hops_max, const uint8_t *data,
                        size_t size) MMI_WARN_UNUSED;
/* The message of an SP message with that much header, copied.  NULL: no memory. */
mmi_msg *mmi_sp_open(int form, size_t header, const uint8_t *data, size_t size) MMI_WARN_UNUSED;
/* The same over a block from mmi_realloc, which the message then owns.  NULL: the caller does. */
mmi_msg *mmi_sp_open_block(int form, size_t header, uint8_t *block, size_t size) MMI_WARN_UNUSED;

/* Does an envelope (the words, and an empty frame) stand in front of the body? */
static inline bool
mmi_sp_has_envelope(int form)
{
    return form == MMI_SP_ASKED || form == MMI_SP_STACK;
}

/* May m go out?  MM_EINVAL: no frames, or not the envelope of its form; MM_ENOTSUP: more frames
 * behind it than bodies_max, which SP cannot tell apart. */
int mmi_sp_check(int form, uint32_t bodies_max, uint32_t hops_max,
                 const mmi_msg *m) MMI_WARN_UNUSED;
/* What goes in front of all octets of all frames of a checked message; returns its size. */
size_t mmi_sp_head_put(uint8_t out[MMI_SP_HEAD_MAX], int mapping, int form, const mmi_msg *m);

/* framing.c: of what a protocol sends over a mapping. */
const mmi_framing *mmi_framing_sp(int mapping, const mmi_sp_protocol *ours);

#endif
