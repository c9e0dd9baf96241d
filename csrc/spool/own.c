/*
 * spool/own.c: a file that is opened to be written, and is this spool's alone.
 *
 * Not here: files that are only read; a second name of those harms nobody.
 * Law: nothing is written to a file that has another name (a hard link): that may be a snapshot,
 * which is not to change, or what somebody planted.
 */
#include <errno.h>

#include "spool/file.h"

enum { OWN_PIECE = 64 * 1024 };   /* octets that are copied at once */
static const char own_name[] = ".own";

static int
own_fill(const mmi_files *f, int from, int to)
{
    uint8_t *piece = mmi_alloc(OWN_PIECE);
    int64_t did = piece != NULL ? 1 : MM_ENOMEM; /* 0: all */
    for (uint64_t at = 0; did > 0; at += did > 0 ? (uint64_t)did : 0) {
        did = f->read(f->self, from, at, piece, OWN_PIECE);
        if (did > 0) { /* what does not go is read again */
            did = f->write(f->self, to, at, &(mmi_iov){ piece, (size_t)did }, 1);
        }
    }
    mmi_free(piece);
    return (int)did;
}

/* The name is a copy's from now on, and for good; the others keep the file. */
static int
own_copy(const mmi_spool_place *p, const char *name)
{
    const mmi_files *f = p->files;
    const uint32_t made = MMI_FILE_WRITE | MMI_FILE_CREATE | MMI_FILE_NEW;
    int from, to;
    (void)f->unlink(f->self, p->dir, own_name); /* what a crash cut off */
    int rc = f->open(f->self, p->dir, name, 0, &from);
    if (rc != MM_OK) {
        return rc;
    }
    rc = f->open(f->self, p->dir, own_name, made, &to);
    if (rc == MM_OK) {
        rc = own_fill(f, from, to);
        rc = rc == MM_OK ? f->sync(f->self, to) : rc;
        f->close(f->self, to);
        rc = rc == MM_OK ? f->rename(f->self, p->dir, own_name, p->dir, name) : rc;
        rc = rc == MM_OK ? f->sync_folder(f->self, p->dir) : rc;
        if (rc != MM_OK) {
            (void)f->unlink(f->self, p->dir, own_name);
        }
    }
    f->close(f->self, from);
    return rc;
}

int
mmi_spool_open_own(const mmi_spool_place *p, const char *name, uint32_t flags, int *file)
{
    const mmi_files *f = p->files;
    int rc = f->open(f->self, p->dir, name, flags, file);
    if (rc != MM_EPERM || errno != EMLINK) {
        return rc;
    }
    rc = own_copy(p, name);
    return rc == MM_OK ? f->open(f->self, p->dir, name, flags, file) : rc;
}
