/*
 * survey.c: the table of surveys, their debts and answers.
 * Not here: who is asked, and what comes in (surveyor.c).
 * Law: as in survey.h.
 */
#include "role/survey.h"

#include <stdlib.h>

void
mmi_surveys_init(mmi_surveys *all, mmi_proto_host *host)
{
    all->host = host;
    all->last_id = host->random(host);
    mmi_list_init(&all->news);
}

/* Its answer, which cost so much, leaves the survey. */
static void
survey_taken(mmi_surveys *all, mmi_debt *debt, size_t cost)
{
    all->answer_count--;
    all->answer_bytes -= cost;
    debt->answer = NULL;
    mmi_list_rm(&debt->node);
}

static void
survey_drop_list(mmi_surveys *all, mmi_list *list, mmi_drop_why why)
{
    MMI_LIST_EACH (list, node, after) {
        mmi_debt *debt = MMI_CONTAINER_OF(node, mmi_debt, node);
        mmi_msg *answer = debt->answer;
        survey_taken(all, debt, mmi_msg_cost(answer));
        mmi_drop(all->host, why, debt->pipe_id, answer);
    }
}

static void
survey_drop_answers(mmi_surveys *all, mmi_survey *v, mmi_drop_why why)
{
    survey_drop_list(all, &v->answers, why);
    survey_drop_list(all, &v->refusals, why);
}

void
mmi_surveys_fini(mmi_surveys *all)
{
    mmi_timers_fini(&all->timers);
    for (uint32_t i = 0; i < all->by_id.cap; i++) {
        mmi_survey *v = all->by_id.slots[i].value;
        if (v != NULL) {
            survey_drop_answers(all, v, MMI_DROP_CLOSED);
            mmi_free(v);
        }
    }
    mmi_map_fini(&all->by_id);
}

/* The next id nobody has. */
static uint32_t
survey_next_id(mmi_surveys *all)
{
    do {
        all->last_id = (all->last_id + 1) | (uint32_t)MMI_SURVEY_ID_MARK << 24;
    } while (mmi_map_find(&all->by_id, all->last_id) != NULL);
    return all->last_id;
}

mmi_survey *
mmi_survey_new(mmi_surveys *all, uint32_t debts)
{
    mmi_survey *v = mmi_alloc(sizeof(*v) + (size_t)debts * sizeof(*v->debts));
    if (v == NULL) {
        return NULL;
    }
    mmi_list_init(&v->node);
    mmi_list_init(&v->answers);
    mmi_list_init(&v->refusals);
    v->id = survey_next_id(all);
    if (mmi_timer_set(&all->timers, &v->timer, UINT64_MAX) != MM_OK ||
        mmi_map_put(&all->by_id, v->id, v) != MM_OK) {
        mmi_timer_clear(&all->timers, &v->timer);
        mmi_free(v);
        return NULL;
    }
    return v;
}

void
mmi_survey_free(mmi_surveys *all, mmi_survey *v)
{
    survey_drop_answers(all, v, MMI_DROP_LATE);
    mmi_survey_end(all, v);
    mmi_list_rm(&v->node);
    mmi_timer_clear(&all->timers, &v->timer);
    (void)mmi_map_rm(&all->by_id, v->id);
    mmi_free(v);
}

mmi_survey *
mmi_survey_find(const mmi_surveys *all, uint64_t id)
{
    return mmi_map_find(&all->by_id, id);
}

static int
survey_compare(const void *a, const void *b)
{
    const mmi_debt *one = a, *other = b;
    return (one->pipe_id > other->pipe_id) - (one->pipe_id < other->pipe_id);
}

mmi_debt *
mmi_survey_debt(mmi_survey *v, uint64_t pipe_id)
{
    const mmi_debt wanted = { .pipe_id = pipe_id };
    return bsearch(&wanted, v->debts, v->asked_count, sizeof(wanted), survey_compare);
}

void
mmi_survey_ask(mmi_survey *v, uint64_t pipe_id)
{
    v->debts[v->asked_count++] = (mmi_debt){ .survey = v, .pipe_id = pipe_id, .open = true };
}

