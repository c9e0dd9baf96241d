/*
 * link/ask.c: see link/ask.h.
 * Not here: what an answer does (link/handshake.c).
 * Law: nothing here drops the lock, or ends a link.
 */
#include "link/ask.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)MM_QUESTION_DATA_MAX >= (int)MMI_HANDSHAKE_SIZE_MAX, "what came fits");

int
mmi_ask_open(mmi_engine *e, int *fd)
{
    int notifier;
    if (e->questions_notifier >= 0) {
        return MM_ESTATE;
    }
    int rc = e->plat.notifier_open(e->plat.self, &notifier);
    if (rc == MM_OK) {
        e->questions_notifier = *fd = notifier;
        if (!mmi_list_empty(&e->questions.queue)) {
            e->plat.notifier_ring(e->plat.self, notifier);
        }
    }
    return rc;
}

void
mmi_ask_close(mmi_engine *e)
{
    if (e->questions_notifier >= 0) {
        e->plat.notifier_ring(e->plat.self, e->questions_notifier);   /* for copies of it */
        e->plat.notifier_close(e->plat.self, e->questions_notifier);
        e->questions_notifier = -1;
    }
}

void
mmi_ask_ring(mmi_engine *e)
{
    if (e->questions_notifier >= 0) {
        e->plat.notifier_ring(e->plat.self, e->questions_notifier);
    }
}

/* Whom others are not to wait for: an address, over ipc a user; who was connected to is alone. */
static uint64_t
ask_from(const mmi_link *link)
{
    int64_t uid = mmi_link_uid(link);
    if (uid >= 0) {
        return 1ull << 63 | (uint64_t)uid;
    }
    return link->half_open.from != NULL ? link->half_open.from->key : ~link->tag;
}

/* The first whose socket has not too many that are being answered; NULL: there is none. */
static struct mmi_link_ask *
ask_next(mmi_engine *e)
{
    MMI_LIST_EACH (&e->questions.queue, node, after) {
        struct mmi_link_ask *ask =
            MMI_CONTAINER_OF(mmi_fair_node_of(node), struct mmi_link_ask, place);
        if (ask->link->socket->asked < MMI_ASKED_MAX) {
            return ask;
        }
    }
    return NULL;
}

static void
ask_queue(mmi_engine *e, struct mmi_link_ask *ask)
{
    bool some = ask_next(e) != NULL;
    mmi_fair_enter(&e->questions, &ask->place, ask_from(ask->link));
    if (!some && ask->link->socket->asked < MMI_ASKED_MAX) {
        mmi_ask_ring(e);
    }
}

int
mmi_ask_begin(mmi_link *link, const uint8_t *ahead, size_t size)
{
    mmi_engine *e = link->engine;
    mmi_applicant who;
    mmi_handshake_applicant(link->handshake, &who);
    const size_t sizes[] = { who.key.size, who.user.size, who.password.size, who.certificate.size,
                             who.properties.size };
    size_t left = MM_QUESTION_DATA_MAX;
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        if (sizes[i] > left) {
            return MM_EMSGSIZE;
        }
        left -= sizes[i];
    }
    MMI_ASSERT(size <= MMI_ASK_AHEAD_MAX);
    struct mmi_link_ask *ask = mmi_alloc(sizeof *ask);
    if (ask == NULL) {
        return MM_ENOMEM;
    }
    mmi_list_init(&ask->place.node);
    ask->link = link;
    ask->until_ns = mmi_deadline(e->now_ns, link->socket->allow_timeout_ms);
    ask->ahead_size = size;
    if (size > 0) {
        memcpy(ask->ahead, ahead, size);
    }
    link->ask = ask;
    link->halted = size == MMI_ASK_AHEAD_MAX;
    ask_queue(e, ask);
    return mmi_timer_set(&e->timers, &link->timer, ask->until_ns);
}

static uint32_t
ask_put(uint8_t **data, mmi_octets from)
{
    if (from.size > 0) {
        memcpy(*data, from.data, from.size);
    }
    *data += from.size;
    return (uint32_t)from.size;
}

