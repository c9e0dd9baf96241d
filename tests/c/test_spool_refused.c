/*
 * test_spool_refused.c: folders that are none for a spool, as the table of files tells of them: on
 * another machine, or open to every user of this one; and what is left of one that was refused.
 *
 * Not here: what the system says of a folder (test_files_posix.c), the words
 * (tests/unit/test_spool_folders.py).
 */
#include "spool_steps.h"

static mmi_files real;
static mmi_space told;
static int told_rc;

static int
space_told(void *self, int dir, mmi_space *out)
{
    CHECK_INT(real.space(self, dir, out), MM_OK);
    out->remote = told.remote;
    out->shared = told.shared;
    return told_rc;
}

/* A folder that is so; nothing is in it. */
static void
folder_of(spool_rig *r, bool remote, bool shared)
{
    spool_rig_new(r, 1, &(mmi_disk_opts){ .capacity = 0 });
    real = r->disk.files;
    told = (mmi_space){ .remote = remote, .shared = shared };
    told_rc = MM_OK;
    r->disk.files.space = space_told;
}

static void
entries_count(void *arg, const mmi_entry *entry)
{
    (void)entry;
    ++*(int *)arg;
}

/* It is refused so, and nothing was made there or is open. */
static void
check_refused(spool_rig *r, int rc)
{
    int entries = 0;
    uint32_t open = rig_space(&r->disk).handles;
    CHECK_INT(spool_rig_open(r), rc);
    CHECK_INT(rig_space(&r->disk).handles, open);
    CHECK_INT(CALL(&r->disk, list, r->disk.dir, entries_count, &entries), 0);
    CHECK_INT(entries, 0);
}

static void
test_a_folder_on_another_machine_is_refused_unless_it_is_asked_for(void)
{
    spool_rig r;
    folder_of(&r, true, false);
    check_refused(&r, MMI_SPOOL_REMOTE);
    r.opts.remote = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    spool_rig_batches(&r, 2, 2);
    spool_rig_free(&r);
}

/* Also where another machine is asked for: what its modes say holds here. */
static void
test_a_folder_that_all_may_write_to_is_refused(void)
{
    for (int remote = 0; remote < 2; remote++) {
        spool_rig r;
        folder_of(&r, remote == 1, true);
        r.opts.remote = remote == 1;
        check_refused(&r, MMI_SPOOL_SHARED);
        told.shared = false; /* chmod o-w */
        CHECK_INT(spool_rig_open(&r), MM_OK);
        spool_rig_close(&r);
        told.shared = true; /* what is there by now nobody knows */
        CHECK_INT(spool_rig_open(&r), MMI_SPOOL_SHARED);
        spool_rig_free(&r);
    }
}

static void
test_a_folder_that_tells_nothing_is_refused(void)
{
    spool_rig r;
    folder_of(&r, false, false);
    told_rc = MM_EIO;
    check_refused(&r, MM_EIO);
    spool_rig_free(&r);
}

/* The one check of a spool and of a view. */
static void
test_which_refusal_comes_first(void)
{
    spool_rig r;
    folder_of(&r, true, true);
    const mmi_spool_place place = { &r.disk.files, r.disk.dir };
    CHECK_INT(mmi_spool_folder_check(&place, false), MMI_SPOOL_REMOTE);
    CHECK_INT(mmi_spool_folder_check(&place, true), MMI_SPOOL_SHARED);
    told.shared = false;
    CHECK_INT(mmi_spool_folder_check(&place, true), MM_OK);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_a_folder_on_another_machine_is_refused_unless_it_is_asked_for);
    RUN(test_a_folder_that_all_may_write_to_is_refused);
    RUN(test_a_folder_that_tells_nothing_is_refused);
    RUN(test_which_refusal_comes_first);
    return 0;
}
