/*
 * sim/disk.c: the calls of file.h over the simulated disk.
 *
 * Not here: contents, names, faults (disk_data.c, disk_names.c, disk_fate.c).  Law: a call refuses
 * what the system would, in the same words; it begins with its fate and ends with it.
 */
#include <errno.h>
#include <string.h>

#include "plat/sim/disk_state.h"

static const uint64_t DISK_FREE_WITHOUT_END = UINT64_C(1) << 50;   /* octets */

typedef enum disk_want {
    DISK_WANT_FOLDER,
    DISK_WANT_FILE,
    DISK_WANT_WRITTEN, /* a file that was opened with WRITE */
    DISK_WANT_ANY
} disk_want;

/* Begins a call on what is open, gives its handle; an errno when that cannot be. */
static int
disk_enter(mmi_disk *d, mmi_disk_op op, int id, disk_want want, disk_handle **h)
{
    int error = mmi_disk_begin(d, op);
    *h = mmi_disk_handle_find(d, id);
    if (error != 0) {
        return error;
    }
    if (*h == NULL || (want == DISK_WANT_WRITTEN && !(*h)->write)) {
        return EBADF;
    }
    if (want == DISK_WANT_FOLDER && !(*h)->node->folder) {
        return ENOTDIR;
    }
    return want == DISK_WANT_FILE && (*h)->node->folder ? EISDIR : 0;
}

static int
disk_leave(mmi_disk *d, mmi_disk_op op, int error)
{
    return (int)mmi_disk_end(d, op, error != 0 ? mmi_file_error(error) : MM_OK);
}

static int
disk_root(void *self, const char *path, int *dir)
{
    mmi_disk *d = self;
    int error = mmi_disk_begin(d, MMI_DISK_OPEN);
    if (error == 0) {
        error = strcmp(path, "/") == 0 ? mmi_disk_handle(d, d->root, false, dir) : ENOENT;
    }
    return disk_leave(d, MMI_DISK_OPEN, error);
}

static int
disk_folder(void *self, int dir, const char *name, int *sub)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_name(name);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_OPEN, dir, DISK_WANT_FOLDER, &h);
    disk_node *n = error == 0 ? mmi_disk_find(h->node, name) : NULL;
    if (error == 0) {
        error = n == NULL ? ENOENT : !n->folder ? ENOTDIR : mmi_disk_handle(d, n, false, sub);
    }
    return disk_leave(d, MMI_DISK_OPEN, error);
}

/* A node of that name that was not there. */
static int
disk_make(mmi_disk *d, disk_node *dir, const char *name, bool folder)
{
    if (dir->links == 0 && dir != d->root) {
        return ENOENT;   /* another took the folder's place */
    }
    disk_node *n = mmi_disk_node(d, folder);
    if (n == NULL) {
        return ENOMEM;
    }
    n->refs++;
    int error = mmi_disk_change_name(d, dir, name, n);
    mmi_disk_unref(d, n);
    return error;
}

static int
disk_mkdir(void *self, int dir, const char *name)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_name(name);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_NAME, dir, DISK_WANT_FOLDER, &h);
    if (error == 0) {
        error = mmi_disk_find(h->node, name) != NULL ? EEXIST : disk_make(d, h->node, name, true);
    }
    return disk_leave(d, MMI_DISK_NAME, error);
}

static int
disk_open_in(mmi_disk *d, disk_node *dir, const char *name, uint32_t flags, int *file)
{
    disk_node *n = mmi_disk_find(dir, name);
    if (n == NULL && (flags & MMI_FILE_CREATE) == 0) {
        return ENOENT;
    }
    if (n != NULL && (flags & MMI_FILE_NEW) != 0) {
        return EEXIST;
    }
    if (n != NULL && n->folder) {
        return EISDIR;
    }
    int error = n == NULL ? disk_make(d, dir, name, false) : 0;
    if (error != 0) {
        return error;
    }
    return mmi_disk_handle(d, mmi_disk_find(dir, name), (flags & MMI_FILE_WRITE) != 0, file);
}

static int
disk_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_name(name);
    if (rc == MM_OK) {
        rc = mmi_file_check_flags(flags);
    }
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_OPEN, dir, DISK_WANT_FOLDER, &h);
    if (error == 0) {
        error = disk_open_in(d, h->node, name, flags, file);
    }
    return disk_leave(d, MMI_DISK_OPEN, error);
}

static void
disk_close(void *self, int file)
{
    disk_handle *h = mmi_disk_handle_find(self, file);
    if (h != NULL) {
        mmi_disk_handle_close(self, h);
    }
}

static int64_t
disk_read(void *self, int file, uint64_t at, void *buf, size_t size)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_range(at, size);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_READ, file, DISK_WANT_FILE, &h);
    error = error == 0 && mmi_disk_data_bad(h->node, at, size) ? EIO : error;
    int64_t n =
        error != 0 ? mmi_file_error(error) : (int64_t)mmi_disk_data_read(h->node, at, buf, size);
    return mmi_disk_end(d, MMI_DISK_READ, n);
}

