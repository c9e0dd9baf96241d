/*
 * unix_file.c: the file of a unix listener: made private, in a fresh folder if wanted, replaced
 * when stale, removed when still ours.
 *
 * Law: a file that is no socket is never touched, nor one that another listener answers on; the
 * file is only its owner's to open from the first moment, as its mode is set before it has a name;
 * one that others may open too is opened to them last.
 * Who makes or replaces a file holds a lock on its folder until it listens, so that of several who
 * find the same stale one, one replaces it, and the others find that somebody answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plat/posix/posix.h"

typedef struct mmi_unix_file {
    struct mmi_unix_file *next;
    int fd;
    char path[sizeof((mmi_addr *)0)->path];
    bool fresh;            /* its folder was made for it */
    dev_t device;
    ino_t inode;
} mmi_unix_file;

static const char UNIX_FRESH_FOLDER[] = "/meshmsg-XXXXXX", UNIX_FRESH_NAME[] = "/socket";

enum {
    UNIX_FILE_MODE = 0600,
    UNIX_OPEN_MODE = 0666,   /* who may come in is asked of each who comes */
    UNIX_FOLDER_MODE = 0700,
    UNIX_LOCK_TRIES = 50,
    UNIX_LOCK_NAP_NS = 1000000,
    UNIX_LOCK_NONE = -1, /* the folder cannot be opened, so nobody has a lock on it */
    UNIX_LOCK_BUSY = -2  /* others hold it, for longer than any of ours does       */
};

/* The descriptor of the folder, locked; or UNIX_LOCK_NONE or _BUSY. */
static int
unix_lock(const mmi_addr *a)
{
    char folder[sizeof a->path + 2];
    const char *slash = strrchr(a->path, '/');
    size_t size = slash != NULL ? (size_t)(slash - a->path) + 1 : 0;
    memcpy(folder, a->path, size);
    memcpy(folder + size, ".", sizeof "."); /* "/run/.", or just "." */
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        const struct timespec nap = { .tv_nsec = UNIX_LOCK_NAP_NS };
        if (errno != EWOULDBLOCK || i == UNIX_LOCK_TRIES) {
            int rc = errno == EWOULDBLOCK ? UNIX_LOCK_BUSY : UNIX_LOCK_NONE;
            close(fd);
            return rc;
        }
        (void)nanosleep(&nap, NULL);
    }
    return fd;
}

/* Said, not left to the closing: a child that is being made may have the descriptor, too. */
static void
unix_unlock(int lock)
{
    if (lock >= 0) {
        (void)flock(lock, LOCK_UN);
        close(lock);
    }
}

/* What is there: 0 is nothing. */
static mode_t
unix_mode(const mmi_addr *a)
{
    struct stat st;
    return lstat(a->path, &st) == 0 ? st.st_mode : 0;
}

/* Is the file a socket that nobody listens on? Then it is left over from a process that died. */
static bool
unix_stale(const mmi_addr *a)
{
    struct sockaddr_storage addr;
    if (!S_ISSOCK(unix_mode(a))) {
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
    return errno == ENOENT ? MM_ENOENT : mmi_posix_error(errno);
}

/* A path that nobody else can have, in a folder that nobody else can look into. */
static int
unix_fresh(mmi_addr *a)
{
    const char *root = secure_getenv("TMPDIR");
    if (root == NULL || root[0] != '/') {
        root = "/tmp";
    }
    int n = snprintf(a->path, sizeof a->path, "%s%s", root, UNIX_FRESH_FOLDER);
    if (n < 0 || (size_t)n + sizeof UNIX_FRESH_NAME > sizeof a->path) {
        return MM_ENAMETOOLONG;
    }
    /* The mode once more, as the umask may have taken some of it away. */
    if (mkdtemp(a->path) == NULL) {
        return errno == ENOENT ? MM_ENOENT : mmi_posix_error(errno);
    }
    if (chmod(a->path, UNIX_FOLDER_MODE) != 0) {
        int rc = mmi_posix_error(errno);
        (void)rmdir(a->path);
        return rc;
    }
    memcpy(a->path + n, UNIX_FRESH_NAME, sizeof UNIX_FRESH_NAME);
    return MM_OK;
}

/* The folder that unix_fresh made. */
static void
unix_rmdir(const char *path)
{
    char folder[sizeof((mmi_addr *)0)->path];
    size_t size = strlen(path) - strlen(UNIX_FRESH_NAME);
    memcpy(folder, path, size);
    folder[size] = '\0';
    (void)rmdir(folder);
}

/* An abstract name is there as long as the socket is, so there is nothing to note. */
static int
unix_bind_name(int fd, const mmi_addr *a, int backlog)
{
    struct sockaddr_storage addr;
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    return bind(fd, (struct sockaddr *)&addr, size) == 0 && listen(fd, backlog) == 0
               ? MM_OK
               : mmi_posix_error(errno);
}

/* Binds, in place of a stale file if need be, and listens. */
static int
unix_bind(int fd, const mmi_addr *a, int backlog)
{
    struct sockaddr_storage addr;
    socklen_t size = mmi_addr_to_sockaddr(a, &addr);
    /* Linux gives the new file the mode of the socket it is bound to: no moment for others to get
     * in. */
    if (fchmod(fd, UNIX_FILE_MODE) != 0) {
        return mmi_posix_error(errno);
    }
    int lock = unix_lock(a);
    int rc = unix_try_bind(fd, &addr, size);
    if (rc == MM_EADDRINUSE && lock != UNIX_LOCK_BUSY && unix_stale(a) && unlink(a->path) == 0) {
        rc = unix_try_bind(fd, &addr, size);
    }
    if (rc == MM_EADDRINUSE && unix_mode(a) != 0 && !S_ISSOCK(unix_mode(a))) {
        rc = MM_EEXIST;
    }
    if (rc == MM_OK &&
        (listen(fd, backlog) != 0 || (a->open && chmod(a->path, UNIX_OPEN_MODE) != 0))) {
        rc = mmi_posix_error(errno);
        (void)unlink(a->path);
    }
    unix_unlock(lock);
    return rc;
}

int
mmi_unix_listen(mmi_posix *p, int fd, mmi_addr *a, int backlog)
{
    if (mmi_unix_abstract(a)) {
        return unix_bind_name(fd, a, backlog);
    }
    mmi_unix_file *file = mmi_alloc(sizeof *file);
    if (file == NULL) {
        return MM_ENOMEM;
    }
    struct stat st;
    int rc = a->any ? unix_fresh(a) : MM_OK;
    bool made = a->any && rc == MM_OK;
    if (rc == MM_OK) {
        rc = unix_bind(fd, a, backlog);
    }
    if (rc == MM_OK && lstat(a->path, &st) != 0) {
        rc = mmi_posix_error(errno);
    }
    if (rc != MM_OK) {
        if (made) {
            unix_rmdir(a->path);
        }
        mmi_free(file);
        return rc;
    }
    file->fresh = made;
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
    if (file->fresh) {
        unix_rmdir(file->path);
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
