/*
 * raw.h: a bare peer in a simulated world, every octet of which is the test's.
 * Not here: tests; what the octets mean (wire/zmtp/command.h).
 * Law: what is sent there has room; what comes is not read until the test asks for it.
 */
#ifndef RAW_H
#define RAW_H

#include "wire/zmtp/command.h"
#include "plat/sim/sim.h"
#include "places.h"
#include "sockets.h"

enum { RAW_READ_MAX = 1 << 20, RAW_QUIET_ROUNDS = 3 };

static const uint64_t MS = 1000000;
static const char RAW_GREETING[64] = "\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL";
static const char RAW_READY[] = "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PULL";

typedef struct raw {
    mm_handle world, engine, ours;     /* an ordinary socket */
    mmi_plat plat;
    int stream;
} raw;

static uint8_t raw_taken[RAW_READ_MAX];

static inline void
raw_put(raw *r, const void *data, size_t size)
{
    CHECK_INT(plat_put(&r->plat, r->stream, data, size), size);
}

/* Everything that comes, to raw_taken; how many octets. */
static inline size_t
raw_take(raw *r)
{
    size_t size = 0;
    for (int quiet = 0; quiet < RAW_QUIET_ROUNDS;) {
        CHECK_INT(mm_sim_run(r->world, MS), MM_OK);
        int64_t n = plat_get(&r->plat, r->stream, raw_taken + size, RAW_READ_MAX - size);
        quiet = n > 0 ? 0 : quiet + 1;
        size += n > 0 ? (size_t)n : 0;
    }
    return size;
}

/* As a PULL. */
static inline void
raw_shake(raw *r)
{
    raw_put(r, RAW_GREETING, sizeof RAW_GREETING);
    raw_put(r, RAW_READY, sizeof RAW_READY - 1);
    CHECK_INT(mm_wait_peers(r->ours, 1, PATIENCE_MS, 0), MM_OK);
}

/* A world with an engine that has a socket of that role, and a bare platform. */
static inline raw
raw_open(int role, const mm_sim_opts *sim, const mm_socket_opts *opts)
{
    raw r;
    CHECK_INT(mm_sim_open(1, sim, &r.world), MM_OK);
    CHECK_INT(mm_sim_engine_open(r.world, &r.engine), MM_OK);
    CHECK_INT(mmi_sim_plat(mmi_sim_find(r.world), &r.plat), MM_OK);
    r.ours = open_with(r.engine, role, opts);
    return r;
}

static inline void
raw_close(raw *r)
{
    close_engine(r->engine, 0);
    r->plat.free(r->plat.self);
    CHECK_INT(mm_sim_close(r->world), MM_OK);
}

#endif
