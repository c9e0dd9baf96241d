/*
 * wire/sp/reader.h: bytes of an established SP connection -> messages.  Of the shape of reader.h, so
 * that a link can drive either: it is fed from the caller's memory, keeps only an unfinished
 * message, and lets a large body be read straight into its block.
 *
 * Not here: the hello.  Law: the length is checked before any memory is taken, and memory follows
 * what arrived; a message with too many hops is skipped and counted, and its peer stays; after an
 * error the reader stays in error.
 */
#ifndef MMI_SP_READER_H
#define MMI_SP_READER_H

#include "wire/block.h"
#include "wire/refuse.h"
#include "wire/sp/body.h"
#include "wire/wire.h"

typedef struct mmi_sp_reader_limits {
    uint64_t message_size_max;    /* header words and body; MM_REASON_MESSAGE_SIZE    */
    uint32_t hops_max;            /* header words of a message: MMI_SP_HOPS_MAX       */
    int mapping;                  /* mmi_sp_mapping                                   */
    int form;                     /* mmi_sp_form, of our protocol                     */
} mmi_sp_reader_limits;

typedef struct mmi_sp_reader {
    mmi_sp_reader_limits limits;
    int reason;                   /* mm_reason of the error, or 0                     */
    char detail[MM_DETAIL_MAX + 1];
    uint64_t skipped;             /* messages with too many hops, or no id: dropped   */
    /* private */
    uint8_t head_buf[MMI_SP_LENGTH_MAX];   /* an unfinished length                    */
    uint8_t head_have;
    bool in_body;                 /* a length was accepted, its message is unfinished */
    uint64_t whole;               /* that length                                      */
    mmi_block block;              /* what there is of it                              */
} mmi_sp_reader;

void mmi_sp_reader_init(mmi_sp_reader *r, const mmi_sp_reader_limits *limits);
void mmi_sp_reader_fini(mmi_sp_reader *r);
bool mmi_sp_reader_idle(const mmi_sp_reader *r); /* between two messages */
/* Takes bytes from *buf (advancing *buf and *size) until there is one message.
 * 1: out->msg is it; 0: all bytes used, need more; < 0: MM_EPROTO or MM_ENOMEM, see reason. */
int mmi_sp_reader_next(mmi_sp_reader *r, const uint8_t **buf, size_t *size,
                       mmi_input *out) MMI_WARN_UNUSED;
/* As mmi_reader_segment: a run of whole messages, of a form that has no envelope (wire/sp/segment.c). */
mmi_segment_in *mmi_sp_reader_segment(const mmi_sp_reader *r, const uint8_t **buf, size_t *size,
                                mmi_reader_room room, mmi_arena *arena) MMI_WARN_UNUSED;
/* Where the rest of a large body may be read to directly: room in bytes, 0 when not inside one. */
size_t mmi_sp_reader_direct(mmi_sp_reader *r, uint8_t **area);
/* Then mmi_sp_reader_next with no bytes may give the message. */
void mmi_sp_reader_filled(mmi_sp_reader *r, size_t size);
void mmi_sp_reader_invariants(const mmi_sp_reader *r);

#endif
