/*
 * rep.h: answering: requests from all peers, fairly, and each reply back to the peer that asked.
 * Used by REP and RESPONDENT, which differ only in what an envelope is.
 * Not here: the asking sides (req.c, surveyor.c).
 * Law: sending never waits: a reply that cannot be queued is dropped, counted and reported.
 */
#ifndef MMI_REP_H
#define MMI_REP_H

#include "base/map.h"
#include "queue/fq.h"
#include "role/role.h"

typedef struct mmi_rep {
    mmi_proto_host *host;
    mmi_fq fq;
    mmi_map pipes;             /* pipe id -> mmi_pipe */
    mmi_pipe *last;            /* of them: was answered last, and most likely is again; or NULL */
    /* How many leading frames are the way back; 0: this is no request. */
    uint32_t (*envelope)(const mmi_msg *m);
} mmi_rep;

typedef struct mmi_rep_pipe {
    mmi_fq_node fq;
} mmi_rep_pipe;

/* As the functions of a role; ps is an mmi_rep, a pipe's state an mmi_rep_pipe. */
int mmi_rep_init(void *ps, mmi_proto_host *host); /* the role then sets envelope, if it differs */
void mmi_rep_fini(void *ps);
int mmi_rep_add(void *ps, mmi_pipe *p);
void mmi_rep_rm(void *ps, mmi_pipe *p);
void mmi_rep_in(void *ps, mmi_pipe *p);
void mmi_rep_out(void *ps, mmi_pipe *p);
int mmi_rep_recv(void *ps, mmi_msg **m);
int mmi_rep_send(void *ps, mmi_msg *m);
int mmi_rep_refuse(void *ps, mmi_msg *m);
uint32_t mmi_rep_ready(const void *ps);

/* Frames up to and including the first empty one; 0: there is none, or nothing behind it. */
uint32_t mmi_rep_envelope(const mmi_msg *m);

#endif