/* They mostly are, as peers that come one after the other get rising ids. */
static bool
survey_sorted(const mmi_survey *v)
{
    for (uint32_t i = 1; i < v->asked_count; i++) {
        if (v->debts[i - 1].pipe_id > v->debts[i].pipe_id) {
            return false;
        }
    }
    return true;
}

void
mmi_survey_asked(mmi_survey *v)
{
    if (!survey_sorted(v)) {
        qsort(v->debts, v->asked_count, sizeof(*v->debts), survey_compare);
    }
    v->open_count = v->wanted = v->asked_count;
}

bool
mmi_survey_over(const mmi_survey *v)
{
    return v->open_count == 0;
}

bool
mmi_survey_speaks(const mmi_survey *v)
{
    return mmi_survey_over(v) || !mmi_list_empty(&v->answers);
}

void
mmi_survey_news(mmi_surveys *all, mmi_survey *v)
{
    if (mmi_survey_speaks(v) && !mmi_list_linked(&v->node)) {
        mmi_list_push_back(&all->news, &v->node);
    }
}

void
mmi_debt_settle(mmi_surveys *all, mmi_debt *debt)
{
    if (debt->open) {
        debt->open = false;
        debt->survey->open_count--;
        mmi_list_rm(&debt->node);
        mmi_survey_news(all, debt->survey);
    }
}

/* What came for it is kept on that list of the survey. */
static void
debt_hold(mmi_surveys *all, mmi_debt *debt, mmi_msg *m, mmi_list *list)
{
    mmi_debt_settle(all, debt);
    debt->answer = m;
    all->answer_count++;
    all->answer_bytes += mmi_msg_cost(m);
    mmi_list_push_back(list, &debt->node);
}

void
mmi_debt_refuse(mmi_surveys *all, mmi_debt *debt, mmi_msg *refusal)
{
    debt_hold(all, debt, refusal, &debt->survey->refusals);
}

void
mmi_debt_pay(mmi_surveys *all, mmi_debt *debt, mmi_msg *answer)
{
    mmi_survey *v = debt->survey;
    debt_hold(all, debt, answer, &v->answers);
    if (--v->wanted == 0) {
        mmi_survey_end(all, v);
    }
    mmi_survey_news(all, v);
}

void
mmi_survey_end(mmi_surveys *all, mmi_survey *v)
{
    for (uint32_t i = 0; i < v->asked_count && !mmi_survey_over(v); i++) {
        mmi_debt_settle(all, &v->debts[i]);
    }
}

/* The first of a list that is not empty, without its envelope.  MM_OK; MM_ENOMEM. */
static int
survey_take(mmi_surveys *all, mmi_survey *v, const mmi_list *list, mmi_msg **m)
{
    mmi_debt *debt = MMI_CONTAINER_OF(list->next, mmi_debt, node);
    const size_t cost = mmi_msg_cost(debt->answer);
    mmi_msg *stripped = mmi_msg_strip(debt->answer, MMI_SURVEY_ENVELOPE_FRAMES);
    if (stripped == NULL) {
        return MM_ENOMEM;
    }
    survey_taken(all, debt, cost);   /* the answer is now stripped, or owned by what is */
    stripped->key = v->id;
    *m = stripped;
    return MM_OK;
}

int
mmi_survey_take(mmi_surveys *all, mmi_survey *v, mmi_msg **m)
{
    if (mmi_list_empty(&v->answers)) {
        return mmi_survey_over(v) ? MM_ESTATE : MM_EAGAIN;
    }
    int rc = survey_take(all, v, &v->answers, m);
    if (!mmi_survey_speaks(v)) {
        mmi_list_rm(&v->node);
    }
    return rc;
}

int
mmi_survey_refusal(mmi_surveys *all, mmi_survey *v, mmi_msg **m)
{
    return mmi_list_empty(&v->refusals) ? MM_EAGAIN : survey_take(all, v, &v->refusals, m);
}
