/*
 * engine/share.c: see engine/share.h.
 * Not here: clocks.
 * Law: as in engine/share.h.
 */
#include "engine/share.h"

enum {
    SHARE_OTHERS = 3,                    /* parts of the time for others, to one for steps */
    SHARE_LEAST_NS = 1000,               /* that a poll pays back, however little others took */
    SHARE_OWED_MAX_NS = 10 * 1000 * 1000 /* a step that took longer was not running all the time */
};

void
mmi_share_stepped(mmi_share *share, uint64_t took_ns)
{
    share->owed_ns += took_ns < SHARE_OWED_MAX_NS ? took_ns : (uint64_t)SHARE_OWED_MAX_NS;
    share->stepped_ns += took_ns;
}

void
mmi_share_polls(mmi_share *share, uint64_t now_ns)
{
    if (!share->others) {
        share->owed_ns = 0;
        return;
    }
    uint64_t all_ns = now_ns - share->from_ns;
    uint64_t others_ns = all_ns > share->stepped_ns ? all_ns - share->stepped_ns : 0;
    uint64_t paid_ns = others_ns / SHARE_OTHERS + SHARE_LEAST_NS;
    share->owed_ns -= paid_ns < share->owed_ns ? paid_ns : share->owed_ns;
}

void
mmi_share_polled(mmi_share *share, uint64_t now_ns)
{
    share->from_ns = now_ns;
    share->stepped_ns = 0;
    share->others = false;
}
