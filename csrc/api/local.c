/*
 * api/local.c: a socket whose peers, over ipc, may be of other users than our own.
 *
 * Not here: who asks the system (ends/user.c).
 */
#include <string.h>

#include "api/api.h"

int
mm_socket_local(mm_handle socket, const uint32_t *uids, size_t uid_count, const uint32_t *gids,
                size_t gid_count)
{
    mmi_users users;
    if (uid_count > MM_USERS_MAX || gid_count > MM_USERS_MAX) {
        return MM_EINVAL;
    }
    memset(&users, 0, sizeof users);   /* all octets: equal policies are found by them */
    users.uid_count = (uint32_t)uid_count;
    users.gid_count = (uint32_t)gid_count;
    for (size_t i = 0; i < uid_count; i++) {
        users.uids[i] = uids[i];
    }
    for (size_t i = 0; i < gid_count; i++) {
        users.gids[i] = gids[i];
    }
    mmi_socket *s;
    const void *kept = NULL;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        rc = mmi_api_keep(s, &users, sizeof users, &kept);
        s->users = rc == MM_OK ? kept : s->users;
        rc = mmi_api_leave(s, rc);
    }
    return rc;
}
