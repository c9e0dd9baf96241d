/*
 * places.h: what tests of the platform stand on: a folder of their own, addresses, and the number
 * of descriptors the system still gives.
 * Not here: anything that is tested.
 * Law: place_close fails when a test left a file behind; fds_are finds a descriptor left open.
 */
#ifndef PLACES_H
#define PLACES_H

#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "plat/plat.h"

enum { PLACE_SIZE = 80 };
static const uint64_t PLACE_SECOND_NS = 1000000000;

/* A new folder; its path is short enough for a unix address. */
static inline void
place_open(char folder[PLACE_SIZE])
{
    const char *root = getenv("TMPDIR");
    size_t room = root != NULL ? strlen(root) : 0;
    snprintf(folder, PLACE_SIZE, "%s/mmcXXXXXX", room > 0 && room < 40 ? root : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
}

static inline void
place_close(const char folder[PLACE_SIZE])
{
    CHECK_INT(rmdir(folder), 0);
}

static inline bool
place_has(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static inline mmi_addr
addr_tcp4(uint16_t port)
{
    return (mmi_addr){ .kind = MMI_ADDR_TCP4, .port = port, .ip = { 127, 0, 0, 1 } };
}

static inline mmi_addr
addr_tcp6(uint16_t port)
{
    return (mmi_addr){ .kind = MMI_ADDR_TCP6, .port = port, .ip = { [15] = 1 } };
}

static inline mmi_addr
addr_unix(const char *folder, const char *name)
{
    mmi_addr a = { .kind = MMI_ADDR_UNIX };
    snprintf(a.path, sizeof a.path, "%s/%s", folder, name);
    return a;
}

/* The platform of this machine. */
static inline mmi_plat
open_plat(void)
{
    mmi_plat p;
    CHECK_INT(mmi_plat_posix(false, &p), MM_OK);
    return p;
}

/* How many descriptors this process has open. */
static inline int
fds_open(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static inline void
fds_are(int wanted)
{
    CHECK_INT(fds_open(), wanted);
}

/* From now on the system gives this process so many descriptors more; fds_restore ends it. */
static inline rlim_t
fds_limit(int more)
{
    struct rlimit limit;
    int held[16];
    CHECK(more < 16 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i <= more; i++) {
        held[i] = dup(0);
        CHECK(held[i] >= 0);
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)held[more];
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i <= more; i++) {
        close(held[i]);
    }
    return before;
}

static inline void
fds_restore(rlim_t before)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = before;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Streams of a platform, said shortly. */
static inline int64_t
plat_put(const mmi_plat *p, int s, const void *data, size_t size)
{
    mmi_iov iov = { .data = (void *)data, .size = size };
    return p->writev(p->self, s, &iov, 1);
}

static inline int64_t
plat_get(const mmi_plat *p, int s, void *data, size_t size)
{
    mmi_iov iov = { .data = data, .size = size };
    return p->readv(p->self, s, &iov, 1);
}

#endif
