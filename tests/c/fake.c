/*
 * fake.c: the fake engine of the protocol tests.
 * Not here: the tests.
 * Law: as in fake.h.
 */
#include "fake.h"

#include "base/limits.h"
#include "queue/backlog.h"

static uint64_t fake_last_id = 100;

static uint32_t
fake_random(mmi_proto_host *host)
{
    return check_random(&MMI_CONTAINER_OF(host, fake_sock, host)->random_seed);
}

static void
fake_event(mmi_proto_host *host, int kind, int reason, uint64_t peer, uint64_t count,
           const char *detail)
{
    fake_sock *s = MMI_CONTAINER_OF(host, fake_sock, host);
    CHECK(kind > 0 && kind < FAKE_KINDS && reason == MM_REASON_NONE && count >= 1 &&
          detail != NULL);
    s->event_counts[kind]++;
    s->last_event_peer = peer;
}

static void
fake_deferred(mmi_proto_host *host)
{
    MMI_CONTAINER_OF(host, fake_sock, host)->deferred = true;
}

void
fake_materialize(fake_sock *s)
{
    if (s->deferred) {
        s->deferred = false;
        s->ops->materialize(s->state);
    }
}

static uint64_t
fake_now_ns(const mmi_proto_host *host)
{
    return MMI_CONTAINER_OF(host, const fake_sock, host)->now_ns;
}

static void
fake_due(mmi_proto_host *host, uint64_t at_ns)
{
    fake_sock *s = MMI_CONTAINER_OF(host, fake_sock, host);
    s->due_ns = s->due_ns == 0 || at_ns < s->due_ns ? at_ns : s->due_ns;
}

fake_sock *
fake_open(int role, uint32_t overflow, uint32_t queue_messages)
{
    return fake_open_with(role, overflow, queue_messages, 0);
}

fake_sock *
fake_open_with(int role, uint32_t overflow, uint32_t queue_messages, uint32_t flags)
{
    const mmi_proto_ops *ops = mmi_proto_find(role);
    CHECK(ops != NULL && ops->is.number == role);
    return fake_open_of(ops, overflow, queue_messages, flags);
}

static void
fake_begun(mmi_proto_host *host)
{
    MMI_CONTAINER_OF(host, fake_sock, host)->begun_count++;
}

fake_sock *
fake_open_of(const mmi_proto_ops *ops, uint32_t overflow, uint32_t queue_messages, uint32_t flags)
{
    fake_sock *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->ops = ops;
    s->random_seed = 12345;
    s->opts = (mm_socket_opts){ .send_queue_messages = queue_messages,
                                .recv_queue_messages = queue_messages,
                                .send_queue_bytes = 1 << 20,
                                .recv_queue_bytes = 1 << 20,
                                .overflow = overflow,
                                .flags = flags,
                                .message_size_max = 1 << 30,
                                .frames_max = MMI_FRAMES_MAX,
                                .topic_size_max = 1000,
                                .subscriptions_max = 100 };
    s->host = (mmi_proto_host){ .stats = &s->stats,
                                .opts = &s->opts,
                                .random = fake_random,
                                .now_ns = fake_now_ns,
                                .wall_ns = fake_now_ns,
                                .due = fake_due,
                                .event = fake_event,
                                .deferred = fake_deferred,
                                .begun = fake_begun,
                                .expired = mmi_drop_expired };
    s->state = calloc(1, s->ops->sock_size);
    CHECK(s->state != NULL);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    return s;
}

void
fake_tick(fake_sock *s)
{
    CHECK(s->due_ns > 0 && s->ops->tick != NULL);
    s->now_ns = s->due_ns;
    s->due_ns = 0;
    uint64_t next = s->ops->tick(s->state, s->now_ns);
    if (next != UINT64_MAX) {
        fake_due(&s->host, next);
    }
}

void
fake_close(fake_sock *s)
{
    while (s->pipe_count > 0) {
        fake_cut(s->pipes[0]);
    }
    s->ops->fini(s->state);
    free(s->state);
    free(s);
}

static fake_pipe *
fake_pipe_of(mmi_pipe *p)
{
    return MMI_CONTAINER_OF(p, fake_pipe, pipe);
}

static void
fake_wrote(mmi_pipe *p)
{
    CHECK(p->outbox.count > 0);
    fake_pipe_of(p)->wrote_count++;
}

