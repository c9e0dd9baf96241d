/*
 * posix/file.c: the files of the system (file.h).
 *
 * Not here: policy; the header says what each call promises.  Law: no state but the descriptors;
 * every one is CLOEXEC; errno is as the failed call set it, whatever was tidied up after it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

#include "plat/file.h"

_Static_assert(sizeof(mmi_iov) == sizeof(struct iovec), "mmi_iov is handed to the system as iovec");

enum { FILE_MODE = 0600, FOLDER_MODE = 0700 };

/* Not what a signal broke before it did anything. */
#define UNBROKEN(rc, call)                                                                         \
    do {                                                                                           \
        (rc) = (call);                                                                             \
    } while ((rc) < 0 && errno == EINTR)

static int
file_done(int rc)
{
    return rc < 0 ? mmi_file_error(errno) : MM_OK;
}

static int
file_opened(int fd, int *out)
{
    if (fd >= 0) {
        *out = fd;
    }
    return file_done(fd);
}

static int
file_root(void *self, const char *path, int *dir)
{
    int fd;
    (void)self;
    UNBROKEN(fd, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return file_opened(fd, dir);
}

static int
file_folder(void *self, int dir, const char *name, int *sub)
{
    int fd, rc = mmi_file_check_name(name);
    (void)self;
    if (rc != MM_OK) {
        return rc;
    }
    UNBROKEN(fd, openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return file_opened(fd, sub);
}

static int
file_mkdir(void *self, int dir, const char *name)
{
    int rc = mmi_file_check_name(name);
    (void)self;
    return rc != MM_OK ? rc : file_done(mkdirat(dir, name, FOLDER_MODE));
}

static void
file_close(void *self, int file)
{
    (void)self;
    (void)close(file);
}

/* What is wrong with a file that could be opened: an errno, 0: nothing.  What is read may have
 * other names, as in a snapshot; what is written would change them. */
static int
file_refusal(int fd, bool write)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    if (S_ISDIR(st.st_mode)) {
        return EISDIR;
    }
    if (!S_ISREG(st.st_mode)) {
        return ENOTSUP;
    }
    return write && st.st_nlink > 1 ? EMLINK : 0;
}

static int
file_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    int fd, rc = mmi_file_check_name(name);
    (void)self;
    if (rc == MM_OK) {
        rc = mmi_file_check_flags(flags);
    }
    if (rc != MM_OK) {
        return rc;
    }
    /* NONBLOCK: a FIFO that somebody planted would wait for its other end. */
    int how = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    how |= (flags & MMI_FILE_WRITE) != 0 ? O_RDWR : O_RDONLY;
    how |= (flags & MMI_FILE_CREATE) != 0 ? O_CREAT : 0;
    how |= (flags & MMI_FILE_NEW) != 0 ? O_EXCL : 0;
    UNBROKEN(fd, openat(dir, name, how, FILE_MODE));
    int unencodable = fd >= 0 ? file_refusal(fd, (flags & MMI_FILE_WRITE) != 0) : 0;
    if (unencodable != 0) {
        (void)close(fd);
        return mmi_file_error(unencodable);
    }
    return file_opened(fd, file);
}

static int64_t
file_read(void *self, int file, uint64_t at, void *buf, size_t size)
{
    size_t done = 0;
    int rc = mmi_file_check_range(at, size);
    (void)self;
    while (rc == MM_OK && done < size) {
        ssize_t n;
        UNBROKEN(n, pread(file, (char *)buf + done, size - done, (off_t)(at + done)));
        if (n == 0) {
            break;
        }
        rc = file_done(n < 0 ? -1 : 0);
        done += n > 0 ? (size_t)n : 0;
    }
    return rc == MM_OK ? (int64_t)done : rc;
}

static int64_t
file_write(void *self, int file, uint64_t at, const mmi_iov *pieces, int n)
{
    int64_t total = mmi_file_check_pieces(at, pieces, n);
    ssize_t written;
    (void)self;
    if (total < 0) {
        return total;
    }
    UNBROKEN(written, pwritev(file, (const struct iovec *)pieces, n, (off_t)at));
    if (written < 0) {
        return mmi_file_error(errno);
    }
    return written == 0 && total > 0 ? mmi_file_error(EIO) : (int64_t)written;
}

#ifdef F_FULLFSYNC
/* macOS: fsync leaves it in the cache of the device, and there is no sync of the octets alone. */
static int
file_flush(int fd, bool data)
{
    (void)data;
    return fcntl(fd, F_FULLFSYNC);
}
#else
static int
file_flush(int fd, bool data)
{
    return data ? fdatasync(fd) : fsync(fd);
}
#endif

/* Also when a signal broke it, nothing is known of what went: it is not tried again. */
static int
file_sync_data(void *self, int file)
{
    (void)self;
    return file_done(file_flush(file, true));
}

static int
file_sync(void *self, int file)
{
    (void)self;
    return file_done(file_flush(file, false));
}

#ifdef __linux__
/* Not posix_fallocate: where the file system cannot, glibc's writes to every block of the file. */
static int
file_allocate(int fd, uint64_t size)
{
    int rc;
    UNBROKEN(rc, fallocate(fd, 0, 0, (off_t)size));
    return rc;
}

