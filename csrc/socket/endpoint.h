/*
 * endpoint.h: where peers come from, as their links see it: dialers and listeners.
 *
 * Not here: what these do (ends/ends.h).  Law: a dialer has at most one link.
 */
#ifndef MMI_ENDPOINT_H
#define MMI_ENDPOINT_H

#include "socket/half_open.h"
#include "socket/socket.h"
#include "tran/tran.h"

struct mmi_link;

typedef struct mmi_dialer {
    mmi_list node;                 /* socket->dialers */
    mmi_socket *socket;
    const mmi_tran *tran;
    mmi_url url;
    char text[MM_ENDPOINT_MAX + 1];
    uint64_t tag;
    mmi_timer timer;
    struct mmi_link *link;
    uint32_t as;                   /* what to dial as, since the peer said so; 0: as the role */
    mmi_addr addrs[MMI_ADDRS_MAX];
    int addr_count, addr_next;
    uint32_t attempt;
    /* Of a transport that tells who listens (tran->listening): who ended the last link, 0: nobody who still
     * does, or it had lived; how often in a row; and until when that one is not dialed again. */
    uint64_t refused_by, refused_until_ns;
    uint32_t refusals;
    uint32_t identity_size;        /* not 0: the peer's name here, whatever it calls itself */
    uint8_t identity[MM_IDENTITY_MAX];
    bool expects;                  /* who is to be there is known */
    mmi_expected who;
    uint64_t told;                 /* the event of its last failure; 0: none */
    bool ended;                    /* its last peer has said END */
} mmi_dialer;

typedef struct mmi_listener {
    mmi_list node;                 /* socket->listeners */
    mmi_list rung_node;            /* engine->rung, if poll cannot watch it */
    mmi_socket *socket;
    char text[MM_ENDPOINT_MAX + 1];    /* as bound */
    char asked[MM_ENDPOINT_MAX + 1];   /* as the user wrote it */
    uint64_t tag;
    const mmi_tran *tran;
    mmi_tran_listener at;
    bool listening;
    bool paused;                   /* out of descriptors or memory */
    mmi_timer timer;               /* when to try again */
    mmi_half_open half_open;       /* links that have not finished their handshake */
} mmi_listener;

#endif
