/*
 * wire/handshake.c: from the first octet to the hello of its wire.
 * Not here: what a hello says (zmtp/hello.c, sp/hello.c).
 * Law: as in wire/handshake.h.
 */
#include "wire/handshake.h"

#include <stdio.h>
#include <string.h>

enum {
    HANDSHAKE_EXCERPT_MAX = 60,            /* octets of what a stranger said that are shown */
    TLS_RECORD_ALERT = 0x15,
    TLS_RECORD_HANDSHAKE = 0x16,
    TLS_RECORD_MAJOR = 3
};

int
mmi_handshake_fail(mmi_handshake *o, int reason, const char *detail)
{
    o->reason = reason;
    snprintf(o->detail, sizeof o->detail, "%.*s", MM_DETAIL_MAX, detail);
    return reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}

/* The wire is known: its hello begins. */
static int
handshake_begin(mmi_handshake *o, const mmi_wire *wire)
{
    int rc = wire->hello->begin(o);
    if (rc == MM_OK) {
        o->inner = wire;
    }
    return rc;
}

static int
handshake_begin_outer(mmi_handshake *o)
{
    const mmi_handshake_config *c = &o->config;
    const mmi_outer_config outer = { .mechanism = c->outer,
                                     .config = c->outer_config,
                                     .host = c->host,
                                     .who = c->who,
                                     .wire = c->wire != NULL ? c->wire->name : NULL,
                                     .frame_max = c->frame_max };
    o->outer = mmi_outer_new(&outer);
    if (o->outer == NULL) {
        return mmi_handshake_fail(o, MM_REASON_MEMORY, "out of memory");
    }
    o->wire = c->wire;
    return MM_OK;
}

int
mmi_handshake_init(mmi_handshake *o, const mmi_handshake_config *config)
{
    memset(o, 0, sizeof *o);
    o->config = *config;
    mmi_mechanism_names(config->outer, config->mechanism, o->mechanisms, sizeof o->mechanisms);
    if (config->outer != NULL) {
        return handshake_begin_outer(o);
    }
    int rc = config->wire == NULL ? MM_OK : handshake_begin(o, config->wire);
    mmi_handshake_stepped(o);
    return rc;
}

void
mmi_handshake_fini(mmi_handshake *o)
{
    if (o->inner != NULL) {
        o->inner->hello->fini(o);
    }
    mmi_outer_free(o->outer);
}

/* The first octets are of neither wire: they are shown, up to the end of a line. */
static int
handshake_stranger(mmi_handshake *o, int reason, const uint8_t *buf, size_t size)
{
    char detail[MM_DETAIL_MAX + 1], said[HANDSHAKE_EXCERPT_MAX + 1];
    size_t line = 0;
    while (line < size && buf[line] != '\r' && buf[line] != '\n') {
        line++;
    }
    mmi_text_excerpt(said, sizeof said, buf, line);
    if (buf[0] == MMI_HELLO_ZMTP1) {
        return mmi_handshake_fail(o, reason == MM_REASON_NOT_ZMTP ? MM_REASON_OLD_ZMTP : reason,
                                  MMI_HELLO_ZMTP1_TEXT);
    }
    bool tls = size > 1 && (buf[0] == TLS_RECORD_HANDSHAKE || buf[0] == TLS_RECORD_ALERT) &&
               buf[1] == TLS_RECORD_MAJOR;
    if (tls && o->outer == NULL) {
        return mmi_handshake_fail(o, MM_REASON_PLAINTEXT,
                                  "its first octets are of TLS: is tls+ left out here?");
    }
    if (buf[0] >= 0x20 && buf[0] < 0x7f) {
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: it said '%s'", said);
    } else {
        snprintf(detail, sizeof detail, "not ZeroMQ or NNG: its first octet is %02x%s", buf[0],
                 tls ? ", as of TLS" : "");
    }
    return mmi_handshake_fail(o, reason, detail);
}

