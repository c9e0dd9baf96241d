/*
 * surveyor.c: SURVEYOR: a question to every peer there is, many surveys at once; each peer owes
 * each survey one answer, which the survey's id brings back.
 * Not here: what becomes of a survey (survey.c), fan-out (dist.c), waiting.
 * Law: who did not get the question, or went away, owes nothing any more.
 */
#include "base/limits.h"
#include "base/octets.h"
#include "queue/dist.h"
#include "role/refusal.h"
#include "role/role.h"
#include "role/survey.h"

typedef struct surveyor_sock {
    mmi_proto_host *host;
    mmi_dist dist;
    mmi_surveys surveys;
    uint32_t pipe_count;
} surveyor_sock;

typedef struct surveyor_pipe {
    mmi_dist_node dist;
    mmi_list debts;            /* open ones */
} surveyor_pipe;

/* The question did not reach that peer, or was pushed out of its queue by a later one. */
static void
surveyor_dropped(mmi_dist *dist, mmi_pipe *p, uint64_t key)
{
    surveyor_sock *s = MMI_CONTAINER_OF(dist, surveyor_sock, dist);
    mmi_survey *v = mmi_survey_find(&s->surveys, key);
    mmi_debt *debt = v == NULL ? NULL : mmi_survey_debt(v, p->id);
    if (debt != NULL) {
        mmi_debt_settle(&s->surveys, debt);
    }
}

static int
surveyor_init(void *ps, mmi_proto_host *host)
{
    surveyor_sock *s = ps;
    s->host = host;
    mmi_dist_init(&s->dist, host);
    s->dist.dropped = surveyor_dropped;
    mmi_surveys_init(&s->surveys, host);
    return MM_OK;
}

static void
surveyor_fini(void *ps)
{
    surveyor_sock *s = ps;
    mmi_surveys_fini(&s->surveys);
    mmi_dist_fini(&s->dist);
}

static int
surveyor_add(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    mmi_list_init(&sp->debts);
    mmi_dist_add(&s->dist, &sp->dist, p);
    s->pipe_count++;
    return MM_OK;
}

/* What the pipe owes a survey: mostly that is the first it owes at all.  NULL: nothing, *asked: it
 * was asked, or the survey is over. */
static mmi_debt *
surveyor_debt(surveyor_sock *s, const mmi_pipe *p, uint32_t id, bool *asked)
{
    const surveyor_pipe *sp = p->state;
    mmi_debt *first = MMI_CONTAINER_OF(sp->debts.next, mmi_debt, node);
    if (!mmi_list_empty(&sp->debts) && first->survey->id == id) {
        return first;
    }
    mmi_survey *v = mmi_survey_find(&s->surveys, id);
    mmi_debt *debt = v == NULL ? NULL : mmi_survey_debt(v, p->id);
    *asked = v == NULL || debt != NULL;
    return debt != NULL && debt->open ? debt : NULL;
}

static void
surveyor_received(surveyor_sock *s, mmi_pipe *p, mmi_msg *m)
{
    mmi_drop_why why = MMI_DROP_MALFORMED;
    if (m->frame_count > MMI_SURVEY_ENVELOPE_FRAMES && m->frames[0].size == MMI_SURVEY_ID_SIZE &&
        (m->frames[1].size == 0 || mmi_refusal_is(m))) {
        bool asked;
        mmi_debt *debt = surveyor_debt(s, p, mmi_be32_get(m->frames[0].data), &asked);
        if (debt != NULL) {
            p->answered++;
            (m->frames[1].size == 0 ? mmi_debt_pay : mmi_debt_refuse)(&s->surveys, debt, m);
            return;
        }
        /* Of a survey that is over, or an answer too many; but not to what it was not asked. */
        why = asked ? MMI_DROP_LATE : MMI_DROP_MALFORMED;
    }
    mmi_drop_of(s->host, why, p, m);
}

static void
surveyor_in(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    mmi_msg *m;
    while ((m = mmi_pipe_recv(p)) != NULL) {
        surveyor_received(s, p, m);
    }
}

static void
surveyor_stop(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    mmi_dist_rm(&s->dist, &sp->dist);
    s->pipe_count--;
}

