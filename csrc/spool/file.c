/*
 * spool/file.c: a segment file: its name, its head, and the batches that are written to it.
 *
 * Not here: looking through one (spool/scan.c).  Law: as in spool/file.h.
 */
#include "spool/file.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILE_DIGITS = 20,
    FILE_BODY_FIRST = 64 * 1024,         /* octets of a body that is begun */
    FILE_LIST_FIRST = 64,                /* files that a list has room for at first */
    FILE_ZEROS = 64 * 1024,              /* octets of one piece of zeros */
    FILE_SMALL = MMI_SPOOL_AHEAD / 4, /* octets: zeros are written ahead of what is no larger */
    FILE_PIECES = 3 + MMI_SPOOL_AHEAD / FILE_ZEROS
};
const char mmi_spool_spare_name[] = "spare.seg", mmi_spool_again_name[] = "again.seg";
static const uint8_t file_zeros[FILE_ZEROS];

int
mmi_spool_body_room(uint8_t **body, uint32_t *cap, uint64_t need)
{
    MMI_ASSERT(need <= MMI_SPOOL_BODY_MAX);
    if (need <= *cap) {
        return MM_OK;
    }
    uint64_t more = mmi_spool_cap(*cap, FILE_BODY_FIRST, need);
    uint8_t *grown = mmi_realloc(*body, more);
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    *body = grown;
    *cap = (uint32_t)more;
    return MM_OK;
}

void
mmi_spool_name(uint64_t base_seq, char out[MMI_SPOOL_NAME])
{
    for (int i = FILE_DIGITS; i-- > 0; base_seq /= 10) {
        out[i] = (char)('0' + base_seq % 10);
    }
    memcpy(out + FILE_DIGITS, ".seg", MMI_SPOOL_NAME - FILE_DIGITS);
}

bool
mmi_spool_name_get(const char *name, uint64_t *base_seq)
{
    char again[MMI_SPOOL_NAME];
    *base_seq = 0;
    for (int i = 0; i < FILE_DIGITS && name[i] >= '0' && name[i] <= '9'; i++) {
        *base_seq = *base_seq * 10 + (uint64_t)(name[i] - '0');
    }
    mmi_spool_name(*base_seq, again);
    return *base_seq > 0 && strcmp(name, again) == 0;
}

int
mmi_spool_folder_check(const mmi_spool_place *p, bool remote)
{
    mmi_space space;
    int rc = p->files->space(p->files->self, p->dir, &space);
    if (rc != MM_OK) {
        return rc;
    }
    return space.remote && !remote ? MMI_SPOOL_REMOTE : space.shared ? MMI_SPOOL_SHARED : MM_OK;
}

typedef struct file_listing {
    uint64_t *bases;
    uint32_t count, cap;
    bool full; /* no memory for all */
} file_listing;

static void
file_each(void *arg, const mmi_entry *entry)
{
    file_listing *l = arg;
    uint64_t base;
    if (l->full || entry->kind != MMI_ENTRY_FILE || !mmi_spool_name_get(entry->name, &base)) {
        return;
    }
    if (l->count == l->cap) {
        uint64_t cap = mmi_spool_cap(l->cap, FILE_LIST_FIRST, (uint64_t)l->count + 1);
        uint64_t *grown = mmi_realloc(l->bases, cap * sizeof *grown);
        l->full = grown == NULL;
        if (l->full) {
            return;
        }
        l->bases = grown;
        l->cap = (uint32_t)cap;
    }
    l->bases[l->count++] = base;
}

static int
file_compare(const void *one, const void *other)
{
    uint64_t a, b;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return a < b ? -1 : a > b;
}

int
mmi_spool_list(const mmi_spool_place *p, uint64_t **bases, uint32_t *count)
{
    file_listing l = { .bases = NULL };
    int rc = p->files->list(p->files->self, p->dir, file_each, &l);
    rc = rc < 0 ? rc : l.full ? MM_ENOMEM : MM_OK;
    if (rc != MM_OK) {
        mmi_free(l.bases);
        l = (file_listing){ .bases = NULL };
    } else if (l.count > 0) {
        qsort(l.bases, l.count, sizeof *l.bases, file_compare);
    }
    *bases = l.bases;
    *count = l.count;
    return rc;
}

