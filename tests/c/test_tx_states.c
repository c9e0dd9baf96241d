/*
 * test_tx_states.c: who writes a link and when, as a table: every state, every event, and what
 * follows; every look of a write that is back, and what it decides.
 * Not here: threads and streams (test_tx_room.c, test_engine_burst.c, test_engine_outside.c).
 * Law: an event for which there is no row changes nothing.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "link/link.h"
#include "queue/unacked.h"

enum { THENS = 16, MUCH = 128 * 1024, QUEUE_MAX = 1000, BURST_NS = 20000 };

static mmi_engine engine;
static mmi_socket owner;
static mmi_link the_link;

/* What a test goes by: the machine, and the little of the link that it looks at. */
typedef struct place {
    int link_state;
    mmi_tx_state state;
    bool due, paced, polled, much;
    uint32_t then;
} place;

typedef enum event {
    DIRTY,
    QUEUED,
    POP_DUE,
    PACE,
    UNPACE,
    BEGIN,
    END,
    BLOCK,
    THEN_RESUME,
    THEN_STOP,
    TAKE_RESUME,
    TAKE_STOP,
    DOOM_PART,
    DOOM_CLOSE,
    PARTED,
    EVENTS
} event;

static void
happen(mmi_link *link, event event)
{
    switch (event) {
    case DIRTY: mmi_link_dirty(link); break;
    case QUEUED: mmi_tx_queued(&link->pipe); break;
    case POP_DUE: (void)mmi_tx_pop_due(link->engine, false); break;
    case PACE: mmi_tx_pace(link); break;
    case UNPACE: mmi_tx_unpace(link); break;
    case BEGIN: CHECK_INT(mmi_tx_begin(link), link->state != MMI_LINK_DEAD); break;
    case END: mmi_tx_end(link); break;
    case BLOCK: mmi_tx_block(link); break;
    case THEN_RESUME: mmi_tx_then(link, MMI_TX_RESUME); break;
    case THEN_STOP: mmi_tx_then(link, MMI_TX_STOP); break;
    case TAKE_RESUME: (void)mmi_tx_take(link, MMI_TX_RESUME); break;
    case TAKE_STOP: (void)mmi_tx_take(link, MMI_TX_STOP); break;
    case DOOM_PART: mmi_link_doom(link, MMI_TX_PART, MM_REASON_LOCAL, "part"); break;
    case DOOM_CLOSE: mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, "close"); break;
    default: mmi_tx_part(link); break;
    }
}

enum { I = 1, W = 2, B = 4, ANY = 7 };   /* states */
enum { SAME = -1, ENDS = MMI_TX_PART | MMI_TX_CLOSE };
enum { NO = 1, YES = 2, ALL = 3 };       /* so, or not */

typedef struct row {
    event event;
    int states, due, paced, polled, much, dead;
    uint32_t with, without;              /* in the mask */
    int state, is_due, is_paced;         /* then */
    uint32_t sets, clears;
} row;