static int
handshake_sniff(mmi_handshake *o, const uint8_t *buf, size_t size)
{
    const mmi_wire *wire = mmi_wire_sniff(buf[0]);
    return wire != NULL ? handshake_begin(o, wire)
                        : handshake_stranger(o, MM_REASON_NOT_ZMTP, buf, size);
}

/* A hello failed.  One that dialed with the wrong wire is told the right one. */
static int
handshake_failed(mmi_handshake *o, int rc, const uint8_t *buf, size_t size)
{
    const mmi_wire *other = mmi_wire_sniff(o->first);
    const char *detail;
    o->reason = o->inner->hello->failure(o, &detail);
    snprintf(o->detail, sizeof o->detail, "%s", detail);
    if (o->reason != o->inner->hello->foreign || other == o->inner) {
        return rc;
    }
    if (other != NULL) {
        return mmi_handshake_fail(o, o->reason, other->hello->instead);
    }
    return o->said == size ? handshake_stranger(o, o->reason, buf, size) : rc;
}

/* Octets of the wire's, opened if they were sealed. */
static int
handshake_hear(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (o->said == 0 && size > 0) {
        o->first = buf[0];
    }
    o->said += size;
    if (o->inner == NULL) {
        int rc = size > 0 ? handshake_sniff(o, buf, size) : MM_OK;
        if (rc != MM_OK || o->inner == NULL) {
            return rc;
        }
    }
    int rc = o->inner->hello->feed(o, buf, size, used);
    return rc < 0 ? handshake_failed(o, rc, buf, size) : rc;
}

int
mmi_handshake_feed(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (o->reason != 0) {
        return MM_EPROTO;
    }
    o->heard += size;
    if (o->outer != NULL) {
        return MMI_STEP_DUE;
    }
    int rc = handshake_hear(o, buf, size, used);
    mmi_handshake_stepped(o);
    return rc;
}

/* A step of the mechanism that the greetings named. */
static int
handshake_inner_step(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    int rc = o->inner->hello->step(o, buf, size, used);
    return rc < 0 ? handshake_failed(o, rc, buf, size) : rc;
}

/* The outer mechanism gave an error. */
static int
handshake_outer_failed(mmi_handshake *o, int rc)
{
    char detail[2 * MM_DETAIL_MAX];   /* cut where it is kept */
    if (rc == MM_ENOMEM) {
        return mmi_handshake_fail(o, MM_REASON_MEMORY, "out of memory");
    }
    snprintf(detail, sizeof detail, "%s: %s", o->config.outer->name, o->outer->why.detail);
    return mmi_handshake_fail(o, o->outer->why.reason, detail);
}

/* What the hello has to say goes out through the outer mechanism, also what it says in an error. */
static int
handshake_say(mmi_handshake *o, int rc)
{
    const uint8_t *out;
    size_t size;
    while (o->inner != NULL && (size = o->inner->hello->output(o, &out)) > 0) {
        int sealed = mmi_outer_seal(o->outer, out, size);
        if (sealed != MM_OK) {
            return rc < 0 ? rc : handshake_outer_failed(o, sealed);
        }
        o->inner->hello->sent(o, size);
    }
    if (rc < 0 && rc != MM_ENOMEM) {
        mmi_outer_part(o->outer);
    }
    return rc;
}

/* Is it done, then who was to be asked was. */
static int
handshake_came_to(mmi_handshake *o, int rc)
{
    if (rc == MMI_STEP_DONE && o->owed) {
        return mmi_handshake_fail(o, MM_REASON_MECHANISM,
                                  "the mechanism inside does not ask who may come in");
    }
    o->owed = o->owed && rc != MMI_STEP_ASK;
    return rc;
}

