/*
 * unix_name.c: unix sockets without a file: names of Linux's abstract namespace, and who is at the
 * other side of one.
 *
 * Not here: socket files (unix_file.c), whose mode keeps others out.  Law: such a name has no owner
 * and no mode, so both sides ask the kernel who the other one is, and nobody but the same user and
 * root gets further.
 */
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "plat/posix/posix.h"

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

/* Unknown is not let in. */
static int
unix_uid(int fd, uid_t *uid)
{
    mmi_credentials who;
    int rc = mmi_unix_credentials(NULL, fd, &who);
    *uid = rc == MM_OK ? who.uid : *uid;
    return rc == MM_OK ? MM_OK : MM_EPERM;
}

int
mmi_unix_accepted(int fd, uint32_t *uid)
{
    struct sockaddr_storage addr;
    const struct sockaddr_un *un = (const struct sockaddr_un *)&addr;
    socklen_t size = sizeof addr;
    memset(&addr, 0, sizeof addr);
    if (getsockname(fd, (struct sockaddr *)&addr, &size) != 0) {
        return MM_EPERM;
    }
    if (size <= offsetof(struct sockaddr_un, sun_path) || un->sun_path[0] != '\0') {
        return MM_OK;   /* a file, which has a mode */
    }
    uid_t theirs = (uid_t)-1;
    int rc = unix_uid(fd, &theirs);
    *uid = theirs;
    return rc == MM_OK && theirs != 0 && theirs != geteuid() ? MM_EPERM : rc;
}

int
mmi_unix_connected(int fd, const mmi_addr *a)
{
    uid_t theirs = (uid_t)-1, ours = geteuid();
    if (!mmi_unix_abstract(a)) {
        return MM_OK;
    }
    int rc = unix_uid(fd, &theirs);
    return rc == MM_OK && theirs != 0 && theirs != ours && ours != 0 ? MM_EPERM : rc;
}
