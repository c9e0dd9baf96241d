/*
 * spool/fed.c: see spool/fed.h.
 */
#include "spool/fed.h"

#include "spool/file.h"

static const char fed_folder[] = "feeds";

int
mmi_fed_mark(const mmi_files *f, int dir, const char *name)
{
    int sub, file, rc = mmi_cursor_check_name(name);
    if (rc != MM_OK) {
        return rc;
    }
    rc = f->folder(f->self, dir, fed_folder, &sub);
    if (rc == MM_ENOENT) {
        rc = f->mkdir(f->self, dir, fed_folder);
        rc = rc == MM_OK || rc == MM_EEXIST ? f->folder(f->self, dir, fed_folder, &sub) : rc;
    }
    if (rc != MM_OK) {
        return rc;
    }
    const mmi_spool_place place = { f, sub };
    rc = mmi_spool_open_own(&place, name, MMI_FILE_WRITE | MMI_FILE_CREATE, &file);
    if (rc == MM_OK) { /* also of one that was there: its name may not be durable yet */
        rc = f->sync(f->self, file);
        rc = rc == MM_OK ? f->sync_folder(f->self, sub) : rc;
        rc = rc == MM_OK ? f->sync_folder(f->self, dir) : rc;
        f->close(f->self, file);
    }
    f->close(f->self, sub);
    return rc;
}

void
mmi_fed_unmark(const mmi_files *f, int dir, const char *name)
{
    int sub;
    if (mmi_cursor_check_name(name) == MM_OK &&
        f->folder(f->self, dir, fed_folder, &sub) == MM_OK) {
        (void)f->unlink(f->self, sub, name);
        f->close(f->self, sub);
    }
}

int
mmi_fed_list(const mmi_files *f, int dir, void (*each)(void *arg, const mmi_entry *entry),
             void *arg)
{
    int sub, rc = f->folder(f->self, dir, fed_folder, &sub);
    if (rc != MM_OK) {
        return rc == MM_ENOENT ? 0 : rc;
    }
    rc = f->list(f->self, sub, each, arg);
    f->close(f->self, sub);
    return rc;
}
