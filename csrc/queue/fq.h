/*
 * fq.h: fair queueing: takes from all pipes that have input, one message a turn.
 *
 * What a peer that went away had already delivered is kept and given out first.
 * Law: active holds exactly the pipes whose inbox is not empty; each pipe is on it once.
 */
#ifndef MMI_FQ_H
#define MMI_FQ_H

#include "queue/drop.h"

typedef struct mmi_fq_node {
    mmi_list node;             /* on active while there is input */
    mmi_pipe *pipe;
} mmi_fq_node;

typedef struct mmi_fq {
    mmi_list active;
    mmi_ring left;             /* from peers that are gone */
} mmi_fq;

void mmi_fq_init(mmi_fq *fq, const mm_socket_opts *opts);
void mmi_fq_fini(mmi_fq *fq, mmi_proto_host *host); /* counts what is left as dropped_closed */
void mmi_fq_add(mmi_fq *fq, mmi_fq_node *node, mmi_pipe *pipe);
/* Takes the pipe off; keep moves its inbox to left, each message by way of keep (which may wrap it,
 * but not change it; NULL: no memory).  What keep is not asked for or has no room for stays in the
 * inbox. */
typedef mmi_msg *(*mmi_fq_keep)(mmi_pipe *pipe, mmi_msg *m);
void mmi_fq_rm(mmi_fq *fq, mmi_fq_node *node, mmi_fq_keep keep);
mmi_msg *mmi_fq_keep_all(mmi_pipe *pipe, mmi_msg *m); /* a keep that keeps every message as it is */
void mmi_fq_in(mmi_fq *fq, mmi_fq_node *node);        /* the pipe's inbox is not empty any more */

bool mmi_fq_ready(const mmi_fq *fq);
mmi_msg *mmi_fq_peek(const mmi_fq *fq,
                     mmi_pipe **from); /* the next one; NULL: none.  *from NULL: its peer is gone */
mmi_msg *mmi_fq_pop(mmi_fq *fq);                           /* takes what peek shows */
int mmi_fq_recv(mmi_fq *fq, mmi_msg **m); /* pop as the recv of a role: MM_OK, MM_EAGAIN */
/* The same by the segment, as the take of a role: a peer gives one entry of its queue, or a part. */
int mmi_fq_take(mmi_fq *fq, uint32_t max_messages, size_t max_bytes, mmi_span *out) MMI_WARN_UNUSED;
/* The entry the next take is from, and in a segment its first message that is left; NULL: none. */
mmi_msg *mmi_fq_front(const mmi_fq *fq, uint32_t *first);
uint32_t mmi_fq_unclaimed(const mmi_fq *fq, uint64_t *bytes);   /* left, as the unclaimed of a role */

#endif