static bool
file_remote(int dir)
{
    const uint32_t cifs = 0xff534d42, smb_two = 0xfe534d42;   /* not in every linux/magic.h */
    struct statfs fs;
    if (fstatfs(dir, &fs) != 0) {
        return false;
    }
    uint32_t type = (uint32_t)fs.f_type;
    return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == cifs || type == smb_two;
}
#else
static int
file_allocate(int fd, uint64_t size)
{
    (void)fd;
    (void)size;
    errno = ENOTSUP;
    return -1;
}

static bool
file_remote(int dir)
{
    (void)dir;
    return false;
}
#endif

static int
file_reserve(void *self, int file, uint64_t size)
{
    int rc = mmi_file_check_range(0, size);
    (void)self;
    return rc != MM_OK || size == 0 ? rc : file_done(file_allocate(file, size));
}

static int
file_truncate(void *self, int file, uint64_t size)
{
    int rc = mmi_file_check_range(0, size);
    (void)self;
    if (rc != MM_OK) {
        return rc;
    }
    UNBROKEN(rc, ftruncate(file, (off_t)size));
    return file_done(rc);
}

static int
file_size(void *self, int file, uint64_t *size)
{
    struct stat st;
    (void)self;
    int rc = fstat(file, &st);
    if (rc == 0) {
        *size = (uint64_t)st.st_size;
    }
    return file_done(rc);
}

static int
file_rename(void *self, int from_dir, const char *from, int to_dir, const char *to)
{
    int rc = mmi_file_check_name(from);
    (void)self;
    if (rc == MM_OK) {
        rc = mmi_file_check_name(to);
    }
    return rc != MM_OK ? rc : file_done(renameat(from_dir, from, to_dir, to));
}

static int
file_unlink(void *self, int dir, const char *name)
{
    int rc = mmi_file_check_name(name);
    (void)self;
    return rc != MM_OK ? rc : file_done(unlinkat(dir, name, 0));
}

/* Looked up where the file system does not say it with the name. */
static mmi_entry_kind
file_kind(int dir, const struct dirent *d)
{
    struct stat st;
    unsigned type = d->d_type;
    if (type == DT_UNKNOWN && fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        type = IFTODT(st.st_mode);
    }
    return type == DT_REG ? MMI_ENTRY_FILE : type == DT_DIR ? MMI_ENTRY_FOLDER : MMI_ENTRY_OTHER;
}

static int
file_list(void *self, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg)
{
    int fd, count = 0, error;
    (void)self;
    /* A descriptor of its own, as the place in a list is kept with it. */
    UNBROKEN(fd, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (list == NULL) {
        error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return mmi_file_error(error);
    }
    const struct dirent *d;
    while (errno = 0, (d = readdir(list)) != NULL) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
            mmi_entry entry = { .kind = file_kind(fd, d) };
            (void)snprintf(entry.name, sizeof entry.name, "%s", d->d_name);
            each(arg, &entry);
            count++;
        }
    }
    error = errno;
    (void)closedir(list);
    return error != 0 ? mmi_file_error(error) : count;
}

#ifdef F_OFD_SETLK
static int
file_lock_as(int fd, bool on)
{
    struct flock whole = { .l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_SETLK, &whole);
}
#else
static int
file_lock_as(int fd, bool on)
{
    return flock(fd, on ? LOCK_EX | LOCK_NB : LOCK_UN);
}
#endif

/* Of a folder, which nobody can open to be written: flock.  Some file systems make of it a lock
 * that needs that, or have none. */
static int
file_lock_folder(int fd, bool on)
{
    int rc = flock(fd, on ? LOCK_EX | LOCK_NB : LOCK_UN);
    if (rc < 0 && (errno == EBADF || errno == EINVAL || errno == EOPNOTSUPP)) {
        errno = ENOTSUP;
    }
    return rc;
}

static int
file_lock_any(int fd, bool on)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -1;
    }
    return S_ISDIR(st.st_mode) ? file_lock_folder(fd, on) : file_lock_as(fd, on);
}

static int
file_lock(void *self, int file)
{
    int rc = file_lock_any(file, true);
    (void)self;
    /* POSIX allows either word for "another has it". */
    return rc < 0 && errno == EACCES ? mmi_file_error(EAGAIN) : file_done(rc);
}

static int
file_unlock(void *self, int file)
{
    (void)self;
    return file_done(file_lock_any(file, false));
}

static int
file_space(void *self, int dir, mmi_space *out)
{
    struct statvfs fs;
    struct stat st;
    (void)self;
    if (fstatvfs(dir, &fs) != 0 || fstat(dir, &st) != 0) {
        return mmi_file_error(errno);
    }
    *out = (mmi_space){
        .free = (uint64_t)fs.f_bavail * fs.f_frsize,
        .remote = file_remote(dir),
        .shared = (st.st_mode & S_IWOTH) != 0,
    };
    return MM_OK;
}

void
mmi_files_posix(mmi_files *out)
{
    *out = (mmi_files){
        .name = "posix",
        .root = file_root,
        .folder = file_folder,
        .mkdir = file_mkdir,
        .open = file_open,
        .close = file_close,
        .read = file_read,
        .write = file_write,
        .sync_data = file_sync_data,
        .sync = file_sync,
        .sync_folder = file_sync,
        .reserve = file_reserve,
        .truncate = file_truncate,
        .size = file_size,
        .rename = file_rename,
        .unlink = file_unlink,
        .list = file_list,
        .lock = file_lock,
        .unlock = file_unlock,
        .space = file_space,
    };
}
