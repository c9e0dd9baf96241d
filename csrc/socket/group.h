/*
 * socket/group.h: groups at a PUB whose messages are in a spool: a socket behind the PUB for each, which its members'
 * connections are of.  What users see of a PUB (events, peers, how many there are) has that of its groups in it.
 *
 * Not here: its messages (role/group.c), who makes one (ends/group.c), who feeds it (api/groups.c).
 * Law: the PUB is in memory as long as its groups are.  A group that was closed is none of them any more, and the next
 * member of that name is of another one.
 */
#ifndef MMI_GROUP_H
#define MMI_GROUP_H

#include "queue/backlog.h"
#include "socket/socket.h"

typedef struct mmi_group {
    mmi_socket *socket, *home;     /* its own; the PUB, which listens and dials */
    mmi_list node;                 /* home->groups */
    uint64_t from;                 /* the number of the message that it begins with, if it was never there before */
    char name[MMI_GROUP_NAME_MAX + 1];
} mmi_group;

static inline mmi_group *
mmi_group_of(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_group, node);
}
/* Is its place on the disk, so that the next life knows it?  Before that its members are nobody's. */
static inline bool
mmi_group_kept(const mmi_socket *s)
{
    return s->group == NULL || mmi_back_sourced(s->host.back);
}
/* The PUB of a group; of any other socket itself. */
static inline mmi_socket *
mmi_socket_home(mmi_socket *s)
{
    return s->group != NULL ? s->group->home : s;
}
/* The sockets of one that its user has: itself (at NULL), then its groups; NULL: there are no more. */
static inline mmi_socket *
mmi_socket_next(mmi_socket *home, const mmi_socket *at)
{
    if (at == NULL) {
        return home;
    }
    mmi_list *node = at == home ? home->groups.next : at->group->node.next;
    return node != &home->groups ? mmi_group_of(node)->socket : NULL;
}

#define MMI_SOCKETS_OF(home, one)                                                                    \
    for (mmi_socket * (one) = mmi_socket_next((home), NULL); (one) != NULL;                          \
         (one) = mmi_socket_next((home), (one)))

#endif
