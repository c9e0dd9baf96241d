/*
 * hello.c: the greeting, and the order of the handshake.  RFC 23 and 37.
 *
 * Not here: READY's properties (ready.c), the steps of a mechanism (steps.c).
 * Law: what a peer may send before it is known is bounded; it is refused at the first octet that
 * cannot be right; the padding and as-server octets prove nothing.
 */
#include "wire/zmtp/hello.h"

#include <string.h>

#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"

enum {
    GREETING_SIZE = 64,
    GREETING_SIGNATURE_END = 9,
    GREETING_MAJOR = 10,
    GREETING_MINOR = 11,
    GREETING_MECHANISM = 12,
    GREETING_MECHANISM_SIZE = 20,
    GREETING_SERVER = 32,
    ZMTP_MAJOR = 3,
    ZMTP_MINOR = 1,
    HELLO_FIRST_CAP = 128
};

_Static_assert((int)GREETING_MECHANISM_SIZE == (int)MMI_MECHANISM_NAME_MAX, "RFC 23");

/* As it stands in the greeting: with zeros behind it. */
static void
hello_mechanism(const mmi_hello *h, uint8_t out[GREETING_MECHANISM_SIZE])
{
    const char *name = mmi_mechanism_name(h->config.mechanism);
    memset(out, 0, GREETING_MECHANISM_SIZE);
    memcpy(out, name, strnlen(name, GREETING_MECHANISM_SIZE));
}

static void
hello_greet(const mmi_hello *h, uint8_t *out)
{
    memset(out, 0, GREETING_SIZE);
    out[0] = 0xff;
    out[8] = 1;   /* what libzmq puts there: an empty identity to a ZMTP 1.0 peer */
    out[GREETING_SIGNATURE_END] = 0x7f;
    out[GREETING_MAJOR] = ZMTP_MAJOR;
    out[GREETING_MINOR] = ZMTP_MINOR;
    hello_mechanism(h, out + GREETING_MECHANISM);
    const mmi_mechanism *m = h->config.mechanism;
    out[GREETING_SERVER] =
        m != NULL && m->serves != NULL && m->serves(h->config.mechanism_config) ? 1 : 0;
}

int
mmi_hello_init(mmi_hello *h, const mmi_hello_config *config)
{
    memset(h, 0, sizeof *h);
    h->config = *config;
    h->out = mmi_alloc(MMI_HELLO_OUT_MAX);
    if (h->out == NULL) {
        return MM_ENOMEM;
    }
    hello_greet(h, h->out);
    h->out_size = GREETING_SIZE;
    return MM_OK;
}

void
mmi_hello_fini(mmi_hello *h)
{
    mmi_free(h->in);
    mmi_free(h->out);
    h->in = h->out = NULL;
    if (h->shield.mechanism != NULL) {
        h->shield.mechanism->end(h->shield.self);
        h->shield.mechanism = NULL;
    }
}

size_t
mmi_hello_output(const mmi_hello *h, const uint8_t **out)
{
    *out = h->out + h->out_sent;
    if (h->out_sent == h->out_size && h->shield.mechanism != NULL) {
        return h->mute ? 0 : h->shield.mechanism->output(h->shield.self, out);
    }
    return h->out_size - h->out_sent;
}

void
mmi_hello_sent(mmi_hello *h, size_t size)
{
    if (h->out_sent == h->out_size && h->shield.mechanism != NULL) {
        h->shield.mechanism->sent(h->shield.self, size);
    } else {
        h->out_sent += (uint32_t)size;
    }
}

/* Looks at the octets of the greeting as they come. MM_OK: none of them is wrong so far. */
static int
hello_check_greeting(mmi_hello *h)
{
    const uint8_t *in = h->in;
    if (in[0] == MMI_HELLO_ZMTP1) {
        return mmi_refuse(h, MM_REASON_OLD_ZMTP, "%s", MMI_HELLO_ZMTP1_TEXT);
    }
    if (in[0] != 0xff) {
        return mmi_refuse(h, MM_REASON_NOT_ZMTP, "the first octet is %02x, a ZMTP greeting's ff",
                          in[0]);
    }
    if (h->in_size > GREETING_SIGNATURE_END && (in[GREETING_SIGNATURE_END] & 1) == 0) {
        return mmi_refuse(h, MM_REASON_OLD_ZMTP, "ZMTP 1.0, we speak 3.0 and later");
    }
    if (h->in_size > GREETING_MAJOR && in[GREETING_MAJOR] < ZMTP_MAJOR) {
        return mmi_refuse(h, MM_REASON_OLD_ZMTP, "ZMTP major version %u, we speak 3.0 and later",
                          in[GREETING_MAJOR]);
    }
    return MM_OK;
}

