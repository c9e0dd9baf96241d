/*
 * Schedules and counted latencies for the rivals in C, in the form bench/ends/schedule.py has in Python:
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
    PACED_DOUBLINGS = 48,
    PACED_PRODUCERS_MAX = 64,
    PACED_CONNECTIONS_MAX = 1024
};

typedef struct paced_counts {
    uint64_t total;
    uint64_t counts[PACED_DOUBLINGS * PACED_STEPS];
} paced_counts;

/* Monotonic nanoseconds, the same clock as Python's time.monotonic_ns. */
int64_t paced_now(void);

void paced_count(paced_counts *counts, int64_t ns);

/* Pairs of nanoseconds and how often they were seen, as JSON. */
void paced_print(const paced_counts *counts, FILE *to);

/* Sends on schedule over the ends in turn, then an end mark over each; how many were taken. */
uint64_t paced_send(bench_end **ends, const bench_task *task, uint8_t *body);

typedef struct paced_arrived {
    uint64_t count;
    int64_t first_ns;
    int64_t last_ns;
    paced_counts *late[PACED_PRODUCERS_MAX]; /* by producer; freed by who prints them */
} paced_arrived;

/* Receives until all end marks came, counting how late each was. */
void paced_recv(bench_end *end, const bench_task *task, paced_arrived *arrived);

#endif
