/*
 * wire/zmtp/plain.c: PLAIN as a table, both roles.
 *
 * Not here: octets of a command until it is whole (command_in.c).
 * Law: as in wire/zmtp/plain.h; after an error nothing is to be written but an ERROR to who was
 * denied.
 */
#include "wire/zmtp/plain.h"

#include <string.h>

#include "base/limits.h"
#include "crypto/secret.h"
#include "wire/zmtp/command_in.h"
#include "wire/zmtp/frame.h"

enum {
    PLAIN_HELLO = 8,                     /* octets of the commands; of some without what varies */
    PLAIN_WELCOME = 8,
    PLAIN_INITIATE = 9,
    PLAIN_READY = 6,
    PLAIN_ERROR = 10,
    PLAIN_HELLO_USER = 6,                /* where its size stands */
    PLAIN_HELLO_MAX = PLAIN_HELLO + 2 * MMI_PLAIN_NAME_MAX
};

/* What is awaited. */
typedef enum plain_state {
    PLAIN_AWAITS_HELLO,
    PLAIN_AWAITS_ANSWER,                 /* of who may come in: no octets */
    PLAIN_AWAITS_INITIATE,
    PLAIN_AWAITS_WELCOME,
    PLAIN_AWAITS_READY,
    PLAIN_DONE,
    PLAIN_FAILED
} plain_state;

typedef struct mmi_plain {
    const mmi_plain_config *config;
    plain_state state;
    mmi_command_in in;
    mmi_octets user, password;           /* in it, while it is HELLO */
    mmi_octets metadata;                 /* in it, once it came */
    uint8_t *out;
    size_t out_size, out_sent, out_cap;
    size_t ours_size;
    uint8_t ours[];                      /* our properties */
} mmi_plain;

static void
plain_forget(mmi_plain *p)
{
    p->user = p->password = (mmi_octets){ .data = NULL };
    mmi_command_in_free(&p->in);
}

static void
plain_end(void *self)
{
    mmi_plain *p = self;
    plain_forget(p);
    if (p->out != NULL) {
        mmi_wipe(p->out, p->out_cap);
    }
    mmi_free(p->out);
    mmi_free(p);
}

/* Room for the body of a command of that size, behind its head, which is written.  A peer may have
 * been too eager to read the one before. */
static uint8_t *
plain_say(mmi_plain *p, size_t size)
{
    size_t head = mmi_frame_head_put(p->out + p->out_size, MMI_FRAME_COMMAND, size);
    uint8_t *body = p->out + p->out_size + head;
    p->out_size += head + size;
    MMI_ASSERT(p->out_size <= p->out_cap);
    return body;
}

static uint8_t *
plain_put_name(uint8_t *at, const uint8_t *name, uint32_t size)
{
    *at++ = (uint8_t)size;
    memcpy(at, name, size);
    return at + size;
}

static void
plain_say_hello(mmi_plain *p)
{
    const mmi_plain_config *c = p->config;
    uint8_t *body = plain_say(p, PLAIN_HELLO + c->user_size + c->password_size);
    memcpy(body, "\x05HELLO", 6);
    body = plain_put_name(body + PLAIN_HELLO_USER, c->user, c->user_size);
    (void)plain_put_name(body, c->password, c->password_size);
    p->state = PLAIN_AWAITS_WELCOME;
}

static void *
plain_begin(const void *config, bool dials, const uint8_t *metadata, size_t size,
            uint64_t frame_max)
{
    (void)dials;   /* who is the client is said by the policy */
    (void)frame_max;
    mmi_plain *p = mmi_alloc(sizeof *p + size);
    if (p == NULL) {
        return NULL;
    }
    p->config = config;
    p->out_cap = 2 * (size_t)MMI_FRAME_HEAD_MAX + PLAIN_HELLO_MAX + PLAIN_INITIATE + size;
    p->out = mmi_alloc(p->out_cap);
    if (p->out == NULL) {
        plain_end(p);
        return NULL;
    }
    memcpy(p->ours, metadata, size);
    p->ours_size = size;
    if (!p->config->serves) {
        plain_say_hello(p);
    }
    return p;
}

static mmi_command_due
plain_due(const mmi_plain *p)
{
    const size_t most = MMI_HANDSHAKE_SIZE_MAX;
    switch (p->state) {
    case PLAIN_AWAITS_HELLO:
        return (mmi_command_due){ "HELLO", PLAIN_HELLO, PLAIN_HELLO_MAX, false };
    case PLAIN_AWAITS_INITIATE: return (mmi_command_due){ "INITIATE", PLAIN_INITIATE, most, false };
    case PLAIN_AWAITS_WELCOME:
        return (mmi_command_due){ "WELCOME", PLAIN_WELCOME, PLAIN_WELCOME, true };
    case PLAIN_AWAITS_READY: return (mmi_command_due){ "READY", PLAIN_READY, most, true };
    default: return (mmi_command_due){ .name = NULL };
    }
}

static int
plain_welcome(mmi_plain *p)
{
    plain_forget(p);
    memcpy(plain_say(p, PLAIN_WELCOME), "\x07WELCOME", PLAIN_WELCOME);
    p->state = PLAIN_AWAITS_INITIATE;
    return MMI_STEP_MORE;
}

/* A size and so many octets, off the front.  false: there are less. */
static bool
plain_take_name(const uint8_t **at, const uint8_t *end, mmi_octets *out)
{
    if (*at == end || (size_t)(end - *at) - 1 < **at) {
        return false;
    }
    *out = (mmi_octets){ .data = *at + 1, .size = **at };
    *at += 1 + out->size;
    return true;
}

