/*
 * url.h: endpoint text -> parts.  tcp://host:port  tcp://[v6%scope]:port  tcp:// with host * (any)
 * ipc://path  inproc://name, and sp+tcp://, sp+ipc:// for a peer that speaks SP.
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

/* MM_OK, or MM_EADDRINVAL with a reason in why (may be NULL, else >= 128 octets).  Trailing bytes,
 * missing or over-large ports, empty hosts, ipc paths over 107 octets are errors. */
int mmi_url_parse(const char *text, mmi_url *out, char *why) MMI_WARN_UNUSED;
int mmi_url_format(const mmi_url *u, char *out,
                   size_t size) MMI_WARN_UNUSED; /* MM_EINVAL: does not fit */

#endif
