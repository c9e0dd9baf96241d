/*
 * wire/zmtp/curve.c: CURVE as a table; which command may come when, and of which size.
 *
 * Not here: what is done with a command (curve_client.c, curve_server.c), messages
 * (curve_message.c).
 * Law: a command is refused by its head where that cannot be right, before memory is taken for it;
 * after an error nothing is to be written but an ERROR to who was denied.
 */
#include <stdio.h>
#include <string.h>

#include "wire/zmtp/curve_inside.h"

enum { CURVE_RECORD_MAX = 1024 };   /* octets of small frames that seal is given at once */

int
mmi_curve_config_check(mmi_curve_config *config)
{
    static const uint8_t some[MMI_KEY_SIZE] = { 1 };
    uint8_t shared[MMI_KEY_SIZE];
    if (config->pair_count < config->serves || config->pair_count > MMI_CURVE_KEYS_MAX) {
        return MM_EINVAL;
    }
    for (uint32_t i = 0; i < config->pair_count; i++) {
        mmi_curve_pair *pair = &config->pairs[i];
        (void)config->sodium->scalarmult_base(pair->public, pair->secret);
    }
    mmi_wipe_stack();
    return config->serves || config->sodium->box_beforenm(shared, config->server, some) == 0
               ? MM_OK
               : MM_EINVAL;
}

static void
curve_end(void *self)
{
    mmi_curve *c = self;
    mmi_vault_give(c->config->vault, c->secrets);
    mmi_command_in_free(&c->in);
    mmi_curve_free(&c->half);
    mmi_curve_free(&c->came);
    mmi_free(c->out);
    mmi_free(c);
}

