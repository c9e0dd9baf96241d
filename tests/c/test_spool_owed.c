/*
 * test_spool_owed.c: what was removed while nobody had a cursor is owed to who has it next: who
 * looks, who moves another one and who waits for it changes nothing of that, in any life.
 *
 * Not here: what its user is told of while he has it (test_spool_cursors.c).
 */
#include "cursor_steps.h"

static const char *const one[] = { "one" };

/* Nobody has the cursor, which is done with one message in front and one that stays; *gone: so many
 * of the others were removed. */
static void
owed_new(threads_rig *r, bool awaited, uint64_t *gone)
{
    threads_prepare(r, MMI_SPOOL_DISK);
    r->opts.acked_by = one;
    r->opts.acked_by_count = awaited ? 1 : 0;
    threads_open(r);
    put_files(r, 4);
    mmi_spool_cursor *c = cursor_of(r, "one", MMI_SPOOL_EARLIEST);
    cursor_did(r, c, 1, 1);
    cursor_did(r, c, base_of(r, 2), base_of(r, 2));
    cursor_closed(r, c);
    mmi_spool_shared_trim(&r->spool, base_of(r, 2) - 1);
    CHECK(first_of(r) > 3);
    *gone = first_of(r) - 2;
}

static void
owed_again(threads_rig *r)
{
    CHECK_INT(mmi_spool_shared_close(&r->spool), MM_OK);
    threads_open(r);
}

/* To who looks it is as it will be to its next user. */
static void
check_looked(threads_rig *r, uint64_t gone)
{
    mmi_spool_cursor_info info;
    CHECK_INT(mmi_spool_shared_cursor_look(&r->spool, "one", &info), MM_OK);
    CHECK_INT(info.missed, gone);
    CHECK_INT(info.floor, first_of(r));
    CHECK_INT(info.above, 0);
    CHECK_INT(info.left, last_of(r) - first_of(r));
}

/* Its next user is told, and the one behind him is not. */
static void
check_owed(threads_rig *r, uint64_t gone)
{
    for (int i = 0; i < 2; i++) {
        mmi_spool_cursor *c = cursor_of(r, "one", MMI_SPOOL_EARLIEST);
        CHECK_INT(cursor_info(r, c).missed, i == 0 ? gone : 0);
        CHECK_INT(cursor_info(r, c).floor, first_of(r));
        CHECK_INT(cursor_info(r, c).left, last_of(r) - first_of(r));
        cursor_closed(r, c);
    }
}

static void
test_who_looks_or_waits_hides_nothing(void)
{
    for (int lives = 0; lives < 3; lives++) {
        for (int awaited = 0; awaited < 2; awaited++) {
            threads_rig r;
            uint64_t gone;
            owed_new(&r, awaited == 1, &gone);
            for (int i = 0; i < lives; i++) {
                check_looked(&r, gone);
                owed_again(&r);
            }
            check_looked(&r, gone);
            check_owed(&r, gone);
            owed_again(&r);
            check_looked(&r, 0);
            threads_free(&r);
        }
    }
}

static void
test_who_cannot_move_it_hides_nothing_and_who_moves_it_settles_it(void)
{
    threads_rig r;
    uint64_t gone;
    owed_new(&r, true, &gone);
    CHECK_INT(mmi_spool_shared_cursor_move(&r.spool, "one", 1), MM_ENOENT);
    CHECK_INT(mmi_spool_shared_cursor_move(&r.spool, "one", last_of(&r) + 2), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_move(&r.spool, "o/e", MMI_SPOOL_LATEST), MM_EINVAL);
    CHECK_INT(mmi_spool_shared_cursor_move(&r.spool, "other", MMI_SPOOL_LATEST), MM_OK);
    check_looked(&r, gone);
    CHECK_INT(mmi_spool_shared_cursor_move(&r.spool, "one", first_of(&r) + 1), MM_OK);
    check_looked(&r, 0);
    owed_again(&r);
    check_owed(&r, 0);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_who_looks_or_waits_hides_nothing);
    RUN(test_who_cannot_move_it_hides_nothing_and_who_moves_it_settles_it);
    return 0;
}
