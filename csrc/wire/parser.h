/*
 * parser.h: bytes of an established connection -> messages and commands, whichever wire it is.
 *
 * Not here: which wire it is (wire/handshake.h), and how it is read (zmtp/reader.h, sp/reader.h).
 * Law: of no wire until one is chosen; until then only fini, skip and idle may be called.
 */
#ifndef MMI_PARSER_H
#define MMI_PARSER_H

#include "wire/sp/reader.h"
#include "wire/wire.h"
#include "wire/zmtp/reader.h"

typedef struct mmi_parser {
    const mmi_wire_reader *reader;   /* of the wire; NULL: not chosen yet */
    union {
        mmi_reader zmtp;
        mmi_sp_reader sp;
    } of;
} mmi_parser;

/* The wire is the one that the handshake, which is done, found out. */
static inline void
mmi_parser_init(mmi_parser *p, const mmi_wire_limits *limits, const mmi_wire *wire,
                const struct mmi_handshake *o)
{
    p->reader = wire->reader;
    p->reader->init(p, limits, o);
}

static inline void
mmi_parser_fini(mmi_parser *p)
{
    if (p->reader != NULL) {
        p->reader->fini(p);
    }
}

/* Between two messages: an end here loses nothing. */
static inline bool
mmi_parser_idle(const mmi_parser *p)
{
    return p->reader == NULL || p->reader->idle(p);
}

/* As mmi_reader_next. */
MMI_WARN_UNUSED static inline int
mmi_parser_next(mmi_parser *p, const uint8_t **buf, size_t *size, mmi_input *out)
{
    return p->reader->next(p, buf, size, out);
}

/* As mmi_reader_segment. */
MMI_WARN_UNUSED static inline mmi_segment_in *
mmi_parser_segment(const mmi_parser *p, const uint8_t **buf, size_t *size, mmi_reader_room room,
                mmi_arena *arena)
{
    return p->reader->segment(p, buf, size, room, arena);
}

/* As mmi_reader_waits. */
MMI_WARN_UNUSED static inline bool
mmi_parser_waits(const mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max)
{
    return p->reader->waits(p, buf, size, size_max);
}

/* As mmi_reader_direct, and what was read there. */
static inline size_t
mmi_parser_direct(mmi_parser *p, uint8_t **area)
{
    return p->reader->direct(p, area);
}

static inline void
mmi_parser_filled(mmi_parser *p, size_t size)
{
    p->reader->filled(p, size);
}

/* As mmi_reader_skip.  false: this wire has no commands, or is not known: nothing comes any more;
 * feed it no more. */
static inline bool
mmi_parser_skip(mmi_parser *p)
{
    return p->reader != NULL && p->reader->skip(p);
}

/* Of the error, once next failed: the mm_reason. */
static inline int
mmi_parser_reason(const mmi_parser *p, const char **detail)
{
    return p->reader->reason(p, detail);
}

/* Messages it dropped itself: SP, see there. */
static inline uint64_t
mmi_parser_skipped(const mmi_parser *p)
{
    return p->reader->skipped(p);
}

#endif
