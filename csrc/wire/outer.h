/*
 * wire/outer.h: the outer half of a handshake: that of a mechanism that comes before any wire, and
 * then the wire's hello through it, in both directions, until the link has the shield.
 *
 * Not here: the hello (wire/handshake.c), what is sealed later (link/shield.h).
 * Law: as a mechanism's: what takes long is called without the engine's lock.  What is to be written
 * is kept here, in order; what was opened is kept until it is used, a little at a time.
 */
#ifndef MMI_OUTER_H
#define MMI_OUTER_H

#include "wire/mechanism.h"

enum {
    MMI_OUTER_PLAIN_MAX = 4096,          /* octets that are opened at once */
    MMI_OUTER_HOST_CAP = 256             /* octets of a host, with a 0 */
};

typedef struct mmi_outer_config {
    const mmi_mechanism *mechanism;      /* NULL: none, and the rest has no meaning   */
    const void *config;
    const char *host;                    /* as of mmi_mechanism.aim, copied; not of who listens */
    const mmi_expected *who;             /* likewise; or NULL                         */
    const char *wire;                    /* NULL: it listens                          */
    uint64_t frame_max;
} mmi_outer_config;

typedef struct mmi_outer {
    mmi_outer_config config;
    mmi_shield shield;                   /* self NULL: it has not begun, or was taken */
    char host[MMI_OUTER_HOST_CAP];
    mmi_expected who;                    /* if its config has one                     */
    bool begun, asking, done;
    int failed;                          /* of open: what is behind plain; MM_OK: nothing yet */
    mmi_refusal why;                     /* of the last error                         */
    uint8_t *out;                        /* to be written, sealed or of its handshake */
    size_t out_size, out_cap, out_sent;
    size_t total;                        /* octets of the peer's handshake            */
    bool more;                           /* open may have more to give                */
    size_t plain_at, plain_size;
    uint8_t plain[MMI_OUTER_PLAIN_MAX];  /* opened, and not used before plain_at      */
} mmi_outer;

mmi_outer *mmi_outer_new(const mmi_outer_config *config) MMI_WARN_UNUSED;   /* NULL: no memory */
void mmi_outer_free(mmi_outer *o);       /* takes NULL */

/* A step of its handshake, then the answer where it asks: MMI_STEP_MORE, DONE or ASK; or MM_EPROTO: see
 * why; MM_ENOMEM.  *used is 0 before. */
int mmi_outer_step(mmi_outer *o, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
int mmi_outer_answer(mmi_outer *o, const mmi_answer *answer) MMI_WARN_UNUSED;

/* Once it is done, and plain was used: takes all octets of in, and opens some; then, of none, more of
 * them.  An error is noted in failed. */
void mmi_outer_open(mmi_outer *o, uint8_t *in, size_t size);
/* Seals octets behind what is to be written.  MM_EPROTO, MM_ENOMEM. */
int mmi_outer_seal(mmi_outer *o, const uint8_t *plain, size_t size) MMI_WARN_UNUSED;
/* It was heard that the peer ends, and all in front of that was given. */
bool mmi_outer_closed(const mmi_outer *o);
/* That we end goes behind it. */
void mmi_outer_part(mmi_outer *o);

#endif