/* The pieces until so many octets went. */
static int64_t
disk_put(mmi_disk *d, disk_node *n, uint64_t at, const mmi_iov *pieces, int count, uint64_t limit)
{
    uint64_t done = 0;
    int error = 0;
    for (int i = 0; i < count && error == 0 && done < limit; i++) {
        uint64_t part = pieces[i].size < limit - done ? pieces[i].size : limit - done;
        done += mmi_disk_data_write(d, n, at + done, pieces[i].data, part, &error);
    }
    return done == 0 && error != 0 ? mmi_file_error(error) : (int64_t)done;
}

static int64_t
disk_write(void *self, int file, uint64_t at, const mmi_iov *pieces, int count)
{
    mmi_disk *d = self;
    disk_handle *h;
    int64_t total = mmi_file_check_pieces(at, pieces, count);
    if (total < 0) {
        return total;
    }
    int error = disk_enter(d, MMI_DISK_WRITE, file, DISK_WANT_WRITTEN, &h);
    bool open = h != NULL && h->write && !d->off;
    uint64_t limit = (uint64_t)total;
    if (open && total > 1 && (error != 0 || d->cut_short)) {
        limit = mmi_disk_between(d, error != 0 ? 0 : 1, limit - 1);
    }
    int64_t n = open ? disk_put(d, h->node, at, pieces, count, limit) : 0;
    if (n > 0) {
        mmi_disk_data_stray(d, h->node, at, (uint64_t)n);
    }
    return mmi_disk_end(d, MMI_DISK_WRITE, error != 0 ? mmi_file_error(error) : n);
}

static int
disk_sync(void *self, int file)
{
    mmi_disk *d = self;
    disk_handle *h;
    int error = disk_enter(d, MMI_DISK_SYNC, file, DISK_WANT_ANY, &h);
    if (error == 0) {
        mmi_disk_data_sync(h->node);
    } else if (h != NULL) {
        mmi_disk_data_sync_failed(d, h->node);
    }
    return disk_leave(d, MMI_DISK_SYNC, error);
}

static int
disk_sync_folder(void *self, int dir)
{
    mmi_disk *d = self;
    disk_handle *h;
    int error = disk_enter(d, MMI_DISK_SYNC_FOLDER, dir, DISK_WANT_FOLDER, &h);
    if (error == 0) {
        mmi_disk_names_sync(d, h->node);
    } else if (h != NULL) {
        mmi_disk_names_sync_failed(d, h->node);
    }
    return disk_leave(d, MMI_DISK_SYNC_FOLDER, error);
}

static int
disk_reserve(void *self, int file, uint64_t size)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_range(0, size);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_RESERVE, file, DISK_WANT_WRITTEN, &h);
    return disk_leave(d, MMI_DISK_RESERVE,
                      error != 0 ? error : mmi_disk_data_reserve(d, h->node, size));
}

static int
disk_truncate(void *self, int file, uint64_t size)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_range(0, size);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_TRUNCATE, file, DISK_WANT_WRITTEN, &h);
    return disk_leave(d, MMI_DISK_TRUNCATE,
                      error != 0 ? error : mmi_disk_data_truncate(d, h->node, size));
}

static int
disk_size(void *self, int file, uint64_t *size)
{
    const disk_handle *h = mmi_disk_handle_find(self, file);
    if (h == NULL) {
        return mmi_file_error(EBADF);
    }
    *size = h->node->size;
    return MM_OK;
}

/* What stands in the way of a rename: an errno, 0: nothing. */
static int
disk_refusal(const disk_node *n, const disk_node *to_dir, const disk_node *there)
{
    if (n == NULL) {
        return ENOENT;
    }
    if (n->folder && mmi_disk_holds(n, to_dir)) {
        return EINVAL;
    }
    if (there == NULL || there == n) {
        return 0;
    }
    if (n->folder != there->folder) {
        return n->folder ? ENOTDIR : EISDIR;
    }
    return there->folder && !mmi_disk_empty(there) ? ENOTEMPTY : 0;
}

static int
disk_rename(void *self, int from_dir, const char *from, int to_dir, const char *to)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_name(from);
    if (rc == MM_OK) {
        rc = mmi_file_check_name(to);
    }
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_NAME, from_dir, DISK_WANT_FOLDER, &h);
    const disk_handle *other = mmi_disk_handle_find(d, to_dir);
    if (error == 0) {
        error = other == NULL ? EBADF : !other->node->folder ? ENOTDIR : 0;
    }
    if (error == 0) {
        const disk_node *n = mmi_disk_find(h->node, from), *there = mmi_disk_find(other->node, to);
        error = disk_refusal(n, other->node, there);
        if (error == 0 && n != there) {
            error = mmi_disk_change_rename(d, h->node, from, other->node, to);
        }
    }
    return disk_leave(d, MMI_DISK_NAME, error);
}

