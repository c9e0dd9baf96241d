/*
 * spool/reserve.c: a file that has nothing but room, which a spool gives back when it is opened on
 * a full disk: what mending writes goes there.
 *
 * Not here: the room of segment files (mmi_spool_spare), and of slots, which never need more.
 * Law: it holds no data, so that it may be gone at any moment; but no spare is made before it is
 * there.
 */
#include "spool/log.h"

const char mmi_spool_reserve_name[] = "reserve";

/* What mending may write, twice: it may be cut off between its new file and the state that knows of
 * it. */
static uint64_t
reserve_size(const mmi_spool *s)
{
    const uint64_t most = 2 * (s->opts.file_bytes + 2 * (uint64_t)MMI_SPOOL_FILE_HEAD);
    return most < MMI_SPOOL_RESERVE ? most : (uint64_t)MMI_SPOOL_RESERVE;
}

int
mmi_spool_reserve_make(const mmi_spool *s)
{
    const mmi_spool_place *p = &s->place;
    const uint64_t size = reserve_size(s);
    uint64_t was;
    int file,
        rc = mmi_spool_open_own(p, mmi_spool_reserve_name, MMI_FILE_WRITE | MMI_FILE_CREATE, &file);
    if (rc != MM_OK) {
        return rc;
    }
    rc = p->files->size(p->files->self, file, &was);
    if (rc == MM_OK && was > size) {
        rc = p->files->truncate(p->files->self, file, size);
    }
    rc = rc == MM_OK ? mmi_spool_room(p, file, was, size) : rc;
    rc = rc == MM_OK ? p->files->sync(p->files->self, file) : rc;
    p->files->close(p->files->self, file);
    if (rc != MM_OK) {
        (void)mmi_spool_reserve_give(s);
    }
    return rc;
}

bool
mmi_spool_reserve_give(const mmi_spool *s)
{
    const mmi_spool_place *p = &s->place;
    return p->files->unlink(p->files->self, p->dir, mmi_spool_reserve_name) == MM_OK;
}
