/*
 * reader.h: bytes of an established connection -> messages and commands.
 *
 * The caller reads into memory of its own (one large buffer serves every link) and feeds it; only
 * an unfinished frame or multipart message stays here, so an idle reader holds nothing.  A body
 * larger than MMI_READER_DIRECT goes to a block that grows with what arrived, not with what was
 * claimed (block.h), and the caller may read straight into it. Commands may stand between the
 * frames of a message: libzmq puts its PINGs there. Law: a message is given out whole or not at
 * all; total and frame count are checked from the head, before any memory is taken; after an error
 * the reader stays in error.
 */
#ifndef MMI_READER_H
#define MMI_READER_H

#include "base/limits.h"
#include "wire/block.h"
#include "wire/refuse.h"
#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"
#include "wire/wire.h"

typedef mmi_wire_limits mmi_reader_limits;

typedef struct mmi_reader {
    mmi_reader_limits limits;
    int reason;                   /* mm_reason of the error, or 0                       */
    char detail[MM_DETAIL_MAX + 1];
    /* private */
    mmi_msg **parts;              /* finished frames of an unfinished multipart message */
    uint32_t part_count, part_cap;
    uint64_t parts_size;
    uint8_t head_buf[MMI_FRAME_HEAD_MAX];   /* an unfinished head                       */
    uint8_t head_have;
    bool in_body;                 /* a head was accepted, its body is not complete      */
    bool block_given;             /* block holds a command given out: free at next call */
    bool skips;                   /* only commands are kept                             */
    uint64_t skip_left;           /* of the body that is skipped                        */
    mmi_frame_head head;
    mmi_block block;              /* the body so far                                    */
} mmi_reader;

void mmi_reader_init(mmi_reader *r, const mmi_reader_limits *limits);
void mmi_reader_fini(mmi_reader *r);
bool mmi_reader_idle(const mmi_reader *r); /* between two messages: an EOF here loses nothing */
/* Takes bytes from *buf (advancing *buf and *size) until there is one message or command.
 * 1: *out is filled; 0: all bytes used, need more; < 0: MM_EPROTO or MM_ENOMEM, see reason. */
int mmi_reader_next(mmi_reader *r, const uint8_t **buf, size_t *size,
                    mmi_input *out) MMI_WARN_UNUSED;
/* The whole messages *buf begins with, as many as there is room for, advancing *buf and *size;
 * NULL: none of a kind that goes into a segment (or no memory), ask mmi_reader_next.  Changes nothing
 * in r: only between two messages is there anything to give.  arena: that *buf is in, and which may
 * then stay with the segment, changed where *buf was; or NULL. */
mmi_segment_in *mmi_reader_segment(const mmi_reader *r, const uint8_t **buf, size_t *size,
                             mmi_reader_room room, mmi_arena *arena) MMI_WARN_UNUSED;
/* Do these octets begin a message that is not whole, and small: none longer than size_max?  Then it
 * is worth keeping them for the next read, so that the message goes into a segment with those behind
 * it.  Only between two messages. */
bool mmi_reader_waits(const mmi_reader *r, const uint8_t *buf, size_t size, size_t size_max);
/* Where the rest of a large body may be read to directly: room in bytes, 0 when not inside one. */
size_t mmi_reader_direct(mmi_reader *r, uint8_t **area);
void mmi_reader_filled(mmi_reader *r,
                       size_t size); /* then mmi_reader_next with no bytes may give the message */
/* From now on only commands are given out: what there is of a message is freed, and no more of any is
 * kept.  Not while somebody fills what mmi_reader_direct gave. */
void mmi_reader_skip(mmi_reader *r);
void mmi_reader_invariants(const mmi_reader *r);

#endif
