/*
 * mechanism.h: who protects a connection, as a table: its name in the greeting, its handshake, and
 * then seal and open, plain octets <-> protected ones.
 *
 * NULL, the mechanism of ZMTP that protects nothing, is no table: a link without one makes no call.
 * A socket has one mechanism at most: a greeting has room for one name, and nothing falls back to
 * another.  Not here: framing of messages, which is the wire's and is what gets sealed; what a link
 * does with records (link/shield.h).
 * Law:
 * - seal and open are never called with the engine's lock held.  Each is called by one thread at a
 *   time, but one of each may run at once: what they share is the mechanism's to guard.
 * - They allocate nothing a message: only for a record that has not come whole, as it comes.
 * - What is sealed is written in order, whole, and once: a record may refer to those before it.
 * - Octets count as written once the record that has the last of them was taken whole by the stream: of
 *   a cut one the peer has nothing, so what is in it may go to the next peer.
 * - What a peer sends is a result, never an assertion; after an error a shield stays in error.
 * - Nothing of the peer's metadata is believed before feed gave 1, and nothing plain is sent or taken
 *   between the greeting and the first record.
 */
#ifndef MMI_MECHANISM_H
#define MMI_MECHANISM_H

#include "base/base.h"

enum { MMI_MECHANISM_NAME_MAX = 20 };    /* octets, in the greeting of ZMTP */

typedef struct mmi_mechanism {
    const char *name;                    /* as peers know it: "CURVE" */
    size_t record_max;                   /* octets that seal is given at once, at most */

    /* The shield of one connection.  config: the socket's (keys, who may come in).  dials: we do.
     * metadata: our properties, as READY has them, for the peer alone; copied.  NULL: no memory. */
    void *(*begin)(const void *config, bool dials, const uint8_t *metadata, size_t size);
    void (*end)(void *shield);           /* wipes and frees it */

    /* The handshake, once the greetings agree; the engine's lock is held, so a step is short.  1:
     * done, *used octets were its; 0: needs more, all were used; MM_EPROTO: refused, why is in detail
     * (MM_DETAIL_MAX + 1 octets); MM_ENOMEM. */
    int (*feed)(void *shield, const uint8_t *buf, size_t size, size_t *used, char *detail);
    /* What is to be written now, also in an error; 0: nothing. */
    size_t (*output)(const void *shield, const uint8_t **out);
    void (*sent)(void *shield, size_t size);
    /* Once it is done: the peer's properties. */
    const uint8_t *(*metadata)(const void *shield, size_t *size);

    /* Octets that the next seal of so many writes, at most. */
    size_t (*room)(const void *shield, size_t size);
    /* One record of at most record_max octets.  Octets written; 0: it keeps them and waits for more,
     * where a record must be a whole frame; MM_EPROTO: no more can be sealed; MM_ENOMEM. */
    int64_t (*seal)(void *shield, const uint8_t *plain, size_t size, uint8_t *out);
    /* Takes all octets of in, and writes the plain ones of the records that are whole.  How many; as
     * many as cap: there may be more, which are given by calls with no octets in.  MM_EPROTO: they
     * are not what the peer sealed; MM_ENOMEM. */
    int64_t (*open)(void *shield, const uint8_t *in, size_t size, uint8_t *out, size_t cap);
    bool (*idle)(const void *shield);    /* open: between two records */
} mmi_mechanism;

/* What protects one connection.  mechanism NULL: nothing does. */
typedef struct mmi_shield {
    const mmi_mechanism *mechanism;
    void *self;
} mmi_shield;

/* As it stands in a greeting, also of none. */
static inline const char *
mmi_mechanism_name(const mmi_mechanism *mechanism)
{
    return mechanism == NULL ? "NULL" : mechanism->name;
}

#endif