/* The hello, of what was opened, and of what open has more; rc: what it came to so far. */
static int
handshake_go_on_inside(mmi_handshake *o, int rc)
{
    mmi_outer *t = o->outer;
    while (rc == MMI_STEP_MORE && (t->plain_at < t->plain_size || t->more)) {
        size_t used;
        if (t->plain_at == t->plain_size) {
            mmi_outer_open(t, NULL, 0);
        }
        rc = handshake_hear(o, t->plain + t->plain_at, t->plain_size - t->plain_at, &used);
        t->plain_at += used;
        if (rc == MMI_STEP_DUE) {
            rc =
                handshake_inner_step(o, t->plain + t->plain_at, t->plain_size - t->plain_at, &used);
            t->plain_at += used;
        }
        rc = handshake_say(o, handshake_came_to(o, rc));
    }
    if (rc == MMI_STEP_MORE && mmi_outer_closed(t)) {
        mmi_handshake_ended(o, "ended by the peer in the handshake");
        o->reason = MM_REASON_HANDSHAKE_EOF;
        return MM_EPROTO;
    }
    return rc == MMI_STEP_MORE && t->failed != MM_OK ? handshake_outer_failed(o, t->failed) : rc;
}

/* The outer mechanism is done.  Who dials speaks at once. */
static int
handshake_enter(mmi_handshake *o)
{
    int rc = o->config.wire != NULL ? handshake_begin(o, o->config.wire) : MM_OK;
    return rc == MM_OK ? handshake_say(o, MMI_STEP_MORE) : rc;
}

/* There is another mechanism inside, of which we are the server. */
static bool
handshake_serves_inside(const mmi_handshake *o)
{
    const mmi_mechanism *m = o->config.mechanism;
    return m != NULL && m->serves != NULL && m->serves(o->config.mechanism_config);
}

/* It asks.  Where another mechanism is inside, that one does, once, and knows more by then. */
static int
handshake_outer_asks(mmi_handshake *o)
{
    mmi_answer answer = { .kind = MM_LATER, .reason = MM_REASON_NOT_ALLOWED };
    mmi_applicant who;
    if (o->asked) {
        return mmi_handshake_fail(o, MM_REASON_MECHANISM, "the mechanism asks twice");
    }
    o->asked = true;
    if (handshake_serves_inside(o)) {
        answer = (mmi_answer){ .kind = MM_ALLOW };
        o->owed = true;
    } else {
        mmi_handshake_applicant(o, &who);
        if (o->config.allow == NULL || !o->config.allow(o->config.allow_config, &who, &answer)) {
            return MMI_STEP_ASK;
        }
    }
    return mmi_handshake_answer(o, &answer);
}

/* Its own proof says what it is known by, where nobody was asked. */
static void
handshake_proved(mmi_handshake *o)
{
    const mmi_shield *outer = &o->outer->shield;
    mmi_applicant who = { .user_id = NULL };
    if (outer->mechanism->applicant != NULL) {
        outer->mechanism->applicant(outer->self, &who);
    }
    if (who.user_id != NULL && o->user_id[0] == '\0') {
        snprintf(o->user_id, sizeof o->user_id, "%s", who.user_id);
    }
}

/* What a step of the outer mechanism, or its answer, came to. */
static int
handshake_outer_came_to(mmi_handshake *o, int rc)
{
    if (rc < 0) {
        return handshake_outer_failed(o, rc);
    }
    if (rc == MMI_STEP_DONE) {
        handshake_proved(o);
    }
    return rc == MMI_STEP_DONE  ? handshake_enter(o)
           : rc == MMI_STEP_ASK ? handshake_outer_asks(o)
                                : rc;
}

static int
handshake_outer_answer(mmi_handshake *o, const mmi_answer *answer)
{
    int rc = mmi_outer_answer(o->outer, answer);
    if (answer->kind != MM_ALLOW) {
        char detail[2 * MM_DETAIL_MAX];
        bool later = answer->kind != MM_DENY && answer->reason == MM_REASON_NOT_ALLOWED;
        snprintf(detail, sizeof detail, "%s%s", later ? "later: " : "", answer->why);
        return mmi_handshake_fail(o, answer->reason, detail);
    }
    snprintf(o->user_id, sizeof o->user_id, "%s", answer->user_id);
    return handshake_outer_came_to(o, rc);
}

