/*
 * disk_fate.c: what befalls a call on the simulated disk: faults by plan and by chance, time,
 * crashes.
 *
 * Not here: what is left of files and names (disk_data.c, disk_names.c).  Law: each operation draws
 * its fate between begin and end, and is folded into the hash.
 */
#include <errno.h>
#include <string.h>

#include "plat/sim/disk_state.h"

enum { FATE_ALL_PPM = 1000000 };
static const uint64_t FATE_HASH_PRIME = 0x100000001b3ull;   /* FNV-1a */

static uint32_t
fate_ppm(const mmi_disk *d, mmi_disk_op op)
{
    return op == MMI_DISK_READ                                 ? d->opts.read_eio_ppm
           : op == MMI_DISK_WRITE                              ? d->opts.write_eio_ppm
           : op == MMI_DISK_SYNC || op == MMI_DISK_SYNC_FOLDER ? d->opts.sync_eio_ppm
                                                               : 0;
}

static void
fate_pass_time(mmi_disk *d)
{
    if (!mmi_disk_chance(d, d->opts.slow_ppm)) {
        return;
    }
    uint64_t ns = mmi_disk_between(d, d->opts.slow_min_ns, d->opts.slow_max_ns);
    d->slow_ns += ns;
    if (d->opts.pass != NULL) {
        d->opts.pass(d->opts.arg, ns);
    }
}

/* An errno, 0: none. */
static int
fate_fault(mmi_disk *d, mmi_disk_op op)
{
    disk_plan *plan = &d->plans[op];
    bool chance = mmi_disk_chance(d, fate_ppm(d, op));
    d->cut_short = op == MMI_DISK_WRITE && mmi_disk_chance(d, d->opts.short_write_ppm);
    if (plan->nth > 0 && --plan->nth == 0) {
        d->cut_short = plan->error == 0;
        d->struck++;
        return plan->error;
    }
    return chance ? EIO : 0;
}

int
mmi_disk_begin(mmi_disk *d, mmi_disk_op op)
{
    if (d->off) {
        return EIO;
    }
    fate_pass_time(d);
    d->operations++;
    d->dying = d->crash_in > 0 && --d->crash_in == 0;
    if (d->dying && (op == MMI_DISK_SYNC || op == MMI_DISK_SYNC_FOLDER)) {
        mmi_disk_crash(d);   /* which draws how far it came */
        return EIO;
    }
    return fate_fault(d, op);
}

int64_t
mmi_disk_end(mmi_disk *d, mmi_disk_op op, int64_t rc)
{
    d->hash = (d->hash ^ (uint64_t)op) * FATE_HASH_PRIME;
    d->hash = (d->hash ^ (uint64_t)rc) * FATE_HASH_PRIME;
    if (d->dying) {
        mmi_disk_crash(d);
        return mmi_file_error(EIO);
    }
    return rc;
}

void
mmi_disk_fail(mmi_disk *d, mmi_disk_op op, uint64_t nth, int error)
{
    d->plans[op] = (disk_plan){ .nth = nth, .error = error };
}

void
mmi_disk_faults(mmi_disk *d, const mmi_disk_opts *opts)
{
    d->opts = *opts;
}

void
mmi_disk_kill(mmi_disk *d)
{
    for (int i = 0; i < DISK_HANDLES_MAX; i++) {
        if (d->handles[i].id != 0) {
            mmi_disk_handle_close(d, &d->handles[i]);
        }
    }
}

static disk_mood
fate_mood(mmi_disk *d)
{
    static const uint32_t keeps[] = { 0, 250000, 500000, 750000, FATE_ALL_PPM };
    disk_mood mood = { .keep_ppm = keeps[mmi_disk_between(d, 0, MMI_COUNT_OF(keeps) - 1)] };
    mood.whole_pages = mmi_disk_between(d, 0, 3) == 0;
    mood.in_order = mmi_disk_between(d, 0, 3) == 0;
    mood.keep_ppm = mood.in_order ? keeps[MMI_COUNT_OF(keeps) - 1] : mood.keep_ppm;
    return mood;
}

void
mmi_disk_choose(mmi_disk *d, bool (*keeps)(void *arg, uint64_t piece), void *arg)
{
    d->keeps = keeps;
    d->keeps_arg = arg;
}

static void
fate_choose(mmi_disk *d)
{
    d->pieces = 0;
    mmi_disk_names_choose(d);
    MMI_LIST_EACH (&d->nodes, at, after) {
        mmi_disk_data_choose(d, MMI_CONTAINER_OF(at, disk_node, at));
    }
}

void
mmi_disk_crash(mmi_disk *d)
{
    if (d->off) {
        return;
    }
    d->off = true;
    d->dying = false;
    d->crash_in = 0;
    mmi_disk_kill(d);
    disk_mood mood = fate_mood(d);
    if (d->keeps != NULL) {
        fate_choose(d);
        mood = (disk_mood){ .keep_ppm = FATE_ALL_PPM };
    }
    mmi_disk_names_crash(d, &mood);
    mood.keep_ppm = d->keeps != NULL ? 0 : mood.keep_ppm; /* what was chosen is there by now */
    d->used = 0;
    MMI_LIST_EACH (&d->nodes, at, after) {
        mmi_disk_data_crash(d, MMI_CONTAINER_OF(at, disk_node, at), &mood);
    }
}

void
mmi_disk_crash_in(mmi_disk *d, uint64_t nth)
{
    d->crash_in = nth;
}

void
mmi_disk_reboot(mmi_disk *d)
{
    d->off = false;
}