int
mmi_ask_take(mmi_engine *e, mm_question *out, uint8_t *data)
{
    struct mmi_link_ask *ask = ask_next(e);
    if (ask != NULL) {
        mmi_fair_serve(&e->questions, &ask->place);
        ask->taken = true;
        ask->link->socket->asked++;
    }
    if (e->questions_notifier >= 0 && ask_next(e) == NULL) {
        e->plat.notifier_clear(e->plat.self, e->questions_notifier);
    }
    if (ask == NULL) {
        return 0;
    }
    const mmi_link *link = ask->link;
    mmi_applicant who;
    mmi_handshake_applicant(link->handshake, &who);
    *out = (mm_question){ .id = link->tag, .socket = link->socket->handle, .peer = link->pipe.id };
    out->uid = mmi_link_uid(link);
    out->left_ns = ask->until_ns > e->now_ns ? ask->until_ns - e->now_ns : 0;
    out->key_size = ask_put(&data, who.key);
    out->user_size = ask_put(&data, who.user);
    out->password_size = ask_put(&data, who.password);
    out->certificate_size = ask_put(&data, who.certificate);
    out->properties_size = ask_put(&data, who.properties);
    snprintf(out->mechanism, sizeof out->mechanism, "%s", who.mechanism);
    snprintf(out->endpoint, sizeof out->endpoint, "%s", link->endpoint);
    snprintf(out->address, sizeof out->address, "%s", link->address);
    return 1;
}

/* It is asked no more: another one of its socket may be. */
static void
ask_over(struct mmi_link_ask *ask)
{
    mmi_list_rm(&ask->place.node);
    if (ask->taken) {
        ask->taken = false;
        bool full = ask->link->socket->asked-- == MMI_ASKED_MAX;
        if (full && ask_next(ask->link->engine) != NULL) {
            mmi_ask_ring(ask->link->engine);
        }
    }
}

/* The link is told by its timer: who polls has that at once. */
static int
ask_note(mmi_link *link)
{
    link->ask->answered = true;
    ask_over(link->ask);
    return mmi_timer_set(&link->engine->timers, &link->timer, link->engine->now_ns);
}

/* Whom an answer let in has its user id from then on, so that it can be revoked. */
static void
ask_admit(mmi_link *link, mmi_octets metadata)
{
    mmi_answer *answer = &link->ask->answer;
    mmi_admitted *admitted = mmi_alloc(sizeof *admitted + metadata.size);
    if (admitted == NULL) {
        *answer = (mmi_answer){ .kind = MM_LATER, .reason = MM_REASON_MEMORY };
        return;
    }
    memcpy(admitted->user_id, answer->user_id, sizeof admitted->user_id);
    admitted->metadata_size = metadata.size;
    if (metadata.size > 0) {
        memcpy(admitted->metadata, metadata.data, metadata.size);
    }
    mmi_free(link->admitted);   /* of an outer mechanism, which asked first */
    link->admitted = admitted;
}

static mmi_link *
ask_find(mmi_engine *e, uint64_t id)
{
    mmi_tag_kind kind;
    mmi_link *link = mmi_tag_find(e, id, &kind);
    bool waits = link != NULL && kind == MMI_TAG_LINK && link->ask != NULL && !link->ask->answered;
    return waits ? link : NULL;
}

bool
mmi_ask_waits(mmi_engine *e, uint64_t id)
{
    return ask_find(e, id) != NULL;
}

int
mmi_ask_answer(mmi_engine *e, uint64_t id, const mmi_answer *answer, mmi_octets metadata)
{
    mmi_link *link = ask_find(e, id);
    if (link == NULL) {
        return MM_ESTATE;
    }
    link->ask->answer = *answer;
    if (answer->kind == MM_ALLOW) {
        ask_admit(link, metadata);
    }
    return ask_note(link);
}

void
mmi_ask_late(mmi_link *link)
{
    mmi_answer *answer = &link->ask->answer;
    *answer = (mmi_answer){ .kind = MM_LATER, .reason = MM_REASON_ALLOW_TIMEOUT };
    snprintf(answer->why, sizeof answer->why, "nobody said within %u ms whether it may come in",
             link->socket->allow_timeout_ms);
    link->ask->answered = true;
    ask_over(link->ask);
}

void
mmi_ask_end(mmi_link *link)
{
    if (link->ask != NULL) {
        ask_over(link->ask);
    }
}
