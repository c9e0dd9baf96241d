/*
 * spool/cursor_file.c: the file of a cursor: opened, made, saved, removed.
 *
 * Not here: what is in it (spool/cursor_format.c).  Law: its name is durable before it is of use.
 */
#include <string.h>

#include "spool/cursor.h"

static const char cursor_folder[] = "cursors";

int
mmi_cursor_check_name(const char *name)
{
    size_t size = strlen(name);
    bool fine = size <= MMI_CURSOR_NAME_MAX && name[0] != '.';
    return fine && mmi_file_check_name(name) == MM_OK ? MM_OK : MM_EINVAL;
}

/* The folder of them all, made if that is asked for. */
static int
folder_open(const mmi_files *f, int dir, bool create, int *sub)
{
    int rc = f->folder(f->self, dir, cursor_folder, sub);
    if (rc != MM_ENOENT || !create) {
        return rc;
    }
    rc = f->mkdir(f->self, dir, cursor_folder);
    rc = rc == MM_OK || rc == MM_EEXIST ? f->folder(f->self, dir, cursor_folder, sub) : rc;
    return rc;
}

/* What the file says is what is done; what is not in the spool any more is done, too. */
static int
cursor_read(mmi_cursor *c, uint32_t size, const mmi_cursor_spool *spool)
{
    c->made = size == 0;
    c->floor = c->top = spool->first_seq - 1;
    if (c->made) {
        c->changes = 1;
        c->saved_floor = 0;
        return MM_OK;
    }
    int rc = mmi_cursor_get(c, c->data, size, spool->last_seq);
    if (rc == MM_OK) {
        c->saved_floor = c->floor;
        c->saved_changes = c->ahead > 0 ? c->saved_changes : c->changes;
        (void)mmi_cursor_trimmed(c, spool->first_seq);
    }
    return rc;
}

/* It has a uuid and nothing else, and room for what its file says. */
static int
cursor_blank(mmi_cursor *c, const char *name, const mmi_cursor_spool *spool)
{
    *c = (mmi_cursor){ .saved_limit = UINT64_MAX, .slots = { .file = -1 } };
    memcpy(c->uuid, spool->uuid, MMI_SPOOL_UUID);
    if (mmi_cursor_check_name(name) != MM_OK) {
        return MM_EINVAL;
    }
    c->data = mmi_alloc(MMI_SLOT_DATA_MAX);
    return c->data != NULL ? MM_OK : MM_ENOMEM;
}

int
mmi_cursor_open(mmi_cursor *c, const mmi_files *files, int dir, const char *name, bool create,
                const mmi_cursor_spool *spool)
{
    int sub = -1;
    uint32_t size = 0;
    int rc = cursor_blank(c, name, spool);
    rc = rc == MM_OK ? folder_open(files, dir, create, &sub) : rc;
    rc = rc == MM_OK ? mmi_slots_open(&c->slots, files, sub, name, create, c->data, &size) : rc;
    if (rc == MM_OK && create) { /* also of one that was there: its name may not be durable yet */
        rc = files->sync_folder(files->self, sub);
        rc = rc == MM_OK ? files->sync_folder(files->self, dir) : rc;
    }
    rc = rc == MM_OK ? cursor_read(c, size, spool) : rc;
    if (sub >= 0) {
        files->close(files->self, sub);
    }
    if (rc != MM_OK) {
        mmi_cursor_close(c);
    }
    return rc;
}

int
mmi_cursor_look(mmi_cursor *c, const mmi_files *files, int dir, const char *name,
                const mmi_cursor_spool *spool)
{
    int sub = -1;
    uint32_t size = 0;
    int rc = cursor_blank(c, name, spool);
    rc = rc == MM_OK ? folder_open(files, dir, false, &sub) : rc;
    rc = rc == MM_OK ? mmi_slots_look(files, sub, name, c->data, &size) : rc;
    rc = rc == MM_OK ? cursor_read(c, size, spool) : rc;
    if (sub >= 0) {
        files->close(files->self, sub);
    }
    if (rc != MM_OK) {
        mmi_cursor_close(c);
    }
    return rc;
}

void
mmi_cursor_close(mmi_cursor *c)
{
    mmi_slots_close(&c->slots);
    mmi_free(c->words);
    mmi_free(c->data);
    c->words = NULL;
    c->data = NULL;
    c->word_count = c->above = 0;
    c->top = c->floor;
}

int
mmi_cursor_remove(const mmi_files *files, int dir, const char *name)
{
    int sub, rc = mmi_cursor_check_name(name);
    rc = rc == MM_OK ? folder_open(files, dir, false, &sub) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    rc = files->unlink(files->self, sub, name);
    rc = rc == MM_OK ? files->sync_folder(files->self, sub) : rc;
    files->close(files->self, sub);
    return rc;
}

int
mmi_cursor_list(const mmi_files *files, int dir, void (*each)(void *arg, const mmi_entry *entry),
                void *arg)
{
    int sub, rc = folder_open(files, dir, false, &sub);
    if (rc != MM_OK) {
        return rc == MM_ENOENT ? 0 : rc;
    }
    rc = files->list(files->self, sub, each, arg);
    files->close(files->self, sub);
    return rc;
}

bool
mmi_cursor_dirty(const mmi_cursor *c, uint64_t limit)
{
    bool cut = c->saved_limit != UINT64_MAX && limit > c->saved_limit;
    return c->changes != c->saved_changes || cut;
}

void
mmi_cursor_snapshot(mmi_cursor *c, uint64_t limit, mmi_cursor_saving *out)
{
    bool cut = c->top > limit;
    *out = (mmi_cursor_saving){ .changes = c->changes,
                                .floor = c->floor < limit ? c->floor : limit,
                                .limit = cut ? limit : UINT64_MAX };
    out->size = mmi_cursor_put(c, limit, c->data, &out->unsaved);
}

int
mmi_cursor_write(mmi_cursor *c, const mmi_cursor_saving *saving)
{
    return mmi_slots_write(&c->slots, c->data, saving->size);
}

void
mmi_cursor_wrote(mmi_cursor *c, const mmi_cursor_saving *saving, int rc)
{
    if (rc == MM_OK) {
        c->saved_changes = saving->changes;
        c->saved_floor = saving->floor;
        c->saved_limit = saving->limit;
        c->unsaved = saving->unsaved;
    }
}

int
mmi_cursor_save(mmi_cursor *c, uint64_t limit)
{
    mmi_cursor_saving saving;
    mmi_cursor_snapshot(c, limit, &saving);
    int rc = mmi_cursor_write(c, &saving);
    mmi_cursor_wrote(c, &saving, rc);
    return rc;
}
