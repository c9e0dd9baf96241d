/*
 * Schedules and counted latencies: see paced.h.
 * Not here: how messages travel.
 * Law: what is due at one moment is written together, then flushed.
 */
#include "paced.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAP_NS = 100 * 1000 }; /* before it is due by this, it only looks at the clock */

/* Rivals that only wait. */
__attribute__((weak)) bool
bench_offer(bench_end *end, const void *body, size_t size)
{
    (void)end;
    (void)body;
    (void)size;
    fprintf(stderr, "has no non-blocking send\n");
    exit(1);
}

int64_t
paced_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t
paced_slot(uint64_t ns)
{
    size_t doubling = 0;
    while (ns >= 2 * (uint64_t)PACED_STEPS) {
        ns >>= 1;
        doubling++;
    }
    return doubling * PACED_STEPS + (size_t)ns;
}

static uint64_t
paced_value(size_t slot)
{
    size_t doubling = slot < 2 * PACED_STEPS ? 0 : slot / PACED_STEPS - 1;
    return (uint64_t)(slot - doubling * PACED_STEPS) << doubling;
}

void
paced_count(paced_counts *counts, int64_t ns)
{
    size_t slot = paced_slot(ns > 0 ? (uint64_t)ns : 0);
    size_t last = (size_t)PACED_DOUBLINGS * PACED_STEPS - 1;
    counts->counts[slot < last ? slot : last]++;
    counts->total++;
}

void
paced_print(const paced_counts *counts, FILE *to)
{
    const char *comma = "";
    fprintf(to, "[");
    for (size_t i = 0; i < (size_t)PACED_DOUBLINGS * PACED_STEPS; i++) {
        if (counts->counts[i] > 0) {
            fprintf(to, "%s[%llu, %llu]", comma, (unsigned long long)paced_value(i),
                    (unsigned long long)counts->counts[i]);
            comma = ", ";
        }
    }
    fprintf(to, "]");
}

static void
paced_wait(int64_t due)
{
    int64_t left = due - paced_now();
    if (left > NAP_NS) {
        left -= NAP_NS;
        struct timespec nap = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
        nanosleep(&nap, NULL);
    }
    while (paced_now() < due) {
    }
}

static void
paced_stamp(uint8_t *body, int64_t due, uint32_t number, uint32_t flags)
{
    memcpy(body, &due, sizeof due);
    memcpy(body + 8, &number, sizeof number);
    memcpy(body + 12, &flags, sizeof flags);
}

uint64_t
paced_send(bench_end **ends, const bench_task *task, uint8_t *body)
{
    size_t size = task->size < PACED_HEAD ? PACED_HEAD : task->size;
    uint64_t refused = 0;
    int64_t start = paced_now();
    for (uint64_t i = 0; i < task->count; i++) {
        bench_end *end = ends[i % task->connections];
        int64_t due = paced_now();
        if (task->rate > 0) {
            uint64_t turn = i / task->burst * task->burst;
            due = start + (int64_t)((double)turn * 1e9 / task->rate);
            if (i == turn) {
                paced_wait(due);
            }
        }
        paced_stamp(body, due, task->number, 0);
        if (task->blocking) {
            bench_send(end, body, size);
        } else if (!bench_offer(end, body, size)) {
            refused++;
        }
        if (task->rate > 0 && (i + 1) % task->burst == 0) {
            bench_flush(end);
        }
    }
    for (uint32_t i = 0; i < task->connections; i++) {
        paced_stamp(body, paced_now(), task->number, PACED_END);
        bench_send(ends[i], body, size);
        bench_flush(ends[i]);
    }
    return task->count - refused;
}

static void
paced_arrive(paced_arrived *arrived, uint32_t number, int64_t now, int64_t late)
{
    if (number >= PACED_PRODUCERS_MAX) {
        bench_fail("a producer's number");
    }
    if (arrived->late[number] == NULL) {
        arrived->late[number] = calloc(1, sizeof *arrived->late[number]);
        if (arrived->late[number] == NULL) {
            bench_fail("calloc");
        }
    }
    if (arrived->count++ == 0) {
        arrived->first_ns = now;
    }
    arrived->last_ns = now;
    paced_count(arrived->late[number], late);
}

void
paced_recv(bench_end *end, const bench_task *task, paced_arrived *arrived)
{
    uint32_t ends = 0;
    while (ends < task->ends) {
        int64_t due;
        uint32_t number, flags;
        size_t size;
        const uint8_t *body = bench_recv(end, &size);
        int64_t now = paced_now() - task->offset_ns;
        memcpy(&due, body, sizeof due);
        memcpy(&number, body + 8, sizeof number);
        memcpy(&flags, body + 12, sizeof flags);
        if (flags & PACED_END) {
            ends++;
        } else {
            paced_arrive(arrived, number, now, now - due);
        }
    }
}
