/*
 * link/revoke.c: a peer that came in and is no longer in its socket's list, would not be taken by
 * the policy of now, or was let in by an answer that is taken back.
 *
 * Not here: the list (socket/allowed.h), answers (link/ask.h), policies.
 * Law: who changes a list looks at all its peers, and who becomes a peer is looked up again, both
 * with the engine's lock: nobody slips in between.
 */
#include <string.h>

#include "link/ask.h"
#include "link/link.h"
#include "link/shield.h"
#include "socket/allowed.h"
#include "socket/group.h"

/* What it proved is not taken any more. */
static bool
revoked_by_policy(const mmi_link *link)
{
    const mmi_mechanism *m = link->shield != NULL ? link->shield->of.mechanism : NULL;
    return m != NULL && m->stands != NULL && !m->stands(link->shield->of.self);
}

bool
mmi_link_revoked(const mmi_link *link)
{
    const mmi_socket *s = mmi_socket_home(link->socket);
    if (revoked_by_policy(link)) {
        return true;
    }
    mmi_applicant who;
    mmi_answer answer = { .kind = MM_LATER };
    if (link->pipe.outgoing && s->outer != NULL) {
        return false;   /* who dials over TLS asks no list: pins are of its policy */
    }
    return s->allowed != NULL && mmi_link_shield_who(link, &who) &&
           mmi_allowed_ask(s->allowed, &who, &answer) && answer.kind != MM_ALLOW;
}

void
mmi_socket_revoke(mmi_socket *s)
{
    MMI_SOCKETS_OF (s, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
            if (mmi_link_lives(link) && mmi_link_revoked(link)) {
                mmi_link_close(link, MM_REASON_REVOKED, NULL);
            }
        }
    }
}

static int
revoke_user_of(const mmi_socket *s, const char *user_id)
{
    int count = 0;
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        bool there = mmi_link_lives(link) || link->state == MMI_LINK_HELLO;
        if (there && strcmp(mmi_link_user_id(link), user_id) == 0) {
            mmi_link_close(link, MM_REASON_REVOKED, NULL);
            count++;
        }
    }
    return count;
}

int
mmi_socket_revoke_user(mmi_socket *s, const char *user_id)
{
    int count = 0;
    MMI_SOCKETS_OF (s, one) {
        count += revoke_user_of(one, user_id);
    }
    return count;
}
