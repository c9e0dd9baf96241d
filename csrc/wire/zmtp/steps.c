/*
 * wire/zmtp/steps.c: the steps of a mechanism, from the accepted greeting to a known peer.
 *
 * Not here: the greeting (wire/zmtp/hello.c), properties (wire/zmtp/ready.c), who makes the steps
 * (link/handshake.c).
 * Law: the engine's lock is not held, so nothing of a socket is looked at but what outlives it; the
 * properties are right before anybody is asked, or before it is done where they come later; only
 * MM_ALLOW goes on, whatever the mechanism says.
 */
#include <stdio.h>

#include "wire/zmtp/hello.h"

static const mmi_refusal steps_unsaid = { .reason = MM_REASON_CRYPTO, .detail = "" };

static int
steps_no_memory(mmi_hello *h)
{
    mmi_refuse(h, MM_REASON_MEMORY, "out of memory");
    return MM_ENOMEM;
}

static int
steps_begin(mmi_hello *h)
{
    const mmi_mechanism *m = h->config.mechanism;
    h->shield.self = m->begin(h->config.mechanism_config, h->config.dials, h->in, h->in_size,
                              h->config.frame_max);
    h->in_size = 0;
    if (h->shield.self == NULL) {
        return steps_no_memory(h);
    }
    h->shield.mechanism = m;
    return MM_OK;
}

/* The peer's, once: as soon as they are there. */
static int
steps_properties(mmi_hello *h, int step)
{
    size_t size;
    const uint8_t *data = h->shield.mechanism->metadata(h->shield.self, &size);
    bool later = data == NULL && step == MMI_STEP_ASK;
    return later || h->peer.role != 0 ? MM_OK : mmi_ready_parse(h, data, size);
}

void
mmi_hello_applicant(const mmi_hello *h, mmi_applicant *out)
{
    const mmi_mechanism *m = h->shield.mechanism;
    const mmi_shield *outer = h->config.outer;
    *out = (mmi_applicant){ .mechanism = NULL };
    if (outer != NULL && outer->mechanism->applicant != NULL) {
        outer->mechanism->applicant(outer->self, out);
    }
    m->applicant(h->shield.self, out);
    out->mechanism = h->config.mechanisms;
    out->properties.data = m->metadata(h->shield.self, &out->properties.size);
}

/* What the mechanism says, in ours. */
static int
steps_came_to(mmi_hello *h, int rc, const mmi_refusal *why)
{
    if (rc == MM_ENOMEM) {
        return steps_no_memory(h);
    }
    if (rc < 0) {
        return mmi_refuse(h, why->reason, "%s: %s", h->shield.mechanism->name, why->detail);
    }
    if (rc != MMI_STEP_DONE && h->total > MMI_HANDSHAKE_SIZE_MAX) {
        return mmi_refuse(h, MM_REASON_METADATA, "over %d octets of a handshake",
                          MMI_HANDSHAKE_SIZE_MAX);
    }
    if (rc == MMI_STEP_MORE) {
        return rc;
    }
    if (rc == MMI_STEP_ASK && h->asked) {
        return mmi_refuse(h, MM_REASON_MECHANISM, "%s: it asks twice", h->shield.mechanism->name);
    }
    int parsed = steps_properties(h, rc);
    if (parsed != MM_OK) {
        /* It would take READY as a welcome; but one that tells of our role, for what it is. */
        h->mute = h->reason != MM_REASON_SOCKET_TYPE;
        return parsed;
    }
    h->state = rc == MMI_STEP_DONE ? MMI_HELLO_DONE : MMI_HELLO_ASKING;
    return rc;
}

/* The lists may know it. */
static int
steps_ask(mmi_hello *h)
{
    mmi_answer answer = { .kind = MM_LATER, .reason = MM_REASON_NOT_ALLOWED };
    mmi_applicant who;
    h->asked = true;
    mmi_hello_applicant(h, &who);
    if (h->config.allow == NULL || !h->config.allow(h->config.allow_config, &who, &answer)) {
        return MMI_STEP_ASK;
    }
    return mmi_hello_answer(h, &answer);
}

int
mmi_hello_step(mmi_hello *h, const uint8_t *buf, size_t size, size_t *used)
{
    mmi_refusal why = steps_unsaid;
    int rc = h->shield.mechanism == NULL ? steps_begin(h) : MM_OK;
    if (rc != MM_OK) {
        return rc;
    }
    rc = h->shield.mechanism->feed(h->shield.self, buf, size, used, &why);
    h->total += (uint32_t)*used;
    rc = steps_came_to(h, rc, &why);
    return rc == MMI_STEP_ASK ? steps_ask(h) : rc;
}

int
mmi_hello_answer(mmi_hello *h, const mmi_answer *answer)
{
    mmi_refusal why = steps_unsaid;
    h->state = MMI_HELLO_MECHANISM;
    int rc = h->shield.mechanism->answer(h->shield.self, answer, &why);
    if (answer->kind != MM_ALLOW) {
        bool later = answer->kind != MM_DENY && answer->reason == MM_REASON_NOT_ALLOWED;
        return mmi_refuse(h, answer->reason, "%s%s", later ? "later: " : "", answer->why);
    }
    snprintf(h->user_id, sizeof h->user_id, "%s", answer->user_id);
    return steps_came_to(h, rc, &why);
}
