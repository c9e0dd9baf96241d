/*
 * errors.c: the system's errors as ours.
 *
 * Not here: what a call makes of one (ENOENT means another thing to who binds, see unix_file.c).
 * Law: each cause that a user can mend has a code of its own.
 */
#include <errno.h>

#include "plat/posix/posix.h"

int
mmi_posix_error(int error)
{
    switch (error) {
    case EAGAIN:
    case EINPROGRESS: return MM_EAGAIN;
    case ECONNREFUSED:
    case ENOENT: /* a unix socket that nobody bound */ return MM_ECONNREFUSED;
    case EADDRINUSE: return MM_EADDRINUSE;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT: /* an address of IPv6, and this machine has none */ return MM_EADDRNOTAVAIL;
    case ENOTDIR: return MM_ENOTDIR;
    case ELOOP: return MM_ELOOP;
    case ENAMETOOLONG: return MM_ENAMETOOLONG;
    case EINVAL: return MM_EADDRINVAL;
    case EACCES:
    case EPERM: return MM_EPERM;
    case EROFS: return MM_EROFS;
    case EMFILE:
    case ENFILE: return MM_EMFILE;
    case ENOMEM:
    case ENOBUFS: return MM_ENOMEM;
    case ENOSPC:
    case EDQUOT: return MM_ENOSPC;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ETIMEDOUT: return MM_ENOROUTE;
    default: return MM_ECONNRESET;
    }
}
