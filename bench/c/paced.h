/*
 * Schedules and counted latencies for the rivals in C, in the form bench/_stamp.py has in Python:
 * each message begins with the nanosecond at which it was due, then producer and flags.
 * Law: latency counts from when a message was due, not from when it was sent.
 */
#ifndef BENCH_PACED_H
#define BENCH_PACED_H

#include "end.h"

#include <stdio.h>

enum {
    PACED_HEAD = 16,   /* bytes: int64 due, uint32 producer, uint32 flags */
    PACED_END = 1,     /* flag: the last message of a connection */
    PACED_STEPS = 512, /* steps in a doubling: three significant digits */
    PACED_DOUBLINGS = 48
};

typedef struct paced_counts {
    uint64_t total;
    int64_t last_ns;
    uint64_t counts[PACED_DOUBLINGS * PACED_STEPS];
} paced_counts;

/* Monotonic nanoseconds, the same clock as Python's time.monotonic_ns. */
int64_t paced_now(void);

void paced_count(paced_counts *counts, int64_t ns);

/* One JSON line with pairs of nanoseconds and how often they were seen. */
void paced_print(const paced_counts *counts, FILE *to);

/* Sends on schedule, then the end mark; how many were sent. */
uint64_t paced_send(bench_end *end, const bench_task *task, uint8_t *body);

/* Receives until all end marks came, counting how late each was. */
void paced_recv(bench_end *end, const bench_task *task, paced_counts *counts);

#endif
