/*
 * respondent.c: RESPONDENT: surveys from all peers, fairly; each answer goes to who asked.
 * On the wire: the way back in one frame, words of 4 octets, of which the last is the survey's id
 * (its highest bit 1) and the others are hops (0); an empty frame; the user's frames.
 * Not here: everything it does as REP does (rep.c).
 * Law: what does not begin with an id is no survey; it is dropped and counted.
 */
#include "role/rep.h"
#include "role/role.h"
#include "role/survey.h"

/* The words, then the delimiter. */
static uint32_t
respondent_envelope(const mmi_msg *m)
{
    const mmi_frame *words = &m->frames[0];
    if (mmi_rep_envelope(m) != MMI_SURVEY_ENVELOPE_FRAMES ||
        words->size % MMI_SURVEY_ID_SIZE != 0) {
        return 0;
    }
    for (size_t at = 0; at < words->size; at += MMI_SURVEY_ID_SIZE) {
        bool last = at + MMI_SURVEY_ID_SIZE == words->size;
        if (((words->data[at] & MMI_SURVEY_ID_MARK) != 0) != last) {
            return 0;
        }
    }
    return MMI_SURVEY_ENVELOPE_FRAMES;
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
    .is = { .number = MM_RESPONDENT, .name = "RESPONDENT", .peers = MMI_ROLE_BIT(MM_SURVEYOR) },
    .overflow = MM_OVERFLOW_ERROR,
    .halts = true,
    .converses = true,
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
    .refuse = mmi_rep_refuse,
    .ready = mmi_rep_ready,
};