static const row ROWS[] = {
    { DIRTY, ANY, NO, ALL, ALL, ALL, NO, 0, 0, SAME, true, SAME, 0, 0 },
    { QUEUED, ANY, NO, NO, NO, ALL, NO, 0, 0, SAME, true, SAME, 0, 0 },
    { QUEUED, ANY, NO, YES, NO, YES, NO, 0, 0, SAME, true, SAME, 0, 0 },
    { POP_DUE, ANY, YES, ALL, ALL, ALL, NO, 0, 0, SAME, false, SAME, 0, 0 },
    { PACE, ANY, ALL, NO, ALL, ALL, NO, 0, 0, SAME, SAME, true, 0, 0 },
    { UNPACE, ANY, ALL, YES, ALL, ALL, NO, 0, 0, SAME, SAME, false, 0, 0 },
    { BEGIN, I | B, ALL, ALL, ALL, ALL, NO, 0, 0, MMI_TX_WRITING, SAME, SAME, 0, 0 },
    { END, W, ALL, ALL, ALL, ALL, ALL, 0, 0, MMI_TX_IDLE, SAME, SAME, 0, 0 },
    { BLOCK, I, ALL, ALL, ALL, ALL, NO, 0, 0, MMI_TX_BLOCKED, SAME, SAME, 0, 0 },
    { THEN_RESUME, ANY, ALL, ALL, ALL, ALL, ALL, 0, 0, SAME, SAME, SAME, MMI_TX_RESUME, 0 },
    { THEN_STOP, ANY, ALL, ALL, ALL, ALL, ALL, 0, 0, SAME, SAME, SAME, MMI_TX_STOP, 0 },
    { TAKE_RESUME, ANY, ALL, ALL, ALL, ALL, ALL, 0, 0, SAME, SAME, SAME, 0, MMI_TX_RESUME },
    { TAKE_STOP, ANY, ALL, ALL, ALL, ALL, ALL, 0, 0, SAME, SAME, SAME, 0, MMI_TX_STOP },
    { DOOM_PART, ANY, ALL, ALL, ALL, ALL, ALL, 0, ENDS, SAME, SAME, SAME, MMI_TX_PART, 0 },
    { DOOM_CLOSE, ANY, ALL, ALL, ALL, ALL, ALL, 0, ENDS, SAME, SAME, SAME, MMI_TX_CLOSE, 0 },
    { DOOM_CLOSE, ANY, ALL, ALL, ALL, ALL, ALL, MMI_TX_PART, 0, SAME, SAME, SAME, MMI_TX_CLOSE,
      MMI_TX_PART },
    { PARTED, ANY, ALL, ALL, ALL, ALL, ALL, 0, 0, SAME, SAME, SAME, 0, ENDS | MMI_TX_RESUME },
};

static bool
is(int wanted, bool so)
{
    return (wanted & (so ? YES : NO)) != 0;
}

static bool
fits(const row *row, const place *p)
{
    return (row->states & 1 << p->state) != 0 && is(row->due, p->due) && is(row->paced, p->paced) &&
           is(row->polled, p->polled) && is(row->much, p->much) &&
           is(row->dead, p->link_state == MMI_LINK_DEAD) && (p->then & row->with) == row->with &&
           (p->then & row->without) == 0;
}

/* The row for that; NULL: nothing changes. */
static const row *
row_of(event event, const place *p)
{
    for (size_t i = 0; i < MMI_COUNT_OF(ROWS); i++) {
        if (ROWS[i].event == event && fits(&ROWS[i], p)) {
            return &ROWS[i];
        }
    }
    return NULL;
}

/* As the law has it, said once more. */
static bool
possible(const place *p)
{
    bool dead = p->link_state == MMI_LINK_DEAD;
    return (p->then & ENDS) != ENDS &&
           !(dead && (p->due || p->paced || p->state == MMI_TX_BLOCKED));
}

static void
forget(mmi_link *link)
{
    static const mmi_link none;
    mmi_tx_fini(link);
    *link = none;
}

static mmi_link *
link_in(const place *p)
{
    static const mmi_engine no_engine;
    static const mmi_socket no_socket;
    forget(&the_link);
    engine = no_engine;
    owner = no_socket;
    mmi_list_init(&engine.dirty);
    mmi_list_init(&engine.bursts);
    mmi_tx_init(&the_link);
    the_link.engine = &engine;
    the_link.socket = &owner;
    the_link.state = MMI_LINK_ACTIVE;
    the_link.pipe.outbox.count_max = QUEUE_MAX;
    the_link.pipe.outbox.bytes = p->much ? MUCH : 0;
    the_link.watched = p->polled ? MMI_WATCH_WRITE : 0;
    if (p->due) {
        mmi_link_dirty(&the_link);
    }
    if (p->paced) {
        mmi_tx_pace(&the_link);
    }
    the_link.tx.state = p->state;
    the_link.tx.then = p->then;
    the_link.tx.reason = (p->then & ENDS) != 0 ? MM_REASON_HEARTBEAT : 0;
    the_link.state = p->link_state;
    return &the_link;
}

/* Nobody begins, paces or takes off what is dead, nor ends or blocks but in its row. */
static bool
may_come(event event, const place *p, const row *row)
{
    bool dead = p->link_state == MMI_LINK_DEAD;
    return !(dead && (event == PACE || event == BEGIN)) && (row != NULL || event != END) &&
           (event != BLOCK || p->state == MMI_TX_IDLE) &&
           !(event == BEGIN && p->state == MMI_TX_WRITING);
}

