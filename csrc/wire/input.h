/*
 * input.h: what a parser gives out: a message, or a command, which is what the peer's engine has to
 * say to ours.
 *
 * Not here: how either looks on a wire.  Law: a wire that has no words for a command never gives it.
 */
#ifndef MMI_INPUT_H
#define MMI_INPUT_H

#include "base/msg.h"

typedef enum mmi_command_kind {
    MMI_COMMAND_UNKNOWN = 1, /* well-formed, to be ignored            */
    MMI_COMMAND_PING,
    MMI_COMMAND_PONG,
    MMI_COMMAND_SUBSCRIBE,
    MMI_COMMAND_CANCEL,
    MMI_COMMAND_ERROR,
    MMI_COMMAND_READY,       /* a second READY: an error above        */
    MMI_COMMAND_STOP,        /* send nothing more                     */
    MMI_COMMAND_STOPPED,     /* that was the last message             */
    MMI_COMMAND_COUNT,       /* wire/delivery.h, as the next two      */
    MMI_COMMAND_AGAIN,
    MMI_COMMAND_ACK,
    MMI_COMMAND_NACK,
    MMI_COMMAND_META,
    MMI_COMMAND_EXTEND,
    MMI_COMMAND_END,         /* there are no more messages            */
    MMI_COMMAND_REPLAY,      /* wire/delivery.h, as the next two      */
    MMI_COMMAND_AT,
    MMI_COMMAND_LOST
} mmi_command_kind;

typedef struct mmi_command {
    int kind;
    uint16_t ttl_ds;           /* PING                                  */
    const uint8_t *data;       /* PING/PONG context, topic, ERROR reason */
    size_t size;
} mmi_command;

typedef struct mmi_input {
    mmi_msg *msg;              /* a message (the caller owns it), or NULL: a command */
    mmi_command command;       /* its data points into the fed bytes or the reader: valid until the
                                  next call */
} mmi_input;

enum { MMI_ERROR_TEXT_MAX = MM_DETAIL_MAX };   /* octets of an ERROR; a longer text is cut */

#endif
