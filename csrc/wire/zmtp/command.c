/*
 * command.c: ZMTP commands after the handshake.  RFC 37: a name with its length in front, then
 * data.
 *
 * Not here: READY's properties (ready.c).  Law: pure; every length is checked against what is
 * there.
 */
#include "wire/zmtp/command.h"

#include <stdio.h>
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/frame.h"

enum { COMMAND_TTL_SIZE = 2, COMMAND_REFUSAL_MAX = 99 };   /* octets that are told */

static const struct {
    const char *name;
    int kind;
} command_names[] = {
    { "PING", MMI_COMMAND_PING },     { "PONG", MMI_COMMAND_PONG },
    { "CANCEL", MMI_COMMAND_CANCEL }, { "SUBSCRIBE", MMI_COMMAND_SUBSCRIBE },
    { "ERROR", MMI_COMMAND_ERROR },   { "READY", MMI_COMMAND_READY },
    { "STOP", MMI_COMMAND_STOP },     { "STOPPED", MMI_COMMAND_STOPPED },
    { "COUNT", MMI_COMMAND_COUNT },   { "AGAIN", MMI_COMMAND_AGAIN },
    { "ACK", MMI_COMMAND_ACK },       { "NACK", MMI_COMMAND_NACK },
    { "META", MMI_COMMAND_META },     { "EXTEND", MMI_COMMAND_EXTEND },
    { "END", MMI_COMMAND_END },       { "REPLAY", MMI_COMMAND_REPLAY },
    { "AT", MMI_COMMAND_AT },         { "LOST", MMI_COMMAND_LOST },
};

static int
command_kind(const uint8_t *name, size_t size)
{
    for (size_t i = 0; i < MMI_COUNT_OF(command_names); i++) {
        if (strlen(command_names[i].name) == size &&
            memcmp(command_names[i].name, name, size) == 0) {
            return command_names[i].kind;
        }
    }
    return MMI_COMMAND_UNKNOWN;
}

int
mmi_command_parse(const uint8_t *body, size_t size, mmi_command *out)
{
    if (size < 1 || body[0] == 0 || body[0] > size - 1) {
        return MM_EPROTO;
    }
    size_t name_size = body[0];
    out->kind = command_kind(body + 1, name_size);
    out->ttl_ds = 0;
    out->data = body + 1 + name_size;
    out->size = size - 1 - name_size;
    if (out->kind == MMI_COMMAND_PING) {
        if (out->size < COMMAND_TTL_SIZE) {
            return MM_EPROTO;
        }
        out->ttl_ds = (uint16_t)(out->data[0] << 8 | out->data[1]);
        out->data += COMMAND_TTL_SIZE;
        out->size -= COMMAND_TTL_SIZE;
    }
    if (out->kind == MMI_COMMAND_PING || out->kind == MMI_COMMAND_PONG) {
        return out->size <= MMI_PING_CONTEXT_MAX ? MM_OK : MM_EPROTO;
    }
    if (out->kind == MMI_COMMAND_ERROR) {
        if (out->size < 1 || out->data[0] > out->size - 1) {
            return MM_EPROTO;
        }
        out->size = out->data[0];
        out->data += 1;
    }
    return MM_OK;
}

/* RFC 27; libzmq sends its handler's status and no more. */
static const struct {
    const char *status, *meaning;
} command_zap[] = {
    { "300", "a temporary error" },
    { "400", "authentication failed" },
    { "500", "an internal error" },
};

const char *
mmi_command_zap(const char *status)
{
    for (size_t i = 0; i < MMI_COUNT_OF(command_zap); i++) {
        if (strcmp(status, command_zap[i].status) == 0) {
            return command_zap[i].meaning;
        }
    }
    return NULL;
}

void
mmi_command_refusal(const mmi_command *error, char *out, size_t cap)
{
    char text[COMMAND_REFUSAL_MAX + 1];
    mmi_text_excerpt(text, sizeof text, error->data, error->size);
    const char *zap = mmi_command_zap(text);
    if (zap != NULL) {
        snprintf(out, cap, "the peer refused: %s (its authenticator, ZAP, refused us: %s)", text,
                 zap);
    } else {
        snprintf(out, cap, "the peer refused: %s", text);
    }
}

/* All of a command but its data, of that size. */
static size_t
command_put_name(uint8_t *out, const char *name, size_t size)
{
    size_t name_size = strlen(name);
    size_t at = mmi_frame_head_put(out, MMI_FRAME_COMMAND, 1 + name_size + size);
    out[at++] = (uint8_t)name_size;
    memcpy(out + at, name, name_size);
    return at + name_size;
}

