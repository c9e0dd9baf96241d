/*
 * ends/user.c: whose programs may be at the other side of a connection within this machine.
 *
 * Not here: how the system tells (plat), the mode of a socket's file (plat/posix/unix_file.c).
 * Law: our own user and root always may, others by name only; what the system does not tell is
 * refused.  Who proves by a key or a password that he may come in need not be of any user; nor is
 * a server asked that proves who it is.
 */
#include <stdio.h>

#include "ends/ends.h"
#include "wire/mechanism.h"

enum { USER_ROOT = 0 };

bool
mmi_users_open(const mmi_socket *s)
{
    return s->users != NULL && s->users->uid_count + s->users->gid_count > 0;
}

static bool
user_is_asked(const mmi_socket *s, bool dials)
{
    bool proves = s->mechanism != NULL && (!dials || s->mechanism->seal != NULL);
    return s->users != NULL || !proves;
}

static bool
user_among(uint32_t id, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool
user_is_named(const mmi_socket *s, int stream, const mmi_credentials *who)
{
    const mmi_users *u = s->users;
    const mmi_plat *p = &s->engine->plat;
    return user_among(who->uid, u->uids, u->uid_count) ||
           user_among(who->gid, u->gids, u->gid_count) ||
           (u->gid_count > 0 && p->peer_of_group(p->self, stream, u->gids, u->gid_count) == MM_OK);
}

int
mmi_user_fits(const mmi_socket *s, int stream, bool dials, mmi_tran_why *why)
{
    const mmi_plat *p = &s->engine->plat;
    mmi_credentials who;
    if (!user_is_asked(s, dials)) {
        return MM_OK;
    }
    if (p->peer_credentials(p->self, stream, &who) != MM_OK) {
        why->reason = MM_REASON_USER;
        snprintf(why->detail, sizeof why->detail, "the system does not tell its user");
        return MM_EPERM;
    }
    uint32_t ours = p->user(p->self);
    if (who.uid == USER_ROOT || who.uid == ours ||
        (s->users != NULL && user_is_named(s, stream, &who))) {
        return MM_OK;
    }
    why->reason = MM_REASON_USER;
    if (s->users == NULL) {
        snprintf(why->detail, sizeof why->detail,
                 "%s the user %u: only our own (%u) and root may, unless mm.Local(uids=[%u])",
                 dials ? "there listens" : "it is of", who.uid, ours, who.uid);
    } else {
        snprintf(why->detail, sizeof why->detail,
                 "%s the user %u (group %u), whom mm.Local has not",
                 dials ? "there listens" : "it is of", who.uid, who.gid);
    }
    return MM_EPERM;
}