int
mmi_handshake_step(mmi_handshake *o, uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (o->outer == NULL) {
        return handshake_inner_step(o, buf, size, used);
    }
    if (!o->outer->done) {
        int rc = handshake_outer_came_to(o, mmi_outer_step(o->outer, buf, size, used));
        if (rc != MMI_STEP_MORE || !o->outer->done || *used == size) {
            return rc;
        }
    }
    mmi_outer_open(o->outer, buf + *used, size - *used);
    *used = size;
    return handshake_go_on_inside(o, MMI_STEP_MORE);
}

int
mmi_handshake_answer(mmi_handshake *o, const mmi_answer *answer)
{
    if (o->outer != NULL && o->outer->asking) {
        return handshake_outer_answer(o, answer);
    }
    int rc = o->inner->hello->answer(o, answer);
    rc = rc < 0 ? handshake_failed(o, rc, NULL, 0) : rc;
    return o->outer == NULL ? rc : handshake_go_on_inside(o, handshake_say(o, rc));
}

void
mmi_handshake_applicant(const mmi_handshake *o, mmi_applicant *out)
{
    if (o->outer == NULL || !o->outer->asking) {
        o->inner->hello->applicant(o, out);
        return;
    }
    const mmi_shield *outer = &o->outer->shield;
    *out = (mmi_applicant){ .mechanism = NULL };
    outer->mechanism->applicant(outer->self, out);
    out->mechanism = o->mechanisms;
}

const char *
mmi_handshake_guess(const mmi_handshake *o)
{
    const mmi_shield *outer = o->outer != NULL ? &o->outer->shield : NULL;
    if (outer != NULL && outer->self != NULL && !o->outer->done &&
        outer->mechanism->guess != NULL) {
        return outer->mechanism->guess(outer->self);
    }
    if (outer != NULL && o->heard > 0 && o->said == 0) {
        return "it may not know us, or not let us in, or speak another wire";
    }
    if (outer != NULL && o->heard == 0 && o->config.wire != NULL) {
        return "it may not protect its connections so, or take no more";
    }
    return o->inner == NULL ? "a port scan, a health check, or a peer that gave up"
                            : o->inner->hello->guess(o);
}

void
mmi_handshake_ended(mmi_handshake *o, const char *how)
{
    if (o->heard == 0) {
        snprintf(o->detail, sizeof o->detail, "%s before it said anything: %s", how,
                 mmi_handshake_guess(o));
    } else {
        snprintf(o->detail, sizeof o->detail, "%s after %llu octet%s: %s", how,
                 (unsigned long long)o->heard, mmi_plural(o->heard), mmi_handshake_guess(o));
    }
}

size_t
mmi_handshake_output(const mmi_handshake *o, const uint8_t **out)
{
    *out = NULL;
    if (o->outer != NULL) {
        *out = o->outer->out + o->outer->out_sent;
        return o->outer->out_size - o->outer->out_sent;
    }
    return o->inner == NULL ? 0 : o->inner->hello->output(o, out);
}

void
mmi_handshake_sent(mmi_handshake *o, size_t size)
{
    if (o->outer != NULL) {
        o->outer->out_sent += size;
    } else if (o->inner != NULL) {
        o->inner->hello->sent(o, size);
    }
}

mmi_shield
mmi_handshake_take_shield(mmi_handshake *o)
{
    if (o->outer == NULL) {
        return o->inner->hello->take_shield(o);
    }
    mmi_shield shield = o->outer->shield;
    o->outer->shield.self = NULL;
    return shield;
}

void
mmi_handshake_peer(const mmi_handshake *o, mmi_wire_peer *out)
{
    *out = (mmi_wire_peer){ .wire = o->inner, .features = "", .group = "", .user_id = "" };
    o->inner->hello->peer(o, out);
    out->user_id = out->user_id[0] != '\0' ? out->user_id : o->user_id;
}
