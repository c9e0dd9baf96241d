/*
 * spool/quarantine.c: octets of a segment file that are no batch, kept for people to look at.
 *
 * Not here: which those are (spool/recover.h).
 * Law: the same octets of the same place are kept once, however often their mending is begun: the
 * name says where they were and what they are.
 */
#include "spool/quarantine.h"

#include <inttypes.h>
#include <stdio.h>

#include "spool/crc32c.h"

enum {
    QUARANTINE_COPY = 64 * 1024, /* octets that are copied at once */
    QUARANTINE_NAME = 64         /* octets of a name: 20 digits, 20 digits, 8 digits, and more */
};

/* What is done with each piece. */
typedef struct quarantine_copy {
    const mmi_spool_place *place;
    uint8_t *data;
    int to; /* < 0: it is only summed */
    uint64_t written;
    uint32_t crc;
} quarantine_copy;

static int
quarantine_piece(quarantine_copy *c, size_t size)
{
    const mmi_files *x = c->place->files;
    c->crc = mmi_crc32c(c->crc, c->data, size);
    for (size_t done = 0; c->to >= 0 && done < size;) {
        mmi_iov piece = { .data = c->data + done, .size = size - done };
        int64_t put = x->write(x->self, c->to, c->written, &piece, 1);
        if (put <= 0) {
            return put < 0 ? (int)put : MM_EIO;
        }
        done += (size_t)put;
        c->written += (uint64_t)put;
    }
    return MM_OK;
}

static int
quarantine_each(quarantine_copy *c, const mmi_spool_file *f, uint64_t at, uint64_t end)
{
    int rc = MM_OK;
    while (rc == MM_OK && at < end) {
        size_t most = end - at < QUARANTINE_COPY ? (size_t)(end - at) : (size_t)QUARANTINE_COPY;
        int64_t got = mmi_spool_read_over(c->place, f->file, at, c->data, most);
        rc = got > 0 ? quarantine_piece(c, (size_t)got) : got < 0 ? (int)got : MM_EIO;
        at += got > 0 ? (uint64_t)got : 0;
    }
    return rc;
}

int
mmi_spool_quarantine(const mmi_spool_place *p, int quarantine, const mmi_spool_file *f, uint64_t at,
                     uint64_t end)
{
    const mmi_files *x = p->files;
    char name[QUARANTINE_NAME];
    if (quarantine < 0) {
        return MM_ENOSPC; /* as there was none for the folder */
    }
    quarantine_copy c = { .place = p, .data = mmi_alloc(QUARANTINE_COPY), .to = -1 };
    int rc = c.data == NULL ? MM_ENOMEM : quarantine_each(&c, f, at, end);
    if (rc == MM_OK) {
        (void)snprintf(name, sizeof name, "%020" PRIu64 "-%" PRIu64 "-%08" PRIx32, f->head.base_seq,
                       at, c.crc);
        const mmi_spool_place place = { x, quarantine };
        rc = mmi_spool_open_own(&place, name, MMI_FILE_WRITE | MMI_FILE_CREATE, &c.to);
        c.to = rc == MM_OK ? c.to : -1;
    }
    rc = rc == MM_OK ? quarantine_each(&c, f, at, end) : rc;
    rc = rc == MM_OK ? x->sync(x->self, c.to) : rc;
    if (c.to >= 0) {
        x->close(x->self, c.to);
    }
    if (c.to >= 0 && rc == MM_ENOSPC) {
        (void)x->unlink(x->self, quarantine, name); /* a part of them is of no use */
    }
    mmi_free(c.data);
    return rc == MM_OK ? x->sync_folder(x->self, quarantine) : rc;
}