static void *
curve_begin(const void *config, bool dials, const uint8_t *metadata, size_t size,
            uint64_t frame_max)
{
    (void)dials;   /* who is the client is said by the policy */
    mmi_curve *c = mmi_alloc(sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    MMI_ASSERT(size <= MMI_CURVE_METADATA_MAX);   /* it is ours, and the table says so */
    c->config = config;
    c->frame_max = frame_max;
    c->secrets = mmi_vault_take(c->config->vault);
    c->out = mmi_alloc(CURVE_OUT_MAX + size);
    if (c->secrets == NULL || c->out == NULL) {
        curve_end(c);
        return NULL;
    }
    c->ours = c->out + CURVE_OUT_MAX;
    memcpy(c->ours, metadata, size);
    c->ours_size = size;
    c->begun_ns = c->config->now_ns(c->config->plat);
    c->state = CURVE_AWAITS_HELLO;
    if (!c->config->serves) {
        mmi_curve_say_hello(c);
    }
    return c;
}

/* What may come now; in other states nothing may. */
static mmi_command_due
curve_due(const mmi_curve *c)
{
    const size_t most = MMI_HANDSHAKE_SIZE_MAX;
    switch (c->state) {
    case CURVE_AWAITS_HELLO: return (mmi_command_due){ "HELLO", CURVE_HELLO, CURVE_HELLO, false };
    case CURVE_AWAITS_INITIATE: return (mmi_command_due){ "INITIATE", CURVE_INITIATE, most, false };
    case CURVE_AWAITS_WELCOME:
        return (mmi_command_due){ "WELCOME", CURVE_WELCOME, CURVE_WELCOME, true };
    case CURVE_AWAITS_READY: return (mmi_command_due){ "READY", CURVE_READY, most, true };
    default: return (mmi_command_due){ .name = NULL };
    }
}

/* A command is whole, and the one that is awaited. */
static int
curve_take(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why)
{
    switch (c->state) {
    case CURVE_AWAITS_HELLO: return mmi_curve_take_hello(c, body, size, why);
    case CURVE_AWAITS_INITIATE: return mmi_curve_take_initiate(c, body, size, why);
    case CURVE_AWAITS_WELCOME: return mmi_curve_take_welcome(c, body, size, why);
    default: return mmi_curve_take_ready(c, body, size, why);
    }
}

/* An error is the end of the handshake: nothing more is said but what belongs to it. */
static int
curve_failed(mmi_curve *c, int rc, bool tells)
{
    c->state = CURVE_FAILED;
    c->out_size = tells ? c->out_size : 0;
    c->out_sent = tells ? c->out_sent : 0;
    mmi_wipe(c->secrets, sizeof *c->secrets);
    return rc;
}

/* Whoever has no key of its own is in no list, whatever key the server saw. */
static void
curve_hint(const mmi_curve *c, mmi_refusal *why)
{
    size_t said = strlen(why->detail);
    if (!c->config->serves && c->config->pair_count == 0 &&
        strstr(why->detail, "does not let us in") != NULL) {
        snprintf(why->detail + said, sizeof why->detail - said,
                 "; we have no key=, so no list has us");
    }
}

static int
curve_feed(void *self, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why)
{
    mmi_curve *c = self;
    int rc = MMI_STEP_MORE;
    while (rc == MMI_STEP_MORE && *used < size) {
        mmi_command_due due = curve_due(c);
        uint8_t *body;
        size_t body_size;
        if (due.name == NULL) {
            return mmi_refuse(why, MM_REASON_HANDSHAKE, "octets that nobody waits for");
        }
        rc = mmi_command_in_feed(&c->in, &due, buf, size, used, &body, &body_size, why);
        if (rc == 1) {
            rc = curve_take(c, body, body_size, why);
        }
    }
    if (rc < 0) {
        curve_hint(c, why);
        rc = curve_failed(c, rc, false);
    }
    return rc;
}

static int
curve_answer(void *self, const mmi_answer *answer, mmi_refusal *why)
{
    mmi_curve *c = self;
    bool denied = answer->kind == MM_DENY;
    int rc = mmi_curve_take_answer(c, answer->kind == MM_ALLOW, denied, why);
    return rc < 0 ? curve_failed(c, rc, denied) : rc;
}

static void
curve_applicant(const void *self, mmi_applicant *out)
{
    const mmi_curve *c = self;
    out->key = (mmi_octets){ .data = c->peer, .size = MMI_KEY_SIZE };
}

static size_t
curve_output(const void *self, const uint8_t **out)
{
    const mmi_curve *c = self;
    *out = c->out + c->out_sent;
    return c->out_size - c->out_sent;
}

static void
curve_sent(void *self, size_t size)
{
    mmi_curve *c = self;
    c->out_sent += size;
}

static const uint8_t *
curve_metadata(const void *self, size_t *size)
{
    const mmi_curve *c = self;
    *size = c->metadata_size;
    return c->in.data + c->metadata_at;
}

static const char *
curve_guess(const void *self)
{
    switch (((const mmi_curve *)self)->state) {
    case CURVE_AWAITS_HELLO: return "nobody sent HELLO: it may be a server, too";
    case CURVE_AWAITS_WELCOME: return "our server= is most likely not its key";
    case CURVE_AWAITS_INITIATE: return "it did not answer WELCOME: it may have given up";
    case CURVE_AWAITS_ANSWER: return "nobody had let it in yet";
    default: return "it may not let this key in, or not want this role";
    }
}

static bool
curve_serves(const void *config)
{
    return ((const mmi_curve_config *)config)->serves != 0;
}

static bool
curve_asks(const void *config)
{
    return ((const mmi_curve_config *)config)->asks != 0;
}

const mmi_mechanism mmi_mechanism_curve = {
    .name = "CURVE",
    .record_max = CURVE_RECORD_MAX,
    .metadata_max = MMI_CURVE_METADATA_MAX,
    .serves = curve_serves,
    .asks = curve_asks,
    .begin = curve_begin,
    .end = curve_end,
    .feed = curve_feed,
    .applicant = curve_applicant,
    .answer = curve_answer,
    .output = curve_output,
    .sent = curve_sent,
    .metadata = curve_metadata,
    .guess = curve_guess,
    .room = mmi_curve_room,
    .seal = mmi_curve_seal,
    .open = mmi_curve_open,
    .idle = mmi_curve_idle,
};
