/*
 * plat/posix/bell.c: descriptors that an event loop is rung by, for what has no engine.
 *
 * Not here: those of an engine (plat/posix/posix.c).  Law: ringing never waits, and rung twice is
 * rung once.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "plat/posix/posix.h"
#include "plat/thread.h"

int
mmi_thread_bell_open(int *bell)
{
    *bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *bell < 0 ? mmi_posix_error(errno) : MM_OK;
}

void
mmi_thread_bell_ring(int bell)
{
    uint64_t one = 1;
    (void)(write(bell, &one, sizeof one) == sizeof one); /* full means rung */
}

void
mmi_thread_bell_clear(int bell)
{
    uint64_t count;
    (void)(read(bell, &count, sizeof count) == sizeof count); /* empty means clear */
}

void
mmi_thread_bell_close(int bell)
{
    close(bell);
}