static void
fake_room(mmi_pipe *p)
{
    fake_pipe_of(p)->room_count++;
}

static int
fake_subscription(mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    fake_pipe *fp = fake_pipe_of(p);
    if (fp->fail_subscription) {
        return MM_ENOMEM;
    }
    size_t used = strlen(fp->log);
    fp->told_count++;
    if (used + size + 3 < FAKE_LOG_SIZE) {
        snprintf(fp->log + used, FAKE_LOG_SIZE - used, "%c%.*s ", add ? '+' : '-', (int)size,
                 (const char *)topic);
    }
    return MM_OK;
}

static void
fake_close_pipe(mmi_pipe *p, int reason, const char *detail)
{
    CHECK(detail != NULL);
    fake_pipe_of(p)->closed_reason = reason;
}

static uint32_t
fake_slack(const mmi_pipe *p, size_t *bytes)
{
    const mmi_ring *out = &p->outbox;
    const fake_sock *s = MMI_CONTAINER_OF(p, fake_pipe, pipe)->sock;
    uint32_t room = out->count_max - out->count;
    *bytes = out->bytes < out->bytes_max ? out->bytes_max - out->bytes : 0;
    return s->slack < room ? s->slack : room;
}

static const mmi_pipe_ops fake_pipe_ops = {
    .wrote = fake_wrote,
    .room = fake_room,
    .subscription = fake_subscription,
    .close = fake_close_pipe,
    .slack = fake_slack,
};

static void
fake_pipe_free(fake_pipe *p)
{
    mmi_ring_fini(&p->pipe.inbox);
    mmi_ring_fini(&p->pipe.outbox);
    free(p->pipe.state);
    free(p);
}

fake_pipe *
fake_connect_as(fake_sock *s, const char *identity)
{
    CHECK(s->pipe_count < FAKE_PIPES_MAX);
    fake_pipe *p = calloc(1, sizeof(*p));
    CHECK(p != NULL);
    p->sock = s;
    p->fail_subscription = s->fail_subscription;
    p->pipe.id = ++fake_last_id;
    p->pipe.ops = &fake_pipe_ops;
    p->pipe.framing = s->framing;
    p->pipe.segments = s->segments;
    if (s->takes_frames > 0) {
        mmi_pipe_limit(&p->pipe, s->takes_size, s->takes_frames);
    }
    p->pipe.identity = p->identity;
    p->pipe.identity_size = strlen(identity);
    memcpy(p->identity, identity, p->pipe.identity_size);
    p->pipe.state = calloc(1, s->ops->pipe_size);
    CHECK(p->pipe.state != NULL);
    mmi_ring_init(&p->pipe.inbox, s->opts.recv_queue_messages, s->opts.recv_queue_bytes);
    mmi_ring_init(&p->pipe.outbox, s->opts.send_queue_messages, s->opts.send_queue_bytes);
    s->add_rc = s->ops->add(s->state, &p->pipe);
    if (s->add_rc != MM_OK) {
        fake_pipe_free(p);
        return NULL;
    }
    s->pipes[s->pipe_count++] = p;
    return p;
}

fake_pipe *
fake_connect(fake_sock *s)
{
    return fake_connect_as(s, "");
}

void
fake_cut(fake_pipe *p)
{
    fake_sock *s = p->sock;
    mmi_pipe_invariants(&p->pipe);
    const mmi_msg *pinned = p->pipe.pinned ? mmi_ring_at(&p->pipe.outbox, 0) : NULL;
    s->ops->rm(s->state, &p->pipe);
    mmi_pipe_invariants(&p->pipe);
    CHECK(pinned == NULL || mmi_ring_at(&p->pipe.outbox, 0) == pinned);
    s->stats.dropped_peer_gone += p->pipe.outbox.count + p->pipe.inbox.count;
    for (uint32_t i = 0; i < s->pipe_count; i++) {
        if (s->pipes[i] == p) {
            s->pipes[i] = s->pipes[--s->pipe_count];
        }
    }
    fake_pipe_free(p);
}