static int
plain_take_hello(mmi_plain *p, const uint8_t *body, size_t size, mmi_refusal *why)
{
    const uint8_t *at = body + PLAIN_HELLO_USER, *end = body + size;
    if (!plain_take_name(&at, end, &p->user) || !plain_take_name(&at, end, &p->password) ||
        at != end) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE,
                          "HELLO has %zu octets, which its sizes do not come to", size);
    }
    if (!p->config->asks) {
        return plain_welcome(p);
    }
    p->state = PLAIN_AWAITS_ANSWER;
    return MMI_STEP_ASK;
}

static int
plain_say_metadata(mmi_plain *p, const char *name, size_t size, plain_state state)
{
    uint8_t *body = plain_say(p, size + p->ours_size);
    memcpy(body, name, size);
    memcpy(body + size, p->ours, p->ours_size);
    p->state = state;
    return state == PLAIN_DONE ? MMI_STEP_DONE : MMI_STEP_MORE;
}

/* A command is whole, and the one that is awaited. */
static int
plain_take(mmi_plain *p, const uint8_t *body, size_t size, mmi_refusal *why)
{
    switch (p->state) {
    case PLAIN_AWAITS_HELLO: return plain_take_hello(p, body, size, why);
    case PLAIN_AWAITS_WELCOME:
        return plain_say_metadata(p, "\x08INITIATE", PLAIN_INITIATE, PLAIN_AWAITS_READY);
    case PLAIN_AWAITS_INITIATE:
        p->metadata = (mmi_octets){ .data = body + PLAIN_INITIATE, .size = size - PLAIN_INITIATE };
        return plain_say_metadata(p, "\x05READY", PLAIN_READY, PLAIN_DONE);
    default:
        p->metadata = (mmi_octets){ .data = body + PLAIN_READY, .size = size - PLAIN_READY };
        p->state = PLAIN_DONE;
        return MMI_STEP_DONE;
    }
}

/* Nothing more is said, but what belongs to the error. */
static int
plain_failed(mmi_plain *p, int rc, bool tells)
{
    p->state = PLAIN_FAILED;
    p->out_size = tells ? p->out_size : 0;
    p->out_sent = tells ? p->out_sent : 0;
    plain_forget(p);
    return rc;
}

static int
plain_feed(void *self, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why)
{
    mmi_plain *p = self;
    int rc = MMI_STEP_MORE;
    while (rc == MMI_STEP_MORE && *used < size) {
        mmi_command_due due = plain_due(p);
        uint8_t *body;
        size_t body_size;
        if (due.name == NULL) {
            return mmi_refuse(why, MM_REASON_HANDSHAKE, "octets that nobody waits for");
        }
        rc = mmi_command_in_feed(&p->in, &due, buf, size, used, &body, &body_size, why);
        if (rc == 1) {
            rc = plain_take(p, body, body_size, why);
        }
    }
    return rc < 0 ? plain_failed(p, rc, false) : rc;
}

static void
plain_applicant(const void *self, mmi_applicant *out)
{
    const mmi_plain *p = self;
    out->user = p->user;
    out->password = p->password;
}

static int
plain_answer(void *self, const mmi_answer *answer, mmi_refusal *why)
{
    mmi_plain *p = self;
    if (p->state != PLAIN_AWAITS_ANSWER) {
        return plain_failed(
            p, mmi_refuse(why, MM_REASON_HANDSHAKE, "an answer that nobody waits for"), false);
    }
    if (answer->kind == MM_ALLOW) {
        return plain_welcome(p);
    }
    bool denied = answer->kind == MM_DENY;
    if (denied) {
        memcpy(plain_say(p, PLAIN_ERROR),
               "\x05"
               "ERROR\x03"
               "400",
               PLAIN_ERROR);
    }
    return plain_failed(p, mmi_refuse(why, MM_REASON_NOT_ALLOWED, "not let in"), denied);
}

static size_t
plain_output(const void *self, const uint8_t **out)
{
    const mmi_plain *p = self;
    *out = p->out + p->out_sent;
    return p->out_size - p->out_sent;
}

static void
plain_sent(void *self, size_t size)
{
    mmi_plain *p = self;
    p->out_sent += size;
    if (p->out_sent == p->out_size) {
        mmi_wipe(p->out, p->out_size);
        p->out_size = p->out_sent = 0;
    }
}

static const uint8_t *
plain_metadata(const void *self, size_t *size)
{
    const mmi_plain *p = self;
    *size = p->metadata.size;
    return p->metadata.data;
}

static const char *
plain_guess(const void *self)
{
    switch (((const mmi_plain *)self)->state) {
    case PLAIN_AWAITS_HELLO: return "nobody sent HELLO: it may be a server, too";
    case PLAIN_AWAITS_WELCOME:
        return "it may not let our user in with this password, or have no ZAP handler";
    case PLAIN_AWAITS_INITIATE: return "it did not answer WELCOME: it may have given up";
    case PLAIN_AWAITS_ANSWER: return "nobody had let it in yet";
    default: return "it may not want this role";
    }
}

static bool
plain_serves(const void *config)
{
    return ((const mmi_plain_config *)config)->serves != 0;
}

const mmi_mechanism mmi_mechanism_plain = {
    .name = "PLAIN",
    .serves = plain_serves,
    .begin = plain_begin,
    .end = plain_end,
    .feed = plain_feed,
    .applicant = plain_applicant,
    .answer = plain_answer,
    .output = plain_output,
    .sent = plain_sent,
    .metadata = plain_metadata,
    .guess = plain_guess,
};
