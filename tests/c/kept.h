/*
 * kept.h: a PUB of the fake world that retains, and peers that subscribe.
 * Not here: what is checked of them.
 */
#ifndef KEPT_H
#define KEPT_H

#include "fake.h"
#include "queue/replays.h"
#include "queue/retained.h"

static inline fake_sock *
kept_open(uint32_t overflow, uint32_t queue_messages)
{
    fake_sock *s = fake_open_with(MM_PUB, overflow, queue_messages, MM_OPT_RETAIN);
    s->opts.retain_topics_max = 100;
    s->opts.retain_bytes_max = 100000;
    s->now_ns = 1;
    return s;
}

static inline int
kept_tell(fake_pipe *p, bool add, const char *topic)
{
    return p->sock->ops->subscription(p->sock->state, &p->pipe, add, (const uint8_t *)topic,
                                      strlen(topic));
}

#endif