/* MM_ENOMEM */
static int
hello_reserve(mmi_hello *h, size_t size)
{
    size_t cap = h->in_cap == 0 ? HELLO_FIRST_CAP : h->in_cap;
    while (cap < size) {
        cap *= 2;
    }
    if (cap > h->in_cap) {
        uint8_t *grown = mmi_realloc(h->in, cap);
        if (grown == NULL) {
            mmi_refuse(h, MM_REASON_MEMORY, "out of memory");
            return MM_ENOMEM;
        }
        h->in = grown;
        h->in_cap = (uint32_t)cap;
    }
    return MM_OK;
}

/* What the mechanism begins with is kept for it: its socket may be gone by then. */
static int
hello_prepare_mechanism(mmi_hello *h)
{
    int rc = hello_reserve(h, MMI_HELLO_OUT_MAX);
    if (rc != MM_OK) {
        return rc;
    }
    size_t most = h->config.mechanism->metadata_max;
    size_t size = mmi_ready_put_metadata(&h->config, h->in);
    mmi_hello_config shorter = h->config;
    if (most > 0 && size > most) { /* it can do without that best */
        shorter.takes_frames = 0;
        size = mmi_ready_put_metadata(&shorter, h->in);
    }
    if (most > 0 && size > most) {   /* what only a peer of our kind understands is left out */
        shorter.features = shorter.group = NULL;
        size = mmi_ready_put_metadata(&shorter, h->in);
    }
    h->in_size = (uint32_t)size;
    h->state = MMI_HELLO_MECHANISM;
    return MM_OK;
}

static int
hello_greeting(mmi_hello *h)
{
    int rc = hello_check_greeting(h);
    if (rc != MM_OK || h->in_size < GREETING_SIZE) {
        return rc;
    }
    uint8_t ours[GREETING_MECHANISM_SIZE];
    hello_mechanism(h, ours);
    if (memcmp(h->in + GREETING_MECHANISM, ours, GREETING_MECHANISM_SIZE) != 0) {
        char name[GREETING_MECHANISM_SIZE + 1];
        const uint8_t *given = h->in + GREETING_MECHANISM;
        mmi_text_excerpt(name, sizeof name, given, strnlen((const char *)given, sizeof name - 1));
        return mmi_refuse(h, MM_REASON_MECHANISM, "the peer's mechanism is '%s', ours %s", name,
                          mmi_mechanism_name(h->config.mechanism));
    }
    if (h->config.refusal != NULL) {
        return mmi_refuse(h, MM_REASON_CONNECTIONS, "%s", h->config.refusal);
    }
    bool old = h->in[GREETING_MAJOR] == ZMTP_MAJOR && h->in[GREETING_MINOR] == 0;
    h->peer.minor = old ? 0 : ZMTP_MINOR;
    h->peer_serves = h->in[GREETING_SERVER] != 0;
    h->in_size = 0;
    if (h->config.mechanism != NULL) {
        return hello_prepare_mechanism(h);
    }
    h->state = MMI_HELLO_COMMAND;
    h->out_size += (uint32_t)mmi_ready_put(&h->config, h->out + h->out_size);
    return MM_OK;
}

static int
hello_command(mmi_hello *h, const uint8_t *body, size_t size)
{
    mmi_command command;
    if (mmi_command_parse(body, size, &command) != MM_OK) {
        return mmi_refuse(h, MM_REASON_HANDSHAKE, "a malformed command of %zu octet%s", size,
                          mmi_plural(size));
    }
    if (command.kind == MMI_COMMAND_READY) {
        return mmi_ready_parse(h, command.data, command.size);
    }
    if (command.kind != MMI_COMMAND_ERROR) {
        return mmi_refuse(h, MM_REASON_HANDSHAKE, "a command other than READY in the handshake");
    }
    char detail[MM_DETAIL_MAX + 1];
    mmi_command_refusal(&command, detail, sizeof detail);
    return mmi_refuse(h, MM_REASON_ERROR_COMMAND, "%s", detail);
}

