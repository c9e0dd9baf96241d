/*
 * text.c: the words for errors and reasons, and the version.
 * Not here: sentences with addresses or limits in them; those are made where they are known; names
 * of roles (role/role.h).
 * Law: every value of mm_err and mm_reason has a text of its own (a test compares).
 */
#include "base/base.h"

#include <string.h>

/* Indexed by the negated code. */
static const char *const text_errors[] = {
    [-MM_OK] = "ok",
    [-MM_EAGAIN] = "cannot be done now without waiting",
    [-MM_ETIMEDOUT] = "the time is up",
    [-MM_EINTR] = "interrupted by a signal",
    [-MM_ECLOSED] = "the socket or engine is closed",
    [-MM_EFORKED] = "opened before a fork and used after it",
    [-MM_ESTATE] = "not possible in this state",
    [-MM_ENOTSUP] = "this role, or the wire of its peers, cannot do that",
    [-MM_EINVAL] = "a bad argument",
    [-MM_EADDRINUSE] = "the address or identity is in use",
    [-MM_EADDRINVAL] = "the address is malformed",
    [-MM_EPERM] = "not permitted",
    [-MM_EINSECURE] = "an unencrypted bind outside loopback was not asked for",
    [-MM_ECONNREFUSED] = "the connection was refused",
    [-MM_ECONNRESET] = "the connection was lost",
    [-MM_EPROTO] = "the peer broke the protocol",
    [-MM_EHOSTUNREACH] = "no peer of that name",
    [-MM_EMSGSIZE] = "larger than the limit",
    [-MM_ENOMEM] = "out of memory",
    [-MM_EMFILE] = "too many open files",
    [-MM_EIO] = "input/output error",
    [-MM_EREFUSED] = "the peer refused the request",
    [-MM_EADDRNOTAVAIL] = "the address is not one of this machine",
    [-MM_ENOHOST] = "the host name cannot be resolved",
    [-MM_ENOENT] = "no such folder or endpoint",
    [-MM_ENOTDIR] = "a part of the path is not a folder",
    [-MM_ELOOP] = "too many symbolic links on the path",
    [-MM_ENAMETOOLONG] = "a path or name is too long",
    [-MM_EEXIST] = "a file that is no socket is there",
    [-MM_EROFS] = "the file system is read-only",
    [-MM_ENOSPC] = "no space left on the device",
    [-MM_EFINISHED] = "all who send have sent their last message",
    [-MM_ENOROUTE] = "no way to that network or host, or no answer from it",
};

static const char *const text_reasons[MM_REASON_COUNT] = {
    [MM_REASON_NONE] = "none",
    [MM_REASON_LOCAL] = "closed here",
    [MM_REASON_EOF] = "closed by the peer",
    [MM_REASON_EOF_MID_MESSAGE] = "closed by the peer in the middle of a message",
    [MM_REASON_RESET] = "connection reset",
    [MM_REASON_REFUSED] = "connection refused",
    [MM_REASON_UNREACHABLE] = "unreachable",
    [MM_REASON_HANDSHAKE_TIMEOUT] = "the handshake took too long",
    [MM_REASON_HEARTBEAT] = "silent for longer than it may be",
    [MM_REASON_EVICTED] = "too many unfinished handshakes",
    [MM_REASON_CONNECTIONS] = "too many connections",
    [MM_REASON_NOT_ZMTP] = "the peer does not speak ZMTP",
    [MM_REASON_OLD_ZMTP] = "the peer speaks ZMTP 1.0 or 2.0",
    [MM_REASON_MECHANISM] = "the security mechanisms differ",
    [MM_REASON_HANDSHAKE] = "unexpected frame or command in the handshake",
    [MM_REASON_METADATA] = "bad READY properties",
    [MM_REASON_SOCKET_TYPE] = "the socket types do not fit",
    [MM_REASON_IDENTITY] = "the identity is malformed or taken",
    [MM_REASON_ERROR_COMMAND] = "the peer sent ERROR",
    [MM_REASON_ROLE_REFUSED] = "the socket takes no more peers",
    [MM_REASON_FRAME_FLAGS] = "bad frame flags",
    [MM_REASON_COMMAND] = "malformed command",
    [MM_REASON_COMMAND_SIZE] = "the command is larger than the limit",
    [MM_REASON_MESSAGE_SIZE] = "the message is larger than the limit",
    [MM_REASON_FRAME_COUNT] = "the message has more frames than the limit",
    [MM_REASON_TOPIC_SIZE] = "the topic is larger than the limit",
    [MM_REASON_SUBSCRIPTIONS] = "more subscriptions than the limit",
    [MM_REASON_MEMORY] = "out of memory here",
    [MM_REASON_NOT_SP] = "the peer does not speak SP",
    [MM_REASON_SP_HEADER] = "malformed SP message header",
    [MM_REASON_HANDSHAKE_EOF] = "closed by the peer in the handshake",
    [MM_REASON_USER] = "the other side is another user",
    [MM_REASON_CRYPTO] = "octets that the peer did not protect, or that were changed",
    [MM_REASON_SEQUENCE] = "a protected message was repeated or left out",
    [MM_REASON_NOT_ALLOWED] = "the peer may not come in",
    [MM_REASON_REVOKED] = "the peer may not be here any more: what it proved is no longer taken",
    [MM_REASON_CERTIFICATE] = "the peer's certificate is not taken",
    [MM_REASON_TLS_ALERT] = "the peer ended TLS, and said why",
    [MM_REASON_TLS_EXPECTED] = "this endpoint speaks TLS, and the peer does not",
    [MM_REASON_PLAINTEXT] = "the peer speaks TLS, and this endpoint does not",
    [MM_REASON_FEATURE] = "the peer cannot do what is required of it",
    [MM_REASON_GROUP] = "it may not be a member of its group",
    [MM_REASON_SPOOL] = "messages that the peer asked for are harmed in the spool",
    [MM_REASON_ALLOW_TIMEOUT] = "nobody said in time whether the peer may come in",
};

static const char *
text_of(const char *const *table, size_t count, int64_t index, const char *unknown)
{
    return index >= 0 && index < (int64_t)count && table[index] != NULL ? table[index] : unknown;
}

const char *
mm_version(void)
{
    return MM_VERSION;
}

const char *
mm_strerror(int code)
{
    return text_of(text_errors, MMI_COUNT_OF(text_errors), -(int64_t)code, "unknown error");
}

const char *
mm_reason_text(int reason)
{
    return text_of(text_reasons, MMI_COUNT_OF(text_reasons), reason, "unknown reason");
}

void
mmi_text_excerpt(char *out, size_t cap, const uint8_t *data, size_t size)
{
    size_t length = size < cap - 1 ? size : cap - 1;
    for (size_t i = 0; i < length; i++) {
        out[i] = data[i] >= 0x20 && data[i] < 0x7f ? (char)data[i] : '?';
    }
    out[length] = '\0';
}

void
mmi_text_copy(char *out, size_t cap, const char *text)
{
    size_t size = text != NULL ? strnlen(text, cap - 1) : 0;
    if (size > 0) {
        memcpy(out, text, size);
    }
    out[size] = '\0';
}
