/*
 * spin.c: whether a spin pays.  It does where waits are shorter than what it costs to sleep; and
 * where it makes them shorter, as between two who answer each other: what comes at a pace of its
 * own comes no sooner for it.  So from time to time a few waits sleep, to see.
 *
 * Not here: who may poll at all (park.c).
 * Law: a judgement is of as many waits, or as much time, as make one long wait among short ones
 * harmless.
 */
#include "engine/spin.h"

/* A spin that ends too early is worse than none: it costs the time and the wake-up.  So it lasts as
 * long as nearly all waits do, or is not tried. */
static const uint64_t SPIN_MAX_NS = 500 * 1000,
    SPIN_WORTH_NS = 100 * 1000,         /* waits that take longer are slept through         */
    SPIN_CHEAP_NS = 20 * 1000,          /* and in shorter ones it costs less than to sleep  */
    SPIN_JUDGE_NS = 5 * 1000 * 1000,    /* waited: a judgement,                             */
    SPIN_REST_NS = 100 * 1000 * 1000,   /* until it is tried again                          */
    SPIN_KNOWN_NS = 1000 * 1000 * 1000; /* for how long it is known what waits take without */
enum {
    SPIN_WAITS = 64,  /* as are so many waits                                 */
    SPIN_GAIN = 8,    /* the part of a wait that a spin has to save           */
    SPIN_STALLS = 16  /* times as long as others wanted the processor, they get it */
};

uint64_t
mmi_spin_ns(const mmi_spin *spin, uint64_t now_ns)
{
    return spin->sleeps || now_ns < spin->until_ns ? 0 : SPIN_MAX_NS;
}

/* Of what was counted since the last time. */
static uint64_t
spin_average(mmi_spin *spin)
{
    uint64_t average = spin->waited_ns / spin->waits;
    spin->waited_ns = spin->waits = 0;
    return average;
}

static void
spin_judge_sleep(mmi_spin *spin, uint64_t now_ns)
{
    spin->slept_ns = spin_average(spin);
    spin->slept_at_ns = now_ns;
    spin->sleeps = spin->slept_ns > SPIN_WORTH_NS;
}

static void
spin_judge(mmi_spin *spin, uint64_t now_ns)
{
    uint64_t average = spin_average(spin), slept = spin->slept_ns;
    if (average <= SPIN_CHEAP_NS) {
        return;
    }
    bool known = slept != 0 && now_ns - spin->slept_at_ns <= SPIN_KNOWN_NS;
    spin->sleeps = !known || average > slept - slept / SPIN_GAIN;
    spin->until_ns = known && spin->sleeps ? now_ns + SPIN_REST_NS : now_ns;
}

void
mmi_spin_waited(mmi_spin *spin, uint64_t now_ns, mmi_spin_wait wait)
{
    if (wait.stall_ns > 0) {
        spin->until_ns = now_ns + wait.stall_ns * SPIN_STALLS;
        return;
    }
    if (wait.spun == spin->sleeps) {
        return;   /* it slept as it is not time to spin yet: nothing new */
    }
    spin->waited_ns += wait.waited_ns < SPIN_MAX_NS ? wait.waited_ns : SPIN_MAX_NS;
    if (++spin->waits < SPIN_WAITS && spin->waited_ns < SPIN_JUDGE_NS) {
        return;
    }
    if (spin->sleeps) {
        spin_judge_sleep(spin, now_ns);
    } else {
        spin_judge(spin, now_ns);
    }
}
