/*
 * scripted.h: a socket of a simulated world, and a peer whose octets a small program says: an octet
 * says which step, those behind it are its own.
 *
 * Not here: the steps, and what must be so behind each (fuzz_replay.c, fuzz_replayed.c).
 * Law: behind its end a program is zeros; a connection that is gone takes all, and gives nothing.
 */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#include <string.h>

#include "api/api.h"
#include "raw.h"

enum { SCRIPT_DATA_MAX = 64, SCRIPT_FRAME_MAX = SCRIPT_DATA_MAX + 16, SCRIPT_READ_MAX = 1 << 16 };

static const mm_sim_opts SCRIPT_WORLD = { .latency_min_ns = 1000, .latency_max_ns = 1000 };
static const char SCRIPT_FEATURES[] = "1 refuse stop ack meta replay";

typedef struct script {
    const uint8_t *at;
    size_t left;
    raw raw;
    mmi_addr where;              /* our socket is bound there */
} script;

static inline uint8_t
script_next(script *s)
{
    if (s->left == 0) {
        return 0;
    }
    s->left--;
    return *s->at++;
}

static inline uint64_t
script_number(script *s)
{
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number; i++) {
        number = number << 8 | script_next(s);
    }
    return number;
}

/* So many octets of it, fewer at its end; how many. */
static inline size_t
script_octets(script *s, uint8_t out[SCRIPT_DATA_MAX])
{
    size_t size = script_next(s) % (SCRIPT_DATA_MAX + 1);
    size = size < s->left ? size : s->left;
    memcpy(out, s->at, size);
    s->at += size;
    s->left -= size;
    return size;
}

static inline void
script_put(script *s, const void *data, size_t size)
{
    (void)plat_put(&s->raw.plat, s->raw.stream, data, size);
}

static inline void
script_command(script *s, const char *name, const uint8_t *data, size_t size)
{
    uint8_t frame[SCRIPT_FRAME_MAX];
    size_t length = strlen(name);
    frame[0] = 4; /* a short command */
    frame[1] = (uint8_t)(1 + length + size);
    frame[2] = (uint8_t)length;
    memcpy(frame + 3, name, length);
    if (size > 0) {
        memcpy(frame + 3 + length, data, size);
    }
    script_put(s, frame, 3 + length + size);
}

static inline void
script_run(script *s)
{
    CHECK_INT(mm_sim_run(s->raw.world, MS), MM_OK);
}

/* A connection to our socket, as that role and of our kind. */
static inline void
script_connect(script *s, const char *role)
{
    uint8_t ready[128];
    const size_t length = strlen(role), features = sizeof SCRIPT_FEATURES - 1;
    size_t size = 0;
    static const char head[] = "\x05READY\x0bSocket-Type\0\0\0";
    static const char word[] = "\x09X-Meshmsg\0\0\0";
    ready[size++] = 4;
    ready[size++] =
        (uint8_t)(sizeof head - 1 + 1 + length + sizeof word - 1 + 1 + features);
    memcpy(ready + size, head, sizeof head - 1);
    size += sizeof head - 1;
    ready[size++] = (uint8_t)length;
    memcpy(ready + size, role, length);
    size += length;
    memcpy(ready + size, word, sizeof word - 1);
    size += sizeof word - 1;
    ready[size++] = (uint8_t)features;
    memcpy(ready + size, SCRIPT_FEATURES, features);
    size += features;
    CHECK_INT(s->raw.plat.connect(s->raw.plat.self, &s->where, &s->raw.stream), MM_EAGAIN);
    script_run(s);
    script_put(s, RAW_GREETING, sizeof RAW_GREETING);
    script_put(s, ready, size);
    script_run(s);
}

static inline void
script_hang_up(script *s)
{
    s->raw.plat.close(s->raw.plat.self, s->raw.stream);
    script_run(s);
}

static inline void
script_bind(script *s)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    unsigned port;
    CHECK_INT(mm_bind(s->raw.ours, TCP, endpoint, sizeof endpoint), MM_OK);
    CHECK_INT(sscanf(endpoint, "tcp://127.0.0.1:%u", &port), 1);
    s->where = addr_tcp4((uint16_t)port);
}

#endif