static void
surveyor_rm(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    surveyor_in(s, p);
    MMI_LIST_EACH (&sp->debts, node, after) {
        mmi_debt_settle(&s->surveys, MMI_CONTAINER_OF(node, mmi_debt, node));
    }
    if (!p->stopped) {
        surveyor_stop(s, p);
    }
}

static void
surveyor_out(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    mmi_dist_out(&s->dist, &sp->dist);
}

/* A survey that everybody owes an answer; NULL: no memory. */
static mmi_survey *
surveyor_ask_all(surveyor_sock *s)
{
    mmi_survey *v = mmi_survey_new(&s->surveys, s->pipe_count);
    if (v == NULL) {
        return NULL;
    }
    MMI_LIST_EACH (&s->dist.nodes, node, after) {
        mmi_survey_ask(v, MMI_CONTAINER_OF(node, mmi_dist_node, node)->pipe->id);
    }
    mmi_survey_asked(v);
    MMI_LIST_EACH (&s->dist.nodes, node, after) {
        const mmi_pipe *p = MMI_CONTAINER_OF(node, mmi_dist_node, node)->pipe;
        surveyor_pipe *sp = p->state;
        mmi_list_push_back(&sp->debts, &mmi_survey_debt(v, p->id)->node);
    }
    return v;
}

/* Can anybody have it?  MM_OK, also when nobody is there; MM_EMSGSIZE, MM_ENOTSUP. */
static int
surveyor_words(const surveyor_sock *s, const mmi_msg *m)
{
    int rc = MM_OK;
    MMI_LIST_EACH (&s->dist.nodes, node, after) {
        int one = mmi_pipe_check(MMI_CONTAINER_OF(node, mmi_dist_node, node)->pipe, m);
        if (one == MM_OK) {
            return MM_OK;
        }
        rc = rc == MM_EMSGSIZE ? rc : one;
    }
    return rc;
}

static int
surveyor_send(void *ps, mmi_msg *m)
{
    surveyor_sock *s = ps;
    const mm_socket_opts *o = s->host->opts;
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    if (m->size + MMI_SURVEY_ID_SIZE > o->message_size_max ||
        m->frame_count + MMI_SURVEY_ENVELOPE_FRAMES > o->frames_max) {
        return MM_EMSGSIZE;   /* the peers would end their connections over it */
    }
    if (s->surveys.by_id.count >= MMI_SURVEYS_MAX) {
        return MM_EAGAIN;
    }
    mmi_survey *v = surveyor_ask_all(s);
    if (v == NULL) {
        return MM_ENOMEM;
    }
    uint8_t head[MMI_SURVEY_ID_SIZE];
    _Static_assert(sizeof head == sizeof(uint32_t), "what is put there");
    mmi_be32_put(head, (uint32_t)v->id);
    const uint64_t sizes[MMI_SURVEY_ENVELOPE_FRAMES] = { MMI_SURVEY_ID_SIZE, 0 };
    const uint64_t old_key = m->key;
    m->key = v->id;
    mmi_msg *wrapped = mmi_msg_prepend_frames(m, head, sizes, MMI_SURVEY_ENVELOPE_FRAMES);
    int rc = wrapped == NULL ? MM_ENOMEM : surveyor_words(s, wrapped);
    rc = rc == MM_OK ? mmi_dist_send_all(&s->dist, wrapped) : rc;
    if (rc != MM_OK) {
        if (wrapped != NULL) {
            (void)mmi_msg_unwrap(wrapped);
        }
        m->key = old_key;
        mmi_survey_free(&s->surveys, v);
        return rc;
    }
    mmi_survey_news(&s->surveys, v);   /* with nobody there it is over */
    return MM_OK;
}

static uint32_t
surveyor_ready(const void *ps)
{
    const surveyor_sock *s = ps;
    bool writable = s->surveys.by_id.count < MMI_SURVEYS_MAX && mmi_dist_ready_all(&s->dist);
    return (writable ? MM_WRITABLE : 0) | (mmi_list_empty(&s->surveys.news) ? 0 : MM_READABLE);
}

static void
surveyor_bound(void *ps, uint64_t key, uint64_t deadline_ns, uint32_t answers)
{
    surveyor_sock *s = ps;
    mmi_survey *v = mmi_survey_find(&s->surveys, key);
    if (v == NULL || mmi_survey_over(v)) {
        return;
    }
    int rc = mmi_timer_set(&s->surveys.timers, &v->timer, deadline_ns);
    MMI_ASSERT(rc == MM_OK);   /* it is among them until the survey is over */
    if (answers > 0 && answers < v->wanted) {
        v->wanted = answers;
    }
}