int
fake_deliver(fake_pipe *p, mmi_msg *m)
{
    bool was_empty = p->pipe.inbox.count == 0;
    m->pipe_id = p->pipe.id;
    int rc = mmi_pipe_push_in(&p->pipe, m);
    if (rc == MM_OK && was_empty) {
        p->sock->ops->in(p->sock->state, &p->pipe);
    }
    mmi_pipe_invariants(&p->pipe);
    return rc;
}

mmi_msg *
fake_take_deferred(fake_pipe *p)
{
    mmi_pipe_invariants(&p->pipe);
    mmi_msg *m = mmi_pipe_pop_out(&p->pipe);
    if (m != NULL) {
        p->sock->ops->out(p->sock->state, &p->pipe);
    }
    return m;
}

mmi_msg *
fake_take(fake_pipe *p)
{
    fake_materialize(p->sock);
    return fake_take_deferred(p);
}

uint32_t
fake_take_all(fake_pipe *p)
{
    uint32_t count = 0;
    mmi_msg *m;
    while ((m = fake_take(p)) != NULL) {
        mmi_msg_unref(m);
        count++;
    }
    return count;
}

mmi_msg *
fake_text(const char *body)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)body, strlen(body));
    CHECK(m != NULL);
    return m;
}

mmi_msg *
fake_frames(uint32_t count, const char *const *bodies)
{
    uint64_t sizes[16] = { 0 };
    CHECK(count <= 16);
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = strlen(bodies[i]);
    }
    mmi_msg *m = mmi_msg_new(sizes, count);
    CHECK(m != NULL);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(mmi_msg_data(m, i), bodies[i], sizes[i]);
    }
    return m;
}

void
fake_is(mmi_msg *m, const char *joined)
{
    char text[1024] = "";
    size_t used = 0, sum = 0;
    CHECK(m != NULL);
    for (uint32_t i = 0; i < m->frame_count; i++) {
        sum += m->frames[i].size;
        CHECK(used + m->frames[i].size + 2 < sizeof(text));
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s", i == 0 ? "" : "|",
                                 (int)m->frames[i].size, (const char *)m->frames[i].data);
    }
    CHECK_INT(sum, m->size);
    if (strcmp(text, joined) != 0) {
        fprintf(stderr, "message is \"%s\", wanted \"%s\"\n", text, joined);
        exit(1);
    }
    mmi_msg_unref(m);
}

int
fake_send_msg(fake_sock *s, mmi_msg *m)
{
    const mmi_msg before = *m;
    int rc = s->ops->send(s->state, m);
    if (rc != MM_OK) {
        CHECK_INT(m->refs, before.refs);
        CHECK(m->frames == before.frames && m->frame_count == before.frame_count &&
              m->size == before.size && m->key == before.key && m->pipe_id == before.pipe_id &&
              m->envelope_count == before.envelope_count);
        mmi_msg_unref(m);
    }
    return rc;
}

int
fake_send(fake_sock *s, const char *body)
{
    return fake_send_msg(s, fake_text(body));
}

void
fake_recv_is(fake_sock *s, const char *joined)
{
    mmi_msg *m = NULL;
    CHECK((s->ops->ready(s->state) & MM_READABLE) != 0);
    CHECK_INT(s->ops->recv(s->state, &m), MM_OK);
    fake_is(m, joined);
}

int
fake_recv_rc(fake_sock *s)
{
    mmi_msg *m = NULL;
    int rc = s->ops->recv(s->state, &m);
    mmi_msg_unref(rc == MM_OK ? m : NULL);
    return rc;
}

uint64_t
fake_dropped(const fake_sock *s)
{
    const mm_stats *st = &s->stats;
    return st->dropped_overflow + st->dropped_no_peer + st->dropped_peer_gone + st->dropped_closed +
           st->dropped_late + st->dropped_filtered + st->dropped_malformed +
           st->dropped_unencodable + st->dropped_conflated + st->dropped_expired +
           st->dropped_attempts + st->dead_messages;
}

uint64_t
fake_queued(const fake_sock *s)
{
    uint64_t bytes, count = 0;
    for (uint32_t i = 0; i < s->pipe_count; i++) {
        count += s->pipes[i]->pipe.inbox.count + s->pipes[i]->pipe.outbox.count;
    }
    count += s->host.back != NULL ? mmi_back_count(s->host.back, &bytes) : 0;
    count += s->ops->unclaimed != NULL ? s->ops->unclaimed(s->state, &bytes) : 0;
    return count;
}
