/*
 * check.h: the smallest test harness: a failed check tells where and ends the program.
 * Not here: anything that uses meshmsg (fake.h), but its headers, which every test needs.
 * Law: a test is a function without arguments; RUN prints its name before it runs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshmsg_testing.h"

#define CHECK(cond) \
    ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))
#define CHECK_INT(is, wanted) check_int((int64_t)(is), (int64_t)(wanted), #is, __FILE__, __LINE__)
#define RUN(test) (printf("%s\n", #test), fflush(stdout), test())

static inline _Noreturn void
check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

static inline void
check_int(int64_t is, int64_t wanted, const char *what, const char *file, int line)
{
    if (is != wanted) {
        fprintf(stderr, "%s:%d: %s is %" PRId64 ", wanted %" PRId64 "\n", file, line, what, is,
                wanted);
        exit(1);
    }
}

/* The octets of a golden text; how many. */
static inline uint32_t
check_hex(const char *hex, uint8_t *out)
{
    uint32_t size = (uint32_t)strlen(hex) / 2;
    for (uint32_t i = 0; i < size; i++) {
        unsigned octet;
        CHECK_INT(sscanf(hex + (size_t)2 * i, "%2x", &octet), 1);
        out[i] = (uint8_t)octet;
    }
    return size;
}

/* A small seeded generator (xorshift), so that every run is the same. */
static inline uint32_t
check_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

#endif
