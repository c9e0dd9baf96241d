/*
 * link/member.c: members of a group at a publisher (socket/group.h): one says its group in the
 * handshake, its topics as any subscriber, and by its first credit that these are all.
 *
 * Not here: whose connection it is from then on (link/become.c), what a group does (role/group.c).
 * Law: the topics of a member stay as they are while it is connected.
 */
#include <stdio.h>

#include "link/inside.h"

static const char group_word[] = "group"; /* of the features of who keeps groups */

bool
mmi_member_can(const mmi_link *link)
{
    return link->wire->counted != NULL && mmi_wire_knows(link->features, group_word);
}

void
mmi_member_asked(mmi_link *link)
{
    if (link->socket->member_of[0] != '\0' && !mmi_member_can(link)) {
        mmi_link_tell(link, MM_EVENT_PEER_LIVE, MM_REASON_NONE,
                      "it keeps no groups: what it sends from now on comes, and goes to each "
                      "member (group; require refuses it)");
    }
}

bool
mmi_member_begins(mmi_link *link)
{
    mmi_socket *s = link->socket;
    if (s->ops->begin == NULL || link->pipe.unacked->limit == 0) {
        return true;
    }
    int rc = s->ops->begin(s->state, &link->pipe);
    if (rc == MM_OK) {
        mmi_socket_note(s, MM_PEERS);
        return true;
    }
    mmi_link_breach(link, MM_REASON_GROUP,
                    rc == MM_EPROTO ? "a member of a group that subscribes to nothing"
                                    : "its topics are not those of the members that its group has");
    return false;
}

void
mmi_member_changed(mmi_link *link)
{
    mmi_link_breach(link, MM_REASON_GROUP, "the topics of a member of a group stay as they are");
}
