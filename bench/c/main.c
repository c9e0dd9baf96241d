/*
 * The process of a rival in C: reads its task from key=value arguments, measures, and speaks the
 * JSON lines of bench/ends/process.py with its parent. Both ends as two threads for inproc (task=both).
 * Not here: how messages travel (each rival's own file). Law: as in Python, the clock runs only
 * between the first and the last measured message of this end; both ends tell when that was.
 */
#include "end.h"
#include "paced.h"
#include "survey.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct run {
    bench_task task;
    bench_end *end;
    bench_end *more[PACED_CONNECTIONS_MAX]; /* rate, survey: all; the first is end */
    bool mixed; /* rate: producers may send different sizes */
    bool alone; /* in a process of its own: talks with the parent */
    uint8_t *body;
    double cpu_start;
    paced_counts late; /* lat, survey */
    double seconds; /* survey */
    paced_arrived arrived; /* rate */
    char figures[4096];
    char endpoint[256];
    pthread_barrier_t *opened; /* both: the receiver is bound */
} run;

/* KiB at most; getrusage would tell those of the parent before exec, too. */
static double
run_memory(void)
{
    char line[128];
    double kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) {
            break;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return kib;
}

static double
run_cpu(double *rss_mb)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    *rss_mb = run_memory() / 1024;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void
run_wait_word(const run *r, const char *word)
{
    char line[64];
    if (!r->alone) {
        return;
    }
    if (fgets(line, sizeof line, stdin) == NULL || strncmp(line, word, strlen(word)) != 0) {
        fprintf(stderr, "the parent is gone\n");
        exit(1);
    }
}

static void
run_say_ready(run *r)
{
    double rss_mb;
    r->cpu_start = run_cpu(&rss_mb);
    if (r->alone) {
        printf("{\"ready\": true}\n");
        fflush(stdout);
    }
}

static void
run_send(run *r, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bench_send(r->end, r->body, r->task.size);
    }
    bench_flush(r->end);
}

static void
run_recv(run *r, uint64_t count)
{
    size_t size;
    for (uint64_t i = 0; i < count; i++) {
        (void)bench_recv(r->end, &size);
        if (size != r->task.size && !r->mixed) {
            fprintf(stderr, "a message of %zu bytes, not %zu\n", size, r->task.size);
            exit(1);
        }
    }
}

static void
run_throughput(run *r)
{
    int64_t start;
    if (r->task.receives) {
        run_recv(r, r->task.warm);
        run_say_ready(r);
        run_recv(r, 1);
        start = paced_now();
        run_recv(r, r->task.count - 1);
    } else {
        run_send(r, r->task.warm);
        run_say_ready(r);
        run_wait_word(r, "go");
        start = paced_now();
        run_send(r, r->task.count);
    }
    int64_t end = paced_now(); /* both on the sender's clock: the parent counts across the ends */
    snprintf(r->figures, sizeof r->figures,
             "{\"count\": %llu, \"seconds\": %.9f, \"start_ns\": %lld, \"end_ns\": %lld}",
             (unsigned long long)r->task.count, (double)(end - start) / 1e9,
             (long long)(start - r->task.offset_ns), (long long)(end - r->task.offset_ns));
}

static void
run_ask(run *r)
{
    bench_send(r->end, r->body, r->task.size);
    bench_flush(r->end);
    run_recv(r, 1);
}

static void
run_answer(run *r, uint64_t count)
{
    size_t size;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *body = bench_recv(r->end, &size);
        memcpy(r->body, body, size);
        bench_send(r->end, r->body, size);
        bench_flush(r->end);
    }
}

static void
run_latency(run *r)
{
    if (r->task.receives) {
        run_answer(r, r->task.warm);
        run_say_ready(r);
        run_answer(r, r->task.count);
        return;
    }
    for (uint64_t i = 0; i < r->task.warm; i++) {
        run_ask(r);
    }
    run_say_ready(r);
    run_wait_word(r, "go");
    for (uint64_t i = 0; i < r->task.count; i++) {
        int64_t start = paced_now();
        run_ask(r);
        paced_count(&r->late, paced_now() - start);
    }
}

