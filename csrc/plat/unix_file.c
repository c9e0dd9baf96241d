/*
 * unix_file.c: the file of a unix listener: made private, replaced when stale, removed when still
 * ours.
 *
 * Law: a file that is no socket is never touched, nor one that another listener answers on; the
 * file is only its owner's to open from the first moment, as its mode is set before it has a name.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plat/posix.h"

typedef struct mmi_unix_file {
    struct mmi_unix_file *next;
    int fd;
    char path[sizeof((mmi_addr *)0)->path];
    dev_t device;
    ino_t inode;
} mmi_unix_file;

enum { UNIX_FILE_MODE = 0600 };

/* Is the file a socket that nobody listens on? Then it is left over from a process that died. */
static bool
unix_stale(const mmi_addr *a)
{
    struct stat st;
    struct sockaddr_storage addr;
    if (lstat(a->path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    bool refused = connect(fd, (struct sockaddr *)&addr, size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int
unix_try_bind(int fd, const struct sockaddr_storage *addr, socklen_t size)
{
    if (bind(fd, (const struct sockaddr *)addr, size) == 0) {
        return MM_OK;
    }
    /* No such folder: to who connects that is nobody there yet, to who binds a wrong address. */
    return errno == ENOENT ? MM_EADDRINVAL : mmi_posix_error(errno);
}

int
mmi_unix_bind(mmi_posix *p, int fd, const mmi_addr *a)
{
    struct sockaddr_storage addr;
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    mmi_unix_file *file = mmi_alloc(sizeof *file);
    if (file == NULL) {
        return MM_ENOMEM;
    }
    /* Linux gives the new file the mode of the socket it is bound to: no moment for others to get
     * in. */
    int rc = fchmod(fd, UNIX_FILE_MODE) == 0 ? MM_OK : mmi_posix_error(errno);
    rc = rc == MM_OK ? unix_try_bind(fd, &addr, size) : rc;
    if (rc == MM_EADDRINUSE && unix_stale(a) && unlink(a->path) == 0) {
        rc = unix_try_bind(fd, &addr, size);
    }
    struct stat st;
    if (rc == MM_OK && lstat(a->path, &st) != 0) {
        rc = mmi_posix_error(errno);
    }
    if (rc != MM_OK) {
        mmi_free(file);
        return rc;
    }
    file->fd = fd;
    file->device = st.st_dev;
    file->inode = st.st_ino;
    memcpy(file->path, a->path, sizeof file->path);
    file->next = p->files;
    p->files = file;
    return MM_OK;
}

static void
unix_remove(mmi_unix_file *file)
{
    struct stat st;
    if (lstat(file->path, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode) {
        unlink(file->path);
    }
    mmi_free(file);
}

void
mmi_unix_forget(mmi_posix *p, int fd)
{
    for (mmi_unix_file **at = &p->files; *at != NULL; at = &(*at)->next) {
        mmi_unix_file *file = *at;
        if (file->fd == fd) {
            *at = file->next;
            unix_remove(file);
            return;
        }
    }
}

void
mmi_unix_forget_all(mmi_posix *p)
{
    while (p->files != NULL) {
        mmi_unix_file *file = p->files;
        p->files = file->next;
        unix_remove(file);
    }
}
