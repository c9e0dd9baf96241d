/*
 * link/tx.h: who writes a link and when, as one state machine.
 *
 * state   IDLE nobody writes it, and poll is not asked; WRITING a thread does, without the engine's
 *         lock; BLOCKED its stream took less than there was: poll tells when there is room.
 * due     it is on engine->dirty: the next settle writes it, or leaves it to the runner.
 * paced   it is on engine->bursts, as sends come fast: the runner writes it, every MMI_PACE_US.
 * then    what is to be done when nobody writes it any more; who is about to write looks as well:
 *         RESUME reading, as the inbox has room; STOP: the peer gets nothing more; PART, CLOSE: it
 *         ends, in that way (link/part.c, link/end.c).
 * A link may be due and paced in any of the three states.  BLOCKED in a burst, it waits for poll,
 * not for the round; of one that is WRITING, who writes looks for more itself.
 *
 * event          where                             what then
 * dirty          any link but a dead one           due
 * queued         due as dirty, but not where poll  nothing: poll tells, or the runner comes
 *                was asked, nor where it is paced
 *                and little waits
 * pop_due        due                               not due; the settle's, which then does one of:
 * pace           not worth a write now             paced
 * begin          IDLE, BLOCKED                     WRITING
 * end            WRITING                           IDLE
 * block          IDLE, not a dead link             BLOCKED
 * unpace         paced, nothing to write           not paced
 * then           any                               that in the mask
 * take           that in the mask                  it is not: who takes it does it
 * doom           neither PART nor CLOSE            PART or CLOSE, and the reason
 * doom CLOSE     PART                              CLOSE, for the reason it had
 * part           any                               no RESUME, PART or CLOSE: it was parted
 * close          any                               neither due nor paced nor BLOCKED
 * An event elsewhere changes nothing: begin says so; end and block are asserted to be in their place.
 *
 * Not here: what is written (link/plan.h), how (link/write.c), what poll is told (link/watch.c).
 * Law: nobody else writes mmi_tx, with the engine's lock held; only a write that left something is
 * followed by block, so poll is never asked for room that there is.  Of an active link with something
 * to write one of these holds, so nothing is forgotten: due, paced, WRITING, BLOCKED.
 */
#ifndef MMI_TX_H
#define MMI_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct mmi_engine;
struct mmi_link;
struct mmi_pipe;

typedef enum mmi_tx_state { MMI_TX_IDLE, MMI_TX_WRITING, MMI_TX_BLOCKED } mmi_tx_state;

enum { MMI_TX_RESUME = 1, MMI_TX_STOP = 2, MMI_TX_PART = 4, MMI_TX_CLOSE = 8 };

typedef struct mmi_tx {
    mmi_list due, paced;
    mmi_tx_state state;
    uint32_t then;             /* MMI_TX_RESUME and so on */
    int reason;                /* mm_reason, of PART or CLOSE */
    char *detail;              /* or NULL */
    uint64_t flushed_ns;       /* when a flush ended last */
    uint64_t asked_ns;         /* what comes later answers what was written last */
} mmi_tx;

/* What a write that is back goes by. */
typedef struct mmi_tx_look {
    bool whole;                /* the stream took all that it was offered */
    bool full;                 /* which was as much as a write takes */
    bool ends;                 /* PART or CLOSE was asked for meanwhile */
    bool finishes;              /* no more comes: its socket is closing, or it is no peer any more */
    bool paced, worth, pending;
    bool rounds;               /* it may write once more before others get their turn */
} mmi_tx_look;

typedef enum mmi_tx_next {
    MMI_TX_NEXT_END,           /* what is left waits for poll */
    MMI_TX_NEXT_ROUND,         /* it waits for the runner's next round */
    MMI_TX_NEXT_WRITE
} mmi_tx_next;

/* In a burst, what others queued during a write is for the next round, unless it is a good deal:
 * else a fast sender would have its messages written by the dozen, each write waking the peer. */
mmi_tx_next mmi_tx_decide(mmi_tx_look in);

void mmi_tx_init(struct mmi_link *link);
void mmi_tx_fini(struct mmi_link *link);
void mmi_link_dirty(struct mmi_link *link);              /* has something to write */
void mmi_tx_queued(struct mmi_pipe *p);                  /* its role has put a message there */
void mmi_tx_pace(struct mmi_link *link);
void mmi_tx_unpace(struct mmi_link *link);
bool mmi_tx_begin(struct mmi_link *link);                /* false: another thread writes it */
void mmi_tx_end(struct mmi_link *link);
void mmi_tx_block(struct mmi_link *link);
void mmi_tx_flushed(struct mmi_link *link, uint64_t asked_ns);   /* a flush is over, now */
void mmi_tx_then(struct mmi_link *link, uint32_t what);  /* MMI_TX_RESUME or MMI_TX_STOP */
bool mmi_tx_take(struct mmi_link *link, uint32_t what);
/* It is to end in this way, MMI_TX_PART or MMI_TX_CLOSE, by who writes it next. */
void mmi_link_doom(struct mmi_link *link, uint32_t how, int reason, const char *detail);
void mmi_tx_part(struct mmi_link *link);
void mmi_tx_close(struct mmi_link *link);

/* For a settle: the first that is due, or the last; NULL: none is. */
struct mmi_link *mmi_tx_pop_due(struct mmi_engine *e, bool last);
void mmi_tx_put_back(struct mmi_link *link, bool last);   /* it is still due */

/* What is never so; looked at after each change in checked builds (MMI_CHECKED, base/base.h). */
void mmi_tx_invariants(const struct mmi_link *link);

#endif