/* How many octets the present step needs in all, as far as that is known yet; 0: it failed. */
static uint64_t
hello_need(mmi_hello *h)
{
    if (h->state == MMI_HELLO_GREETING) {
        return GREETING_SIZE;
    }
    mmi_frame_head head;
    int rc = mmi_frame_head_parse(h->in, h->in_size, &head);
    if (rc < 0) {
        mmi_refuse(h, MM_REASON_FRAME_FLAGS, "frame flags %02x in the handshake", h->in[0]);
        return 0;
    }
    if (h->in_size > 0 && (h->in[0] & MMI_FRAME_COMMAND) == 0) {
        mmi_refuse(h, MM_REASON_HANDSHAKE, "a message before READY");
        return 0;
    }
    if (rc == 0) {
        return (uint64_t)h->in_size + 1;
    }
    if (head.size > MMI_HANDSHAKE_SIZE_MAX - GREETING_SIZE - MMI_FRAME_HEAD_MAX) {
        mmi_refuse(h, MM_REASON_METADATA, "a READY of %llu octets, a handshake has %d at most",
                   (unsigned long long)head.size, MMI_HANDSHAKE_SIZE_MAX);
        return 0;
    }
    return (uint64_t)rc + head.size;
}

/* Takes up to need octets in all; the buffer grows with what has come. */
static int
hello_take(mmi_hello *h, uint64_t need, const uint8_t *buf, size_t size, size_t *used)
{
    size_t part = need - h->in_size < size ? (size_t)(need - h->in_size) : size;
    int rc = hello_reserve(h, h->in_size + part);
    if (rc != MM_OK) {
        return rc;
    }
    memcpy(h->in + h->in_size, buf, part);
    h->in_size += (uint32_t)part;
    *used += part;
    return MM_OK;
}

/* All octets of the step are there (or the greeting has some to look at). */
static int
hello_advance(mmi_hello *h, uint64_t need)
{
    if (h->state == MMI_HELLO_GREETING) {
        return hello_greeting(h);
    }
    mmi_frame_head head;
    int rc = mmi_frame_head_parse(h->in, h->in_size, &head);
    if (rc <= 0 || h->in_size < need || h->in_size < (uint64_t)rc + head.size) {
        return MM_OK;   /* the head was all that was needed so far */
    }
    rc = hello_command(h, h->in + rc, (size_t)head.size);
    if (rc == MM_OK) {
        h->state = MMI_HELLO_DONE;
    }
    return rc;
}

/* Refusals the peer can hear: its greeting was accepted, so it reads commands. */
static void
hello_say_error(mmi_hello *h)
{
    if (h->config.mechanism != NULL) {
        return;   /* nothing is told plainly */
    }
    bool told = h->reason == MM_REASON_METADATA || h->reason == MM_REASON_SOCKET_TYPE ||
                h->reason == MM_REASON_IDENTITY || h->reason == MM_REASON_HANDSHAKE ||
                h->reason == MM_REASON_FRAME_FLAGS || h->reason == MM_REASON_CONNECTIONS;
    if (told && h->out_size + MMI_COMMAND_OVERHEAD + MMI_ERROR_TEXT_MAX <= MMI_HELLO_OUT_MAX) {
        h->out_size += (uint32_t)mmi_command_put_error(h->out + h->out_size, h->detail);
    }
}

int
mmi_hello_feed(mmi_hello *h, const uint8_t *buf, size_t size, size_t *used)
{
    *used = 0;
    if (h->reason != MM_REASON_NONE) {
        return h->reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
    }
    int rc = MM_OK;
    while (rc == MM_OK && h->state != MMI_HELLO_DONE) {
        if (h->state == MMI_HELLO_MECHANISM) {
            return MMI_STEP_DUE;
        }
        uint64_t need = hello_need(h);
        if (need == 0) {
            rc = MM_EPROTO;
            break;
        }
        if (*used == size && h->in_size < need) {
            return 0;
        }
        rc = hello_take(h, need, buf + *used, size - *used, used);
        if (rc == MM_OK) {
            rc = hello_advance(h, need);
        }
    }
    if (rc == MM_EPROTO) {
        hello_say_error(h);
    }
    return rc == MM_OK ? 1 : rc;
}
