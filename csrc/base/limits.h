/*
 * limits.h: every limit of the core, once, with its unit.  Defaults may be changed per socket
 * (mm_socket_opts); the others are fixed.  docs/semantics.md lists them.
 */
#ifndef MMI_LIMITS_H
#define MMI_LIMITS_H

enum {
    /* defaults of a socket */
    MMI_QUEUE_MESSAGES = 1000,               /* messages, per peer and direction         */
    MMI_QUEUE_BYTES = 16 * 1024 * 1024,      /* bytes, per peer and direction            */
    MMI_MESSAGE_SIZE_MAX = 64 * 1024 * 1024, /* bytes, all frames of a message           */
    MMI_FRAMES_MAX = 1024,                   /* frames a message                         */
    MMI_TOPIC_SIZE_MAX = 64 * 1024,          /* bytes a topic                            */
    MMI_SUBSCRIPTIONS_MAX = 10000,           /* topics a peer                            */
    MMI_RETAIN_TOPICS_MAX = 65536,           /* topics whose last message a PUB retains  */
    MMI_RETAIN_BYTES_MAX = 64 * 1024 * 1024, /* bytes of those                           */
    MMI_HALF_OPEN_MAX = 256,                 /* unfinished handshakes a listener         */
    MMI_CONNECTIONS_MAX = 65536,             /* accepted connections a socket            */
    MMI_HANDSHAKE_TIMEOUT_MS = 10000,        /* whole handshake, from the first octet    */
    MMI_HEARTBEAT_INTERVAL_MS = 5000,
    MMI_HEARTBEAT_TIMEOUT_MS = 15000,
    MMI_RECONNECT_MIN_MS = 50,
    MMI_RECONNECT_MAX_MS = 10000,
    MMI_LINGER_MS = 1000,                    /* what close() leaves behind may take this */

    /* fixed */
    MMI_HEARTBEAT_TTL_MAX_DS = 655,          /* deciseconds: libzmq overflows above      */
    MMI_PART_MS = 300000,                    /* a peer may read no further in what an ended connection
                                                still has for it */
    MMI_PART_LIFE_MS = 3600000,              /* and have that, all in all */
    MMI_PARTING_MAX = 4096,                  /* such connections, an engine: the oldest goes first */
    MMI_ANSWER_MS = 3000,                    /* a peer's system has at least so long to answer */
    MMI_PING_CONTEXT_MAX = 16,               /* bytes                                    */
    MMI_HALF_OPEN_SURE_MS = 1000,            /* that an unfinished handshake keeps its place of
                                                connections_max, though others come     */
    MMI_HALF_OPEN_ADDRESS_MAX = 64,          /* unfinished handshakes that an address keeps though
                                                a listener has too many                  */
    MMI_HANDSHAKE_SIZE_MAX = 16 * 1024,      /* bytes a peer may send before it is known */
    MMI_ALLOW_TIMEOUT_MS = 5000,             /* for an answer whether a peer may come in */
    MMI_ASKED_MAX = 64,                      /* questions of a socket that were taken and have no
                                                answer yet; the rest waits               */
    MMI_COMMAND_OVERHEAD = 64,               /* bytes a command may have over its topic  */
    MMI_SUBSCRIPTION_BYTES_MAX = 16 * 1024 * 1024, /* bytes of topics a peer             */
    MMI_CHANGES_WAITING_BYTES = 64 * 1024,   /* bytes of unwritten subscriptions and
                                                cancellations, before they are summed up */
    MMI_SP_HOPS_MAX = 8,                     /* connections an SP message came over      */
    MMI_FRAME_OVERHEAD = 64,                 /* bytes charged to a queue for each frame  */
    MMI_IO_BUFFER_SIZE = 256 * 1024,         /* bytes a read or write moves at most      */
    MMI_THROTTLE_BYTES = 3 * 1024 * 1024,        /* queued: who sends many lets half of it drain */
    MMI_THROTTLE_MS = 2,                         /* that it waits for it                     */
    MMI_PACE_US = 50,                        /* between the writes of a burst            */
    MMI_READY_BYTES = 1024,                  /* a message that who is writable takes     */
    MMI_SEGMENT_BODY_MAX = 32 * 1024,           /* bytes: a larger message goes by reference */
    MMI_LINK_STEP_BYTES = 1024 * 1024,       /* bytes read from one link in one step     */
    MMI_FEATURES_MAX = 63,                   /* bytes that are read of a peer's features     */
    MMI_GROUP_NAME_MAX = 58,                 /* bytes of the name of a group: "group." and it name a cursor */
    MMI_GROUPS_MAX = 64,                     /* groups at a PUB                          */
    MMI_META_SIZE_MAX = 16 * 1024,           /* bytes that go with a message: key, headers   */
    MMI_UNACKED_MAX = 65536,                 /* messages a peer has and did not acknowledge */
    MMI_REQUESTS_MAX = 65536,                /* requests in flight, a REQ socket         */
    MMI_REFUSAL_REASON_MAX = 1024,           /* bytes of the reason of a refusal         */
    MMI_SURVEYS_MAX = 65536,                 /* surveys not forgotten, a SURVEYOR socket */
    MMI_NOTICES_MAX = 65536,                 /* topics that came and went untold, XPUB   */
    MMI_LEFT_MESSAGES_MAX = 1024 * 1024,     /* received from peers that went away       */
    MMI_LEFT_BYTES_MAX = 1024 * 1024 * 1024, /* bytes of those, at least                 */
    MMI_ENGINES_MAX = 256,                   /* engines a process                        */
    MMI_SOCKETS_MAX = 65536,                 /* sockets a process                        */
    MMI_ENDED_MAX = 256,                     /* drops of closed sockets that nobody was told of yet,
                                                an engine: more are summed up */
    MMI_EVENT_REPEATS_MS = 10000,             /* until the next event of what repeats         */
    MMI_INPROC_RECONNECT_MS = 20,            /* inproc dialers look again this often     */
    MMI_ACCEPT_PAUSE_MS = 100,               /* after EMFILE                             */
    MMI_ACCEPTS_PER_STEP = 64,
    MMI_STOP_ENDED_MAX = 65536,              /* peers that ended while a socket stops */
    MMI_SILENT_MS = 1000,                    /* in a handshake, before an event says so  */
    MMI_REFUSING_MAX = 64,                   /* connections over the limit that are told so */
    MMI_REFUSING_MS = 1000,                  /* for a refused peer to read why           */
    MMI_RESOLVERS_MAX = 8,                   /* threads looking up names at once         */
    MMI_IPC_PATH_MAX = 107,                  /* octets, as a unix address holds; of an abstract
                                                name with its @                          */
    MMI_INPROC_NAME_MAX = 246                /* octets: what fits into an endpoint       */
};

#endif
