/*
 * A framed stream over TCP or a unix socket with nothing else: the most this machine gives.
 * Messages are collected and written write_size bytes at a time; reads take 256 KiB and are parsed
 * in place. With spin=1 a read never sleeps.
 * Law: one connection; a body is copied once into the buffer, as any library must.
 */
#include "end.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

static socklen_t
raw_address(const char *url, struct sockaddr_storage *at)
{
    memset(at, 0, sizeof *at);
    if (strncmp(url, "ipc://", 6) == 0) {
        struct sockaddr_un *un = (struct sockaddr_un *)at;
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof un->sun_path, "%s", url + 6);
        return sizeof *un;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)at;
    char host[64] = "";
    unsigned port = 0;
    if (sscanf(url, "tcp://%63[^:]:%u", host, &port) != 2) {
        errno = EINVAL;
        bench_fail(url);
    }
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port);
    in->sin_addr.s_addr = inet_addr(host);
    return sizeof *in;
}

static void
raw_ready(bench_end *end, int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on unix: fine */
    end->fd = fd;
}

static void
raw_listen(bench_end *end, const bench_task *task, char *endpoint, size_t endpoint_size)
{
    struct sockaddr_storage at;
    socklen_t size = raw_address(task->url, &at);
    int one = 1;
    end->listener = socket(at.ss_family, SOCK_STREAM, 0);
    (void)setsockopt(end->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (end->listener < 0 || bind(end->listener, (struct sockaddr *)&at, size) != 0 ||
        listen(end->listener, 1) != 0) {
        bench_fail(task->url);
    }
    snprintf(endpoint, endpoint_size, "%s", task->url);
    if (at.ss_family == AF_INET) {
        struct sockaddr_in in;
        socklen_t in_size = sizeof in;
        char host[INET_ADDRSTRLEN] = "";
        getsockname(end->listener, (struct sockaddr *)&in, &in_size);
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
        snprintf(endpoint, endpoint_size, "tcp://%s:%u", host, ntohs(in.sin_port));
    }
}

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
        raw_listen(end, task, endpoint, endpoint_size);
        return end;
    }
    struct sockaddr_storage at;
    socklen_t size = raw_address(task->url, &at);
    int fd = socket(at.ss_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, size) != 0) {
        bench_fail("connect");
    }
    raw_ready(end, fd);
    return end;
}

static void
raw_accept(bench_end *end)
{
    int fd = accept(end->listener, NULL, NULL);
    if (fd < 0) {
        bench_fail("accept");
    }
    raw_ready(end, fd);
}

void
bench_flush(bench_end *end)
{
    size_t done = 0;
    while (done < end->out_size) {
        ssize_t n = send(end->fd, end->out + done, end->out_size - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            bench_fail("send");
        }
        done += n > 0 ? (size_t)n : 0;
    }
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
raw_read(bench_end *end)
{
    if (end->in_begin > 0) {
        memmove(end->in, end->in + end->in_begin, end->in_end - end->in_begin);
        end->in_end -= end->in_begin;
        end->in_begin = 0;
    }
    for (;;) {
        ssize_t n =
            recv(end->fd, end->in + end->in_end, end->in_capacity - end->in_end, end->flags);
        if (n > 0) {
            end->in_end += (size_t)n;
            return;
        }
        if (n == 0) {
            fprintf(stderr, "the other end is gone\n");
            exit(1);
        }
        if (errno != EAGAIN && errno != EINTR) {
            bench_fail("recv");
        }
    }
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    uint32_t head;
    if (end->fd < 0) {
        raw_accept(end);
    }
    while (end->in_end - end->in_begin < RAW_HEAD) {
        raw_read(end);
    }
    memcpy(&head, end->in + end->in_begin, RAW_HEAD);
    while (end->in_end - end->in_begin < RAW_HEAD + (size_t)head) {
        raw_read(end);
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
