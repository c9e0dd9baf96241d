/*
 * libzmq from C: push and pull, or request and reply, at the default high water marks.
 * Not here: bindings; pyzmq is measured from Python.
 * Law: one shared instance of the library a process, so that inproc works.
 */
#include "end.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <zmq.h>

struct bench_end {
    void *socket;
    zmq_msg_t message;
    bool holds;
};

static void *zmq_shared;
static pthread_once_t zmq_once = PTHREAD_ONCE_INIT;

static void
zmq_begin(void)
{
    zmq_shared = zmq_ctx_new();
}

static int
zmq_role(const bench_task *task)
{
    if (strcmp(task->kind, "lat") == 0) {
        return task->receives ? ZMQ_REP : ZMQ_REQ;
    }
    return task->receives ? ZMQ_PULL : ZMQ_PUSH;
}

const char *
bench_version(void)
{
    static char text[32];
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    pthread_once(&zmq_once, zmq_begin);
    end->socket = zmq_socket(zmq_shared, zmq_role(task));
    if (end->socket == NULL) {
        bench_fail("zmq_socket");
    }
    int rc =
        task->receives ? zmq_bind(end->socket, task->url) : zmq_connect(end->socket, task->url);
    if (rc != 0) {
        bench_fail(task->url);
    }
    snprintf(endpoint, endpoint_size, "%s", task->url);
    if (task->receives && strncmp(task->url, "tcp:", 4) == 0) {
        zmq_getsockopt(end->socket, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_size);
    }
    return end;
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    if (zmq_send(end->socket, body, size, 0) < 0) {
        bench_fail("zmq_send");
    }
}

bool
bench_offer(bench_end *end, const void *body, size_t size)
{
    if (zmq_send(end->socket, body, size, ZMQ_DONTWAIT) >= 0) {
        return true;
    }
    if (zmq_errno() != EAGAIN) {
        bench_fail("zmq_send");
    }
    return false;
}

void
bench_flush(bench_end *end)
{
    (void)end; /* it sends by itself */
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    if (end->holds) {
        zmq_msg_close(&end->message);
    }
    zmq_msg_init(&end->message);
    end->holds = true;
    if (zmq_msg_recv(&end->message, end->socket, 0) < 0) {
        bench_fail("zmq_msg_recv");
    }
    *size = zmq_msg_size(&end->message);
    return zmq_msg_data(&end->message);
}

void
bench_close(bench_end *end)
{
    if (end->holds) {
        zmq_msg_close(&end->message);
    }
    zmq_close(end->socket);
    free(end);
}
