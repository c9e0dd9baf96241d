/*
 * parser.c: to one reader or the other.
 * Not here: anything they do.
 * Law: as in parser.h.
 */
#include "wire/parser.h"

#include "wire/sp/sp.h"

void
mmi_parser_init_zmtp(mmi_parser *p, const mmi_reader_limits *limits)
{
    p->wire = MMI_WIRE_ZMTP;
    mmi_reader_init(&p->of.zmtp, limits);
}

void
mmi_parser_init_sp(mmi_parser *p, const mmi_sp_reader_limits *limits)
{
    p->wire = MMI_WIRE_SP;
    mmi_sp_reader_init(&p->of.sp, limits);
}

static bool
parser_sp(const mmi_parser *p)
{
    return p->wire == MMI_WIRE_SP;
}

void
mmi_parser_fini(mmi_parser *p)
{
    if (p->wire == MMI_WIRE_ZMTP) {
        mmi_reader_fini(&p->of.zmtp);
    } else if (parser_sp(p)) {
        mmi_sp_reader_fini(&p->of.sp);
    }
}

bool
mmi_parser_idle(const mmi_parser *p)
{
    return parser_sp(p) ? mmi_sp_reader_idle(&p->of.sp) : mmi_reader_idle(&p->of.zmtp);
}

int
mmi_parser_next(mmi_parser *p, const uint8_t **buf, size_t *size, mmi_input *out)
{
    return parser_sp(p) ? mmi_sp_reader_next(&p->of.sp, buf, size, out)
                        : mmi_reader_next(&p->of.zmtp, buf, size, out);
}

mmi_pack_in *
mmi_parser_pack(const mmi_parser *p, const uint8_t **buf, size_t *size, mmi_reader_room room,
                mmi_arena *arena)
{
    return parser_sp(p) ? mmi_sp_reader_pack(&p->of.sp, buf, size, room, arena)
                        : mmi_reader_pack(&p->of.zmtp, buf, size, room, arena);
}

bool
mmi_parser_waits(const mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max)
{
    return p->wire == MMI_WIRE_ZMTP && mmi_reader_waits(&p->of.zmtp, buf, size, size_max);
}

size_t
mmi_parser_direct(mmi_parser *p, uint8_t **area)
{
    return parser_sp(p) ? mmi_sp_reader_direct(&p->of.sp, area)
                        : mmi_reader_direct(&p->of.zmtp, area);
}

void
mmi_parser_filled(mmi_parser *p, size_t size)
{
    if (parser_sp(p)) {
        mmi_sp_reader_filled(&p->of.sp, size);
    } else {
        mmi_reader_filled(&p->of.zmtp, size);
    }
}

bool
mmi_parser_skip(mmi_parser *p)
{
    if (p->wire == MMI_WIRE_ZMTP) {
        mmi_reader_skip(&p->of.zmtp);
    } else if (parser_sp(p)) {
        mmi_sp_reader_fini(&p->of.sp);
    }
    return p->wire == MMI_WIRE_ZMTP;
}

int
mmi_parser_reason(const mmi_parser *p, const char **detail)
{
    *detail = parser_sp(p) ? p->of.sp.detail : p->of.zmtp.detail;
    return parser_sp(p) ? p->of.sp.reason : p->of.zmtp.reason;
}

uint64_t
mmi_parser_skipped(const mmi_parser *p)
{
    return parser_sp(p) ? p->of.sp.skipped : 0;
}
