/*
 * url.h: endpoint text -> parts.  tcp://host:port  tcp://[v6%scope]:port  tcp:// with host * (any)
 * ipc://path  ipc://@name (abstract namespace)  ipc:// with path * (bind: a fresh one)  inproc://name, and
 * sp+tcp://, sp+ipc:// for a peer that speaks SP.
 * Pure.  Not here: name resolution.
 */
#ifndef MMI_URL_H
#define MMI_URL_H

#include "base/base.h"

typedef enum mmi_scheme { MMI_TCP = 1, MMI_IPC, MMI_INPROC } mmi_scheme;

typedef struct mmi_url {
    int scheme;
    bool sp;              /* connect over SP, not ZMTP                                            */
    char host[256];       /* tcp: name, address without brackets, or "*"; ipc: path; inproc: name */
    uint16_t port;        /* tcp; 0: any */
} mmi_url;

/* MM_OK, or MM_EADDRINVAL or MM_ENAMETOOLONG (ipc paths over 107 octets, inproc names over 246) with
 * a reason in why (may be NULL, else MM_WHY_SIZE octets).  Trailing bytes, missing or over-large
 * ports and empty hosts are errors; of the last two also what only the other one can use. */
int mmi_url_parse(const char *text, mmi_url *out, char *why) MMI_WARN_UNUSED;
int mmi_url_parse_to_bind(const char *text, mmi_url *out, char *why) MMI_WARN_UNUSED;
int mmi_url_parse_to_connect(const char *text, mmi_url *out, char *why) MMI_WARN_UNUSED;
int mmi_url_format(const mmi_url *u, char *out,
                   size_t size) MMI_WARN_UNUSED; /* MM_EINVAL: does not fit */

#endif
