/*
 * link/left.c: what is told of the messages of a connection that ends: those that its peer had, and
 * those that were to follow.
 *
 * Not here: why it ends (link/told.c), what becomes of them (link/end.c).
 * Law: what nobody knows to have been read is told, of a wire that cannot say so as well.
 */
#include "link/inside.h"
#include "queue/unacked.h"

#include <stdio.h>
#include <string.h>

/* Messages that were written, and that nobody knows to have been read: of a wire that has no beats,
 * all that were not answered. */
static uint64_t
left_unread(const mmi_link *link)
{
    uint64_t known = link->pipe.answered < link->written ? link->pipe.answered : link->written;
    known = known > link->confirmed ? known : link->confirmed;
    return link->written - known;
}

/* What the peer had and what was to follow, and what becomes of both. */
static void
left_count(const mmi_link *link, char *out, size_t cap)
{
    const mmi_unacked *u = link->pipe.unacked;
    bool kept = link->socket->host.back != NULL;
    out[0] = '\0';
    if (link->state != MMI_LINK_ACTIVE || link->socket->closing) {
        return; /* nothing was sent yet; or that is told by itself */
    }
    uint64_t had = u != NULL ? mmi_unacked_count(u) : left_unread(link);
    const char *what = u != NULL           ? "not acknowledged"
                       : link->wire->beats ? "sent may be lost"
                                           : "written, unknown how many it read";
    uint64_t left = link->pipe.outbox.count;
    left -= u == NULL && left > 0 && link->msg_offset > 0; /* what was cut is lost */
    int size = 0;
    if (had > 0) {
        size = snprintf(out, cap, "; %llu %s", (unsigned long long)had, what);
    }
    if (left > 0) {
        const char *joint = had == 0 ? ";" : u == NULL ? "," : " and";
        size += snprintf(out + size, cap - (size_t)size, "%s %llu not sent", joint,
                         (unsigned long long)left);
    }
    if (left > 0 || (u != NULL && had > 0)) {
        snprintf(out + size, cap - (size_t)size, kept ? " go to others" : " are dropped");
    }
}

const char *
mmi_left_told(const mmi_link *link, int reason, const char *detail, char out[MMI_LEFT_CAP])
{
    char left[MM_DETAIL_MAX + 1] = "";
    if (reason == MM_REASON_EOF || reason == MM_REASON_EOF_MID_MESSAGE ||
        reason == MM_REASON_RESET) {
        left_count(link, left, sizeof left);
    }
    if (left[0] == '\0') {
        return detail;
    }
    int rest = MMI_LEFT_CAP - 1 - (int)strlen(left);
    snprintf(out, MMI_LEFT_CAP, "%.*s%s", rest, detail != NULL ? detail : mm_reason_text(reason),
             left);
    return out;
}