/* All its connections; the first one is there. */
static void
run_open_more(run *r)
{
    r->more[0] = r->end;
    for (uint32_t i = 1; i < r->task.connections; i++) {
        r->more[i] = bench_open(&r->task, r->endpoint, sizeof r->endpoint);
    }
}

static void
run_survey(run *r)
{
    if (r->task.receives) {
        run_open_more(r);
        run_say_ready(r);
        survey_answer(r->more, &r->task);
        return;
    }
    bench_meet(r->end, r->task.connections);
    survey_ask(r->end, &r->task, r->body, r->task.warm, NULL);
    run_say_ready(r);
    run_wait_word(r, "go");
    int64_t start = paced_now();
    survey_ask(r->end, &r->task, r->body, r->task.count, &r->late);
    r->seconds = (double)(paced_now() - start) / 1e9;
}

static void
run_rate(run *r)
{
    if (r->task.receives) {
        run_recv(r, r->task.warm * r->task.ends);
        run_say_ready(r);
        paced_recv(r->end, &r->task, &r->arrived);
        return;
    }
    run_open_more(r);
    for (uint32_t i = 0; i < r->task.connections; i++) {
        r->end = r->more[i];
        run_send(r, r->task.warm);
    }
    run_say_ready(r);
    run_wait_word(r, "go");
    uint64_t sent = paced_send(r->more, &r->task, r->body);
    snprintf(r->figures, sizeof r->figures, "{\"count\": %llu, \"refused\": %llu}",
             (unsigned long long)sent, (unsigned long long)(r->task.count - sent));
}

static void
run_open(run *r)
{
    r->body = malloc(r->task.size + PACED_HEAD);
    if (r->body == NULL) {
        bench_fail("malloc");
    }
    uint64_t state = r->task.seed;
    for (size_t i = 0; i < r->task.size + PACED_HEAD; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        r->body[i] = (uint8_t)(state >> 56);
    }
    r->end = bench_open(&r->task, r->endpoint, sizeof r->endpoint);
}

static void *
run_measure(void *argument)
{
    run *r = argument;
    if (r->opened == NULL || r->task.receives) {
        run_open(r);
    }
    if (r->opened != NULL) {
        pthread_barrier_wait(r->opened);
        if (!r->task.receives) {
            run_open(r);
        }
    }
    bool survey = strcmp(r->task.kind, "survey") == 0;
    if (r->alone && r->task.receives != survey) {
        printf("{\"endpoint\": \"%s\"}\n", r->endpoint);
        fflush(stdout);
    }
    snprintf(r->figures, sizeof r->figures, "{\"count\": %llu}", (unsigned long long)r->task.count);
    if (strcmp(r->task.kind, "thr") == 0) {
        run_throughput(r);
    } else if (strcmp(r->task.kind, "lat") == 0) {
        run_latency(r);
    } else if (survey) {
        run_survey(r);
    } else {
        run_rate(r);
    }
    return NULL;
}

static void
run_report(run *r)
{
    const char *comma = "";
    if (r->late.total > 0) {
        printf("{\"count\": %llu, \"seconds\": %.9f, \"latency_ns\": ",
               (unsigned long long)r->late.total, r->seconds);
        paced_print(&r->late, stdout);
        printf("}\n");
    } else if (r->arrived.count > 0) {
        printf("{\"count\": %llu, \"seconds\": %.9f, \"by_producer\": {",
               (unsigned long long)r->arrived.count,
               (double)(r->arrived.last_ns - r->arrived.first_ns) / 1e9);
        for (int i = 0; i < PACED_PRODUCERS_MAX; i++) {
            if (r->arrived.late[i] != NULL) {
                printf("%s\"%d\": ", comma, i);
                paced_print(r->arrived.late[i], stdout);
                comma = ", ";
                free(r->arrived.late[i]);
            }
        }
        printf("}}\n");
    } else {
        printf("%s\n", r->figures);
    }
    fflush(stdout);
}