static void
check_event(const place *before, event event)
{
    const row *row = row_of(event, before);
    if (!may_come(event, before, row)) {
        return;
    }
    mmi_link *link = link_in(before);
    happen(link, event);
    mmi_tx_invariants(link);
    const mmi_tx *tx = &link->tx;
    CHECK_INT(tx->state, row != NULL && row->state != SAME ? row->state : (int)before->state);
    CHECK_INT(mmi_list_linked(&tx->due),
              row != NULL && row->is_due != SAME ? row->is_due : before->due);
    CHECK_INT(mmi_tx_is_paced(link),
              row != NULL && row->is_paced != SAME ? row->is_paced : before->paced);
    CHECK_INT(tx->then, row != NULL ? (before->then & ~row->clears) | row->sets : before->then);
    CHECK_INT(mmi_list_empty(&engine.dirty), !mmi_list_linked(&tx->due));
    CHECK_INT(mmi_list_empty(&engine.bursts), !mmi_tx_is_paced(link));
}

/* Each place there is. */
static void
each_place(void (*what)(const place *p))
{
    static const int states[] = { MMI_LINK_HELLO, MMI_LINK_ACTIVE, MMI_LINK_PARTING,
                                  MMI_LINK_DEAD };
    for (int i = 0; i < 4 * 3 * 16 * THENS; i++) {
        place p = { .link_state = states[i % 4],
                    .state = (mmi_tx_state)(i / 4 % 3),
                    .due = (i / 12 & 1) != 0,
                    .paced = (i / 12 & 2) != 0,
                    .polled = (i / 12 & 4) != 0,
                    .much = (i / 12 & 8) != 0,
                    .then = (uint32_t)(i / 192) };
        if (possible(&p)) {
            what(&p);
        }
    }
}

static int places;

static void
check_place(const place *p)
{
    places++;
    for (int event = 0; event < EVENTS; event++) {
        check_event(p, (enum event)event);
    }
}

static void
test_every_event_in_every_state_does_what_its_row_says(void)
{
    places = 0;
    each_place(check_place);
    CHECK_INT(places, (3 * 3 * 16 + 2 * 4) * 12);   /* of those that live, and of dead ones */
}

static void
check_close(const place *p)
{
    mmi_link *link = link_in(p);
    link->state = MMI_LINK_DEAD;
    mmi_tx_close(link);
    mmi_tx_invariants(link);
    CHECK(mmi_list_empty(&engine.dirty) && mmi_list_empty(&engine.bursts));
    CHECK_INT(link->tx.state, p->state == MMI_TX_WRITING ? MMI_TX_WRITING : MMI_TX_IDLE);
    CHECK_INT(link->tx.then, p->then);
}

static void
test_a_closed_link_is_due_nowhere_but_may_still_be_written(void)
{
    each_place(check_close);
}

static void
test_one_thread_at_a_time_writes(void)
{
    mmi_link *link = link_in(&(place){ .link_state = MMI_LINK_ACTIVE });
    CHECK(mmi_tx_begin(link));
    CHECK(!mmi_tx_begin(link));
    CHECK_INT(link->tx.state, MMI_TX_WRITING);
    CHECK(mmi_link_busy(link));
    mmi_tx_end(link);
    CHECK(!mmi_link_busy(link));
    CHECK(mmi_tx_begin(link));
}

/* Ends this program, and so is tried in another. */
static bool
aborts(void (*event)(mmi_link *link), mmi_tx_state state)
{
    mmi_link *link = link_in(&(place){ .link_state = MMI_LINK_ACTIVE, .state = state });
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        event(link);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
test_nobody_ends_what_is_not_written_or_waits_before_that(void)
{
    CHECK(aborts(mmi_tx_end, MMI_TX_IDLE));
    CHECK(aborts(mmi_tx_end, MMI_TX_BLOCKED));
    CHECK(!aborts(mmi_tx_end, MMI_TX_WRITING));
    CHECK(aborts(mmi_tx_block, MMI_TX_WRITING));
    CHECK(aborts(mmi_tx_block, MMI_TX_BLOCKED));
    CHECK(!aborts(mmi_tx_block, MMI_TX_IDLE));
}

static void
test_the_first_reason_counts_and_leaves_nothing_when_there_is_another(void)
{
    mmi_link *link = link_in(&(place){ .link_state = MMI_LINK_ACTIVE });
    mmi_link_doom(link, MMI_TX_PART, MM_REASON_HEARTBEAT, "silent");
    mmi_link_doom(link, MMI_TX_PART, MM_REASON_LOCAL, NULL);
    mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_RESET, "reset");
    CHECK_INT(link->tx.then, MMI_TX_CLOSE);
    CHECK_INT(link->tx.reason, MM_REASON_HEARTBEAT);
    CHECK(strcmp(link->tx.detail, "silent") == 0);
    mmi_tx_part(link);
    CHECK(!mmi_tx_ends(link));
    mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_LOCAL, NULL);   /* a leak, if that is forgotten */
    CHECK_INT(link->tx.reason, MM_REASON_LOCAL);
    CHECK(link->tx.detail == NULL);
}

