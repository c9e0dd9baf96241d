/*
 * spin.h: whether who waits polls for a while before it sleeps, where it is left to us.
 *
 * Not here: how it waits (sched/wait.c).  Law: time is an argument; nothing is learned from waits whose
 * caller said itself how long to spin.
 */
#ifndef MMI_SPIN_H
#define MMI_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* What was learned from the waits of a socket, or of those for several.  All 0: nothing. */
typedef struct mmi_spin {
    uint64_t waited_ns, squares, waits;   /* since the last judgement; the sum of squares */
    uint64_t messages;                    /* how many there were then */
    bool sleeps;                          /* without a spin */
    uint64_t until_ns;                    /* no spin before that */
    uint32_t vain;                        /* tries in a row that did not pay */
    uint64_t slept_ns;                    /* how long a message was waited for without a spin; 0:
                                           * not known */
    uint32_t judged;                      /* judgements of spins since then */
} mmi_spin;

/* A wait that is over. */
typedef struct mmi_spin_wait {
    uint64_t waited_ns;
    uint64_t stall_ns;   /* so long it was kept from its spin, as others wanted the processor */
    uint64_t messages;   /* that came so far, in this wait and all before */
    bool spun;
} mmi_spin_wait;

/* How long the next wait spins; 0: not at all. */
uint64_t mmi_spin_ns(const mmi_spin *spin, uint64_t now_ns);
void mmi_spin_waited(mmi_spin *spin, uint64_t now_ns, mmi_spin_wait wait);
/* There was a wait of which nothing can be learned. */
void mmi_spin_skip(mmi_spin *spin, uint64_t messages);

#endif
