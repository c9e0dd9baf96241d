/*
 * unix_name.c: unix sockets without a file: names of Linux's abstract namespace; and who is at the
 * other side of a unix socket.
 *
 * Not here: socket files (unix_file.c); who may be there (ends/user.c).  Law: what the kernel does
 * not tell is not guessed.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "plat/posix/posix.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59   /* of Linux 4.13, newer than some headers */
#endif

enum { UNIX_GROUPS_FEW = 64 };   /* of a user, most often */

bool
mmi_unix_abstract(const mmi_addr *a)
{
    return a->kind == MMI_ADDR_UNIX && a->path[0] == '@';
}

int
mmi_unix_credentials(void *self, int fd, mmi_credentials *out)
{
    (void)self;
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid == (uid_t)-1) {
        return MM_ENOTSUP;   /* of a socket of TCP the kernel says -1 */
    }
    *out = (mmi_credentials){ .pid = (uint32_t)who.pid, .uid = who.uid, .gid = who.gid };
    return MM_OK;
}

/* All groups of the user at the other side.  NULL: no memory, or the system cannot tell. */
static gid_t *
unix_groups(int fd, uint32_t *count)
{
    gid_t few[UNIX_GROUPS_FEW];
    socklen_t size = sizeof few;
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &size);
    if ((rc != 0 && errno != ERANGE) || size > NGROUPS_MAX * sizeof(gid_t)) {
        return NULL;
    }
    gid_t *all = mmi_alloc(size > 0 ? size : sizeof few[0]);
    if (all == NULL) {
        return NULL;
    }
    if (rc == 0) {
        memcpy(all, few, size);
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &size) != 0) {
        mmi_free(all);
        return NULL;
    }
    *count = size / (uint32_t)sizeof(gid_t);
    return all;
}

int
mmi_unix_of_group(void *self, int fd, const uint32_t *gids, uint32_t count)
{
    (void)self;
    uint32_t theirs = 0;
    gid_t *all = unix_groups(fd, &theirs);
    if (all == NULL) {
        return MM_ENOTSUP;
    }
    int rc = MM_EPERM;
    for (uint32_t i = 0; i < theirs * count && rc != MM_OK; i++) {
        rc = all[i / count] == gids[i % count] ? MM_OK : rc;
    }
    mmi_free(all);
    return rc;
}

uint32_t
mmi_unix_user(void *self)
{
    (void)self;
    return geteuid();
}
