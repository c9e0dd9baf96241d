/*
 * strangers.h: streams of an engine of a simulated world that connect and say nothing.
 * Not here: what becomes of them.
 */
#ifndef STRANGERS_H
#define STRANGERS_H

#include "check.h"
#include "plat/plat.h"

static inline void
strangers(const mmi_plat *p, const char *endpoint, int count)
{
    mmi_addr at = { .kind = MMI_ADDR_TCP4, .ip = { 127, 0, 0, 1 } };
    at.port = (uint16_t)atoi(strrchr(endpoint, ':') + 1);
    for (int i = 0; i < count; i++) {
        int stream;
        CHECK_INT(p->connect(p->self, &at, &stream), MM_EAGAIN);
    }
}

#endif
