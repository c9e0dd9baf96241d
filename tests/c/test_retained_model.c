/*
 * test_retained_model.c: a PUB that retains, and what its peers get, against a few numbers: random
 * steps.
 * Not here: each rule by itself (test_retained.c).
 * Law: of each topic that a peer wants it gets the value there was, or a later one, then each that
 * is sent, and in the end it has the last.
 */
#include "kept.h"

enum {
    MODEL_PEERS = 3,
    MODEL_TOPICS = 7,
    MODEL_PREFIXES = 6,
    MODEL_ROUNDS = 400,
    MODEL_STEPS = 120
};
static const char *const model_topics[MODEL_TOPICS] = { "", "a", "ab", "abc", "abd", "b", "ba" };
static const char *const model_prefixes[MODEL_PREFIXES] = { "", "a", "ab", "abd", "b", "c" };

typedef struct model {
    fake_sock *s;
    fake_pipe *peers[MODEL_PEERS];
    bool has[MODEL_PEERS][MODEL_PREFIXES];
    int sent[MODEL_TOPICS];                       /* the last number of each; 0: none */
    int since[MODEL_PEERS][MODEL_TOPICS]; /* that number as it came to want it; -1: it does not */
    int got[MODEL_PEERS][MODEL_TOPICS]; /* the last it got since then; 0: nothing */
} model;

static bool
model_wants(const model *m, int peer, int topic)
{
    bool wants = false;
    for (int i = 0; i < MODEL_PREFIXES; i++) {
        size_t size = strlen(model_prefixes[i]);
        wants |= m->has[peer][i] && strncmp(model_topics[topic], model_prefixes[i], size) == 0;
    }
    return wants;
}

static void
model_take(model *m, int peer, int most)
{
    mmi_msg *msg;
    while (most-- > 0 && (msg = fake_take(m->peers[peer])) != NULL) {
        int topic = 0, number = atoi((const char *)msg->frames[1].data);
        while (strlen(model_topics[topic]) != msg->frames[0].size ||
               memcmp(model_topics[topic], msg->frames[0].data, msg->frames[0].size) != 0) {
            topic++;
        }
        int *got = &m->got[peer][topic], since = m->since[peer][topic];
        CHECK(since >= 0);
        CHECK(*got == 0 ? number >= since : number == *got + 1);
        *got = number;
        mmi_msg_unref(msg);
    }
}

/* What it has in its outbox is of before, so that is taken. */
static void
model_change(model *m, int peer, int prefix)
{
    bool add = !m->has[peer][prefix];
    if (!add) {
        model_take(m, peer, INT32_MAX);
    }
    CHECK_INT(kept_tell(m->peers[peer], add, model_prefixes[prefix]), MM_OK);
    m->has[peer][prefix] = add;
    for (int i = 0; i < MODEL_TOPICS; i++) {
        bool wants = model_wants(m, peer, i), wanted = m->since[peer][i] >= 0;
        if (wants != wanted) {
            m->since[peer][i] = wants ? m->sent[i] : -1;
            m->got[peer][i] = 0;
        }
    }
}

static void
model_send(model *m, int topic)
{
    char number[16];
    snprintf(number, sizeof number, "%d", m->sent[topic] + 1);
    const char *frames[] = { model_topics[topic], number, "." }; /* which ends the number */
    int rc = fake_send_msg(m->s, fake_frames(3, frames));
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    m->sent[topic] += rc == MM_OK;
}

static void
model_run(uint32_t seed)
{
    uint32_t queue = 1 + check_random(&seed) % 6;
    model m = { .s = kept_open(MM_OVERFLOW_ERROR, queue) };
    for (int i = 0; i < MODEL_PEERS; i++) {
        m.peers[i] = fake_connect(m.s);
        memset(m.since[i], 0xff, sizeof m.since[i]);
    }
    for (int step = 0; step < MODEL_STEPS; step++) {
        int peer = (int)(check_random(&seed) % MODEL_PEERS);
        switch (check_random(&seed) % 8) {
        case 0: model_change(&m, peer, (int)(check_random(&seed) % MODEL_PREFIXES)); break;
        case 1:
            if (m.s->due_ns > 0) {
                fake_tick(m.s);
            }
            break;
        case 2:
        case 3: model_take(&m, peer, (int)(check_random(&seed) % 4)); break;
        default: model_send(&m, (int)(check_random(&seed) % MODEL_TOPICS)); break;
        }
    }
    if (m.s->due_ns > 0) {
        fake_tick(m.s);
    }
    for (int i = 0; i < MODEL_PEERS; i++) {
        model_take(&m, i, INT32_MAX);
        for (int j = 0; j < MODEL_TOPICS; j++) {
            CHECK(m.since[i][j] < 0 || m.got[i][j] == m.sent[j]);
        }
    }
    CHECK_INT(fake_dropped(m.s), 0);
    fake_close(m.s);
}

static void
test_each_peer_gets_a_value_and_all_that_follows_as_a_model_says(void)
{
    for (uint32_t seed = 1; seed <= MODEL_ROUNDS; seed++) {
        model_run(seed * 7919);
    }
}

int
main(void)
{
    RUN(test_each_peer_gets_a_value_and_all_that_follows_as_a_model_says);
    return 0;
}
