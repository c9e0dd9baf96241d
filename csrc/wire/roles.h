/*
 * wire/roles.h: what a wire asks of roles: their names, and who may talk to whom.
 *
 * Not here: which roles there are (role/role.h fills this table, and hands it down with a handshake).
 * Law: constants; a number finds a role or nothing.
 */
#ifndef MMI_ROLES_H
#define MMI_ROLES_H

#include "base/base.h"

#define MMI_ROLE_BIT(number) (UINT32_C(1) << (number))

typedef struct mmi_role_facts {
    int number;                /* mm_role, below 32 */
    const char *name;          /* as ZMTP has it, exactly: "PUSH" */
    uint32_t peers;            /* MMI_ROLE_BIT of those it talks to; that one of two names the other is enough */
    bool says_identity;        /* to each peer, also when it has none */
} mmi_role_facts;

typedef struct mmi_roles {
    const mmi_role_facts *(*of)(int number);                            /* NULL: there is none */
    const mmi_role_facts *(*named)(const uint8_t *name, size_t size);   /* likewise */
} mmi_roles;

static inline bool
mmi_roles_fit(const mmi_role_facts *a, const mmi_role_facts *b)
{
    return ((a->peers & MMI_ROLE_BIT(b->number)) | (b->peers & MMI_ROLE_BIT(a->number))) != 0;
}

#endif
