/*
 * wire.h: a wire as a table: what a connection that speaks it can do, and how.
 *
 * There is a table for each way a peer may be spoken to: ZMTP 3.1 (which is also who dials before
 * the peer's version is known), ZMTP 3.0, and SP.  The handshake finds out which; from then on a link
 * asks its table, and nobody asks which wire it is.  What a wire has no words for is a NULL or a
 * false here, never a comparison elsewhere.
 * Not here: whole messages as they are queued (wire/framing.h), who protects them
 * (wire/mechanism.h), names of endpoints (wire/url.h).
 * Law: tables are constant; no function allocates, but where it says MM_ENOMEM; a frame that is put
 * takes at most MMI_COMMAND_OVERHEAD octets and what it carries.
 */
#ifndef MMI_WIRE_H
#define MMI_WIRE_H

#include "base/arena.h"
#include "base/limits.h"
#include "wire/delivery.h"
#include "wire/framing.h"
#include "wire/input.h"
#include "wire/mechanism.h"
#include "wire/segment_run.h"

struct mmi_handshake;
struct mmi_parser;
typedef struct mmi_wire mmi_wire;

enum { MMI_WIRE_ZMTP = 1, MMI_WIRE_SP = 2 };   /* as users are told: mm_peer.wire */

/* What a parser takes from a peer at most. */
typedef struct mmi_wire_limits {
    uint64_t message_size_max;       /* MM_REASON_MESSAGE_SIZE */
    uint32_t frames_max;             /* MM_REASON_FRAME_COUNT  */
    uint32_t command_size_max;       /* MM_REASON_COMMAND_SIZE; a long topic is checked above */
} mmi_wire_limits;

/* What the handshake learned of the peer; pointers are into the handshake. */
typedef struct mmi_wire_peer {
    const mmi_wire *wire;            /* how it is to be spoken to                        */
    const mmi_framing *framing;
    int role;                        /* mm_role                                          */
    const uint8_t *identity;         /* as it says it; of 0 octets where it says none    */
    size_t identity_size;
    const char *features;            /* mmi_wire_knows; "": it is no meshmsg peer        */
    const char *group;               /* that it is to be a member of; "": of none        */
    mmi_octets properties;           /* as READY has them, of a mechanism; else of 0 octets */
    const char *user_id;             /* of the answer that let it in; "": nobody asked   */
} mmi_wire_peer;

/* The hello: as those of wire/handshake.h, once the wire is known. */
typedef struct mmi_wire_hello {
    int (*begin)(struct mmi_handshake *o);   /* MM_ENOMEM, or MM_EPROTO: see o->reason */
    void (*fini)(struct mmi_handshake *o);
    int (*feed)(struct mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used);
    /* Of a mechanism.  NULL: feed never gives MMI_STEP_DUE. */
    int (*step)(struct mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used);
    int (*answer)(struct mmi_handshake *o, const mmi_answer *answer);
    void (*applicant)(const struct mmi_handshake *o, mmi_applicant *out);
    size_t (*output)(const struct mmi_handshake *o, const uint8_t **out);
    void (*sent)(struct mmi_handshake *o, size_t size);
    /* It failed: the mm_reason. */
    int (*failure)(const struct mmi_handshake *o, const char **detail);
    void (*peer)(const struct mmi_handshake *o, mmi_wire_peer *out);   /* it is done */
    mmi_shield (*take_shield)(struct mmi_handshake *o);   /* likewise; it is the caller's then */
    const char *(*guess)(const struct mmi_handshake *o);   /* what usually is behind an end of it */
    bool (*speaks)(int role);        /* has it words for that mm_role of ours? */
    uint8_t first;                   /* the octet a peer of it begins with */
    int foreign;                     /* the mm_reason of a peer that is of another wire */
    const char *instead;             /* what who dialed it by another wire is told */
} mmi_wire_hello;

/* The reader: as those of wire/parser.h. */
typedef struct mmi_wire_reader {
    void (*init)(struct mmi_parser *p, const mmi_wire_limits *limits, const struct mmi_handshake *o);
    void (*fini)(struct mmi_parser *p);
    bool (*idle)(const struct mmi_parser *p);
    int (*next)(struct mmi_parser *p, const uint8_t **buf, size_t *size, mmi_input *out);
    mmi_segment_in *(*segment)(const struct mmi_parser *p, const uint8_t **buf, size_t *size,
                         mmi_reader_room room, mmi_arena *arena);
    bool (*waits)(const struct mmi_parser *p, const uint8_t *buf, size_t size, size_t size_max);
    size_t (*direct)(struct mmi_parser *p, uint8_t **area);
    void (*filled)(struct mmi_parser *p, size_t size);
    bool (*skip)(struct mmi_parser *p);
    int (*reason)(const struct mmi_parser *p, const char **detail);
    uint64_t (*skipped)(const struct mmi_parser *p);
} mmi_wire_reader;

