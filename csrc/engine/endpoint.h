/*
 * endpoint.h: where peers come from: dialers try again and again, listeners accept.
 *
 * All calls with the engine lock held.  Law: a dialer has at most one link; after it ended the next
 * attempt is exponentially later, with full jitter, unless the link had lived long enough.
 */
#ifndef MMI_ENDPOINT_H
#define MMI_ENDPOINT_H

#include "wire/sp/sp.h"
#include "engine/socket.h"
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
    const mmi_sp_protocol *sp;     /* what to dial as, since the peer said so; NULL: as the role */
    mmi_addr addrs[MMI_ADDRS_MAX];
    int addr_count, addr_next;
    uint32_t attempt;
    uint32_t identity_size;        /* not 0: the peer's name here, whatever it calls itself */
    uint8_t identity[MM_IDENTITY_MAX];
    uint64_t told;                 /* the event of its last failure; 0: none */
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
    mmi_list half_open;            /* links that have not finished their handshake, oldest first */
    uint32_t half_open_count;
} mmi_listener;

/* identity: what to know the peer by; size 0: by what it says.  MM_ESTATE: another dialer has it. */
int mmi_dialer_open(mmi_socket *s, const mmi_url *url, const uint8_t *identity,
                    size_t size) MMI_WARN_UNUSED;
void mmi_dialer_close(mmi_dialer *d);                       /* its link, if any, is left */
void mmi_dialer_due(mmi_dialer *d);                         /* its timer fired */
void mmi_dialer_resolved(mmi_dialer *d);                    /* poll said MMI_RESOLVED */
void mmi_dialer_link_ended(mmi_dialer *d, uint64_t lived_ns, bool silent);

/* addr: where to listen, if its transport looks that up. */
int mmi_listener_open(mmi_socket *s, const mmi_url *url, const mmi_addr *addr, const char *asked,
                      mmi_listener **out) MMI_WARN_UNUSED;
void mmi_listener_close(mmi_listener *l);                   /* its links stay */
void mmi_listener_accept(mmi_listener *l);                  /* readable or rung, or its pause is over */
bool mmi_listener_rung(const mmi_listener *l);              /* of one in engine->rung: somebody waits */

#endif
