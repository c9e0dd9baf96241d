/*
 * sp.h: the second wire: SP, the scalability protocols of nanomsg and NNG.  Which protocols there
 * are, who may talk to whom, and what each puts in front of a body.
 *
 * Not here: the hello (wire/sp/hello.h), bodies (wire/sp/body.h), the stream (wire/sp/reader.h).
 * Law: numbers are those of the SP documents and never change; a row with role 0 is a protocol that
 * no socket of this library speaks.
 */
#ifndef MMI_SP_H
#define MMI_SP_H

#include "base/base.h"

/* On the wire: 16 * protocol + role in it. */
typedef enum mmi_sp_id {
    MMI_SP_PAIR0 = 0x10, MMI_SP_PAIR1 = 0x11, MMI_SP_PUB = 0x20, MMI_SP_SUB = 0x21,
    MMI_SP_REQ = 0x30, MMI_SP_REP = 0x31, MMI_SP_PUSH = 0x50, MMI_SP_PULL = 0x51,
    MMI_SP_SURVEYOR = 0x62, MMI_SP_RESPONDENT = 0x63, MMI_SP_BUS = 0x70
} mmi_sp_id;

/* What stands between the length and the body, and the frames it becomes in a message. */
typedef enum mmi_sp_form {
    MMI_SP_RAW = 1,       /* nothing: [body]                                                   */
    MMI_SP_HOPS,          /* how many connections it came over, 4 octets: [body]               */
    MMI_SP_ASKED,         /* the id of what we asked, 4 octets: [id][empty][body]              */
    MMI_SP_STACK          /* hops, then the id the peer gave it: [all of them][empty][body]    */
} mmi_sp_form;

typedef struct mmi_sp_protocol {
    uint16_t id, peer_id;    /* mmi_sp_id                                                      */
    uint8_t role;            /* mm_role, or 0                                                  */
    uint8_t form;            /* mmi_sp_form, of what it sends and of what it receives          */
    uint8_t bodies_max;      /* frames of a message behind its envelope: SP has none of them,  */
    const char *name;        /* so they are joined; PUB: a topic and a body                    */
} mmi_sp_protocol;

const mmi_sp_protocol *mmi_sp_find(uint32_t id);       /* NULL: unknown */
/* The protocol that a role speaks: PAIR1 for PAIR.  NULL: there is none. */
const mmi_sp_protocol *mmi_sp_of_role(int role);
bool mmi_sp_match(const mmi_sp_protocol *ours, const mmi_sp_protocol *theirs);

#endif
