/*
 * test_engine_inproc.c: what connections within a process do without: a copy of what was sent.
 * Not here: their streams (test_memory.c), what goes on beside a read (test_engine_outside.c).
 * Law: what is there in one piece is read where it lies.
 */
#include <stdatomic.h>

#include "engine/engine.h"
#include "sockets.h"

static int (*plain_borrow)(void *self, int s, mmi_iov *piece);
static atomic_int borrowed;

static int
noting_borrow(void *self, int s, mmi_iov *piece)
{
    int rc = plain_borrow(self, s, piece);
    if (rc == MM_OK) {
        atomic_fetch_add(&borrowed, 1);
    }
    return rc;
}

static void
test_what_came_from_within_the_process_is_read_where_it_lies(void)
{
    static const uint8_t body[100];
    mmi_plat plat;
    mm_handle engine;
    CHECK_INT(mmi_plat_posix(false, &plat), MM_OK);
    plain_borrow = plat.borrow;
    plat.borrow = noting_borrow;
    CHECK_INT(mmi_engine_open(&plat, &engine), MM_OK);
    mm_handle push = open_quiet(engine, MM_PUSH), pull = open_quiet(engine, MM_PULL);
    join(pull, push, "inproc://lies-there");
    int before = atomic_load(&borrowed);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mm_send(push, body, sizeof body, PATIENCE_MS, 0), MM_OK);
        take_all(pull, 1, PATIENCE_MS);
    }
    CHECK(atomic_load(&borrowed) > before);
    close_engine(engine, 1000);
}

int
main(void)
{
    RUN(test_what_came_from_within_the_process_is_read_where_it_lies);
    return 0;
}