struct mmi_wire {
    const char *name;
    const char *prefix;              /* of an endpoint that is to be dialed over it: "sp+", or "" */
    const char *peer_name;           /* who speaks it, in an event: "ZeroMQ peer" */
    int id;                          /* MMI_WIRE_ */
    uint8_t minor;                   /* of ZMTP 3, as users are told; else 0 */
    /* PING is sent and PONG comes back: a peer's silence means something, and what was written can
     * be confirmed.  Where it is false, a PING of the peer is answered all the same. */
    bool beats;
    /* The subscriber tells its topics and the publisher filters; else everything is sent to whoever
     * subscribes, and the subscriber compares. */
    bool tells_topics;
    const mmi_wire_hello *hello;
    const mmi_wire_reader *reader;

    /* Commands: a whole frame into out, which has MMI_COMMAND_OVERHEAD octets beside what it
     * carries; returns its size.  NULL: this wire has no words for it. */
    size_t (*put_ping)(uint8_t *out, uint16_t ttl_ds, const uint8_t *context, size_t size);
    size_t (*put_pong)(uint8_t *out, const uint8_t *context, size_t size);
    size_t (*put_error)(uint8_t *out, const char *text);   /* cut at MMI_ERROR_TEXT_MAX octets */
    size_t (*put_stop)(uint8_t *out);
    size_t (*put_stopped)(uint8_t *out);
    /* Where messages are acknowledged: wire/delivery.h.  Of ACK all but its data, of that size. */
    size_t (*put_count)(uint8_t *out, const mmi_count *count);
    size_t (*put_ack)(uint8_t *out, size_t size);
    size_t (*put_nack)(uint8_t *out, uint64_t number, uint32_t delay_ms);
    size_t (*put_extend)(uint8_t *out, uint64_t number);
    size_t (*put_end)(uint8_t *out);   /* no more come */
    /* Of META likewise: what goes with the message behind it (base/meta.h). */
    size_t (*put_meta)(uint8_t *out, size_t size);
    const mmi_framing *counted;      /* the framing for such a peer */
    /* Where messages are replayed: likewise wire/delivery.h; of REPLAY as many octets more as mmi_replay_size says. */
    size_t (*put_replay)(uint8_t *out, const mmi_replay *replay);
    size_t (*put_at)(uint8_t *out, uint64_t number);
    size_t (*put_lost)(uint8_t *out, const mmi_lost *lost);
    size_t (*put_topic)(uint8_t *out, bool add, const uint8_t *topic, size_t size);
    /* The frame at the front of what was put there: its octets, and SUBSCRIBE or CANCEL with the
     * topic, or some other kind.  NULL as put_topic. */
    size_t (*read_back)(const uint8_t *at, size_t size, mmi_command *out);
    /* Is a message to a publisher a SUBSCRIBE or CANCEL?  NULL: never. */
    bool (*topic_message)(const mmi_msg *m, mmi_command *out);
    /* What an ERROR of the peer says, in words.  NULL: none comes. */
    void (*refusal)(const mmi_command *error, char *out, size_t cap);
};

extern const mmi_wire mmi_wire_zmtp;       /* 3.1 */
extern const mmi_wire mmi_wire_zmtp_3_0;
extern const mmi_wire mmi_wire_sp;

/* The wire whose peers begin with that octet.  NULL: none (HTTP, a TLS hello, ZMTP 1.0). */
const mmi_wire *mmi_wire_sniff(uint8_t first);

/* The wire to dial that endpoint over; its prefix is taken off the front of *text. */
const mmi_wire *mmi_wire_of_text(const char **text);

/* What we say of ourselves to a peer of our kind: the version, then words for what else we
 * understand. */
extern const char mmi_wire_features[];
/* Has a peer that said those features that one? */
bool mmi_wire_knows(const char *features, const char *word);
/* What a peer that said those features takes at most: octets of all frames of a message, and frames.
 * false: it does not say, or not as it is to be said, once: it may take anything. */
bool mmi_wire_takes(const char *features, uint64_t *size, uint32_t *frames);
/* Is that the name of a group?  1 to MMI_GROUP_NAME_MAX of A-Z a-z 0-9 . _ -. */
bool mmi_wire_group_valid(const uint8_t *name, size_t size);

#endif
