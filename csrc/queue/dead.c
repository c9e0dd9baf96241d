/*
 * queue/dead.c: see queue/dead.h.
 */
#include "queue/dead.h"

#include <stdio.h>

#include "meshmsg_binding.h"

void
mmi_dead_init(mmi_dead *dead, mmi_proto_host *host)
{
    dead->host = host;
    mmi_ring_init(&dead->letters, host->opts->send_queue_messages,
                  (size_t)host->opts->send_queue_bytes);
}

void
mmi_dead_fini(mmi_dead *dead)
{
    mmi_drop_ring(dead->host, &dead->letters);
}

bool
mmi_dead_keeps(const mmi_dead *dead, const mmi_msg *m)
{
    bool asked = (dead->host->opts->flags & MM_OPT_KEEP_DEAD) != 0 && m->kind == MMI_MSG_ONE;
    return asked && mmi_ring_fits(&dead->letters, mmi_msg_cost(m));
}

bool
mmi_dead_room(const mmi_dead *dead)
{
    return mmi_ring_fits(&dead->letters, 0);
}

bool
mmi_dead_full(const mmi_dead *dead, const mmi_msg *m)
{
    bool asked = (dead->host->opts->flags & MM_OPT_KEEP_DEAD) != 0;
    return asked && dead->letters.count > 0 && !mmi_dead_keeps(dead, m);
}

/* In the words of its headers; a number only if somebody had it, or it is in a spool. */
static void
dead_tell(mmi_proto_host *host, mmi_drop_why why, const mmi_pipe *p, uint64_t number)
{
    char at[32] = "", detail[MM_DETAIL_MAX + 1];
    if (number > 0) {
        snprintf(at, sizeof at, ", number %llu", (unsigned long long)number);
    }
    snprintf(detail, sizeof detail,
             "a message will not be delivered (%s%s), and goes where dead_letter says",
             why == MMI_DROP_EXPIRED ? "expired" : "attempts", at);
    host->event(host, MM_EVENT_DEAD_LETTER, MM_REASON_NONE, p != NULL ? p->id : 0, 1, detail);
}

void
mmi_dead_add(mmi_dead *dead, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    mmi_proto_host *host = dead->host;
    bool keeps = (host->opts->flags & MM_OPT_KEEP_DEAD) != 0 && m->kind == MMI_MSG_ONE;
    bool first = dead->letters.count == 0;
    m->number = why == MMI_DROP_EXPIRED ? MM_DEAD_EXPIRED : MM_DEAD_ATTEMPTS;
    if (!keeps || mmi_ring_push(&dead->letters, m) != MM_OK) {
        mmi_drop_of(host, why, p, m);
        return;
    }
    host->stats->dead_messages++;
    if (first) {
        dead_tell(host, why, p, m->origin.number);
    }
}

mmi_msg *
mmi_dead_take(mmi_dead *dead)
{
    return mmi_ring_pop(&dead->letters);
}
