/*
 * plat/posix/clock.c: what time it is, and poll(2) until a time.
 *
 * Not here: timers (base/timer.h).
 */
#include <time.h>

#include "plat/posix/posix.h"

static const uint64_t CLOCK_NS_PER_S = 1000000000, CLOCK_NS_PER_MS = 1000000;

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t
mmi_posix_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
mmi_posix_clock(void *self)
{
    (void)self;
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
mmi_posix_wall_clock(void *self)
{
    (void)self;
    return clock_ns(CLOCK_REALTIME);
}

int
mmi_posix_timeout_ms(uint64_t deadline_ns)
{
    uint64_t now = mmi_posix_now_ns();
    if (deadline_ns == UINT64_MAX) {
        return -1;
    }
    if (deadline_ns <= now) {
        return 0;
    }
    uint64_t ms = (deadline_ns - now + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int
mmi_posix_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX || deadline_ns == 0) {
        return poll(fds, count, deadline_ns == 0 ? 0 : -1);
    }
    uint64_t now = mmi_posix_now_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    struct timespec t = { .tv_sec = (time_t)(left / CLOCK_NS_PER_S),
                          .tv_nsec = (long)(left % CLOCK_NS_PER_S) };
    return ppoll(fds, count, &t, NULL);
}
