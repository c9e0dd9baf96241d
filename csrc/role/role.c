/*
 * role/role.c: from the number of a role to its table.
 * Not here: which roles may talk to each other (the handshake knows).
 * Law: one entry per mm_role.
 */
#include "role/role.h"

static const mmi_proto_ops *const proto_roles[MM_ROLE_COUNT] = {
    [MM_PUSH] = &mmi_push_ops,         [MM_PULL] = &mmi_pull_ops,
    [MM_PUB] = &mmi_pub_ops,           [MM_SUB] = &mmi_sub_ops,
    [MM_XPUB] = &mmi_xpub_ops,         [MM_XSUB] = &mmi_xsub_ops,
    [MM_REQ] = &mmi_req_ops,           [MM_REP] = &mmi_rep_ops,
    [MM_DEALER] = &mmi_dealer_ops,     [MM_ROUTER] = &mmi_router_ops,
    [MM_PAIR] = &mmi_pair_ops,         [MM_BUS] = &mmi_bus_ops,
    [MM_SURVEYOR] = &mmi_surveyor_ops, [MM_RESPONDENT] = &mmi_respondent_ops,
};

const mmi_proto_ops *
mmi_proto_find(int role)
{
    return role > 0 && role < MM_ROLE_COUNT ? proto_roles[role] : NULL;
}
