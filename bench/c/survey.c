/*
 * Loops of surveys: see survey.h.
 * Not here: how a survey travels (the file of a rival that has them).
 * Law: respondents of a process share one thread, which waits for all of them at once.
 */
#include "survey.h"

#include <stdio.h>
#include <stdlib.h>

/* Rivals without surveys. */
__attribute__((weak)) void
bench_meet(bench_end *end, uint32_t answers)
{
    (void)end;
    (void)answers;
    fprintf(stderr, "it has no surveys\n");
    exit(1);
}

__attribute__((weak)) int
bench_poll(bench_end **ends, uint32_t count, uint32_t *ready)
{
    (void)ends;
    (void)count;
    (void)ready;
    return 0;
}

void
survey_ask(bench_end *end, const bench_task *task, const uint8_t *body, uint64_t count,
           paced_counts *late)
{
    size_t size;
    for (uint64_t i = 0; i < count; i++) {
        int64_t start = paced_now();
        bench_send(end, body, task->size);
        bench_flush(end);
        for (uint32_t j = 0; j < task->connections; j++) {
            (void)bench_recv(end, &size);
        }
        if (late != NULL) {
            paced_count(late, paced_now() - start);
        }
    }
    if (late != NULL) {
        bench_send(end, ".", SURVEY_STOP_SIZE);
        for (uint32_t j = 0; j < task->connections; j++) {
            (void)bench_recv(end, &size);
        }
    }
}

void
survey_answer(bench_end **ends, const bench_task *task)
{
    static uint32_t ready[PACED_CONNECTIONS_MAX];
    uint32_t left = task->connections;
    size_t size;
    while (left > 0) {
        int count = bench_poll(ends, task->connections, ready);
        for (int i = 0; i < count; i++) {
            const uint8_t *body = bench_recv(ends[ready[i]], &size);
            bench_send(ends[ready[i]], body, size);
            bench_flush(ends[ready[i]]);
            left -= size == SURVEY_STOP_SIZE;
        }
    }
}
