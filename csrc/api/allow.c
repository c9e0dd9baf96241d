/*
 * api/allow.c: the list of who may come in to a socket whose mechanism asks.
 *
 * Not here: the list (socket/allowed.h), who asks (wire/mechanism.h).
 * Law: a list that is wrong changes nothing.
 */
#include "api/api.h"
#include "link/link.h"
#include "socket/allowed.h"
#include "wire/mechanism.h"

/* It asks; else the list would never be looked at. */
static bool
allow_asks(const mmi_socket *s)
{
    const mmi_mechanism *m = s->mechanism, *outer = s->outer;
    return (m != NULL && m->asks != NULL && m->asks(s->mechanism_config)) ||
           (outer != NULL && outer->asks != NULL && outer->asks(s->outer_config));
}

static int
allow_put(mmi_socket *s, mmi_allowed_table *table)
{
    if (s->allowed == NULL) {
        s->allowed = mmi_allowed_new();
        if (s->allowed == NULL) {
            return MM_ENOMEM;
        }
    }
    mmi_allowed_swap(s->allowed, table);
    s->allow = mmi_allowed_ask;
    s->allow_config = s->allowed;
    mmi_socket_revoke(s);
    return MM_OK;
}

int
mm_socket_allow(mm_handle socket, const uint8_t *keys, const char *user_ids, size_t size,
                uint32_t count)
{
    mmi_allowed_table *table = NULL;
    int rc = mmi_allowed_table_new(keys, user_ids, size, count, &table);
    mmi_socket *s;
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        rc = mmi_api_leave(s, allow_asks(s) ? allow_put(s, table) : MM_ESTATE);
    }
    if (rc != MM_OK) {
        mmi_allowed_table_free(table);
    }
    return rc;
}
