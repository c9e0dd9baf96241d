/*
 * mechanism.h: who protects a connection, as a table: its name in the greeting, its handshake, and
 * then seal and open, plain octets <-> protected ones; or neither, where only who the peer is was to be
 * proved.
 *
 * NULL, the mechanism of ZMTP that protects nothing, is no table: a link without one makes no call.
 * A socket has one mechanism at most that is named in the greeting, as that has room for one name, and
 * one at most that comes before it (outer); one of them seals, and nothing falls back to another.
 * Not here: framing of messages, which is the wire's and is what gets sealed; what a link does with
 * records (link/shield.h).
 * Law:
 * - begin, feed, answer, seal, open and farewell take long: they are never called with the engine's lock held,
 *   and a socket that is closed meanwhile changes nothing for them.  So config is the mechanism's to
 *   guard, and outlives the engine.  Each is called by one thread at a time, and nothing else beside
 *   begin, feed and answer; but a seal and an open may run at once: what they share is the
 *   mechanism's to guard.  The others are short, and called with the lock held.
 * - They allocate nothing a message: only for a record that has not come whole, as it comes.
 * - What is sealed is written in order, whole, and once: a record may refer to those before it.
 * - Octets count as written once the record that has the last of them was taken whole by the stream: of
 *   a cut one the peer has nothing, so what is in it may go to the next peer.
 * - What a peer sends is a result, never an assertion; after an error a shield stays in error.
 * - Nothing of the peer's metadata is believed before feed gave MMI_STEP_DONE or MMI_STEP_ASK, and
 *   nothing plain is sent or taken between the greeting and the first record, where there are some.
 * - Who is asked about has no pipe before the answer, and hears nothing that says that it is a peer.
 */
#ifndef MMI_MECHANISM_H
#define MMI_MECHANISM_H

#include <stdio.h>

#include "base/base.h"
#include "wire/applicant.h"
#include "wire/refuse.h"

enum {
    MMI_MECHANISM_NAME_MAX = 20,         /* octets, in the greeting of ZMTP */
    MMI_FAREWELL_MAX = 64,               /* octets */
    MMI_MECHANISM_RECORD_MAX = 16 * 1024 /* plain octets: those of a record of TLS */
};

/* What a step of the handshake comes to.  Or MM_EPROTO: the peer is refused, and why says why;
 * MM_ENOMEM. */
enum {
    MMI_STEP_MORE = 0,                   /* it needs more octets, all were used */
    MMI_STEP_DONE = 1,
    /* The peer is who it says; may it come in?  Once a connection: the next step is answer. */
    MMI_STEP_ASK = 2,
    MMI_STEP_DUE = 3                     /* not of mechanisms: see wire/handshake.h */
};

/* Why the peer, or its octets, are not taken. */
typedef struct mmi_refusal {
    int reason;                          /* mm_reason; MM_REASON_CRYPTO unless it is set */
    char detail[MM_DETAIL_MAX + 1];      /* in words: which check; "" unless it is set */
} mmi_refusal;

/* Who is to be where we dial: the public key that it has to prove, and what it is called here. */
typedef struct mmi_expected {
    uint8_t key[MM_NODE_KEY_SIZE];
    char name[MM_NODE_NAME_MAX + 1];
} mmi_expected;