static int
disk_unlink(void *self, int dir, const char *name)
{
    mmi_disk *d = self;
    disk_handle *h;
    int rc = mmi_file_check_name(name);
    if (rc != MM_OK) {
        return rc;
    }
    int error = disk_enter(d, MMI_DISK_NAME, dir, DISK_WANT_FOLDER, &h);
    if (error == 0) {
        const disk_node *n = mmi_disk_find(h->node, name);
        error = n == NULL   ? ENOENT
                : n->folder ? EISDIR
                            : mmi_disk_change_name(d, h->node, name, NULL);
    }
    return disk_leave(d, MMI_DISK_NAME, error);
}

/* Begun anywhere, as no order is promised. */
static int
disk_list(void *self, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg)
{
    mmi_disk *d = self;
    disk_handle *h;
    int error = disk_enter(d, MMI_DISK_LIST, dir, DISK_WANT_FOLDER, &h), count = 0;
    if (error != 0) {
        return disk_leave(d, MMI_DISK_LIST, error);
    }
    mmi_list *entries = &h->node->entries;
    for (uint64_t turn = mmi_disk_between(d, 0, 7); turn > 0 && !mmi_list_empty(entries); turn--) {
        mmi_list_push_back(entries, mmi_list_pop_front(entries));
    }
    MMI_LIST_EACH (entries, at, after) {
        const disk_entry *e = MMI_CONTAINER_OF(at, disk_entry, at);
        if (e->seen != NULL) {
            mmi_entry entry = { .kind = e->seen->folder ? MMI_ENTRY_FOLDER : MMI_ENTRY_FILE };
            memcpy(entry.name, e->name, strlen(e->name) + 1);
            each(arg, &entry);
            count++;
        }
    }
    return (int)mmi_disk_end(d, MMI_DISK_LIST, count);
}

static int
disk_lock(void *self, int file)
{
    mmi_disk *d = self;
    disk_handle *h;
    int error = disk_enter(d, MMI_DISK_LOCK, file, DISK_WANT_ANY, &h);
    if (error == 0 && !h->write && !h->node->folder) {
        error = EBADF;
    }
    if (error == 0 && h->node->locked_by != 0 && h->node->locked_by != h->id) {
        error = EAGAIN;
    }
    if (error == 0) {
        h->node->locked_by = h->id;
    }
    return disk_leave(d, MMI_DISK_LOCK, error);
}

static int
disk_unlock(void *self, int file)
{
    disk_handle *h = mmi_disk_handle_find(self, file);
    if (h == NULL) {
        return mmi_file_error(EBADF);
    }
    h->node->locked_by = h->node->locked_by == h->id ? 0 : h->node->locked_by;
    return MM_OK;
}

static int
disk_space(void *self, int dir, mmi_space *out)
{
    mmi_disk *d = self;
    uint64_t pages = d->opts.capacity / DISK_PAGE;
    if (mmi_disk_handle_find(d, dir) == NULL) {
        return mmi_file_error(EBADF);
    }
    *out = (mmi_space){ .free = DISK_FREE_WITHOUT_END };
    if (d->opts.capacity > 0) {
        out->free = pages > d->used ? (pages - d->used) * DISK_PAGE : 0;
    }
    return MM_OK;
}

mmi_disk *
mmi_disk_new(uint64_t seed, const mmi_disk_opts *opts)
{
    mmi_disk *d = mmi_alloc(sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    d->opts = *opts;
    d->random_state = seed;
    mmi_list_init(&d->nodes);
    mmi_list_init(&d->changes);
    d->root = mmi_disk_node(d, true);
    if (d->root == NULL) {
        mmi_free(d);
        return NULL;
    }
    d->root->refs++;
    return d;
}

/* After a crash there is nothing but what the root holds. */
void
mmi_disk_free(mmi_disk *d)
{
    if (d != NULL) {
        mmi_disk_choose(d, NULL, NULL);
        mmi_disk_crash(d);
        mmi_disk_unref(d, d->root);
        mmi_free(d);
    }
}

void
mmi_disk_inspect(const mmi_disk *d, mmi_disk_state *out)
{
    *out = (mmi_disk_state){
        .operations = d->operations,
        .hash = d->hash,
        .used = d->used * DISK_PAGE,
        .slow_ns = d->slow_ns,
        .struck = d->struck,
        .handles = d->handle_count,
    };
}

void
mmi_disk_files(mmi_disk *d, mmi_files *out)
{
    *out = (mmi_files){
        .self = d,
        .name = "sim",
        .root = disk_root,
        .folder = disk_folder,
        .mkdir = disk_mkdir,
        .open = disk_open,
        .close = disk_close,
        .read = disk_read,
        .write = disk_write,
        .sync_data = disk_sync,
        .sync = disk_sync,
        .sync_folder = disk_sync_folder,
        .reserve = disk_reserve,
        .truncate = disk_truncate,
        .size = disk_size,
        .rename = disk_rename,
        .unlink = disk_unlink,
        .list = disk_list,
        .lock = disk_lock,
        .unlock = disk_unlock,
        .space = disk_space,
    };
}
