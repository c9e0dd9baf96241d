/*
 * surveyor.c: SURVEYOR: a question to every peer there is, many surveys at once; each peer owes each
 * survey one answer, which the survey's id brings back.
 * Not here: the clock (tick is told the time), the form on the wire (survey.h).
 * Law: a debt is open (on the list of its pipe), answered (on the list of its survey) or neither; a
 * survey is on due exactly while reply would not say MM_EAGAIN; it is over when no debt is open.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/timer.h"
#include "proto/dist.h"
#include "proto/survey.h"

/* What one peer owes one survey. */
typedef struct survey_debt {
    mmi_list node;
    struct survey *survey;
    uint64_t pipe_id;
    mmi_pipe *pipe;            /* valid while open                       */
    bool open;
    mmi_msg *answer;           /* as received; NULL: not here, or taken  */
} survey_debt;

typedef struct survey {
    mmi_list node;             /* on due                                 */
    mmi_list answers;          /* oldest first                           */
    mmi_timer timer;
    uint64_t id;
    uint32_t open_count;
    uint32_t wanted;           /* answers after which it is over         */
    uint32_t asked_count;
    survey_debt debts[];       /* by pipe id                             */
} survey;

typedef struct surveyor_sock {
    mmi_proto_host *host;
    mmi_dist dist;
    uint32_t pipe_count;
    mmi_map surveys;           /* id -> survey                           */
    mmi_list due;              /* oldest first                           */
    mmi_timers timers;         /* of all surveys                         */
    uint64_t answer_bytes;     /* held, as a queue would charge          */
    uint32_t answer_count;
    uint32_t last_id;
} surveyor_sock;

typedef struct surveyor_pipe {
    mmi_dist_node dist;
    mmi_list debts;            /* open ones                              */
} surveyor_pipe;

static int
survey_compare(const void *a, const void *b)
{
    const survey_debt *one = a, *other = b;
    return (one->pipe_id > other->pipe_id) - (one->pipe_id < other->pipe_id);
}

static survey_debt *
survey_debt_of(survey *v, uint64_t pipe_id)
{
    const survey_debt wanted = {.pipe_id = pipe_id};
    return bsearch(&wanted, v->debts, v->asked_count, sizeof(wanted), survey_compare);
}

/* It may have become due, or be so no more. */
static void
survey_look(surveyor_sock *s, survey *v)
{
    bool due = v->open_count == 0 || !mmi_list_empty(&v->answers);
    if (!due) {
        mmi_list_rm(&v->node);
    } else if (!mmi_list_linked(&v->node)) {
        mmi_list_push_back(&s->due, &v->node);
    }
}

/* This debt will not be paid any more, or has just been. */
static void
survey_settle(survey_debt *debt)
{
    if (debt->open) {
        debt->open = false;
        debt->survey->open_count--;
        mmi_list_rm(&debt->node);
    }
}

static void
survey_end(surveyor_sock *s, survey *v)
{
    for (uint32_t i = 0; i < v->asked_count && v->open_count > 0; i++) {
        survey_settle(&v->debts[i]);
    }
    survey_look(s, v);
}

static void
survey_free(surveyor_sock *s, survey *v)
{
    survey_end(s, v);
    mmi_list_rm(&v->node);
    mmi_timer_clear(&s->timers, &v->timer);
    (void)mmi_map_rm(&s->surveys, v->id);
    mmi_free(v);
}

/* Its answer, which cost so much, leaves the survey. */
static void
survey_taken(surveyor_sock *s, survey_debt *debt, size_t cost)
{
    s->answer_count--;
    s->answer_bytes -= cost;
    debt->answer = NULL;
    mmi_list_rm(&debt->node);
}

static void
survey_drop_answers(surveyor_sock *s, survey *v, mmi_drop_why why)
{
    MMI_LIST_EACH(&v->answers, node, after) {
        survey_debt *debt = MMI_CONTAINER_OF(node, survey_debt, node);
        mmi_msg *answer = debt->answer;
        survey_taken(s, debt, mmi_msg_cost(answer));
        mmi_drop(s->host, why, debt->pipe_id, answer);
    }
}

/* Who is there owes an answer. */
static void
survey_ask_all(surveyor_sock *s, survey *v)
{
    MMI_LIST_EACH(&s->dist.nodes, node, after) {
        mmi_pipe *p = MMI_CONTAINER_OF(node, mmi_dist_node, node)->pipe;
        v->debts[v->asked_count++] =
            (survey_debt){.survey = v, .pipe_id = p->id, .pipe = p, .open = true};
    }
    qsort(v->debts, v->asked_count, sizeof(*v->debts), survey_compare);
    for (uint32_t i = 0; i < v->asked_count; i++) {
        surveyor_pipe *sp = v->debts[i].pipe->state;
        mmi_list_push_back(&sp->debts, &v->debts[i].node);
    }
    v->open_count = v->wanted = v->asked_count;
}

static uint32_t
survey_next_id(surveyor_sock *s)
{
    do {
        s->last_id = (s->last_id + 1) | (uint32_t)MMI_SURVEY_ID_MARK << 24;
    } while (mmi_map_find(&s->surveys, s->last_id) != NULL);
    return s->last_id;
}

