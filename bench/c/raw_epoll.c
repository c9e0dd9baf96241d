/*
 * Surveys over plain sockets, by one thread that sleeps when nothing is there: a write to each
 * connection, epoll, a read of each that is ready.  Respondents of a process wait by epoll as well.
 * Not here: which survey an answer belongs to, whose it is, deadlines: a survey is over when so many
 * messages came.
 * Law: a connection carries one message at a time each way, so a read has no second one in it.
 */
#include "raw_socket.h"
#include "survey.h"

#include <sys/epoll.h>

enum { RAW_HEAD = 4, RAW_BACKLOG = 1024, RAW_EVENTS = 256 };

/* One connection of a respondent, or all of who asks. */
struct bench_end {
    int listener;
    int *fds;
    uint32_t count;
    int epoll;
    struct epoll_event events[RAW_EVENTS];
    int found;
    int at;
    uint8_t *out;
    uint8_t *in;
    size_t in_capacity;
};

static void
raw_join(bench_end *end, int fd, uint64_t data)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };
    end->epoll = end->epoll < 0 ? epoll_create1(0) : end->epoll;
    if (epoll_ctl(end->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        bench_fail("epoll_ctl");
    }
}

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    if (end == NULL) {
        bench_fail("calloc");
    }
    end->listener = end->epoll = -1;
    end->in_capacity = RAW_HEAD + task->size;
    end->fds = calloc(task->connections, sizeof *end->fds);
    end->out = malloc(end->in_capacity);
    end->in = malloc(end->in_capacity);
    if (end->fds == NULL || end->out == NULL || end->in == NULL) {
        bench_fail("malloc");
    }
    if (task->receives) {
        end->fds[end->count++] = raw_connect(task->url);
    } else {
        end->listener = raw_listen(task->url, RAW_BACKLOG, endpoint, endpoint_size);
    }
    return end;
}

/* Who is connected answers. */
void
bench_meet(bench_end *end, uint32_t answers)
{
    while (end->count < answers) {
        int fd = raw_accept(end->listener);
        end->fds[end->count++] = fd;
        raw_join(end, fd, (uint64_t)fd);
    }
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    uint32_t head = (uint32_t)size;
    memcpy(end->out, &head, RAW_HEAD);
    memcpy(end->out + RAW_HEAD, body, size);
    for (uint32_t i = 0; i < end->count; i++) {
        raw_write(end->fds[i], end->out, RAW_HEAD + size);
    }
}

void
bench_flush(bench_end *end)
{
    (void)end; /* each message is a write */
}

/* Sleeps until some are ready: how many. */
static int
raw_wait(bench_end *end)
{
    int found = epoll_wait(end->epoll, end->events, RAW_EVENTS, -1);
    if (found < 0 && errno != EINTR) {
        bench_fail("epoll_wait");
    }
    return found > 0 ? found : 0;
}

/* The next that is ready. */
static struct epoll_event
raw_next(bench_end *end)
{
    while (end->at == end->found) {
        end->found = raw_wait(end);
        end->at = 0;
    }
    return end->events[end->at++];
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    int fd = end->listener < 0 ? end->fds[0] : (int)raw_next(end).data.u64;
    uint32_t head = 0;
    for (size_t had = 0; had < RAW_HEAD + (size_t)head;) {
        had += raw_read(fd, end->in + had, end->in_capacity - had, 0);
        memcpy(&head, end->in, RAW_HEAD);
    }
    *size = head;
    return end->in + RAW_HEAD;
}

int
bench_poll(bench_end **ends, uint32_t count, uint32_t *ready)
{
    bench_end *first = ends[0];
    if (first->epoll < 0) {
        for (uint32_t i = 0; i < count; i++) {
            raw_join(first, ends[i]->fds[0], i);
        }
    }
    int found = raw_wait(first);
    for (int i = 0; i < found; i++) {
        ready[i] = (uint32_t)first->events[i].data.u64;
    }
    return found;
}

void
bench_close(bench_end *end)
{
    for (uint32_t i = 0; i < end->count; i++) {
        close(end->fds[i]);
    }
    close(end->listener);
    close(end->epoll);
    free(end->fds);
    free(end->out);
    free(end->in);
    free(end);
}
