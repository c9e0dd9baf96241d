/*
 * spool/keep.c: see spool/keep.h.
 */
#include "spool/keep.h"

#include <string.h>

#include "spool/file.h"

enum { KEEP_LEASES_FIRST = 4 /* that there is room for */ };
static const uint64_t KEEP_NS_PER_US = 1000;

void
mmi_spool_keep_free(mmi_spool_keep *k)
{
    mmi_free(k->leases);
    k->leases = NULL;
    k->lease_count = k->lease_cap = 0;
}

static mmi_spool_lease *
keep_find(const mmi_spool_keep *k, const char *name)
{
    for (uint32_t i = 0; i < k->lease_count; i++) {
        if (strcmp(k->leases[i].name, name) == 0) {
            return &k->leases[i];
        }
    }
    return NULL;
}

static int
keep_reserve(mmi_spool_keep *k)
{
    if (k->lease_count < k->lease_cap) {
        return MM_OK;
    }
    uint64_t cap = mmi_spool_cap(k->lease_cap, KEEP_LEASES_FIRST, (uint64_t)k->lease_count + 1);
    mmi_spool_lease *grown = mmi_realloc(k->leases, cap * sizeof *grown);
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    k->leases = grown;
    k->lease_cap = (uint32_t)cap;
    return MM_OK;
}

int
mmi_spool_keep_lease(mmi_spool_keep *k, const char *name, uint64_t from_seq, uint64_t end_ns)
{
    if (mmi_cursor_check_name(name) != MM_OK) {
        return MM_EINVAL;
    }
    mmi_spool_lease *lease = keep_find(k, name);
    if (lease == NULL) {
        if (k->lease_count >= MMI_SPOOL_LEASES_MAX) {
            return MM_EAGAIN;
        }
        int rc = keep_reserve(k);
        if (rc != MM_OK) {
            return rc;
        }
        lease = &k->leases[k->lease_count++];
        memcpy(lease->name, name, strlen(name) + 1);
    }
    lease->from_seq = from_seq;
    lease->end_ns = end_ns;
    return MM_OK;
}

int
mmi_spool_keep_release(mmi_spool_keep *k, const char *name)
{
    mmi_spool_lease *lease = keep_find(k, name);
    if (lease == NULL) {
        return MM_ENOENT;
    }
    *lease = k->leases[--k->lease_count];
    return MM_OK;
}

bool
mmi_spool_keep_end(mmi_spool_keep *k, uint64_t now_ns)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->lease_count; i++) {
        if (k->leases[i].end_ns > now_ns) {
            k->leases[left++] = k->leases[i];
        }
    }
    bool some = left < k->lease_count;
    k->lease_count = left;
    return some;
}

uint64_t
mmi_spool_keep_leased(const mmi_spool_keep *k)
{
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; i < k->lease_count; i++) {
        lowest = k->leases[i].from_seq < lowest ? k->leases[i].from_seq : lowest;
    }
    return lowest;
}

uint64_t
mmi_spool_keep_lease_end(const mmi_spool_keep *k)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < k->lease_count; i++) {
        next = k->leases[i].end_ns < next ? k->leases[i].end_ns : next;
    }
    return next;
}

void
mmi_spool_keep_clock(mmi_spool_keep *k, uint64_t wall_us, uint64_t now_ns, uint64_t middle_seq)
{
    uint64_t passed = (now_ns - k->mono_ns) / KEEP_NS_PER_US, then = k->wall_us + passed;
    uint64_t apart = wall_us > then ? wall_us - then : then - wall_us;
    if (k->held_until_ns <= now_ns) {
        k->held_until_ns = 0;
    }
    if (k->clocked && apart > MMI_SPOOL_JUMP_US) {
        bool lower = k->held_until_ns == 0 || middle_seq < k->held_seq;
        k->held_seq = lower ? middle_seq : k->held_seq;
        k->held_until_ns = now_ns + k->max_age_us * KEEP_NS_PER_US;
        k->jumps++;
    }
    k->clocked = true;
    k->wall_us = wall_us;
    k->mono_ns = now_ns;
}

uint64_t
mmi_spool_keep_old(const mmi_spool_keep *k, const uint64_t *bases, const uint64_t *made_us,
                   uint32_t count)
{
    uint64_t old = 0;
    for (uint32_t i = 0; k->max_age_us > 0 && i < count; i++) {
        bool held = k->held_until_ns > 0 && bases[i] > k->held_seq;
        bool aged =
            made_us[i] > 0 && made_us[i] < k->wall_us && k->wall_us - made_us[i] > k->max_age_us;
        old = aged && !held ? bases[i] - 1 : old;
    }
    return old;
}
