/*
 * survey.h: surveys under way: what each peer asked owes each of them, the answers that came, and
 * when a survey is over.  Also how a survey looks on the wire, for both sides of it.
 * Not here: pipes' queues and fan-out (surveyor.c); the clock: whoever calls tells the time.
 * Law: a debt is open (on the list of its pipe), answered or refused (on a list of its survey) or
 * none of these; a survey is over when no debt is open; it is on news from when it has something new to say until
 * that was told, or is so no more.
 */
#ifndef MMI_SURVEY_H
#define MMI_SURVEY_H

#include "base/map.h"
#include "base/timer.h"
#include "queue/drop.h"
#include "role/role.h"

/* On the wire: the id, 4 octets big-endian with the highest bit set; an empty frame; the user's. */
enum {
    MMI_SURVEY_ID_SIZE = 4,          /* octets                      */
    MMI_SURVEY_ID_MARK = 0x80,       /* in the first octet of an id */
    MMI_SURVEY_ENVELOPE_FRAMES = 2   /* the id and the delimiter    */
};

/* What one peer owes one survey. */
typedef struct mmi_debt {
    mmi_list node;
    struct mmi_survey *survey;
    uint64_t pipe_id;
    bool open;
    mmi_msg *answer;           /* or refusal, as received; NULL: not here, or taken */
} mmi_debt;

typedef struct mmi_survey {
    mmi_list node;             /* on news                               */
    mmi_list answers;          /* debts, oldest first                   */
    mmi_list refusals;         /* the same                              */
    mmi_timer timer;
    uint64_t id;
    uint32_t open_count;
    uint32_t wanted;           /* answers after which it is over        */
    uint32_t asked_count;
    mmi_debt debts[];          /* by pipe id                            */
} mmi_survey;

typedef struct mmi_surveys {
    mmi_proto_host *host;
    mmi_map by_id;
    mmi_list news;             /* surveys, oldest news first            */
    mmi_timers timers;
    uint64_t answer_bytes;     /* held, as a queue would charge         */
    uint32_t answer_count;
    uint32_t last_id;
} mmi_surveys;

void mmi_surveys_init(mmi_surveys *all, mmi_proto_host *host);
void mmi_surveys_fini(mmi_surveys *all);   /* no debt is open; answers count as dropped_closed */
/* A new one, with room for so many debts, its place among the timers taken.  NULL: no memory. */
mmi_survey *mmi_survey_new(mmi_surveys *all, uint32_t debts) MMI_WARN_UNUSED;
/* Ends it and forgets it; answers that nobody took count as late. */
void mmi_survey_free(mmi_surveys *all, mmi_survey *v);
mmi_survey *mmi_survey_find(const mmi_surveys *all, uint64_t id);   /* NULL: there is none */
mmi_debt *mmi_survey_debt(mmi_survey *v, uint64_t pipe_id);         /* NULL: it was not asked */

/* Adds debts, one by one, then sorts them; only then are they put on the lists of their pipes. */
void mmi_survey_ask(mmi_survey *v, uint64_t pipe_id);
void mmi_survey_asked(mmi_survey *v);

void mmi_debt_settle(mmi_surveys *all, mmi_debt *debt);   /* it will not be paid any more */
void mmi_debt_pay(mmi_surveys *all, mmi_debt *debt, mmi_msg *answer);   /* takes answer */
void mmi_debt_refuse(mmi_surveys *all, mmi_debt *debt, mmi_msg *refusal);   /* takes refusal */
void mmi_survey_end(mmi_surveys *all, mmi_survey *v);     /* settles all that is open */
void mmi_survey_news(mmi_surveys *all, mmi_survey *v);    /* something may have become of it */
bool mmi_survey_over(const mmi_survey *v);
bool mmi_survey_speaks(const mmi_survey *v);              /* an answer is there, or it is over */
/* The oldest answer, without its envelope.  MM_EAGAIN; MM_ESTATE: no more will come; MM_ENOMEM. */
int mmi_survey_take(mmi_surveys *all, mmi_survey *v, mmi_msg **m) MMI_WARN_UNUSED;
/* The reason of the oldest refusal, likewise.  MM_EAGAIN: there is none; MM_ENOMEM. */
int mmi_survey_refusal(mmi_surveys *all, mmi_survey *v, mmi_msg **m) MMI_WARN_UNUSED;

#endif