/* Enters a survey in the table, owed by everybody; NULL: no memory. */
static survey *
survey_new(surveyor_sock *s)
{
    survey *v = mmi_alloc(sizeof(*v) + (size_t)s->pipe_count * sizeof(*v->debts));
    if (v == NULL) {
        return NULL;
    }
    mmi_list_init(&v->node);
    mmi_list_init(&v->answers);
    v->id = survey_next_id(s);
    /* Its place among the timers is taken now, so that bound cannot fail. */
    if (mmi_timer_set(&s->timers, &v->timer, UINT64_MAX) != MM_OK ||
        mmi_map_put(&s->surveys, v->id, v) != MM_OK) {
        mmi_timer_clear(&s->timers, &v->timer);
        mmi_free(v);
        return NULL;
    }
    survey_ask_all(s, v);
    return v;
}

/* The question did not reach that peer, or was pushed out of its queue by a later one. */
static void
surveyor_dropped(mmi_dist *dist, mmi_pipe *p, uint64_t key)
{
    surveyor_sock *s = MMI_CONTAINER_OF(dist, surveyor_sock, dist);
    survey *v = mmi_map_find(&s->surveys, key);
    survey_debt *debt = v == NULL ? NULL : survey_debt_of(v, p->id);
    if (debt != NULL) {
        survey_settle(debt);
        survey_look(s, v);
    }
}

static int
surveyor_init(void *ps, mmi_proto_host *host)
{
    surveyor_sock *s = ps;
    s->host = host;
    s->last_id = host->random(host);
    mmi_dist_init(&s->dist, host);
    s->dist.dropped = surveyor_dropped;
    mmi_list_init(&s->due);
    return MM_OK;
}

