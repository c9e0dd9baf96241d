/*
 * role/role.c: the list of roles, and which one a number or a name is for.
 * Not here: what one does (its own file).
 * Law: one entry a number.
 */
#include "role/role.h"

#include <string.h>

enum { ROLES_MAX = 32 };   /* numbers from 1 on: MMI_ROLE_BIT has no more */

static const mmi_proto_ops *roles[ROLES_MAX] = {
#define ROLE_TABLE(number, name) [number] = &mmi_##name##_ops,
    MMI_ROLES(ROLE_TABLE)
#undef ROLE_TABLE
};

int
mmi_proto_add(const mmi_proto_ops *ops)
{
    const mmi_role_facts *is = &ops->is;
    bool valid = is->number > 0 && is->number < ROLES_MAX && is->name[0] != '\0';
    if (!valid || roles[is->number] != NULL ||
        mmi_roles_known.named((const uint8_t *)is->name, strlen(is->name)) != NULL) {
        return MM_EINVAL;
    }
    roles[is->number] = ops;
    return MM_OK;
}

const mmi_proto_ops *
mmi_proto_find(int role)
{
    return role > 0 && role < ROLES_MAX ? roles[role] : NULL;
}

const char *
mmi_role_name(int role)
{
    const mmi_proto_ops *ops = mmi_proto_find(role);
    return ops != NULL ? ops->is.name : "unknown role";
}

static const mmi_role_facts *
role_of(int number)
{
    const mmi_proto_ops *ops = mmi_proto_find(number);
    return ops != NULL ? &ops->is : NULL;
}

static const mmi_role_facts *
role_named(const uint8_t *name, size_t size)
{
    for (int i = 0; i < ROLES_MAX; i++) {
        if (roles[i] != NULL && strlen(roles[i]->is.name) == size &&
            memcmp(roles[i]->is.name, name, size) == 0) {
            return &roles[i]->is;
        }
    }
    return NULL;
}

const mmi_roles mmi_roles_known = { .of = role_of, .named = role_named };