typedef struct mmi_mechanism {
    const char *name;                    /* as peers know it: "CURVE" */
    size_t record_max;                   /* octets that seal is given at once, at most; 0: no seal */
    size_t metadata_max;                 /* octets of our properties; 0: what the greeting's room is */
    bool (*serves)(const void *config);  /* as-server in our greeting; NULL: never */
    bool (*asks)(const void *config);    /* it gives MMI_STEP_ASK; NULL: never, or nobody has to know */

    /* The shield of one connection.  config: the socket's (keys, who may come in).  dials: we do.
     * metadata: our properties, as READY has them, for the peer alone; copied.  frame_max: octets of
     * the body of a frame that the peer may send, so a longer record is refused.  NULL: no memory. */
    void *(*begin)(const void *config, bool dials, const uint8_t *metadata, size_t size,
                   uint64_t frame_max);
    void (*end)(void *shield);           /* wipes and frees it */

    /* A step of the handshake, once the greetings agree: MMI_STEP_, or an error.  *used, 0 before:
     * octets that were its.  The first time also of no octets. */
    int (*feed)(void *shield, const uint8_t *buf, size_t size, size_t *used, mmi_refusal *why);
    /* Who asks, from MMI_STEP_ASK to the answer; what it points to is the shield's.  Its name and
     * properties are filled in by who calls.  NULL: it never asks. */
    void (*applicant)(const void *shield, mmi_applicant *out);
    /* The step that follows an answer, as feed, of no octets.  Whatever it gives, only MM_ALLOW goes
     * on; of the others it may put into output what the peer is to hear. */
    int (*answer)(void *shield, const mmi_answer *answer, mmi_refusal *why);
    /* What is to be written now, also in an error; 0: nothing. */
    size_t (*output)(const void *shield, const uint8_t **out);
    void (*sent)(void *shield, size_t size);
    /* Once it is done, or asks: the peer's properties.  NULL: it asks before they came. */
    const uint8_t *(*metadata)(const void *shield, size_t *size);

    /* What usually is behind an end of the handshake at this point, in words; NULL: nothing is known. */
    const char *(*guess)(const void *shield);

    /* From here on NULL, all of them, of a mechanism that protects nothing once its handshake is done.
     * Octets that the next seal of so many writes, at most. */
    size_t (*room)(const void *shield, size_t size);
    /* One record, of at most record_max octets.  *size: those there are, at least one; then those it
     * took, at least one: where a record must be a whole frame, none behind its end.  Octets written;
     * 0: it keeps what it took and waits for more; MM_EPROTO: no more can be sealed; MM_ENOMEM;
     * MM_EAGAIN: it took nothing, as it needs more room than it said: ask again. */
    int64_t (*seal)(void *shield, const uint8_t *plain, size_t *size, uint8_t *out);
    /* Takes all octets of in, which it may change, and writes the plain ones of the records that are
     * whole.  *given: how many, whatever is returned: what is in front of a wrong record is right; as
     * many as cap: there may be more, which are given by calls with no octets in.  MM_EPROTO: what is
     * behind them is not what the peer sealed, why says how (MM_REASON_SEQUENCE: one was repeated or
     * left out); MM_ENOMEM.  After either it is not called again. */
    int (*open)(void *shield, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
                mmi_refusal *why);
    bool (*idle)(const void *shield);    /* open: between two records */

    /* Its handshake comes before the first octet of any wire, and all of those are sealed.  Its name
     * never stands in a greeting, it is given no metadata and has none (metadata NULL), and only who
     * listens asks.  Who dials feeds it no octets at first. */
    bool outer;
    /* The rest is of an outer one, and may be NULL. */
    /* May a socket with this config listen, or dial?  MM_OK or MM_EINVAL.  With the lock held. */
    int (*may)(const void *config, bool dials);
    /* After begin, of who dials: the host as the endpoint has it, without brackets, the name of the wire
     * that follows, and who is to be there; NULL: whomever its config takes.  MM_EINVAL: nobody of that
     * name, or key, can be asked for; MM_ENOMEM. */
    int (*aim)(void *shield, const char *host, const char *wire, const mmi_expected *who);
    /* Open saw that the peer said it ends; what comes behind is nothing.  With the lock held. */
    bool (*closed)(const void *shield);
    /* That we do, in at most MMI_FAREWELL_MAX octets, in the place of a seal, after which there is
     * none.  How many; 0: it has no words for it. */
    size_t (*farewell)(void *shield, uint8_t *out);
    /* false: what the peer proved would not be taken any more, as its policy has changed.  With the lock
     * held; it takes long where that was not asked before. */
    bool (*stands)(void *shield);
    void (*forget)(void *config);        /* its socket is gone, and all connections of that */
} mmi_mechanism;

/* What protects one connection.  mechanism NULL: nothing does. */
typedef struct mmi_shield {
    const mmi_mechanism *mechanism;
    void *self;
} mmi_shield;

/* What is sent is protected: not of none. */
static inline bool
mmi_mechanism_seals(const mmi_mechanism *mechanism)
{
    return mechanism != NULL && mechanism->seal != NULL;
}

/* As users are told: "NULL", "CURVE", "TLS", "TLS+PLAIN". */
enum { MMI_MECHANISMS_CAP = 2 * MMI_MECHANISM_NAME_MAX + 2 };
static inline void
mmi_mechanism_names(const mmi_mechanism *outer, const mmi_mechanism *inner, char *out, size_t cap)
{
    if (outer == NULL || inner == NULL) {
        mmi_text_copy(out, cap, outer != NULL ? outer->name : inner != NULL ? inner->name : "NULL");
        return;
    }
    snprintf(out, cap, "%s+%s", outer->name, inner->name);
}

/* As it stands in a greeting, also of none. */
static inline const char *
mmi_mechanism_name(const mmi_mechanism *mechanism)
{
    return mechanism == NULL ? "NULL" : mechanism->name;
}

#endif
