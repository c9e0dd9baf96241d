/*
 * wire/zmtp/command_in.c: see wire/zmtp/command_in.h.
 * Not here: commands behind the handshake (command.c).
 * Law: as in wire/zmtp/command_in.h.
 */
#include "wire/zmtp/command_in.h"

#include <string.h>

#include "crypto/secret.h"
#include "wire/zmtp/command.h"
#include "wire/zmtp/frame.h"

enum { COMMAND_IN_GROWS_FROM = 256 };   /* octets */

/* How servers of libzmq 4.3 begin PLAIN's ERROR: in C, "\x5ERROR" begins with 5E. */
#define COMMAND_IN_RROR "^RROR"

void
mmi_command_in_free(mmi_command_in *in)
{
    if (in->data != NULL) {
        mmi_wipe(in->data, in->cap);
    }
    mmi_free(in->data);
    *in = (mmi_command_in){ .data = NULL };
}

/* MM_ENOMEM */
static int
command_in_append(mmi_command_in *in, const uint8_t *data, size_t size)
{
    if (size > in->cap - in->size) {
        size_t cap = in->cap == 0 ? (size_t)COMMAND_IN_GROWS_FROM : in->cap;
        while (cap < in->size + size) {
            cap *= 2;
        }
        uint8_t *grown = mmi_alloc(cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        mmi_command_in old = *in;
        if (old.size > 0) {
            memcpy(grown, old.data, old.size);
        }
        *in = (mmi_command_in){ .data = grown, .size = old.size, .cap = cap };
        mmi_command_in_free(&old);
    }
    memcpy(in->data + in->size, data, size);
    in->size += size;
    return MM_OK;
}

static bool
command_in_may_be(const mmi_command_due *due, uint64_t size)
{
    bool error = due->told && size >= MMI_COMMAND_ERROR_SIZE &&
                 size <= MMI_COMMAND_ERROR_SIZE + MMI_COMMAND_ERROR_TEXT_MAX;
    return error || (size >= due->least && size <= due->most);
}

/* Octets of the command in all, as far as that is known; 0: it may not be. */
static size_t
command_in_need(const mmi_command_in *in, const mmi_command_due *due, mmi_frame_head *head,
                mmi_refusal *why)
{
    int n = mmi_frame_head_parse(in->data, in->size, head);
    if (n < 0 || (in->size > 0 && (in->data[0] & MMI_FRAME_COMMAND) == 0)) {
        (void)mmi_refuse(why, MM_REASON_HANDSHAKE, "frame flags %02x instead of %s", in->data[0],
                         due->name);
        return 0;
    }
    if (n > 0 && !command_in_may_be(due, head->size)) {
        (void)mmi_refuse(why, MM_REASON_HANDSHAKE, "a command of %llu octets instead of %s",
                         (unsigned long long)head->size, due->name);
        return 0;
    }
    return n > 0 ? (size_t)n + (size_t)head->size : in->size + 1;
}

#define COMMAND_DENIED "400"   /* of ZAP; its other statuses say nothing of us */

/* The server does not let us in, and says so.  at: where the size of its words stands. */
static int
command_in_told(const uint8_t *body, size_t size, size_t at, mmi_refusal *why)
{
    char text[MMI_COMMAND_ERROR_TEXT_MAX + 1];
    size_t said = body[at];
    if (said != size - at - 1) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "a malformed ERROR");
    }
    mmi_text_excerpt(text, sizeof text, body + at + 1, said);
    const char *zap = mmi_command_zap(text);
    return zap == NULL || strcmp(text, COMMAND_DENIED) == 0
               ? mmi_refuse(why, MM_REASON_ERROR_COMMAND, "the server does not let us in: '%s'",
                            text)
               : mmi_refuse(why, MM_REASON_ERROR_COMMAND,
                            "the server could not say whether we may come in: '%s', %s of its ZAP",
                            text, zap);
}

static bool
command_in_is(const uint8_t *body, size_t size, const char *name)
{
    size_t length = strlen(name);
    return size > length && body[0] == length && memcmp(body + 1, name, length) == 0;
}

/* It is whole, and its size may be. */
static int
command_in_check(const mmi_command_due *due, const uint8_t *body, size_t size, mmi_refusal *why)
{
    if (due->told && size >= MMI_COMMAND_ERROR_SIZE && command_in_is(body, size, "ERROR")) {
        return command_in_told(body, size, MMI_COMMAND_ERROR_SIZE - 1, why);
    }
    if (due->told && size >= MMI_COMMAND_ERROR_SIZE && memcmp(body, COMMAND_IN_RROR, 5) == 0) {
        return command_in_told(body, size, 5, why);
    }
    if (due->told && command_in_is(body, size, "HELLO")) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "HELLO instead of %s: a client, too",
                          due->name);
    }
    if (!command_in_is(body, size, due->name)) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "another command instead of %s", due->name);
    }
    if (size < due->least || size > due->most) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE, "a %s of %zu octets", due->name, size);
    }
    return 1;
}

int
mmi_command_in_feed(mmi_command_in *in, const mmi_command_due *due, const uint8_t *buf, size_t size,
                    size_t *used, uint8_t **body, size_t *body_size, mmi_refusal *why)
{
    mmi_frame_head head = { 0 };
    for (;;) {
        size_t need = command_in_need(in, due, &head, why);
        if (need == 0) {
            return MM_EPROTO;
        }
        if (in->size == need) {
            *body = in->data + need - (size_t)head.size;
            *body_size = (size_t)head.size;
            in->size = 0;
            return command_in_check(due, *body, *body_size, why);
        }
        size_t part = need - in->size < size - *used ? need - in->size : size - *used;
        if (part == 0) {
            return 0;
        }
        int rc = command_in_append(in, buf + *used, part);
        if (rc != MM_OK) {
            return rc;
        }
        *used += part;
    }
}
