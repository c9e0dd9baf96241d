/*
 * link/require.c: what a socket requires of its peers (MM_OPT_REQUIRE_), and how a peer that cannot
 * do it is described: to us, and to itself.
 *
 * Not here: refusing it (link/become.c), which options may be set (api/options.c).
 * Law: a peer lacks what its connection would be without: what peers() would say is false.
 */
#include <stdio.h>

#include "link/inside.h"

enum { LACKS_ACKS = 1, LACKS_HEADERS = 2, LACKS_REPLAY = 4, LACKS_GROUP = 5, LACKS_COUNT = 6 };

/* By what it lacks: what is so, and the words of X-Meshmsg it did not say. */
static const char *const lacks_texts[LACKS_COUNT] = {
    [LACKS_ACKS] = "it does not acknowledge",
    [LACKS_HEADERS] = "it takes no key, headers or times",
    [LACKS_ACKS | LACKS_HEADERS] = "it neither acknowledges nor takes headers",
    [LACKS_REPLAY] = "it publishes from no spool",
    [LACKS_GROUP] = "it keeps no groups",
};
static const char *const lacks_words[LACKS_COUNT] = {
    [LACKS_ACKS] = "ack",
    [LACKS_HEADERS] = "meta",
    [LACKS_ACKS | LACKS_HEADERS] = "ack and meta",
    [LACKS_REPLAY] = "replay",
    [LACKS_GROUP] = "group",
};

/* What does it, where the peer is of a meshmsg: a spool of its own, or a newer meshmsg. */
static const char *
require_cure(const mmi_link *link, uint32_t lacks)
{
    bool has_spool = mmi_replay_can(link); /* and knows of no groups: an old one */
    bool wants_spool = lacks == LACKS_REPLAY || (lacks == LACKS_GROUP && !has_spool);
    return wants_spool ? "give the Pub a spool" : "its meshmsg is too old; update it";
}

static uint32_t
require_lacks(const mmi_link *link)
{
    uint32_t flags = link->socket->opts.flags;
    bool acks = (flags & MM_OPT_REQUIRE_ACKS) != 0 && !mmi_ack_can(link);
    bool headers = (flags & MM_OPT_REQUIRE_HEADERS) != 0 && !link->pipe.takes_meta;
    if ((flags & MM_OPT_REQUIRE_REPLAY) != 0) { /* of who receives: so none of the others */
        return mmi_replay_can(link) ? 0 : LACKS_REPLAY;
    }
    if ((flags & MM_OPT_REQUIRE_GROUP) != 0) { /* likewise */
        return mmi_member_can(link) ? 0 : LACKS_GROUP;
    }
    return (acks ? LACKS_ACKS : 0) | (headers ? LACKS_HEADERS : 0);
}

bool
mmi_require_lacks(const mmi_link *link, char detail[MM_DETAIL_MAX + 1],
                  char told[MM_DETAIL_MAX + 1])
{
    uint32_t lacks = require_lacks(link);
    if (lacks == 0) {
        return false;
    }
    const mmi_wire *wire = link->wire;
    bool has_words = wire->put_meta != NULL && wire->counted != NULL;
    if (!has_words) {
        snprintf(detail, MM_DETAIL_MAX + 1,
                 "%s (require): %s has no words for that; use meshmsg by ZMTP there",
                 lacks_texts[lacks], wire->name);
    } else if (link->features[0] == '\0') {
        snprintf(detail, MM_DETAIL_MAX + 1,
                 "%s (require): it does not say it is of meshmsg; use that there, or no require",
                 lacks_texts[lacks]);
    } else {
        snprintf(detail, MM_DETAIL_MAX + 1, "%s (require): %s, or use no require",
                 lacks_texts[lacks], require_cure(link, lacks));
    }
    bool of_spool = lacks == LACKS_REPLAY || lacks == LACKS_GROUP;
    snprintf(told, MM_DETAIL_MAX + 1,
             "required of peers here: %s of X-Meshmsg, which a %s says (require)",
             lacks_words[lacks], of_spool ? "Pub with a spool" : "newer meshmsg");
    return true;
}
