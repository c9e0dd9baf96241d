/*
 * command.h: ZMTP commands after the handshake: PING, PONG, SUBSCRIBE, CANCEL, ERROR.  Pure.
 */
#ifndef MMI_COMMAND_H
#define MMI_COMMAND_H

#include "base/limits.h"
#include "wire/delivery.h"
#include "wire/input.h"

/* Parses the body of a command frame. MM_OK; MM_EPROTO: malformed (no name, name beyond the body,
 * PING shorter than 7 octets, context over 16, ERROR reason beyond the body). */
int mmi_command_parse(const uint8_t *body, size_t size, mmi_command *out) MMI_WARN_UNUSED;
/* What an ERROR says, in words: its text made printable, and what it means if it is a status of
 * ZAP. */
void mmi_command_refusal(const mmi_command *error, char *out, size_t cap);
/* What a status of ZAP means, in words; NULL: it is none. */
const char *mmi_command_zap(const char *status);
/* Whole frames, head included, into out; returns the size.  cap must be >= MMI_COMMAND_OVERHEAD +
 * topic/context size. */
size_t mmi_command_put_ping(uint8_t *out, uint16_t ttl_ds, const uint8_t *context, size_t size);
size_t mmi_command_put_pong(uint8_t *out, const uint8_t *context, size_t size);
/* SUBSCRIBE (add) or CANCEL; minor 0: the message form 01/00 topic, else the command form. */
size_t mmi_command_put_subscription(uint8_t *out, uint8_t minor, bool add, const uint8_t *topic,
                                    size_t size);

/* None has data; what a peer puts there is ignored. */
size_t mmi_command_put_stop(uint8_t *out);
size_t mmi_command_put_stopped(uint8_t *out);
size_t mmi_command_put_end(uint8_t *out);
/* What they say: wire/delivery.h.  COUNT and AGAIN take MMI_COMMAND_OVERHEAD octets at most; ACK has
 * as many more as its bitmap, which the caller writes behind it. */
enum { MMI_COMMAND_AGAIN_SIZE = 2 + 1 + 5 + MMI_AGAIN_SIZE };
size_t mmi_command_put_count(uint8_t *out, const mmi_count *count);
size_t mmi_command_put_again(uint8_t *out, const mmi_origin *origin);
size_t mmi_command_put_nack(uint8_t *out, uint64_t number, uint32_t delay_ms);
size_t mmi_command_put_extend(uint8_t *out, uint64_t number);
size_t mmi_command_put_ack(uint8_t *out, size_t size);   /* all but its data, of that size */
size_t mmi_command_put_meta(uint8_t *out, size_t size);  /* likewise; base/meta.h */
/* REPLAY has as many octets more as mmi_replay_size says. */
size_t mmi_command_put_replay(uint8_t *out, const mmi_replay *replay);
enum { MMI_COMMAND_COUNT_SIZE = 2 + 1 + 5 + MMI_COUNT_SIZE, MMI_COMMAND_AT_SIZE = 2 + 1 + 2 + MMI_AT_SIZE };
size_t mmi_command_put_at(uint8_t *out, uint64_t number);
size_t mmi_command_put_lost(uint8_t *out, const mmi_lost *lost);
/* text is cut at MMI_ERROR_TEXT_MAX octets; out has room for that and MMI_COMMAND_OVERHEAD. */
size_t mmi_command_put_error(uint8_t *out, const char *text);

#endif
