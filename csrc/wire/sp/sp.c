/*
 * sp.c: the table of SP protocols.
 *
 * Not here: any state.  Law: pure; a peer's number finds a row or nothing.
 */
#include "wire/sp/sp.h"

static const mmi_sp_protocol sp_protocols[] = {
    { MMI_SP_PAIR1, MMI_SP_PAIR1, MM_PAIR, MMI_SP_HOPS, 1, "PAIRv1" },
    { MMI_SP_PAIR0, MMI_SP_PAIR0, MM_PAIR, MMI_SP_RAW, 1, "PAIRv0" },
    { MMI_SP_PUB, MMI_SP_SUB, MM_PUB, MMI_SP_RAW, 2, "PUB" },
    { MMI_SP_SUB, MMI_SP_PUB, MM_SUB, MMI_SP_RAW, 1, "SUB" },
    { MMI_SP_REQ, MMI_SP_REP, MM_REQ, MMI_SP_ASKED, 1, "REQ" },
    { MMI_SP_REP, MMI_SP_REQ, MM_REP, MMI_SP_STACK, 1, "REP" },
    { MMI_SP_PUSH, MMI_SP_PULL, MM_PUSH, MMI_SP_RAW, 1, "PUSH" },
    { MMI_SP_PULL, MMI_SP_PUSH, MM_PULL, MMI_SP_RAW, 1, "PULL" },
    { MMI_SP_SURVEYOR, MMI_SP_RESPONDENT, MM_SURVEYOR, MMI_SP_ASKED, 1, "SURVEYOR" },
    { MMI_SP_RESPONDENT, MMI_SP_SURVEYOR, MM_RESPONDENT, MMI_SP_STACK, 1, "RESPONDENT" },
    { MMI_SP_BUS, MMI_SP_BUS, MM_BUS, MMI_SP_RAW, 1, "BUS" },
};

const mmi_sp_protocol *
mmi_sp_find(uint32_t id)
{
    for (size_t i = 0; i < MMI_COUNT_OF(sp_protocols); i++) {
        if (sp_protocols[i].id == id) {
            return &sp_protocols[i];
        }
    }
    return NULL;
}

const mmi_sp_protocol *
mmi_sp_of_role(int role)
{
    for (size_t i = 0; role > 0 && i < MMI_COUNT_OF(sp_protocols); i++) {
        if (sp_protocols[i].role == role) {
            return &sp_protocols[i];
        }
    }
    return NULL;
}

bool
mmi_sp_match(const mmi_sp_protocol *ours, const mmi_sp_protocol *theirs)
{
    return ours->peer_id == theirs->id;
}
