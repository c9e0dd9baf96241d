/*
 * What a rival in C fills in: one end of a measurement, opened, used, closed.
 * Not here: clocks, counts and the talk with the parent process (main.c has them, once).
 * Law: a failure ends the process with a sentence on stderr: the parent makes it a row.
 */
#ifndef BENCH_END_H
#define BENCH_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_task {
    const char *kind; /* thr, lat, rate or survey */
    const char *url;
    size_t size;
    uint64_t count;
    uint64_t warm;
    uint64_t seed;
    double rate;
    uint32_t burst;
    uint32_t write_size; /* raw: bytes collected before a write; 0: a write a message */
    uint32_t number;
    uint32_t ends;
    uint32_t connections;
    int64_t offset_ns; /* how far this clock is ahead of the sender's */
    bool spin; /* raw: never sleep in a read */
    bool blocking; /* rate: wait where a queue is full; else the message is refused */
    bool receives;
} bench_task;

typedef struct bench_end bench_end;

/* Opens; where it receives, it binds and writes where it is to be found. */
bench_end *bench_open(const bench_task *task, char *endpoint, size_t endpoint_size);

/* Sends one message; it may wait in a buffer until bench_flush. */
void bench_send(bench_end *end, const void *body, size_t size);
void bench_flush(bench_end *end);

/* Sends one message if there is room now; whether it was. Rivals without it end the process. */
bool bench_offer(bench_end *end, const void *body, size_t size);

/* Receives one message: its first bytes are readable until the next call. */
const uint8_t *bench_recv(bench_end *end, size_t *size);

void bench_close(bench_end *end);

/* The version of the library that is measured; "" where there is none. */
const char *bench_version(void);

/* Says why, and ends the process. */
void bench_fail(const char *what) __attribute__((noreturn));

#endif