static void
surveyor_fini(void *ps)
{
    surveyor_sock *s = ps;
    mmi_timers_fini(&s->timers);
    for (uint32_t i = 0; i < s->surveys.cap; i++) {
        survey *v = s->surveys.slots[i].value;
        if (v != NULL) {
            survey_drop_answers(s, v, MMI_DROP_CLOSED);
            mmi_free(v);
        }
    }
    mmi_map_fini(&s->surveys);
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

static void
surveyor_answered(surveyor_sock *s, survey_debt *debt, mmi_msg *m)
{
    survey *v = debt->survey;
    survey_settle(debt);
    debt->answer = m;
    s->answer_count++;
    s->answer_bytes += mmi_msg_cost(m);
    mmi_list_push_back(&v->answers, &debt->node);
    if (--v->wanted == 0) {
        survey_end(s, v);
    }
    survey_look(s, v);
}

static uint32_t
surveyor_id_get(const mmi_frame *frame)
{
    return (uint32_t)frame->data[0] << 24 | (uint32_t)frame->data[1] << 16 |
           (uint32_t)frame->data[2] << 8 | frame->data[3];
}

static void
surveyor_received(surveyor_sock *s, mmi_pipe *p, mmi_msg *m)
{
    mmi_drop_why why = MMI_DROP_MALFORMED;
    if (m->frame_count > MMI_SURVEY_ENVELOPE_FRAMES && m->frames[0].size == MMI_SURVEY_ID_SIZE &&
        m->frames[1].size == 0) {
        survey *v = mmi_map_find(&s->surveys, surveyor_id_get(&m->frames[0]));
        survey_debt *debt = v == NULL ? NULL : survey_debt_of(v, p->id);
        if (debt != NULL && debt->open) {
            surveyor_answered(s, debt, m);
            return;
        }
        /* Of a survey that is over, or an answer too many; but not of one it was not asked. */
        why = v == NULL || debt != NULL ? MMI_DROP_LATE : MMI_DROP_MALFORMED;
    }
    p->dropped++;
    mmi_drop(s->host, why, p->id, m);
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
surveyor_rm(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    surveyor_in(s, p);
    MMI_LIST_EACH(&sp->debts, node, after) {
        survey_debt *debt = MMI_CONTAINER_OF(node, survey_debt, node);
        survey_settle(debt);
        survey_look(s, debt->survey);
    }
    mmi_dist_rm(&s->dist, &sp->dist);
    s->pipe_count--;
}

static void
surveyor_out(void *ps, mmi_pipe *p)
{
    surveyor_sock *s = ps;
    surveyor_pipe *sp = p->state;
    mmi_dist_out(&s->dist, &sp->dist);
}

static int
surveyor_send(void *ps, mmi_msg *m)
{
    surveyor_sock *s = ps;
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    if (s->surveys.count >= MMI_SURVEYS_MAX) {
        return MM_EAGAIN;
    }
    survey *v = survey_new(s);
    if (v == NULL) {
        return MM_ENOMEM;
    }
    const uint8_t head[MMI_SURVEY_ID_SIZE] = {(uint8_t)(v->id >> 24), (uint8_t)(v->id >> 16),
                                              (uint8_t)(v->id >> 8), (uint8_t)v->id};
    const uint64_t sizes[MMI_SURVEY_ENVELOPE_FRAMES] = {MMI_SURVEY_ID_SIZE, 0};
    const uint64_t old_key = m->key;
    m->key = v->id;
    mmi_msg *wrapped = mmi_msg_prepend_frames(m, head, sizes, MMI_SURVEY_ENVELOPE_FRAMES);
    int rc = wrapped == NULL ? MM_ENOMEM : mmi_dist_send_all(&s->dist, wrapped);
    if (rc != MM_OK) {
        if (wrapped != NULL) {
            (void)mmi_msg_unwrap(wrapped);
        }
        m->key = old_key;
        survey_free(s, v);
        return rc;
    }
    survey_look(s, v);
    return MM_OK;
}

static uint32_t
surveyor_ready(const void *ps)
{
    const surveyor_sock *s = ps;
    bool writable = s->surveys.count < MMI_SURVEYS_MAX && mmi_dist_ready(&s->dist);
    return (writable ? MM_WRITABLE : 0) | (mmi_list_empty(&s->due) ? 0 : MM_READABLE);
}

static void
surveyor_bound(void *ps, uint64_t key, uint64_t deadline_ns, uint32_t answers)
{
    surveyor_sock *s = ps;
    survey *v = mmi_map_find(&s->surveys, key);
    if (v == NULL) {
        return;
    }
    int rc = mmi_timer_set(&s->timers, &v->timer, deadline_ns);
    MMI_ASSERT(rc == MM_OK);   /* it was set before */
    if (answers > 0 && answers < v->wanted) {
        v->wanted = answers;
    }
}

static uint64_t
surveyor_tick(void *ps, uint64_t now_ns)
{
    surveyor_sock *s = ps;
    mmi_timer *timer;
    while ((timer = mmi_timers_pop_due(&s->timers, now_ns)) != NULL) {
        survey_end(s, MMI_CONTAINER_OF(timer, survey, timer));
    }
    return mmi_timers_next(&s->timers);
}

static uint32_t
surveyor_asked(const void *ps, uint64_t key, uint64_t *pipe_ids, uint32_t cap)
{
    const surveyor_sock *s = ps;
    const survey *v = mmi_map_find(&s->surveys, key);
    for (uint32_t i = 0; v != NULL && i < v->asked_count && i < cap; i++) {
        pipe_ids[i] = v->debts[i].pipe_id;
    }
    return v == NULL ? 0 : v->asked_count;
}

static int
surveyor_reply(void *ps, uint64_t key, mmi_msg **m)
{
    surveyor_sock *s = ps;
    *m = NULL;
    survey *v = mmi_map_find(&s->surveys, key);
    if (v == NULL) {
        return MM_EINVAL;
    }
    if (mmi_list_empty(&v->answers)) {
        return v->open_count > 0 ? MM_EAGAIN : MM_ESTATE;
    }
    survey_debt *debt = MMI_CONTAINER_OF(v->answers.next, survey_debt, node);
    const size_t cost = mmi_msg_cost(debt->answer);
    mmi_msg *stripped = mmi_msg_strip(debt->answer, MMI_SURVEY_ENVELOPE_FRAMES);
    if (stripped == NULL) {
        return MM_ENOMEM;
    }
    /* The answer is now stripped, or owned by what is. */
    survey_taken(s, debt, cost);
    survey_look(s, v);
    stripped->key = key;
    *m = stripped;
    return MM_OK;
}

static bool
surveyor_replied(const void *ps, uint64_t key)
{
    const surveyor_sock *s = ps;
    const survey *v = mmi_map_find(&s->surveys, key);
    return v == NULL || mmi_list_linked(&v->node);
}

static void
surveyor_forget(void *ps, uint64_t key)
{
    surveyor_sock *s = ps;
    survey *v = mmi_map_find(&s->surveys, key);
    if (v != NULL) {
        survey_drop_answers(s, v, MMI_DROP_LATE);
        survey_free(s, v);
    }
}

static uint32_t
surveyor_replies(void *ps, uint64_t *keys, uint32_t cap)
{
    surveyor_sock *s = ps;
    uint32_t count = 0;
    MMI_LIST_EACH(&s->due, node, after) {
        if (count == cap) {
            break;
        }
        keys[count++] = MMI_CONTAINER_OF(node, survey, node)->id;
    }
    return count;
}

static uint32_t
surveyor_held(const void *ps, uint64_t *bytes)
{
    const surveyor_sock *s = ps;
    *bytes = s->answer_bytes;
    return s->answer_count;
}

const mmi_proto_ops mmi_surveyor_ops = {
    .role = MM_SURVEYOR,
    .sock_size = sizeof(surveyor_sock),
    .pipe_size = sizeof(surveyor_pipe),
    .init = surveyor_init,
    .fini = surveyor_fini,
    .add = surveyor_add,
    .rm = surveyor_rm,
    .in = surveyor_in,
    .out = surveyor_out,
    .send = surveyor_send,
    .ready = surveyor_ready,
    .reply = surveyor_reply,
    .replied = surveyor_replied,
    .forget = surveyor_forget,
    .replies = surveyor_replies,
    .bound = surveyor_bound,
    .asked = surveyor_asked,
    .tick = surveyor_tick,
    .held = surveyor_held,
};
