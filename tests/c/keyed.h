/*
 * keyed.h: messages with keys, a Push that sends by them, and who has which key.
 * Not here: what is tested (test_route.c, test_route_ends.c).
 */
#ifndef KEYED_H
#define KEYED_H

#include "fake.h"
#include "queue/backlog.h"

enum { KEYED_NAME_SIZE = 32 };

static inline mmi_msg *
keyed_until(const char *key, const char *body, uint64_t expires_ns)
{
    uint8_t data[64];
    size_t size = strlen(key), at = 3 + size;
    data[0] = MMI_META_KEY;
    data[1] = 0;
    data[2] = (uint8_t)size;
    memcpy(data + 3, key, size);
    if (expires_ns > 0) {
        data[at] = MMI_META_EXPIRES;
        data[at + 1] = 0;
        data[at + 2] = 8;
        for (int i = 0; i < 8; i++) {
            data[at + 3 + (size_t)i] = (uint8_t)(expires_ns >> (56 - 8 * i));
        }
        at += 11;
    }
    CHECK(mmi_meta_check(data, at));
    mmi_msg *m = fake_text(body);
    m->meta = mmi_meta_new(data, at);
    m->alone = true;
    CHECK(m->meta != NULL);
    return m;
}

static inline mmi_msg *
keyed(const char *key, const char *body)
{
    return keyed_until(key, body, 0);
}

static inline int
send_keyed(fake_sock *s, const char *key, const char *body)
{
    return fake_send_msg(s, keyed(key, body));
}

/* What a queue charges for a body of one octet with that key. */
static inline size_t
cost_of(const char *key)
{
    mmi_msg *m = keyed(key, "x");
    size_t cost = mmi_msg_cost(m);
    mmi_msg_unref(m);
    return cost;
}

static inline fake_sock *
open_hash(uint32_t overflow, uint32_t queue_messages, uint32_t flags)
{
    fake_sock *s = fake_open_with(MM_PUSH, overflow, queue_messages, flags | MM_OPT_HASH);
    s->opts.max_attempts = 0;
    return s;
}

static inline mmi_pipe *
owner_of(fake_sock *s, const char *key)
{
    mmi_msg *m = keyed(key, "");
    const mmi_lane *lane = mmi_route_owner(s->host.back->route, m);
    mmi_msg_unref(m);
    return lane != NULL ? lane->lb.pipe : NULL;
}

/* The number-th key of that peer. */
static inline void
key_of(fake_sock *s, const fake_pipe *p, int number, char name[KEYED_NAME_SIZE])
{
    for (int i = 0;; i++) {
        snprintf(name, KEYED_NAME_SIZE, "key %d", i);
        if (owner_of(s, name) == &p->pipe && number-- == 0) {
            return;
        }
    }
}

#endif
