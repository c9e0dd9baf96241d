/*
 * test_accounting.c: random lives of sockets of every role and policy: no message is lost unseen.
 * Not here: what each message says (the tests of the roles).
 * Law: after every step, what came in (sent by the user, delivered by peers) equals what went out
 * (taken by peers, received by the user) plus what is queued plus what was counted as dropped.
 */
#include "base/limits.h"
#include "fake.h"

enum { STEPS = 1500, SEEDS = 12, PEERS_MAX = 6, IDS_MAX = 32 };

typedef struct life {
    fake_sock *s;
    uint32_t seed;
    uint64_t in, out;              /* messages (copies, for PUB): into the role, and out of it */
    uint64_t ids[IDS_MAX];         /* REQ: requests that may be answered or forgotten */
    uint64_t now_ns;
} life;

static uint32_t
life_random(life *l, uint32_t below)
{
    return check_random(&l->seed) % below;
}

static fake_pipe *
life_peer(life *l)
{
    return l->s->pipe_count == 0 ? NULL : l->s->pipes[life_random(l, l->s->pipe_count)];
}

/* Its messages go to the peer they name, and one that cannot is refused, yet counted as lost. */
static bool
life_replies(const life *l)
{
    return l->s->ops->is.number == MM_REP || l->s->ops->is.number == MM_RESPONDENT;
}

static mmi_msg *
life_msg(life *l, bool request)
{
    const uint64_t sizes[3] = { 1 + life_random(l, 3), 0, life_random(l, 300) };
    mmi_msg *m = mmi_msg_new(sizes, request || life_random(l, 2) == 0 ? 3 : 1);
    CHECK(m != NULL);
    memset(mmi_msg_data(m, 0), 'a' + (int)life_random(l, 3), m->size);
    return m;
}

static void
life_connect(life *l)
{
    char name[16] = "";
    if (l->s->pipe_count >= PEERS_MAX) {
        return;
    }
    if (l->s->ops->is.number == MM_ROUTER) {
        snprintf(name, sizeof(name), "%c%u", 'a' + (int)life_random(l, 3), life_random(l, 4));
    }
    fake_pipe *p = fake_connect_as(l->s, name);
    if (p != NULL && l->s->ops->subscription != NULL) {
        const uint8_t topic[] = { (uint8_t)('a' + (int)life_random(l, 3)) };
        (void)l->s->ops->subscription(l->s->state, &p->pipe, true, topic, life_random(l, 2));
    }
}

/* What a send of m, if accepted, adds: copies for a publisher, else one. */
static uint64_t
life_copies(life *l, const mmi_msg *m)
{
    if (l->s->ops->reach != NULL) {
        return l->s->ops->reach(l->s->state, m->frames[0].data, m->frames[0].size);
    }
    if (l->s->ops->is.number == MM_XSUB || l->s->ops->is.number == MM_SURVEYOR ||
        l->s->ops->is.number == MM_BUS) {
        return l->s->pipe_count == 0 ? 1 : l->s->pipe_count;
    }
    return 1;
}

static void
life_send(life *l)
{
    fake_sock *s = l->s;
    if (s->ops->send == NULL) {
        return;
    }
    mmi_msg *m = life_msg(l, s->ops->is.number == MM_ROUTER || life_replies(l));
    fake_pipe *to = life_peer(l);
    if (to != NULL && (life_replies(l) || s->ops->is.number == MM_ROUTER)) {
        m->pipe_id = to->pipe.id;
    }
    uint64_t copies = life_copies(l, m);
    mmi_msg_ref(m);
    int rc = fake_send_msg(s, m);
    if (rc == MM_OK) {
        l->in += copies;
        l->ids[life_random(l, IDS_MAX)] = m->key;
    } else if (rc == MM_EHOSTUNREACH && life_replies(l)) {
        l->in++;                   /* refused, yet counted as lost */
    }
    CHECK_INT(m->refs >= 1, 1);
    mmi_msg_unref(m);
}

static void
life_deliver(life *l)
{
    fake_pipe *p = life_peer(l);
    if (p == NULL) {
        return;
    }
    mmi_msg *m = life_msg(l, false);
    uint64_t id = l->ids[life_random(l, IDS_MAX)];
    if (l->s->ops->reply != NULL && id != 0 && life_random(l, 4) != 0) {
        mmi_msg_unref(m);
        const uint8_t bytes[] = { (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8),
                                  (uint8_t)id, 'r' };
        m = mmi_msg_copy_frames(bytes, (const uint64_t[]){ 4, 0, 1 }, 3);
        CHECK(m != NULL);
    }
    if (fake_deliver(p, m) == MM_OK) {
        l->in++;
    } else {
        mmi_msg_unref(m);
    }
}

static void
life_recv(life *l)
{
    mmi_msg *m = NULL;
    if (l->s->ops->reply != NULL) {
        uint64_t id = l->ids[life_random(l, IDS_MAX)];
        if (life_random(l, 4) == 0) {
            l->s->ops->forget(l->s->state, id);
        } else if (l->s->ops->reply(l->s->state, id, &m) == MM_OK) {
            l->out++;
            mmi_msg_unref(m);
        }
    } else if (l->s->ops->recv != NULL && l->s->ops->recv(l->s->state, &m) == MM_OK) {
        bool notice =
            l->s->ops->is.number == MM_XPUB && m->frames[0].size > 0 && m->frames[0].data[0] <= 1;
        l->out += !notice;
        mmi_msg_unref(m);
    }
}

