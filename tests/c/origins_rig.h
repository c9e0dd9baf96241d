/*
 * origins_rig.h: a spool on the simulated disk whose messages have origins, and a model of them:
 * who put each number of the spool, and as which of its own.
 *
 * Not here: the tests (test_spool_origins*.c).  Law: what is known of a producer is judged by the
 * messages that the spool has, or had before they were trimmed; by nothing that was lost.
 */
#ifndef ORIGINS_RIG_H
#define ORIGINS_RIG_H

#include "spool_steps.h"

enum { ORIGINS_WHO = 12, ORIGINS_NONE = 255 };

typedef struct origins_rig {
    spool_rig rig;
    uint8_t who[SPOOL_MESSAGES_MAX];        /* of each number of the spool; ORIGINS_NONE: nobody */
    uint64_t numbers[SPOOL_MESSAGES_MAX];   /* of those, their producers' */
} origins_rig;

static inline void
origins_name(uint32_t who, uint8_t name[MMI_SPOOL_UUID])
{
    memset(name, 0x5a, MMI_SPOOL_UUID);
    name[3] = (uint8_t)who;
    name[4] = (uint8_t)(who >> 8);
}

static inline void
origins_new(origins_rig *o, uint64_t seed, const mmi_disk_opts *opts)
{
    spool_rig_new(&o->rig, seed, opts);
    memset(o->who, ORIGINS_NONE, sizeof o->who);
}

/* A message of that origin, or of nobody's; written first, if that is asked for.  As
 * mmi_spool_put. */
static inline int
origins_put(origins_rig *o, uint32_t who, uint64_t number, uint64_t *seq)
{
    uint8_t body[SPOOL_BODY_MAX], name[MMI_SPOOL_UUID];
    spool_rig *r = &o->rig;
    const uint64_t next = r->spool.last_seq + 1;
    CHECK(next < SPOOL_MESSAGES_MAX);
    uint64_t size = spool_body(next, r->life, body);
    origins_name(who, name);
    const mmi_spool_record record = { .producer = who == ORIGINS_NONE ? NULL : name,
                                      .number = number,
                                      .frames = 1,
                                      .sizes = &size,
                                      .data = body,
                                      .size = size };
    int rc = mmi_spool_put(&r->spool, &record, seq);
    if (rc == MM_EAGAIN) {
        rc = spool_rig_commit(r, false);
        rc = rc == MM_OK ? mmi_spool_put(&r->spool, &record, seq) : rc;
    }
    if (rc == MM_OK) {
        CHECK_INT(*seq, next);
        r->lives[next] = r->life;
        o->who[next] = (uint8_t)who;
        o->numbers[next] = number;
    }
    return rc;
}

/* The last message of a producer that the model has; 0: there is none. */
static inline uint64_t
origins_last(const origins_rig *o, uint32_t who)
{
    uint64_t seq = o->rig.spool.last_seq;
    while (seq > 0 && o->who[seq] != who) {
        seq--;
    }
    return seq;
}

/* How many others put something behind that message. */
static inline uint32_t
origins_behind(const origins_rig *o, uint64_t seq)
{
    bool seen[ORIGINS_WHO] = { false };
    uint32_t others = 0;
    for (uint64_t at = seq + 1; at <= o->rig.spool.last_seq; at++) {
        uint8_t who = o->who[at];
        if (who != ORIGINS_NONE && !seen[who]) {
            seen[who] = true;
            others++;
        }
    }
    return others;
}

/* Of all producers is known what there is, or was, and nothing that was lost: the last of each is a
 * repeat, and what comes behind that is none.  most: of how many, at most; 0: of all. */
static inline void
origins_check(origins_rig *o, uint32_t most)
{
    mmi_spool *s = &o->rig.spool;
    for (uint32_t who = 0; who < ORIGINS_WHO; who++) {
        uint8_t name[MMI_SPOOL_UUID];
        uint64_t seq = origins_last(o, who), found = 0;
        origins_name(who, name);
        const mmi_producer *one = mmi_producers_find(&s->producers, name);
        bool known = seq > 0 && (most == 0 || origins_behind(o, seq) < most);
        CHECK_INT(one != NULL, known);
        CHECK(!mmi_producers_repeats(&s->producers, name, seq > 0 ? o->numbers[seq] + 1 : 0,
                                     &found));
        if (known) {
            CHECK_INT(one->number, o->numbers[seq]);
            CHECK_INT(one->seq, seq);
            CHECK_INT(origins_put(o, who, o->numbers[seq], &found), MMI_SPOOL_REPEATED);
            CHECK_INT(found, seq);
        }
    }
}

/* Each message of somebody is a repeat of itself, or of one whose number is not known any more. */
static inline void
origins_check_each(origins_rig *o)
{
    const uint64_t last = o->rig.spool.last_seq;
    for (uint64_t seq = 1; seq <= last; seq++) {
        uint64_t found;
        if (o->who[seq] != ORIGINS_NONE) {
            CHECK_INT(origins_put(o, o->who[seq], o->numbers[seq], &found), MMI_SPOOL_REPEATED);
            CHECK(found == seq || found == 0);
        }
    }
    CHECK_INT(o->rig.spool.last_seq, last);
}

/* What is behind the last number was lost. */
static inline void
origins_forget(origins_rig *o)
{
    const uint64_t last = o->rig.spool.last_seq;
    memset(o->who + last + 1, ORIGINS_NONE, sizeof o->who - (size_t)last - 1);
}

#endif