static uint64_t
surveyor_tick(void *ps, uint64_t now_ns)
{
    surveyor_sock *s = ps;
    mmi_timer *timer;
    while ((timer = mmi_timers_pop_due(&s->surveys.timers, now_ns)) != NULL) {
        mmi_survey_end(&s->surveys, MMI_CONTAINER_OF(timer, mmi_survey, timer));
    }
    return mmi_timers_next(&s->surveys.timers);
}

static uint32_t
surveyor_asked(const void *ps, uint64_t key, uint64_t *pipe_ids, uint32_t cap)
{
    const surveyor_sock *s = ps;
    const mmi_survey *v = mmi_survey_find(&s->surveys, key);
    for (uint32_t i = 0; v != NULL && i < v->asked_count && i < cap; i++) {
        pipe_ids[i] = v->debts[i].pipe_id;
    }
    return v == NULL ? 0 : v->asked_count;
}

static int
surveyor_reply(void *ps, uint64_t key, mmi_msg **m)
{
    surveyor_sock *s = ps;
    mmi_survey *v = mmi_survey_find(&s->surveys, key);
    *m = NULL;
    return v == NULL ? MM_EINVAL : mmi_survey_take(&s->surveys, v, m);
}

static int
surveyor_refusal(void *ps, uint64_t key, mmi_msg **m)
{
    surveyor_sock *s = ps;
    mmi_survey *v = mmi_survey_find(&s->surveys, key);
    *m = NULL;
    return v == NULL ? MM_EINVAL : mmi_survey_refusal(&s->surveys, v, m);
}

static bool
surveyor_owes(const void *ps, const mmi_pipe *p)
{
    (void)ps;
    const surveyor_pipe *sp = p->state;
    return !mmi_list_empty(&sp->debts);
}

static bool
surveyor_replied(const void *ps, uint64_t key)
{
    const surveyor_sock *s = ps;
    const mmi_survey *v = mmi_survey_find(&s->surveys, key);
    return v == NULL || mmi_survey_speaks(v);
}

static void
surveyor_forget(void *ps, uint64_t key)
{
    surveyor_sock *s = ps;
    mmi_survey *v = mmi_survey_find(&s->surveys, key);
    if (v != NULL) {
        mmi_survey_free(&s->surveys, v);
    }
}

static uint32_t
surveyor_replies(void *ps, uint64_t *keys, uint32_t cap)
{
    surveyor_sock *s = ps;
    uint32_t count = 0;
    while (count < cap && !mmi_list_empty(&s->surveys.news)) {
        mmi_list *node = mmi_list_pop_front(&s->surveys.news);
        keys[count++] = MMI_CONTAINER_OF(node, mmi_survey, node)->id;
    }
    return count;
}

static uint32_t
surveyor_unclaimed(const void *ps, uint64_t *bytes)
{
    const surveyor_sock *s = ps;
    *bytes = s->surveys.answer_bytes;
    return s->surveys.answer_count;
}

const mmi_proto_ops mmi_surveyor_ops = {
    .is = { .number = MM_SURVEYOR, .name = "SURVEYOR", .peers = MMI_ROLE_BIT(MM_RESPONDENT) },
    .overflow = MM_OVERFLOW_DROP_NEWEST,
    .asks = true,
    .sock_size = sizeof(surveyor_sock),
    .pipe_size = sizeof(surveyor_pipe),
    .init = surveyor_init,
    .fini = surveyor_fini,
    .add = surveyor_add,
    .rm = surveyor_rm,
    .stop = surveyor_stop,
    .in = surveyor_in,
    .out = surveyor_out,
    .send = surveyor_send,
    .ready = surveyor_ready,
    .reply = surveyor_reply,
    .refusal = surveyor_refusal,
    .replied = surveyor_replied,
    .owes = surveyor_owes,
    .forget = surveyor_forget,
    .replies = surveyor_replies,
    .bound = surveyor_bound,
    .asked = surveyor_asked,
    .tick = surveyor_tick,
    .unclaimed = surveyor_unclaimed,
};