static void
life_take(life *l)
{
    fake_pipe *p = life_peer(l);
    if (p == NULL) {
        return;
    }
    for (uint32_t i = life_random(l, 4); i > 0; i--) {
        mmi_msg *m = fake_take(p);
        l->out += m != NULL;
        mmi_msg_unref(m);
    }
    p->pipe.pinned = p->pipe.outbox.count > 0 && life_random(l, 3) == 0;
}

static void
life_subscribe(life *l)
{
    const uint8_t topic[] = { (uint8_t)('a' + (int)life_random(l, 3)) };
    bool add = life_random(l, 2) == 0;
    fake_pipe *p = life_peer(l);
    if (l->s->ops->subscribe != NULL) {
        (void)l->s->ops->subscribe(l->s->state, add, topic, life_random(l, 2));
    } else if (l->s->ops->subscription != NULL && p != NULL) {
        (void)l->s->ops->subscription(l->s->state, &p->pipe, add, topic, life_random(l, 2));
    } else if (l->s->ops->bound != NULL) {
        l->s->ops->bound(l->s->state, l->ids[life_random(l, IDS_MAX)], ++l->now_ns + 20,
                         life_random(l, 3));
        (void)l->s->ops->tick(l->s->state, l->now_ns);
    }
}

static void
life_step(life *l)
{
    uint32_t what = life_random(l, 100);
    fake_pipe *p = life_peer(l);
    if (what < 4) {
        life_connect(l);
    } else if (what < 6 && p != NULL) {
        fake_cut(p);
    } else if (what < 45) {
        life_send(l);
    } else if (what < 65) {
        life_deliver(l);
    } else if (what < 80) {
        life_recv(l);
    } else if (what < 95) {
        life_take(l);
    } else {
        life_subscribe(l);
    }
}

/* Messages a REP or SUB would not hand out still count as queued until recv meets them. */
static void
life_check(const life *l, int step)
{
    uint64_t gone = l->out + fake_dropped(l->s) + fake_queued(l->s);
    if (l->in != gone) {
        fprintf(stderr, "%s, overflow %u, step %d: %" PRIu64 " in, %" PRIu64 " accounted for\n",
                mm_role_name(l->s->ops->is.number), l->s->opts.overflow, step, l->in, gone);
        exit(1);
    }
    for (uint32_t i = 0; i < l->s->pipe_count; i++) {
        mmi_pipe_invariants(&l->s->pipes[i]->pipe);
    }
}

static void
life_run(int role, uint32_t overflow, uint32_t seed, bool memory_fails)
{
    life l = { .s = fake_open(role, overflow, 4), .seed = seed * 2654435761u + 1 };
    l.s->opts.send_queue_bytes = l.s->opts.recv_queue_bytes = 1200;
    l.s->opts.flags = seed % 2 == 0 ? MM_OPT_HANDOVER | MM_OPT_XPUB_VERBOSE : 0;
    for (int step = 0; step < STEPS; step++) {
        if (!memory_fails) {
            life_step(&l);
        } else if (life_random(&l, 4) == 0 && role != MM_XPUB) {
            fake_pipe *p = life_peer(&l);
            bool named = role == MM_ROUTER || life_replies(&l);
            mmi_msg *m = life_msg(&l, named);
            m->pipe_id = p != NULL && named ? p->pipe.id : 0;
            uint64_t copies = life_copies(&l, m);
            mm_test_alloc_fail(1 + life_random(&l, 5));
            int rc = l.s->ops->send == NULL ? MM_ENOTSUP : l.s->ops->send(l.s->state, m);
            mm_test_alloc_fail(0);
            l.in += rc == MM_OK ? copies : rc == MM_EHOSTUNREACH && life_replies(&l);
            mmi_msg_unref(rc == MM_OK ? NULL : m);
        } else {
            mm_test_alloc_fail(0);
            life_step(&l);
        }
        life_check(&l, step);
    }
    while (l.s->pipe_count > 0) {
        fake_cut(l.s->pipes[0]);
        life_check(&l, STEPS);
    }
    uint64_t left = fake_queued(l.s), closed = l.s->stats.dropped_closed;
    l.s->ops->fini(l.s->state);
    CHECK_INT(l.s->stats.dropped_closed - closed, left);
    memset(l.s->state, 0, l.s->ops->sock_size);
    CHECK_INT(l.s->ops->init(l.s->state, &l.s->host), MM_OK);
    fake_close(l.s);
}

static void
life_run_all(bool memory_fails)
{
    for (int role = 1; role < MM_ROLE_COUNT; role++) {
        for (uint32_t overflow = MM_OVERFLOW_BLOCK; overflow <= MM_OVERFLOW_DROP_OLDEST;
             overflow++) {
            for (uint32_t seed = 1; seed <= SEEDS; seed++) {
                life_run(role, overflow, seed, memory_fails);
            }
        }
    }
}

static void
test_nothing_is_lost_unseen_in_any_role_under_any_policy(void)
{
    life_run_all(false);
}

static void
test_nothing_is_lost_unseen_when_memory_runs_out_now_and_then(void)
{
    life_run_all(true);
}

int
main(void)
{
    RUN(test_nothing_is_lost_unseen_in_any_role_under_any_policy);
    RUN(test_nothing_is_lost_unseen_when_memory_runs_out_now_and_then);
    return 0;
}
