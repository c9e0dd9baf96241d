/*
 * link/silence.c: what it means that a peer says nothing: it is slow, it hangs, or it is gone.
 *
 * Not here: when that is asked (link/heartbeat.c), what becomes of the connection (link/end.c).
 * Law: a peer is given up only for what it must have read, or for what its system would have
 * answered: a PING behind messages that it may not have read yet asks it nothing; nor does silence
 * while we do not read ourselves (the inbox is full).  ADR 23.
 */
#include "link/inside.h"

static const uint64_t SILENCE_NS_PER_MS = 1000000;
enum { SILENCE_PROBES = 2 };   /* of a closed window, an interval */

/* Messages, or subscriptions, that it need not have read may lie in front of our PING. */
static bool
silence_unread(const mmi_link *link)
{
    uint64_t read = link->pipe.unacked != NULL ? link->answered : link->confirmed;
    return link->written != read || link->msg_offset > 0 || link->asked != link->asked_confirmed;
}

/* Its system owes an answer that a living one gives in time; and still owes it at a second look. */
static bool
silence_gone(mmi_link *link, const mmi_transit *t, uint64_t patience_ns, uint64_t interval_ns)
{
    mmi_silence *s = &link->silence;
    uint64_t now = link->engine->now_ns, least = MMI_ANSWER_MS * SILENCE_NS_PER_MS;
    patience_ns = patience_ns > least ? patience_ns : least;
    s->gone_ns = UINT64_MAX;
    if (!t->owed) {
        s->owed_ns = 0;
        return false;
    }
    s->owed_ns = s->owed_ns == 0 ? now : s->owed_ns;
    uint64_t unheard = now - t->heard_ns + patience_ns, seen = s->owed_ns + interval_ns / 2;
    s->gone_ns = unheard > seen ? unheard : seen;
    return now >= s->gone_ns;
}

/* What is on its way became less, or did not become more although we wrote. */
static void
silence_note_moves(mmi_link *link, const mmi_transit *t)
{
    mmi_silence *s = &link->silence;
    if (t->untaken < s->untaken || (t->untaken == s->untaken && link->written != s->written)) {
        s->moved_ns = link->engine->now_ns;
    }
    s->untaken = t->untaken;
    s->written = link->written;
}

static void
silence_tell(mmi_link *link, bool stalled)
{
    if (stalled != (link->silence.stalled_ns != 0)) {
        link->silence.stalled_ns = stalled ? link->engine->now_ns : 0;
        mmi_link_tell(link, stalled ? MM_EVENT_PEER_STALLED : MM_EVENT_PEER_RESUMED, MM_REASON_NONE,
                      stalled ? "its machine answers; it seems to read nothing, and says nothing"
                              : "it reads again, or said something");
    }
}

mmi_verdict
mmi_silence_judge(mmi_link *link, uint64_t patience_ns, uint64_t interval_ns)
{
    mmi_engine *e = link->engine;
    uint64_t silent_ns = e->now_ns - link->last_in_ns;
    bool paused = mmi_link_paused(link);
    if (patience_ns == 0 || (silent_ns < interval_ns && !paused)) {
        link->silence.owed_ns = 0;
        link->silence.gone_ns = UINT64_MAX;
        silence_tell(link, false);
        return MMI_VERDICT_NONE;
    }
    mmi_transit t;
    uint32_t probe_ms = (uint32_t)(interval_ns / SILENCE_NS_PER_MS) / SILENCE_PROBES;
    e->plat.transit(e->plat.self, link->stream, probe_ms, &t);
    silence_note_moves(link, &t);
    if (silence_gone(link, &t, patience_ns, interval_ns)) {
        return MMI_VERDICT_GONE;
    }
    if (paused || silent_ns < patience_ns) {
        return MMI_VERDICT_NONE;
    }
    /* One that promised signs of life gives them however slowly it is read from and reads; but as
     * often as it promised, whatever our own patience is. */
    bool broke = link->peer_ttl_ms > 0 && silent_ns >= link->peer_ttl_ms * SILENCE_NS_PER_MS;
    if (broke || (!silence_unread(link) && link->pings_out > 0)) {
        return MMI_VERDICT_HUNG;
    }
    silence_tell(link, e->now_ns - link->silence.moved_ns >= patience_ns);
    return MMI_VERDICT_NONE;
}

bool
mmi_silence_stalled(const mmi_link *link)
{
    return link->last_in_ns < link->silence.stalled_ns; /* the next beat tells that it goes on */
}
