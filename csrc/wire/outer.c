/*
 * wire/outer.c: see wire/outer.h.
 * Not here: what a step comes to for the peer (wire/handshake.c).
 * Law: no more than MMI_HANDSHAKE_SIZE_MAX octets of a handshake are taken; after an error nothing
 * of the shield is called but its end.
 */
#include "wire/outer.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "crypto/secret.h"

enum { OUTER_FIRST_CAP = 1024 };         /* octets of the block that is written, at first */

mmi_outer *
mmi_outer_new(const mmi_outer_config *config)
{
    mmi_outer *o = mmi_alloc(sizeof *o);
    if (o != NULL) {
        o->config = *config;
        snprintf(o->host, sizeof o->host, "%s", config->host != NULL ? config->host : "");
        if (config->who != NULL) {
            o->who = *config->who;
            o->config.who = &o->who;
        }
        o->shield.mechanism = config->mechanism;
    }
    return o;
}

void
mmi_outer_free(mmi_outer *o)
{
    if (o != NULL) {
        if (o->shield.self != NULL) {
            o->shield.mechanism->end(o->shield.self);
        }
        mmi_free(o->out);
        mmi_wipe(o, sizeof *o);   /* there may have been a password in it */
        mmi_free(o);
    }
}

/* MM_ENOMEM */
static int
outer_reserve(mmi_outer *o, size_t size)
{
    size_t cap = o->out_cap == 0 ? (size_t)OUTER_FIRST_CAP : o->out_cap;
    if (o->out_sent == o->out_size) {
        o->out_sent = o->out_size = 0;
    }
    while (cap < o->out_size + size) {
        cap *= 2;
    }
    if (cap > o->out_cap) {
        uint8_t *grown = mmi_realloc(o->out, cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        o->out = grown;
        o->out_cap = cap;
    }
    return MM_OK;
}

/* What its handshake has to say, also in an error.  MM_ENOMEM */
static int
outer_say(mmi_outer *o)
{
    const mmi_mechanism *m = o->shield.mechanism;
    const uint8_t *out;
    size_t size;
    while ((size = m->output(o->shield.self, &out)) > 0) {
        if (outer_reserve(o, size) != MM_OK) {
            return MM_ENOMEM;
        }
        memcpy(o->out + o->out_size, out, size);
        o->out_size += size;
        m->sent(o->shield.self, size);
    }
    return MM_OK;
}

static int
outer_begin(mmi_outer *o)
{
    const mmi_outer_config *c = &o->config;
    o->begun = true;
    o->shield.self = c->mechanism->begin(c->config, c->wire != NULL, NULL, 0, c->frame_max);
    if (o->shield.self == NULL) {
        return MM_ENOMEM;
    }
    int rc = c->wire != NULL && c->mechanism->aim != NULL
                 ? c->mechanism->aim(o->shield.self, o->host, c->wire, c->who)
                 : MM_OK;
    if (rc == MM_EINVAL) {
        snprintf(o->why.detail, sizeof o->why.detail, "there is no asking for %.80s", o->host);
        rc = MM_EPROTO;
    }
    return rc;
}

/* What a step gave, once what it says is where it is written from. */
static int
outer_came_to(mmi_outer *o, int rc)
{
    int said = outer_say(o);
    rc = said != MM_OK ? said : rc;
    if (rc == MMI_STEP_MORE && o->total > MMI_HANDSHAKE_SIZE_MAX) {
        o->why.reason = MM_REASON_METADATA;
        snprintf(o->why.detail, sizeof o->why.detail, "over %d octets of a handshake",
                 MMI_HANDSHAKE_SIZE_MAX);
        rc = MM_EPROTO;
    }
    o->asking = rc == MMI_STEP_ASK;
    o->done = rc == MMI_STEP_DONE;
    return rc;
}

int
mmi_outer_step(mmi_outer *o, const uint8_t *buf, size_t size, size_t *used)
{
    o->why = (mmi_refusal){ .reason = MM_REASON_CRYPTO };
    int rc = o->begun ? MM_OK : outer_begin(o);
    if (rc != MM_OK) {
        return rc;
    }
    rc = o->shield.mechanism->feed(o->shield.self, buf, size, used, &o->why);
    o->total += *used;
    return outer_came_to(o, rc);
}

int
mmi_outer_answer(mmi_outer *o, const mmi_answer *answer)
{
    o->why = (mmi_refusal){ .reason = MM_REASON_CRYPTO };
    return outer_came_to(o, o->shield.mechanism->answer(o->shield.self, answer, &o->why));
}

void
mmi_outer_open(mmi_outer *o, uint8_t *in, size_t size)
{
    o->plain_at = o->plain_size = 0;
    if (o->failed == MM_OK) {
        o->why = (mmi_refusal){ .reason = MM_REASON_CRYPTO };
        o->failed = o->shield.mechanism->open(o->shield.self, in, size, o->plain, sizeof o->plain,
                                              &o->plain_size, &o->why);
    }
    o->more = o->failed == MM_OK && o->plain_size == sizeof o->plain;
}

bool
mmi_outer_closed(const mmi_outer *o)
{
    const mmi_mechanism *m = o->shield.mechanism;
    return o->failed == MM_OK && !o->more && m->closed != NULL && m->closed(o->shield.self);
}

int
mmi_outer_seal(mmi_outer *o, const uint8_t *plain, size_t size)
{
    const mmi_mechanism *m = o->shield.mechanism;
    while (size > 0) {
        size_t part = size < m->record_max ? size : m->record_max;
        int rc = outer_reserve(o, m->room(o->shield.self, part));
        if (rc != MM_OK) {
            return rc;
        }
        int64_t n = m->seal(o->shield.self, plain, &part, o->out + o->out_size);
        if (n == MM_EAGAIN) {
            continue;
        }
        if (n < 0) {
            return (int)n;
        }
        o->out_size += (size_t)n;
        plain += part;
        size -= part;
    }
    return MM_OK;
}

void
mmi_outer_part(mmi_outer *o)
{
    const mmi_mechanism *m = o->shield.mechanism;
    if (m->farewell != NULL && outer_reserve(o, MMI_FAREWELL_MAX) == MM_OK) {
        o->out_size += m->farewell(o->shield.self, o->out + o->out_size);
    }
}
