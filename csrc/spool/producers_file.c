/*
 * spool/producers_file.c: the file of a table of producers: written anew beside the old one, which
 * it then takes the place of; and read.
 *
 * Not here: its octets (spool/producers_image.c), when it is written (spool/log.c).
 * Law: whatever a crash or an error leaves is the old one or the new one, whole.
 */
#include "spool/log.h"

static const char producers_name[] = "producers", producers_new_name[] = "producers.new";

/* The octets, in a file of their own, which is on the disk then. */
static int
producers_write(const mmi_spool_place *p, const uint8_t *image, size_t size)
{
    const mmi_files *f = p->files;
    int file, rc = f->open(f->self, p->dir, producers_new_name,
                           MMI_FILE_WRITE | MMI_FILE_CREATE | MMI_FILE_NEW, &file);
    if (rc == MM_EEXIST) { /* a crash left it; a sync of it may have failed, so it is no part */
        (void)f->unlink(f->self, p->dir, producers_new_name);
        rc = f->open(f->self, p->dir, producers_new_name,
                     MMI_FILE_WRITE | MMI_FILE_CREATE | MMI_FILE_NEW, &file);
    }
    if (rc != MM_OK) {
        return rc;
    }
    mmi_iov piece = { .data = (void *)image, .size = size };
    rc = mmi_spool_write_all(f, file, 0, &piece, 1);
    rc = rc == MM_OK ? f->sync(f->self, file) : rc;
    f->close(f->self, file);
    if (rc != MM_OK) {
        (void)f->unlink(f->self, p->dir, producers_new_name);
    }
    return rc;
}

int
mmi_spool_producers_save(mmi_spool *s, uint8_t *image, size_t size, bool *saved)
{
    const mmi_spool_place *p = &s->place;
    const mmi_files *f = p->files;
    *saved = false;
    mmi_producers_seal(image, size);
    int rc = producers_write(p, image, size);
    if (rc == MM_ENOSPC && mmi_spool_reserve_give(s)) {
        s->reserved = false;
        rc = producers_write(p, image, size);
    }
    rc = rc == MM_OK ? f->rename(f->self, p->dir, producers_new_name, p->dir, producers_name) : rc;
    if (rc != MM_OK) {
        (void)f->unlink(f->self, p->dir, producers_new_name);
        return MM_OK; /* the old one is there */
    }
    rc = f->sync_folder(f->self, p->dir);
    *saved = rc == MM_OK;
    return rc;
}

int
mmi_spool_producers_list(mmi_spool *s)
{
    size_t size;
    bool saved = false;
    uint8_t *image = mmi_producers_image(&s->producers, s->uuid, s->last_seq, &size);
    int rc = image != NULL ? mmi_spool_producers_save(s, image, size, &saved) : MM_ENOMEM;
    s->listed_seq = saved ? s->last_seq : 0;
    mmi_free(image);
    return rc;
}

/* The file, which its caller frees.  MM_ENOENT; MM_EPROTO: of no size that it may have. */
static int
producers_octets(const mmi_spool_place *p, uint8_t **image, size_t *size)
{
    const uint64_t most = MMI_PRODUCERS_HEAD + (uint64_t)MMI_PRODUCERS_MAX * MMI_PRODUCERS_EACH;
    const mmi_files *f = p->files;
    uint64_t octets = 0;
    int file, rc = f->open(f->self, p->dir, producers_name, 0, &file);
    if (rc != MM_OK) {
        return rc;
    }
    rc = f->size(f->self, file, &octets);
    rc = rc == MM_OK && (octets == 0 || octets > most) ? MM_EPROTO : rc;
    uint8_t *data = rc == MM_OK ? mmi_alloc(octets) : NULL;
    rc = rc == MM_OK && data == NULL ? MM_ENOMEM : rc;
    int64_t got = rc == MM_OK ? f->read(f->self, file, 0, data, octets) : 0;
    f->close(f->self, file);
    rc = got < 0 ? (int)got : rc == MM_OK && (uint64_t)got < octets ? MM_EPROTO : rc;
    if (rc != MM_OK) {
        mmi_free(data);
        return rc;
    }
    *image = data;
    *size = octets;
    return MM_OK;
}

int
mmi_spool_producers_load(const mmi_spool_place *place, const uint8_t uuid[MMI_SPOOL_UUID],
                         mmi_producers *to, uint64_t *seq)
{
    uint8_t *image;
    size_t size;
    int rc = producers_octets(place, &image, &size);
    if (rc == MM_EIO) { /* a disk that fails now and then is no harm */
        int again = producers_octets(place, &image, &size);
        if (again == MM_OK) {
            mmi_free(image);
        }
        return again == MM_EIO ? MM_EPROTO : again == MM_OK ? MM_EIO : again;
    }
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_producers_read(to, image, size, uuid, seq);
    mmi_free(image);
    return rc;
}

bool
mmi_spool_producers_drop(const mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    int rc = f->unlink(f->self, s->place.dir, producers_name);
    return rc == MM_OK || rc == MM_ENOENT;
}
