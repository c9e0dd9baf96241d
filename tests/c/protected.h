/*
 * protected.h: two sockets whose connections a mechanism protects, on this machine or in a world,
 * and messages from one to the other.
 * Not here: a mechanism (toy_mechanism.h), sockets without one (sockets.h).
 * Law: nothing is joined by itself; every step is checked.
 */
#ifndef PROTECTED_H
#define PROTECTED_H

#include "engine/handle.h"
#include "link/link.h"
#include "meshmsg_testing.h"
#include "sockets.h"

/* Two engines, of a world or of this machine, and a socket of each. */
typedef struct sides {
    mm_handle world, engine[2], push, pull;
} sides;

static inline void
protect(mm_handle socket, const mmi_mechanism *mechanism, const void *config)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    ((mmi_socket *)object)->mechanism = mechanism;
    ((mmi_socket *)object)->mechanism_config = config;
    pthread_mutex_unlock(&e->lock);
}

/* The same by a mechanism that comes before the wire. */
static inline void
enclose(mm_handle socket, const mmi_mechanism *outer, const void *config)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    ((mmi_socket *)object)->outer = outer;
    ((mmi_socket *)object)->outer_config = config;
    pthread_mutex_unlock(&e->lock);
}

/* The lists of a socket, which need no config. */
static inline void
guard(mm_handle socket, mmi_allow allow)
{
    void *object;
    mmi_engine *e;
    CHECK_INT(mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e), MM_OK);
    ((mmi_socket *)object)->allow = allow;
    pthread_mutex_unlock(&e->lock);
}

static inline sides
sides_open(uint64_t seed, const mm_sim_opts *faults)
{
    sides s = { .world = 0 };
    mm_socket_opts push = opts_of(MM_PUSH), pull = opts_of(MM_PULL);
    if (faults != NULL) {
        CHECK_INT(mm_sim_open(seed, faults, &s.world), MM_OK);
        CHECK_INT(mm_sim_engine_open(s.world, &s.engine[0]), MM_OK);
        CHECK_INT(mm_sim_engine_open(s.world, &s.engine[1]), MM_OK);
    } else {
        s.engine[0] = open_engine();
        s.engine[1] = open_engine();
    }
    push.reconnect_max_ms = push.reconnect_min_ms;
    s.push = open_with(s.engine[0], MM_PUSH, &push);
    s.pull = open_with(s.engine[1], MM_PULL, &pull);
    return s;
}

static inline void
sides_close(sides *s)
{
    close_engine(s->engine[0], 0);
    close_engine(s->engine[1], 0);
    if (s->world != 0) {
        CHECK_INT(mm_sim_close(s->world), MM_OK);
    }
}

/* How often it happened, with words of the detail. */
static inline uint32_t
told(mm_handle socket, int kind, int reason, const char *words)
{
    mm_event events[64];
    uint64_t next = 0;
    uint32_t found = 0;
    int count = mm_socket_events(socket, 0, events, 64, &next);
    for (int i = 0; i < count; i++) {
        found += events[i].kind == (uint32_t)kind && events[i].reason == reason &&
                 strstr(events[i].detail, words) != NULL;
    }
    return found;
}

/* They try for a second, and never become peers. */
static inline void
refused_at(sides *s, const char *bound, const char *prefix)
{
    char endpoint[MM_ENDPOINT_MAX + 1], url[MM_ENDPOINT_MAX + 8];
    CHECK_INT(mm_bind(s->pull, bound, endpoint, sizeof endpoint), MM_OK);
    snprintf(url, sizeof url, "%s%s", prefix, endpoint);
    CHECK_INT(mm_connect(s->push, url), MM_OK);
    CHECK_INT(mm_wait_peers(s->push, 1, 1000, 0), MM_ETIMEDOUT);
    CHECK_INT(mm_wait_peers(s->pull, 1, 1, 0), MM_ETIMEDOUT);
}

static inline void
refused(sides *s, const char *prefix)
{
    refused_at(s, TCP, prefix);
}

enum { LARGEST = 3 * 1024 * 1024 };       /* octets of a message */
static uint8_t message_body[LARGEST];

/* Octets of the i-th message: most are small, some large, one is very large. */
static inline size_t
size_of(uint32_t i)
{
    static const size_t sizes[] = { 0,     1,     99,     100,    101,    255,
                                    256,   4096,  16383,  16384,  32768,  65535,
                                    65536, 65537, 200000, 262144, LARGEST };
    return i % 100 < MMI_COUNT_OF(sizes) ? sizes[i % 100] : i % 61;
}

static inline void
send_one(mm_handle push, uint32_t i, size_t size)
{
    memset(message_body, (int)(i + 1), size < 64 ? size : 64);
    if (size > 64) {
        message_body[size - 1] = (uint8_t)(i * 7);
    }
    const mm_body frames[] = { { .data = &i, .size = sizeof i },
                               { .data = message_body, .size = size } };
    CHECK_INT(mm_send_frames(push, 0, frames, 2, PATIENCE_MS, 0), MM_OK);
}

/* The number of the message that comes next, which must be whole. */
static inline uint32_t
take_one(mm_handle pull, mm_batch *batch, size_t (*sized)(uint32_t i))
{
    uint32_t i;
    size_t size;
    CHECK_INT(mm_recv(pull, batch, 1, 1 << 20, PATIENCE_MS, 0), 1);
    CHECK_INT(mm_batch_frame_count(batch, 0), 2);
    const uint8_t *number = mm_batch_frame(batch, 0, 0, &size);
    CHECK_INT(size, sizeof i);
    memcpy(&i, number, sizeof i);
    const uint8_t *body = mm_batch_frame(batch, 0, 1, &size);
    CHECK_INT(size, sized(i));
    for (size_t j = 0; j < size && j < 64; j++) {
        CHECK(body[j] == (uint8_t)(i + 1) || j + 1 == size);
    }
    CHECK(size <= 64 || body[size - 1] == (uint8_t)(i * 7));
    return i;
}

/* So many go one way, in runs, and come in order. */
static inline void
flow(sides *s, uint32_t count, uint32_t run, size_t (*sized)(uint32_t i))
{
    mm_batch *batch;
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    for (uint32_t sent = 0, got = 0; got < count;) {
        for (uint32_t i = 0; i < run && sent < count; i++, sent++) {
            send_one(s->push, sent, sized(sent));
        }
        for (; got < sent; got++) {
            CHECK_INT(take_one(s->pull, batch, sized), got);
        }
    }
    mm_batch_free(batch);
    mm_stats stats;
    /* What was read may not have been counted yet by who wrote it. */
    AWAIT(mm_socket_stats(s->push, &stats) == MM_OK && stats.written_messages >= count);
    CHECK_INT(stats.written_messages, count);
    CHECK_INT(stats.disconnects, 0);
}

#endif
