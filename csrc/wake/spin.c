/*
 * spin.c: whether a spin pays.  It does where waits are shorter than what it costs to sleep; and
 * where less time is waited for a message with it, as between two who answer each other: what comes
 * at a pace of its own comes no sooner.  So from time to time a few waits sleep, to see.
 *
 * Not here: who may poll at all (engine/lead.h).
 * Law: a judgement is of as many waits, or as much time, as make one long wait among short ones
 * harmless; waits between which there was another are not judged together.
 */
#include "wake/spin.h"

/* A spin that ends too early is worse than none: it costs the time and the wake-up.  So it lasts as
 * long as nearly all waits do, or is not tried. */
static const uint64_t SPIN_MAX_NS = 500 * 1000,
                      SPIN_WORTH_NS =
                          100 * 1000, /* waits that take longer with it are slept through  */
    SPIN_TRY_NS = 250 * 1000, /* and it is not tried where they take that without  */
    SPIN_CHEAP_NS = 20 * 1000, /* shorter ones: it costs less than to sleep         */
    SPIN_JUDGE_NS = 2 * 1000 * 1000, /* waited: a judgement,                              */
    SPIN_REST_NS = 100 * 1000 * 1000, /* until it is tried again; twice, each time in vain */
    SPIN_STALL_MAX_NS = 1000 * 1000 * 1000; /* others have the processor, at most           */
enum {
    SPIN_WAITS = 64, /* are a judgement, too                                  */
    SPIN_KNOWN_JUDGED = 512, /* for which it is known what waits take without         */
    SPIN_TRUSTED = 8, /* in which it paid: one in which it does not may be chance,
                              * so it is only seen again what waits take without */
    SPIN_GAIN = 8, /* the part of a wait that a spin has to save            */
    SPIN_VAIN_MAX = 4, /* doublings of the rest                                 */
    SPIN_STALLS = 16 /* times as long as others wanted the processor, they get it */
};

uint64_t
mmi_spin_ns(const mmi_spin *spin, uint64_t now_ns)
{
    return spin->sleeps || now_ns < spin->until_ns ? 0 : SPIN_MAX_NS;
}

void
mmi_spin_skip(mmi_spin *spin, uint64_t messages)
{
    spin->waited_ns = spin->squares = spin->waits = 0;
    spin->messages = messages;
}

static void
spin_judge_sleep(mmi_spin *spin, uint64_t for_one_ns)
{
    spin->slept_ns = for_one_ns;
    spin->judged = 0;
    spin->sleeps = spin->waited_ns / spin->waits > SPIN_TRY_NS;
}

static void
spin_judge(mmi_spin *spin, uint64_t now_ns, uint64_t for_one_ns)
{
    /* By the time waited: a long wait between bursts is spun through as well. */
    if (spin->squares <= SPIN_CHEAP_NS * spin->waited_ns) {
        spin->vain = 0;
        return;
    }
    spin->judged++;
    uint64_t slept = spin->slept_ns;
    bool known = slept != 0 && spin->judged <= SPIN_KNOWN_JUDGED;
    bool pays =
        spin->waited_ns / spin->waits <= SPIN_WORTH_NS && for_one_ns <= slept - slept / SPIN_GAIN;
    spin->sleeps = !known || !pays;
    if (known && !pays && spin->judged <= SPIN_TRUSTED) {
        spin->until_ns = now_ns + (SPIN_REST_NS << spin->vain);
        spin->vain += spin->vain < SPIN_VAIN_MAX;
    } else if (known) {
        spin->vain = 0;
    }
}

void
mmi_spin_waited(mmi_spin *spin, uint64_t now_ns, mmi_spin_wait wait)
{
    if (wait.stall_ns > 0) {
        uint64_t rest = wait.stall_ns < SPIN_STALL_MAX_NS / SPIN_STALLS
                            ? wait.stall_ns * SPIN_STALLS
                            : SPIN_STALL_MAX_NS;
        spin->until_ns = now_ns + rest;
    }
    if (wait.stall_ns > 0 || wait.spun == spin->sleeps) {
        mmi_spin_skip(spin, wait.messages); /* it was kept from its spin, or slept too early */
        return;
    }
    uint64_t waited_ns = wait.waited_ns < SPIN_MAX_NS ? wait.waited_ns : SPIN_MAX_NS;
    spin->waited_ns += waited_ns;
    spin->squares += waited_ns * waited_ns;
    if (++spin->waits < SPIN_WAITS && spin->waited_ns < SPIN_JUDGE_NS) {
        return;
    }
    uint64_t messages = wait.messages - spin->messages;
    uint64_t for_one_ns = spin->waited_ns / (messages > 0 ? messages : 1);
    if (spin->sleeps) {
        spin_judge_sleep(spin, for_one_ns);
    } else {
        spin_judge(spin, now_ns, for_one_ns);
    }
    mmi_spin_skip(spin, wait.messages);
}