int
mmi_spool_write_all(const mmi_files *files, int file, uint64_t at, mmi_iov *pieces, int n)
{
    while (n > 0) {
        int64_t wrote = files->write(files->self, file, at, pieces, n);
        if (wrote <= 0) {
            return wrote < 0 ? (int)wrote : MM_EIO;
        }
        at += (uint64_t)wrote;
        for (; n > 0 && (uint64_t)wrote >= pieces->size; pieces++, n--) {
            wrote -= (int64_t)pieces->size;
        }
        if (n > 0) {
            pieces->data = (uint8_t *)pieces->data + wrote;
            pieces->size -= (size_t)wrote;
        }
    }
    return MM_OK;
}

int
mmi_spool_room(const mmi_spool_place *p, int file, uint64_t was, uint64_t size)
{
    int rc = size > 0 ? p->files->reserve(p->files->self, file, size) : MM_OK;
    if (rc != MM_ENOTSUP) {
        return rc;
    }
    rc = MM_OK;
    for (uint64_t at = was; rc == MM_OK && at < size; at += FILE_ZEROS) {
        size_t some = size - at < FILE_ZEROS ? (size_t)(size - at) : (size_t)FILE_ZEROS;
        mmi_iov piece = { .data = (void *)file_zeros, .size = some };
        rc = mmi_spool_write_all(p->files, file, at, &piece, 1);
    }
    return rc;
}

int
mmi_spool_spare(const mmi_spool_place *p, uint64_t size, int *file)
{
    const uint32_t flags = MMI_FILE_WRITE | MMI_FILE_CREATE;
    int rc = mmi_spool_open_own(p, mmi_spool_spare_name, flags, file);
    if (rc != MM_OK) {
        return rc;
    }
    rc =
        p->files->truncate(p->files->self, *file, 0); /* what a crash left there is no part of it */
    rc = rc == MM_OK ? mmi_spool_room(p, *file, 0, size) : rc;
    if (rc != MM_OK) {
        p->files->close(p->files->self, *file);
        (void)p->files->unlink(p->files->self, p->dir, mmi_spool_spare_name);
        *file = -1;
    }
    return rc;
}

/* Its name goes first, and for good: a crash must not give the old name to what is written over
 * it.  One that has another name, as in a snapshot of hard links, is not opened to be written. */
int
mmi_spool_again(const mmi_spool_place *p, const char *name, uint64_t was, uint64_t size, int *file,
                bool *unsure)
{
    const mmi_files *x = p->files;
    int rc = x->rename(x->self, p->dir, name, p->dir, mmi_spool_again_name);
    if (rc != MM_OK) {
        return rc;
    }
    rc = x->sync_folder(x->self, p->dir);
    *unsure |= rc != MM_OK;
    rc = rc == MM_OK ? x->open(x->self, p->dir, mmi_spool_again_name, MMI_FILE_WRITE, file) : rc;
    if (rc != MM_OK) {
        (void)x->unlink(x->self, p->dir, mmi_spool_again_name);
        return rc;
    }
    rc = mmi_spool_room(p, *file, was, size);
    rc = rc == MM_OK
             ? x->rename(x->self, p->dir, mmi_spool_again_name, p->dir, mmi_spool_spare_name)
             : rc;
    if (rc != MM_OK) {
        x->close(x->self, *file);
        (void)x->unlink(x->self, p->dir, mmi_spool_again_name);
    }
    return rc;
}

int
mmi_spool_file_begin(const mmi_spool_place *p, mmi_spool_file *f, int spare, uint64_t stale,
                     const mmi_spool_head *head)
{
    uint8_t octets[MMI_SPOOL_FILE_HEAD];
    *f = (mmi_spool_file){
        .file = spare, .head = *head, .end = MMI_SPOOL_FILE_HEAD, .stale = stale
    };
    f->head.version = stale > 0 ? (uint32_t)MMI_SPOOL_AGAIN : f->head.version;
    mmi_spool_head_put(octets, &f->head);
    f->chain = f->head.crc;
    f->zeroed = stale > MMI_SPOOL_FILE_HEAD ? stale : MMI_SPOOL_FILE_HEAD;
    mmi_iov piece = { .data = octets, .size = sizeof octets };
    return mmi_spool_write_all(p->files, spare, 0, &piece, 1);
}

int
mmi_spool_file_name(const mmi_spool_place *p, const mmi_spool_file *f)
{
    char name[MMI_SPOOL_NAME];
    mmi_spool_name(f->head.base_seq, name);
    int rc = p->files->sync(p->files->self, f->file);
    rc = rc == MM_OK ? p->files->rename(p->files->self, p->dir, mmi_spool_spare_name, p->dir, name)
                     : rc;
    return rc == MM_OK ? p->files->sync_folder(p->files->self, p->dir) : rc;
}