static void
test_a_settle_takes_those_that_are_due_from_either_end(void)
{
    static mmi_link links[3];
    (void)link_in(&(place){ .link_state = MMI_LINK_ACTIVE });
    for (int i = 0; i < 3; i++) {
        mmi_tx_init(&links[i]);
        links[i].engine = &engine;
        links[i].state = MMI_LINK_ACTIVE;
        mmi_link_dirty(&links[i]);
    }
    CHECK(mmi_tx_pop_due(&engine, true) == &links[2]);
    mmi_tx_put_back(&links[2], true);
    CHECK(mmi_tx_pop_due(&engine, false) == &links[0]);
    mmi_tx_put_back(&links[0], false);
    CHECK(mmi_tx_pop_due(&engine, false) == &links[0]);
    CHECK(mmi_tx_pop_due(&engine, false) == &links[1]);
    CHECK(mmi_tx_pop_due(&engine, true) == &links[2]);
    CHECK(mmi_tx_pop_due(&engine, true) == NULL);
}

static void
test_something_to_write_is_stranded_unless_somebody_is_to_write_it(void)
{
    mmi_link *link = link_in(&(place){ .link_state = MMI_LINK_ACTIVE });
    CHECK(!mmi_link_stranded(link));   /* nothing is there */
    link->pipe.outbox.count = 1;
    CHECK(mmi_link_stranded(link));
    mmi_link_dirty(link);
    CHECK(!mmi_link_stranded(link));
    CHECK(mmi_tx_pop_due(&engine, false) == link);
    CHECK(mmi_link_stranded(link));
    mmi_tx_pace(link);
    CHECK(!mmi_link_stranded(link));
    mmi_tx_unpace(link);
    CHECK(mmi_tx_begin(link));
    CHECK(!mmi_link_stranded(link));
    mmi_tx_end(link);
    CHECK(mmi_link_stranded(link));
    mmi_tx_block(link);
    CHECK(!mmi_link_stranded(link));
    link->pipe.outbox.count = 0;
    mmi_tx_close(link);
    mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_LOCAL, NULL);
    CHECK(mmi_link_stranded(link));    /* it is to end, and nobody ends it */
}

/* What a caller leaves to the runner: little, so soon after a write, with nothing read since. */
static void
test_a_caller_leaves_to_the_runner_only_what_follows_closely(void)
{
    const uint64_t now = 1000 * BURST_NS;
    mmi_link *link = link_in(&(place){ .link_state = MMI_LINK_ACTIVE });
    link->tx.flushed_ns = now - BURST_NS + 1;
    link->tx.asked_ns = link->last_in_ns = now - BURST_NS;
    CHECK(!mmi_link_flush_due(link, now));
    CHECK(mmi_link_flush_due(link, now + 1));
    link->last_in_ns++;                      /* it answers */
    CHECK(mmi_link_flush_due(link, now));
    mmi_unacked unacked = { .written = 2, .acked.count = 1 };
    link->pipe.unacked = &unacked;           /* an ACK is no answer, but to who waited for it */
    CHECK(!mmi_link_flush_due(link, now));
    unacked.acked.count = 2;
    CHECK(mmi_link_flush_due(link, now));
    link->pipe.unacked = NULL;
    mmi_tx_pace(link);
    CHECK(!mmi_link_flush_due(link, now + 1));
    link->pipe.outbox.bytes = MUCH;
    CHECK(mmi_link_flush_due(link, now));
    link->pipe.outbox.bytes--;
    CHECK(!mmi_link_flush_due(link, now));
    mmi_tx_then(link, MMI_TX_STOP);          /* that is for the write that is on its way */
    CHECK(!mmi_link_flush_due(link, now));
    mmi_tx_then(link, MMI_TX_RESUME);
    CHECK(mmi_link_flush_due(link, now));
}

