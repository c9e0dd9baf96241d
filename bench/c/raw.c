/*
 * A framed stream over TCP or a unix socket with nothing else: the most this machine gives.
 * Messages are collected and written write_size bytes at a time; reads take 256 KiB and are parsed
 * in place. With spin=1 a read never sleeps.
 * Law: one connection; a body is copied once into the buffer, as any library must.
 */
#include "raw_socket.h"

enum { RAW_HEAD = 4, RAW_READ = 256 * 1024 };

struct bench_end {
    int listener;
    int fd;
    int flags; /* of recv: MSG_DONTWAIT when it spins */
    uint8_t *out;
    size_t out_size;
    size_t write_size;
    uint8_t *in;
    size_t in_capacity;
    size_t in_begin;
    size_t in_end;
};

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    size_t frame = RAW_HEAD + task->size + 16;
    end->fd = end->listener = -1;
    end->flags = task->spin ? MSG_DONTWAIT : 0;
    end->write_size = task->write_size;
    end->out = malloc(task->write_size + frame);
    end->in_capacity = RAW_READ + frame;
    end->in = malloc(end->in_capacity);
    if (end->out == NULL || end->in == NULL) {
        bench_fail("malloc");
    }
    if (task->receives) {
        end->listener = raw_listen(task->url, 1, endpoint, endpoint_size);
    } else {
        end->fd = raw_connect(task->url);
    }
    return end;
}

void
bench_flush(bench_end *end)
{
    raw_write(end->fd, end->out, end->out_size);
    end->out_size = 0;
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    uint32_t head = (uint32_t)size;
    memcpy(end->out + end->out_size, &head, RAW_HEAD);
    memcpy(end->out + end->out_size + RAW_HEAD, body, size);
    end->out_size += RAW_HEAD + size;
    if (end->out_size >= end->write_size) {
        bench_flush(end);
    }
}

static void
raw_fill(bench_end *end)
{
    if (end->in_begin > 0) {
        memmove(end->in, end->in + end->in_begin, end->in_end - end->in_begin);
        end->in_end -= end->in_begin;
        end->in_begin = 0;
    }
    size_t before = end->in_end;
    while (end->in_end == before) {
        end->in_end += raw_read(end->fd, end->in + before, end->in_capacity - before, end->flags);
    }
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    uint32_t head;
    if (end->fd < 0) {
        end->fd = raw_accept(end->listener);
    }
    while (end->in_end - end->in_begin < RAW_HEAD) {
        raw_fill(end);
    }
    memcpy(&head, end->in + end->in_begin, RAW_HEAD);
    while (end->in_end - end->in_begin < RAW_HEAD + (size_t)head) {
        raw_fill(end);
    }
    const uint8_t *body = end->in + end->in_begin + RAW_HEAD;
    end->in_begin += RAW_HEAD + (size_t)head;
    *size = head;
    return body;
}

void
bench_close(bench_end *end)
{
    if (end->fd >= 0) {
        close(end->fd);
    }
    if (end->listener >= 0) {
        close(end->listener);
    }
    free(end->out);
    free(end->in);
    free(end);
}