int
mmi_spool_file_open(const mmi_spool_place *p, uint64_t base_seq, bool write, mmi_spool_file *f)
{
    char name[MMI_SPOOL_NAME];
    uint8_t octets[MMI_SPOOL_FILE_HEAD];
    *f = (mmi_spool_file){ .file = -1, .end = MMI_SPOOL_FILE_HEAD };
    mmi_spool_name(base_seq, name);
    int rc = write ? mmi_spool_open_own(p, name, MMI_FILE_WRITE, &f->file)
                   : p->files->open(p->files->self, p->dir, name, 0, &f->file);
    if (rc != MM_OK) {
        f->file = -1;
        return rc;
    }
    int64_t got = p->files->read(p->files->self, f->file, 0, octets, sizeof octets);
    rc = got < 0 ? (int)got : got < (int64_t)sizeof octets ? MM_EPROTO : MM_OK;
    rc = rc == MM_OK ? mmi_spool_head_get(octets, &f->head) : rc;
    if (rc == MM_OK && f->head.base_seq != base_seq) {
        rc = MM_EPROTO;
    }
    f->chain = f->head.crc;
    if (rc != MM_OK) {
        mmi_spool_file_close(p, f);
        rc = rc == MM_EPROTO && mmi_spool_file_gone(p, base_seq) ? MM_ENOENT : rc;
    }
    return rc;
}

bool
mmi_spool_file_gone(const mmi_spool_place *p, uint64_t base_seq)
{
    char name[MMI_SPOOL_NAME];
    int file;
    mmi_spool_name(base_seq, name);
    int rc = p->files->open(p->files->self, p->dir, name, 0, &file);
    if (rc == MM_OK) {
        p->files->close(p->files->self, file);
    }
    return rc == MM_ENOENT;
}

void
mmi_spool_file_close(const mmi_spool_place *p, mmi_spool_file *f)
{
    if (f->file >= 0) {
        p->files->close(p->files->self, f->file);
        f->file = -1;
    }
}

/* Pieces of zeros up to that many octets; how many pieces. */
static int
file_put_zeros(mmi_iov *pieces, uint64_t octets)
{
    int n = 0;
    for (; octets > 0; n++) {
        size_t size = octets < FILE_ZEROS ? (size_t)octets : (size_t)FILE_ZEROS;
        pieces[n] = (mmi_iov){ .data = (void *)file_zeros, .size = size };
        octets -= size;
    }
    return n;
}

int
mmi_spool_file_write(const mmi_spool_place *p, mmi_spool_file *f, mmi_spool_batch *batch,
                     const uint8_t *body, uint32_t body_size, uint64_t size)
{
    uint8_t head[MMI_SPOOL_BATCH_HEAD];
    mmi_iov pieces[FILE_PIECES];
    batch->chain = f->chain;
    mmi_spool_batch_put(head, batch, f->head.salt, body, body_size);
    uint64_t takes = mmi_spool_batch_size(body_size), end = f->end + takes, zeroed = end;
    /* A write that makes a file longer, or its blocks known, costs the next sync half as much
     * again: so much is done at once that many small batches find it done. */
    if (end > f->zeroed && takes <= FILE_SMALL && end < size) {
        zeroed = size - end < MMI_SPOOL_AHEAD ? size : end + MMI_SPOOL_AHEAD;
    }
    if (zeroed == end && end < f->stale) {
        uint64_t left = f->stale - end;
        zeroed += left < MMI_SPOOL_BATCH_HEAD ? left : (uint64_t)MMI_SPOOL_BATCH_HEAD;
    }
    pieces[0] = (mmi_iov){ .data = head, .size = sizeof head };
    pieces[1] = (mmi_iov){ .data = (void *)body, .size = body_size };
    int n = body_size > 0 ? 2 : 1;
    n += file_put_zeros(pieces + n, zeroed - f->end - sizeof head - body_size);
    int rc = mmi_spool_write_all(p->files, f->file, f->end, pieces, n);
    if (rc == MM_OK) {
        f->end = end;
        f->zeroed = zeroed > f->zeroed ? zeroed : f->zeroed;
        f->chain = batch->head_crc;
    }
    return rc;
}
