/*
 * transit.c: what Linux knows of the octets on their way to a peer, and of the peer's system.
 *
 * Not here: what is made of it (link/silence.c).  Law: what the system does not tell is reported
 * as nothing owed, so that nobody is given up for it.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "plat/posix/posix.h"

enum {
    TRANSIT_AGAIN_MIN = 2,              /* sent again: one may be on its way at this moment */
    TRANSIT_RTO_MAX_OPTION = 44,        /* TCP_RTO_MAX_MS, Linux 6.15 and later             */
    TRANSIT_RTO_MAX_LEAST_MS = 1000,    /* that it takes                                    */
    TRANSIT_RTO_MAX_USUAL_MS = 120000
};
static const uint64_t TRANSIT_NS_PER_MS = 1000000;

static void
transit_rto_max(int s, uint32_t ms)
{
    int value = (int)(ms < TRANSIT_RTO_MAX_LEAST_MS ? (uint32_t)TRANSIT_RTO_MAX_LEAST_MS : ms);
    /* Older systems refuse: they double the time between probes, to two minutes at most. */
    (void)setsockopt(s, IPPROTO_TCP, TRANSIT_RTO_MAX_OPTION, &value, sizeof value);
}

void
mmi_posix_transit(void *self, int s, uint32_t probe_ms, mmi_transit *out)
{
    (void)self;
    *out = (mmi_transit){ .untaken = 0 };
    if (mmi_memory_is(s)) {
        out->untaken = mmi_memory_untaken(s);
        return;
    }
    int untaken = 0;
    if (ioctl(s, TIOCOUTQ, &untaken) == 0 && untaken > 0) {
        out->untaken = (uint64_t)untaken;
    }
    struct tcp_info info = { .tcpi_state = 0 };
    socklen_t size = sizeof info;
    if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return;   /* a unix socket: its peer's system is ours */
    }
    out->heard_ns = (uint64_t)info.tcpi_last_ack_recv * TRANSIT_NS_PER_MS;
    /* A window that closes over what is in flight is asked for with that, which is not counted. */
    out->owed = (info.tcpi_unacked > 0 && info.tcpi_retransmits >= TRANSIT_AGAIN_MIN) ||
                info.tcpi_probes >= TRANSIT_AGAIN_MIN;
    if (probe_ms > 0 && out->untaken > 0) {
        transit_rto_max(s, probe_ms);
    }
}

void
mmi_posix_probe_as_usual(int s)
{
    /* Else what a closed socket leaves behind is given up sooner. */
    transit_rto_max(s, TRANSIT_RTO_MAX_USUAL_MS);
}
