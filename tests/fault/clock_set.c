/*
 * clock_set.c: loaded in front of a program, has its wall clock be as far off as a file says.
 *
 * CLOCK_SET names the file, whose first 8 octets are seconds.  Not here: who writes it
 * (test_faults_clock.py).  Law: no other clock is touched.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t none;
static volatile int64_t *off = &none;

static void __attribute__((constructor))
look(void)
{
    int file = open(getenv("CLOCK_SET"), O_RDONLY | O_CLOEXEC);
    void *at = mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    off = at != MAP_FAILED ? at : &none;
    close(file);
}

int
clock_gettime(clockid_t id, struct timespec *at)
{
    int rc = (int)syscall(SYS_clock_gettime, id, at);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        at->tv_sec += *off;
    }
    return rc;
}

int
gettimeofday(struct timeval *at, void *zone)
{
    struct timespec now;
    (void)zone;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return rc;
}

time_t
time(time_t *at)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL) {
        *at = now.tv_sec;
    }
    return now.tv_sec;
}
