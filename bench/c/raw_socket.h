/*
 * Plain sockets over TCP or unix, as the raw rivals open them.
 * Not here: framing, and waiting for several.
 * Law: a failure ends the process with a sentence.
 */
#ifndef BENCH_RAW_SOCKET_H
#define BENCH_RAW_SOCKET_H

#include "end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline socklen_t
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

/* A connection that sends at once. */
static inline int
raw_at_once(int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on unix: fine */
    return fd;
}

/* A listener, and where it is to be found. */
static inline int
raw_listen(const char *url, int backlog, char *endpoint, size_t endpoint_size)
{
    struct sockaddr_storage at;
    socklen_t size = raw_address(url, &at);
    int one = 1;
    int fd = socket(at.ss_family, SOCK_STREAM, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, backlog) != 0) {
        bench_fail(url);
    }
    snprintf(endpoint, endpoint_size, "%s", url);
    if (at.ss_family == AF_INET) {
        struct sockaddr_in in;
        socklen_t in_size = sizeof in;
        char host[INET_ADDRSTRLEN] = "";
        getsockname(fd, (struct sockaddr *)&in, &in_size);
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
        snprintf(endpoint, endpoint_size, "tcp://%s:%u", host, ntohs(in.sin_port));
    }
    return fd;
}

static inline int
raw_connect(const char *url)
{
    struct sockaddr_storage at;
    socklen_t size = raw_address(url, &at);
    int fd = socket(at.ss_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, size) != 0) {
        bench_fail("connect");
    }
    return raw_at_once(fd);
}

static inline int
raw_accept(int listener)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) {
        bench_fail("accept");
    }
    return raw_at_once(fd);
}

static inline void
raw_write(int fd, const uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, data + done, size - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            bench_fail("send");
        }
        done += n > 0 ? (size_t)n : 0;
    }
}

/* What is there, one octet at least, or 0: nothing yet, and flags say not to wait. */
static inline size_t
raw_read(int fd, uint8_t *to, size_t room, int flags)
{
    ssize_t n = recv(fd, to, room, flags);
    if (n == 0) {
        fprintf(stderr, "the other end is gone\n");
        exit(1);
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        bench_fail("recv");
    }
    return n > 0 ? (size_t)n : 0;
}

#endif
