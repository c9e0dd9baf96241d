/*
 * failing.c: a library that is loaded in front of the system's (LD_PRELOAD), by which one call on
 * the files of a folder fails.
 *
 * What the environment says, as it is at the first such call:
 *   MESHMSG_FAIL_UNDER  the folder, by its real path
 *   MESHMSG_FAIL_CALL   fdatasync, fsync, pwritev, fallocate or renameat
 *   MESHMSG_FAIL_NTH    which of these calls on files in there, from 1 on; 0: none
 *   MESHMSG_FAIL_HOW    eio, enospc, or short: a part of a write goes, and the call says so
 *   MESHMSG_FAIL_LOG    a file that gets a line for each of the calls: NAME INODE FILE RESULT
 *
 * Law: a sync that fails loses what was written to that file since the last one that did not, as
 * Linux may: what stood there is put back.  Later calls do not fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What stood where something was written that was not synced yet. */
typedef struct before {
    struct before *next;
    ino_t inode;
    off_t at;
    size_t size;
    char octets[];
} before;

typedef struct told {
    const char *under, *call, *how;
    long nth;
    int log;
} told;

static pthread_mutex_t failing_lock = PTHREAD_MUTEX_INITIALIZER;
static told failing_told;
static before *failing_before;
static long failing_count;

#define REAL(name) ((__typeof__(&name))failing_real(#name))

static void *
failing_real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        abort();
    }
    return found;
}

static const char *
failing_said(const char *name)
{
    const char *found = getenv(name);
    return found != NULL ? found : "";
}

/* With the lock. */
static const told *
failing_asked(void)
{
    told *t = &failing_told;
    if (t->under == NULL) {
        t->call = failing_said("MESHMSG_FAIL_CALL");
        t->how = failing_said("MESHMSG_FAIL_HOW");
        t->nth = atol(failing_said("MESHMSG_FAIL_NTH"));
        t->log =
            open(failing_said("MESHMSG_FAIL_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        t->under = failing_said("MESHMSG_FAIL_UNDER");
    }
    return t;
}

/* The path of an open file; false: it is not one of the folder. */
static int
failing_is_there(int fd, const char *under, char path[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size > 0 ? size : 0] = '\0';
    size_t most = strlen(under);
    return most > 0 && strncmp(path, under, most) == 0 && (path[most] == '/' || path[most] == '\0');
}

/* Counts a call, and notes it; the errno that it is to fail with, 0: none, -1: it is to be short.
 * `file` NULL: the name is that of fd.  *inode 0: the file is not of the folder.  With the lock. */
static int
failing_judged(const char *name, int fd, const char *file, ino_t *inode)
{
    char path[PATH_MAX], line[PATH_MAX + 128];
    const told *t = failing_asked();
    struct stat st;
    *inode = 0;
    if (!failing_is_there(fd, t->under, path) || fstat(fd, &st) != 0) {
        return 0;
    }
    *inode = st.st_ino;
    int fails = strcmp(name, t->call) == 0 && ++failing_count == t->nth;
    const char *end = strrchr(path, '/');
    file = file != NULL ? file : end != NULL ? end + 1 : path;
    int size = snprintf(line, sizeof line, "%s %llu %s %s\n", name, (unsigned long long)st.st_ino,
                        file, fails ? t->how : "ok");
    if (write(t->log, line, (size_t)size) != size) {
        abort();
    }
    if (!fails) {
        return 0;
    }
    return strcmp(t->how, "short") == 0 ? -1 : strcmp(t->how, "enospc") == 0 ? ENOSPC : EIO;
}

/* Forgets what stood in a file, or puts it back, the newest first. */
static void
failing_settle(int fd, ino_t inode, int back)
{
    for (before **at = &failing_before; *at != NULL;) {
        before *one = *at;
        if (one->inode != inode) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        if (back && pwrite(fd, one->octets, one->size, one->at) != (ssize_t)one->size) {
            abort();
        }
        free(one);
    }
}

/* What is not there yet reads as zeros. */
static void
failing_keep(int fd, ino_t inode, off_t at, size_t size)
{
    before *one = calloc(1, sizeof *one + size);
    if (one == NULL || pread(fd, one->octets, size, at) < 0) {
        abort();
    }
    one->next = failing_before;
    one->inode = inode;
    one->at = at;
    one->size = size;
    failing_before = one;
}

static int
failing_done(int rc, int error)
{
    (void)pthread_mutex_unlock(&failing_lock);
    if (error > 0) {
        errno = error;
        return -1;
    }
    return rc;
}

static int
failing_sync(const char *name, int (*real)(int), int fd)
{
    ino_t inode;
    (void)pthread_mutex_lock(&failing_lock);
    int error = failing_judged(name, fd, NULL, &inode);
    int rc = error == 0 ? real(fd) : 0;
    failing_settle(fd, inode, error != 0);
    return failing_done(rc, error);
}

int
fdatasync(int fd)
{
    return failing_sync("fdatasync", REAL(fdatasync), fd);
}

int
fsync(int fd)
{
    return failing_sync("fsync", REAL(fsync), fd);
}

static ssize_t
failing_write(int fd, const struct iovec *pieces, int n, off_t at)
{
    ino_t inode;
    ssize_t rc = 0;
    size_t size = 0;
    (void)pthread_mutex_lock(&failing_lock);
    int error = failing_judged("pwritev", fd, NULL, &inode);
    for (int i = 0; i < n; i++) {
        size += pieces[i].iov_len;
    }
    if (inode != 0 && error <= 0) {
        failing_keep(fd, inode, at, size);
    }
    if (error == 0) {
        rc = REAL(pwritev)(fd, pieces, n, at);
    } else if (error < 0) {
        rc = pwrite(fd, pieces->iov_base, (pieces->iov_len + 1) / 2, at);
    }
    int failed = errno;
    (void)pthread_mutex_unlock(&failing_lock);
    errno = error > 0 ? error : failed;
    return error > 0 ? -1 : rc;
}

ssize_t
pwritev(int fd, const struct iovec *pieces, int n, off_t at)
{
    return failing_write(fd, pieces, n, at);
}

ssize_t
pwritev64(int fd, const struct iovec *pieces, int n, off64_t at)
{
    return failing_write(fd, pieces, n, at);
}

static int
failing_room(int fd, int mode, off_t at, off_t size)
{
    ino_t inode;
    (void)pthread_mutex_lock(&failing_lock);
    int error = failing_judged("fallocate", fd, NULL, &inode);
    int rc = error == 0 ? REAL(fallocate)(fd, mode, at, size) : 0;
    return failing_done(rc, error);
}

int
fallocate(int fd, int mode, off_t at, off_t size)
{
    return failing_room(fd, mode, at, size);
}

int
fallocate64(int fd, int mode, off64_t at, off64_t size)
{
    return failing_room(fd, mode, at, size);
}

/* The number is that of the folder that it is moved from; the name is the new one. */
int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    ino_t inode;
    (void)pthread_mutex_lock(&failing_lock);
    int error = failing_judged("renameat", from_dir, to, &inode);
    int rc = error == 0 ? REAL(renameat)(from_dir, from, to_dir, to) : 0;
    return failing_done(rc, error);
}

/* The number of a file that goes may be that of the next one. */
int
unlinkat(int dir, const char *name, int flags)
{
    struct stat st;
    (void)pthread_mutex_lock(&failing_lock);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        failing_settle(-1, st.st_ino, 0);
    }
    return failing_done(REAL(unlinkat)(dir, name, flags), 0);
}
