/*
 * respondent.c: RESPONDENT: surveys from all peers, fairly; each answer goes to who asked.
 * On the wire: the survey's id (4 octets, highest bit 1), an empty frame, the user's frames; more
 * words of 4 octets may stand in front of the id, the way back over others.
 * Not here: everything it does as REP does (rep.c).
 * Law: what does not begin with an id is no survey; it is dropped and counted.
 */
#include "proto/rep.h"
#include "proto/survey.h"

/* All words up to the id, then the delimiter. */
static uint32_t
respondent_envelope(const mmi_msg *m)
{
    uint32_t count = mmi_rep_envelope(m);
    if (count < MMI_SURVEY_ENVELOPE_FRAMES) {
        return 0;
    }
    for (uint32_t i = 0; i < count - 1; i++) {
        bool last = i == count - 2;
        if (m->frames[i].size != MMI_SURVEY_ID_SIZE ||
            ((m->frames[i].data[0] & MMI_SURVEY_ID_MARK) != 0) != last) {
            return 0;
        }
    }
    return count;
}

static int
respondent_init(void *ps, mmi_proto_host *host)
{
    mmi_rep *s = ps;
    int rc = mmi_rep_init(ps, host);
    s->envelope = respondent_envelope;
    return rc;
}

const mmi_proto_ops mmi_respondent_ops = {
    .role = MM_RESPONDENT,
    .sock_size = sizeof(mmi_rep),
    .pipe_size = sizeof(mmi_rep_pipe),
    .init = respondent_init,
    .fini = mmi_rep_fini,
    .add = mmi_rep_add,
    .rm = mmi_rep_rm,
    .in = mmi_rep_in,
    .out = mmi_rep_out,
    .send = mmi_rep_send,
    .recv = mmi_rep_recv,
    .ready = mmi_rep_ready,
};
