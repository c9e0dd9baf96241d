/*
 * file.c: the arguments that no implementation of file.h takes, and the system's errors as ours.
 *
 * Not here: anything that touches a file.  Law: what is refused here says so in errno, too.
 */
#include "plat/file.h"

#include <errno.h>
#include <string.h>

int
mmi_file_error(int error)
{
    errno = error;
    switch (error) {
    case EAGAIN: return MM_EAGAIN;
    case EINTR: return MM_EINTR;
    case EINVAL:
    case EBADF: /* closed, or not opened for this */ return MM_EINVAL;
    case ENOENT: return MM_ENOENT;
    case EEXIST:
    case ENOTEMPTY: return MM_EEXIST;
    case ENOTDIR: return MM_ENOTDIR;
    case ELOOP: return MM_ELOOP;
    case ENAMETOOLONG: return MM_ENAMETOOLONG;
    case EACCES:
    case EPERM:
    case EMLINK: /* a file with a second name */ return MM_EPERM;
    case EROFS: return MM_EROFS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* the user's own limit of the size of a file */ return MM_ENOSPC;
    case EMFILE:
    case ENFILE: return MM_EMFILE;
    case ENOMEM: return MM_ENOMEM;
    case EISDIR:
    case ENOTSUP:
    case ENOSYS:
    case ENOLCK: return MM_ENOTSUP;
    default: return MM_EIO;
    }
}

static bool
file_may_stand_in_a_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

int
mmi_file_check_name(const char *name)
{
    size_t size = 0;
    for (; name[size] != '\0'; size++) {
        if (!file_may_stand_in_a_name(name[size])) {
            return mmi_file_error(EINVAL);
        }
        if (size == MMI_FILE_NAME_MAX) {
            return mmi_file_error(ENAMETOOLONG);
        }
    }
    bool dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    return size == 0 || dots ? mmi_file_error(EINVAL) : MM_OK;
}

int
mmi_file_check_flags(uint32_t flags)
{
    bool create = (flags & MMI_FILE_CREATE) != 0;
    bool known = (flags & ~(uint32_t)(MMI_FILE_WRITE | MMI_FILE_CREATE | MMI_FILE_NEW)) == 0;
    bool written = (flags & MMI_FILE_WRITE) != 0 || !create;
    bool fresh = create || (flags & MMI_FILE_NEW) == 0;
    return known && written && fresh ? MM_OK : mmi_file_error(EINVAL);
}

int
mmi_file_check_range(uint64_t at, uint64_t size)
{
    bool fits = at <= MMI_FILE_SIZE_MAX && size <= MMI_FILE_SIZE_MAX - at;
    return fits ? MM_OK : mmi_file_error(EINVAL);
}

int64_t
mmi_file_check_pieces(uint64_t at, const mmi_iov *pieces, int n)
{
    uint64_t total = 0;
    if (n < 0 || n > MMI_FILE_PIECES_MAX) {
        return mmi_file_error(EINVAL);
    }
    for (int i = 0; i < n; i++) {
        if (pieces[i].size > MMI_FILE_SIZE_MAX - total) {
            return mmi_file_error(EINVAL);
        }
        total += pieces[i].size;
    }
    return mmi_file_check_range(at, total) != MM_OK ? MM_EINVAL : (int64_t)total;
}
