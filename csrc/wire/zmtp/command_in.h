/*
 * command_in.h: one command of a mechanism's handshake, as its octets come, until it is whole.
 *
 * Not here: what is in it (curve_client.c, curve_server.c, plain.c).
 * Law: a command is refused by its head where that cannot be right, before memory is taken for it;
 * what was taken is wiped when it is freed or moved, as there may be a password in it.
 */
#ifndef MMI_COMMAND_IN_H
#define MMI_COMMAND_IN_H

#include "wire/mechanism.h"

enum {
    MMI_COMMAND_ERROR_SIZE = 7,          /* octets of an ERROR without its text */
    MMI_COMMAND_ERROR_TEXT_MAX = 255
};

typedef struct mmi_command_in {
    uint8_t *data;                       /* head and body so far */
    size_t size, cap;
} mmi_command_in;

/* Which command is awaited. */
typedef struct mmi_command_due {
    const char *name;                    /* NULL: none may come */
    size_t least, most;                  /* octets of its body, with the name in front */
    bool told;                           /* by a server, which may say ERROR in its place */
} mmi_command_due;

/* Takes what is missing of it.  1: it is whole, the one that is due, and *body lies in in->data until the
 * next call; 0: all octets were used, and it needs more.  MM_EPROTO, MM_ENOMEM. */
int mmi_command_in_feed(mmi_command_in *in, const mmi_command_due *due, const uint8_t *buf, size_t size,
                        size_t *used, uint8_t **body, size_t *body_size, mmi_refusal *why) MMI_WARN_UNUSED;
void mmi_command_in_free(mmi_command_in *in);

#endif
