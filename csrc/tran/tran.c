/*
 * tran.c: the list of transports, and which one an endpoint is for.
 *
 * Not here: what one does (its own file).
 */
#include "tran/tran.h"

#include <stdio.h>
#include <string.h>

enum { TRANS_MAX = 8 };

static const mmi_tran *trans[TRANS_MAX] = { &mmi_tran_tcp, &mmi_tran_ipc, &mmi_tran_inproc };

int
mmi_tran_add(const mmi_tran *tran)
{
    const size_t size = strlen(tran->scheme);
    for (size_t i = 0; i < TRANS_MAX && size > 0 && size <= MMI_SCHEME_MAX; i++) {
        if (trans[i] == NULL) {
            trans[i] = tran;
            return MM_OK;
        }
        if (strcmp(trans[i]->scheme, tran->scheme) == 0) {
            return MM_EINVAL;
        }
    }
    return MM_EINVAL;
}

const mmi_tran *
mmi_tran_of(const mmi_url *u)
{
    for (size_t i = 0; i < TRANS_MAX && trans[i] != NULL; i++) {
        if (strcmp(trans[i]->scheme, u->scheme) == 0) {
            return trans[i];
        }
    }
    return NULL;
}

static int
tran_unknown(char *why)
{
    char list[MM_WHY_SIZE] = "";
    size_t at = 0;
    static const struct {
        const char *prefix;
        uint32_t flags;                  /* that it needs */
    } forms[] = { { "", 0 },
                  { "sp+", MMI_TRAN_WIRES },
                  { MMI_URL_OUTER, MMI_TRAN_OUTER },
                  { "sp+" MMI_URL_OUTER, MMI_TRAN_WIRES | MMI_TRAN_OUTER } };
    for (size_t f = 0; f < MMI_COUNT_OF(forms); f++) {
        for (size_t i = 0; i < TRANS_MAX && trans[i] != NULL && at < sizeof list; i++) {
            if ((trans[i]->flags & forms[f].flags) == forms[f].flags) {
                at += (size_t)snprintf(list + at, sizeof list - at, "%s%s%s", at > 0 ? ", " : "",
                                       forms[f].prefix, trans[i]->scheme);
            }
        }
    }
    return mmi_url_refuse(why, "the scheme is not one of %s", list);
}

int
mmi_tran_parse(const char *text, int use, mmi_url *out, char *why)
{
    const char *rest = mmi_url_split(text, out);
    if (rest == NULL) {
        return mmi_url_refuse(why, "the scheme is missing");
    }
    const mmi_tran *tran = mmi_tran_of(out);
    uint32_t needed =
        (out->wire->prefix[0] != '\0' ? MMI_TRAN_WIRES : 0u) | (out->outer ? MMI_TRAN_OUTER : 0u);
    if (tran == NULL || (tran->flags & needed) != needed) {
        return tran_unknown(why);
    }
    int rc = tran->parse(rest, out, why);
    if (rc != MM_OK || use == 0) {
        return rc;
    }
    if (use == MM_USE_BIND) {
        return out->wire->prefix[0] == '\0'
                   ? MM_OK
                   : mmi_url_refuse(why,
                                    "bind without %s; a listener takes peers of ZMTP "
                                    "and of SP alike",
                                    out->wire->prefix);
    }
    if (out->any || (out->ported && out->port == 0)) {
        return mmi_url_refuse(why, "%s is for bind; connect to what the other side's endpoint says",
                              out->any ? "*" : "port 0");
    }
    return MM_OK;
}

void
mmi_tran_fork_lock(void)
{
    for (size_t i = 0; i < TRANS_MAX && trans[i] != NULL; i++) {
        if (trans[i]->fork_lock != NULL) {
            trans[i]->fork_lock();
        }
    }
}

void
mmi_tran_fork_unlock(void)
{
    for (size_t i = TRANS_MAX; i-- > 0;) {
        if (trans[i] != NULL && trans[i]->fork_unlock != NULL) {
            trans[i]->fork_unlock();
        }
    }
}

void
mmi_tran_fork_child(void)
{
    for (size_t i = 0; i < TRANS_MAX && trans[i] != NULL; i++) {
        if (trans[i]->fork_child != NULL) {
            trans[i]->fork_child();
        }
    }
}
