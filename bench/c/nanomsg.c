/*
 * nanomsg from C: push and pull, request and reply, or surveys, with its own buffers of messages.
 * Not here: NNG, which is measured from Python (pynng).
 * Law: port 0 is resolved by asking the system for a free port first, as nanomsg cannot say.
 */
#include "end.h"
#include "survey.h"

#include <nanomsg/nn.h>
#include <nanomsg/pipeline.h>
#include <nanomsg/reqrep.h>
#include <nanomsg/survey.h>
#include <nanomsg/tcp.h>
#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NANO_MEET_MS = 200, NANO_PATIENCE_MS = 60000, NANO_HOST_SIZE = 64 };

struct bench_end {
    int socket;
    void *message;
};

static int
nano_role(const bench_task *task)
{
    if (strcmp(task->kind, "lat") == 0) {
        return task->receives ? NN_REP : NN_REQ;
    }
    if (strcmp(task->kind, "survey") == 0) {
        return task->receives ? NN_RESPONDENT : NN_SURVEYOR;
    }
    return task->receives ? NN_PULL : NN_PUSH;
}

/* The host of a URL tcp://HOST:0, as it is written there; false for all other URLs. */
static bool
nano_wants_port(const char *url, char host[NANO_HOST_SIZE])
{
    unsigned port = 1;
    return sscanf(url, "tcp://%63[^:]:%u", host, &port) == 2 && port == 0;
}

static unsigned
nano_free_port(const char *host)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t size = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || inet_pton(AF_INET, host, &in.sin_addr) != 1 ||
        bind(fd, (struct sockaddr *)&in, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &size) != 0) {
        bench_fail("a free port");
    }
    close(fd);
    return ntohs(in.sin_port);
}

/* The ABI's: nanomsg does not tell its release. */
const char *
bench_version(void)
{
    static char text[48];
    snprintf(text, sizeof text, "ABI %d.%d.%d", NN_VERSION_CURRENT, NN_VERSION_REVISION,
             NN_VERSION_AGE);
    return text;
}

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    char host[NANO_HOST_SIZE] = "";
    int any = -1, yes = 1;
    end->socket = nn_socket(AF_SP, nano_role(task));
    if (end->socket < 0) {
        bench_fail("nn_socket");
    }
    nn_setsockopt(end->socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, &any, sizeof any);
    if (nn_setsockopt(end->socket, NN_TCP, NN_TCP_NODELAY, &yes, sizeof yes) != 0) {
        bench_fail("NN_TCP_NODELAY"); /* all others send at once, too */
    }
    bool binds = task->receives != (strcmp(task->kind, "survey") == 0);
    snprintf(endpoint, endpoint_size, "%s", task->url);
    if (binds && nano_wants_port(task->url, host)) {
        snprintf(endpoint, endpoint_size, "tcp://%s:%u", host, nano_free_port(host));
    }
    int rc = binds ? nn_bind(end->socket, endpoint) : nn_connect(end->socket, task->url);
    if (rc < 0) {
        bench_fail(nn_strerror(nn_errno()));
    }
    return end;
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    if (nn_send(end->socket, body, size, 0) < 0) {
        bench_fail(nn_strerror(nn_errno()));
    }
}

bool
bench_offer(bench_end *end, const void *body, size_t size)
{
    if (nn_send(end->socket, body, size, NN_DONTWAIT) >= 0) {
        return true;
    }
    if (nn_errno() != EAGAIN) {
        bench_fail(nn_strerror(nn_errno()));
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
    if (end->message != NULL) {
        nn_freemsg(end->message);
        end->message = NULL;
    }
    int rc = nn_recv(end->socket, &end->message, NN_MSG, 0);
    if (rc < 0) {
        bench_fail(nn_strerror(nn_errno()));
    }
    *size = (size_t)rc;
    return end->message;
}

void
bench_meet(bench_end *end, uint32_t answers)
{
    int deadline_ms = NANO_MEET_MS;
    uint32_t came = 0;
    nn_setsockopt(end->socket, NN_SURVEYOR, NN_SURVEYOR_DEADLINE, &deadline_ms, sizeof deadline_ms);
    while (came < answers) {
        void *message = NULL;
        bench_send(end, "meet", 4);
        for (came = 0; came < answers && nn_recv(end->socket, &message, NN_MSG, 0) >= 0; came++) {
            nn_freemsg(message);
        }
    }
    deadline_ms = NANO_PATIENCE_MS;
    nn_setsockopt(end->socket, NN_SURVEYOR, NN_SURVEYOR_DEADLINE, &deadline_ms, sizeof deadline_ms);
}

int
bench_poll(bench_end **ends, uint32_t count, uint32_t *ready)
{
    static struct nn_pollfd fds[PACED_CONNECTIONS_MAX];
    int found = 0;
    for (uint32_t i = 0; i < count; i++) {
        fds[i] = (struct nn_pollfd){ .fd = ends[i]->socket, .events = NN_POLLIN };
    }
    if (nn_poll(fds, (int)count, -1) < 0) {
        bench_fail(nn_strerror(nn_errno()));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (fds[i].revents & NN_POLLIN) {
            ready[found++] = i;
        }
    }
    return found;
}

void
bench_close(bench_end *end)
{
    if (end->message != NULL) {
        nn_freemsg(end->message);
    }
    nn_close(end->socket);
    free(end);
}
