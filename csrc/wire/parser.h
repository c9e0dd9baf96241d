/*
 * parser.h: the readers of both wires behind one face: bytes of an established connection ->
 * messages and, over ZMTP, commands.
 *
 * Not here: which wire it is (wire/handshake.h), and how either reads (reader.h, wire/sp/reader.h).  Law: of no
 * wire until one is chosen, and then only fini may be called.
 */
#ifndef MMI_PARSER_H
#define MMI_PARSER_H

#include "wire/zmtp/reader.h"
#include "wire/sp/reader.h"

typedef struct mmi_parser {
    int wire;                        /* MMI_WIRE_ZMTP, MMI_WIRE_SP; 0: not chosen yet */
    union {
        mmi_reader zmtp;
        mmi_sp_reader sp;
    } of;
} mmi_parser;

void mmi_parser_init_zmtp(mmi_parser *p, const mmi_reader_limits *limits);
void mmi_parser_init_sp(mmi_parser *p, const mmi_sp_reader_limits *limits);
void mmi_parser_fini(mmi_parser *p);

/* As those of reader.h. */
bool mmi_parser_idle(const mmi_parser *p);
int mmi_parser_next(mmi_parser *p, const uint8_t **buf, size_t *size,
                    mmi_input *out) MMI_WARN_UNUSED;
mmi_pack_in *mmi_parser_pack(const mmi_parser *p, const uint8_t **buf, size_t *size,
                             mmi_reader_room room, mmi_arena *arena) MMI_WARN_UNUSED;
bool mmi_parser_waits(const mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max);
size_t mmi_parser_direct(mmi_parser *p, uint8_t **area);
void mmi_parser_filled(mmi_parser *p, size_t size);
/* As mmi_reader_skip.  false: this wire has no commands, so nothing comes any more; feed it no more. */
bool mmi_parser_skip(mmi_parser *p);

/* Of the error, once next failed. */
int mmi_parser_reason(const mmi_parser *p, const char **detail);
uint64_t mmi_parser_skipped(const mmi_parser *p);   /* messages it dropped itself: SP, see there */

#endif