static void
run_close(run *r)
{
    bool several = r->more[0] != NULL;
    for (uint32_t i = 0; several && i < r->task.connections; i++) {
        bench_close(r->more[i]);
    }
    if (!several) {
        bench_close(r->end);
    }
    free(r->body);
}

static void
run_finish(run *r)
{
    double rss_mb;
    run_wait_word(r, "end");
    double cpu = run_cpu(&rss_mb) - r->cpu_start;
    printf("{\"cpu_s\": %.6f, \"rss_mb\": %.1f}\n", cpu, rss_mb);
    fflush(stdout);
    run_close(r);
}

static void
run_both(run *first)
{
    static run second;
    pthread_barrier_t opened;
    pthread_t thread;
    second = *first;
    second.task.receives = false;
    pthread_barrier_init(&opened, NULL, 2);
    first->opened = second.opened = &opened;
    first->alone = second.alone = false;
    if (pthread_create(&thread, NULL, run_measure, &second) != 0) {
        bench_fail("pthread_create");
    }
    run_measure(first);
    pthread_join(thread, NULL);
    run_report(first);
    run_report(&second);
    run_close(&second);
    run_finish(first);
}

static void
run_tell_version(void)
{
#if defined(__clang__)
    const char *compiler = "";
#else
    const char *compiler = "gcc ";
#endif
    const char *library = bench_version();
    printf("%s%s%s%s\n", library, library[0] ? ", " : "", compiler, __VERSION__);
}

static const char *
run_argument(int argc, char **argv, const char *key, const char *otherwise)
{
    size_t size = strlen(key);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], key, size) == 0 && argv[i][size] == '=') {
            return argv[i] + size + 1;
        }
    }
    return otherwise;
}

int
main(int argc, char **argv)
{
    static run r;
    const char *end = run_argument(argc, argv, "end", "receiver");
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        run_tell_version();
        return 0;
    }
    r.task.kind = run_argument(argc, argv, "kind", "thr");
    r.task.url = run_argument(argc, argv, "url", "tcp://127.0.0.1:0");
    r.task.size = strtoull(run_argument(argc, argv, "size", "64"), NULL, 10);
    r.task.count = strtoull(run_argument(argc, argv, "count", "2"), NULL, 10);
    r.task.warm = strtoull(run_argument(argc, argv, "warm", "1"), NULL, 10);
    r.task.seed = strtoull(run_argument(argc, argv, "seed", "1"), NULL, 10);
    r.task.rate = strtod(run_argument(argc, argv, "rate", "0"), NULL);
    r.task.burst = (uint32_t)strtoul(run_argument(argc, argv, "burst", "1"), NULL, 10);
    r.task.number = (uint32_t)strtoul(run_argument(argc, argv, "number", "0"), NULL, 10);
    r.task.ends = (uint32_t)strtoul(run_argument(argc, argv, "ends", "1"), NULL, 10);
    r.task.connections = (uint32_t)strtoul(run_argument(argc, argv, "connections", "1"), NULL, 10);
    r.task.write_size = (uint32_t)strtoul(run_argument(argc, argv, "write", "0"), NULL, 10);
    r.task.offset_ns = strtoll(run_argument(argc, argv, "offset_ns", "0"), NULL, 10);
    r.task.spin = strcmp(run_argument(argc, argv, "spin", "0"), "1") == 0;
    r.task.blocking = strcmp(run_argument(argc, argv, "blocking", "1"), "0") != 0;
    r.task.receives = strcmp(end, "sender") != 0;
    r.alone = true;
    r.mixed = strcmp(r.task.kind, "rate") == 0;
    if (r.task.connections < 1 || r.task.connections > PACED_CONNECTIONS_MAX || r.task.burst < 1) {
        fprintf(stderr, "from 1 to %d connections, bursts of 1 or more\n", PACED_CONNECTIONS_MAX);
        return 1;
    }
    if (strcmp(end, "both") == 0) {
        run_both(&r);
        return 0;
    }
    run_measure(&r);
    run_report(&r);
    run_finish(&r);
    return 0;
}