/* A whole command frame: name, then two pieces of data (each may be empty). */
static size_t
command_put(uint8_t *out, const char *name, const uint8_t *first, size_t first_size,
            const uint8_t *second, size_t second_size)
{
    size_t at = command_put_name(out, name, first_size + second_size);
    if (first_size > 0) {
        memcpy(out + at, first, first_size);
        at += first_size;
    }
    if (second_size > 0) {
        memcpy(out + at, second, second_size);
        at += second_size;
    }
    return at;
}

size_t
mmi_command_put_ping(uint8_t *out, uint16_t ttl_ds, const uint8_t *context, size_t size)
{
    uint8_t ttl[COMMAND_TTL_SIZE] = { (uint8_t)(ttl_ds >> 8), (uint8_t)ttl_ds };
    return command_put(out, "PING", ttl, sizeof ttl, context, size);
}

size_t
mmi_command_put_pong(uint8_t *out, const uint8_t *context, size_t size)
{
    return command_put(out, "PONG", NULL, 0, context, size);
}

size_t
mmi_command_put_subscription(uint8_t *out, uint8_t minor, bool add, const uint8_t *topic,
                             size_t size)
{
    if (minor > 0) {
        return command_put(out, add ? "SUBSCRIBE" : "CANCEL", NULL, 0, topic, size);
    }
    size_t at = mmi_frame_head_put(out, 0, 1 + size);
    out[at++] = add ? 1 : 0;
    if (size > 0) {
        memcpy(out + at, topic, size);
    }
    return at + size;
}

size_t
mmi_command_put_stop(uint8_t *out)
{
    return command_put(out, "STOP", NULL, 0, NULL, 0);
}

size_t
mmi_command_put_stopped(uint8_t *out)
{
    return command_put(out, "STOPPED", NULL, 0, NULL, 0);
}

size_t
mmi_command_put_end(uint8_t *out)
{
    return command_put(out, "END", NULL, 0, NULL, 0);
}

size_t
mmi_command_put_count(uint8_t *out, const mmi_count *count)
{
    uint8_t data[MMI_COUNT_SIZE];
    mmi_count_put(data, count);
    return command_put(out, "COUNT", data, sizeof data, NULL, 0);
}

size_t
mmi_command_put_again(uint8_t *out, const mmi_origin *origin)
{
    uint8_t data[MMI_AGAIN_SIZE];
    mmi_again_put(data, origin);
    return command_put(out, "AGAIN", data, sizeof data, NULL, 0);
}

size_t
mmi_command_put_nack(uint8_t *out, uint64_t number, uint32_t delay_ms)
{
    uint8_t delay[MMI_NACK_DELAY_SIZE], data[MMI_NUMBER_SIZE];
    mmi_be32_put(delay, delay_ms);
    mmi_be64_put(data, number);
    return command_put(out, "NACK", delay, sizeof delay, data, sizeof data);
}

size_t
mmi_command_put_extend(uint8_t *out, uint64_t number)
{
    uint8_t data[MMI_NUMBER_SIZE];
    mmi_be64_put(data, number);
    return command_put(out, "EXTEND", data, sizeof data, NULL, 0);
}

size_t
mmi_command_put_ack(uint8_t *out, size_t size)
{
    return command_put_name(out, "ACK", size);
}

size_t
mmi_command_put_meta(uint8_t *out, size_t size)
{
    return command_put_name(out, "META", size);
}

size_t
mmi_command_put_replay(uint8_t *out, const mmi_replay *replay)
{
    size_t size = mmi_replay_size(replay), at = command_put_name(out, "REPLAY", size);
    mmi_replay_put(out + at, replay);
    return at + size;
}

size_t
mmi_command_put_at(uint8_t *out, uint64_t number)
{
    uint8_t data[MMI_AT_SIZE];
    mmi_at_put(data, number);
    return command_put(out, "AT", data, sizeof data, NULL, 0);
}

size_t
mmi_command_put_lost(uint8_t *out, const mmi_lost *lost)
{
    uint8_t data[MMI_LOST_SIZE];
    mmi_lost_put(data, lost);
    return command_put(out, "LOST", data, sizeof data, NULL, 0);
}

size_t
mmi_command_put_error(uint8_t *out, const char *text)
{
    size_t size = strlen(text);
    uint8_t length = (uint8_t)(size < MMI_ERROR_TEXT_MAX ? size : MMI_ERROR_TEXT_MAX);
    return command_put(out, "ERROR", &length, 1, (const uint8_t *)text, length);
}