/* What follows a write, for each look; - is either. */
static const struct {
    char whole, ends, paced, full, finishes, worth, pending, rounds;
    mmi_tx_next next;
} LOOKS[] = {
    { 'n', '-', '-', '-', '-', '-', '-', '-', MMI_TX_NEXT_END },     /* no room, or an error */
    { '-', 'y', '-', '-', '-', '-', '-', '-', MMI_TX_NEXT_END },
    { 'y', 'n', 'y', 'n', 'n', 'n', '-', '-', MMI_TX_NEXT_ROUND }, /* also if there is nothing */
    { 'y', 'n', 'n', '-', '-', '-', 'y', 'y', MMI_TX_NEXT_WRITE },
    { 'y', 'n', '-', 'y', '-', '-', 'y', 'y', MMI_TX_NEXT_WRITE },
    { 'y', 'n', '-', '-', 'y', '-', 'y', 'y', MMI_TX_NEXT_WRITE },
    { 'y', 'n', '-', '-', '-', 'y', 'y', 'y', MMI_TX_NEXT_WRITE },
    { 'y', 'n', 'n', '-', '-', '-', 'n', '-', MMI_TX_NEXT_END },
    { 'y', 'n', 'n', '-', '-', '-', '-', 'n', MMI_TX_NEXT_END }, /* others get their turn */
    { 'y', 'n', '-', 'y', '-', '-', 'n', '-', MMI_TX_NEXT_END },
    { 'y', 'n', '-', 'y', '-', '-', '-', 'n', MMI_TX_NEXT_END },
    { 'y', 'n', '-', '-', 'y', '-', 'n', '-', MMI_TX_NEXT_END },
    { 'y', 'n', '-', '-', 'y', '-', '-', 'n', MMI_TX_NEXT_END },
    { 'y', 'n', '-', '-', '-', 'y', 'n', '-', MMI_TX_NEXT_END },
    { 'y', 'n', '-', '-', '-', 'y', '-', 'n', MMI_TX_NEXT_END },
};

static bool
says(char wanted, bool so)
{
    return wanted == '-' || (wanted == 'y') == so;
}

static void
test_every_look_decides_as_its_row_says(void)
{
    for (unsigned i = 0; i < 256; i++) {
        int found = 0;
        mmi_tx_look look = { .whole = (i & 1) != 0,
                             .ends = (i & 2) != 0,
                             .paced = (i & 4) != 0,
                             .full = (i & 8) != 0,
                             .finishes = (i & 16) != 0,
                             .worth = (i & 32) != 0,
                             .pending = (i & 64) != 0,
                             .rounds = (i & 128) != 0 };
        mmi_tx_next next = mmi_tx_decide(look);
        for (size_t j = 0; j < MMI_COUNT_OF(LOOKS); j++) {
            if (says(LOOKS[j].whole, look.whole) && says(LOOKS[j].ends, look.ends) &&
                says(LOOKS[j].paced, look.paced) && says(LOOKS[j].full, look.full) &&
                says(LOOKS[j].finishes, look.finishes) && says(LOOKS[j].worth, look.worth) &&
                says(LOOKS[j].pending, look.pending) && says(LOOKS[j].rounds, look.rounds)) {
                CHECK_INT(next, LOOKS[j].next);
                found++;
            }
        }
        CHECK(found > 0);
    }
}

int
main(void)
{
    RUN(test_every_event_in_every_state_does_what_its_row_says);
    RUN(test_a_closed_link_is_due_nowhere_but_may_still_be_written);
    RUN(test_one_thread_at_a_time_writes);
    RUN(test_nobody_ends_what_is_not_written_or_waits_before_that);
    RUN(test_the_first_reason_counts_and_leaves_nothing_when_there_is_another);
    RUN(test_a_settle_takes_those_that_are_due_from_either_end);
    RUN(test_something_to_write_is_stranded_unless_somebody_is_to_write_it);
    RUN(test_a_caller_leaves_to_the_runner_only_what_follows_closely);
    RUN(test_every_look_decides_as_its_row_says);
    forget(&the_link);
    return 0;
}
