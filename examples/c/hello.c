/*
 * hello.c: meshmsg from C, with two of its patterns: jobs that are shared out (PUSH to PULL), and
 * questions that are answered (REQ to REP).  Both ends stand in one program here, so that it runs
 * by itself; as a rule they are two.
 *
 *     cc -std=c11 hello.c $(pkg-config --cflags --libs meshmsg) -o hello && ./hello
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <meshmsg.h>

enum { WAIT_MS = 5000, NO_SLICE = 0, BYTES_MAX = 1 << 20 };

/* A negative result is an error, and mm_strerror has the words for it.  Everything else is MM_OK,
 * which is 0, or a count. */
static int
check(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, mm_strerror(rc));
        exit(EXIT_FAILURE);
    }
    return rc;
}

/* Opens two sockets that are connected: one binds, and the other connects to where that was. */
static void
open_pair(mm_handle engine, int binding_role, int connecting_role, mm_handle *binds,
          mm_handle *connects)
{
    char endpoint[MM_ENDPOINT_MAX + 1];
    check(mm_socket_open(engine, binding_role, NULL, binds), "open");   /* NULL: default limits */
    check(mm_socket_open(engine, connecting_role, NULL, connects), "open");
    /* Port 0: one that is free; endpoint then says which. */
    check(mm_bind(*binds, "tcp://127.0.0.1:0", endpoint, sizeof endpoint), "bind");
    /* Returns at once; the engine connects, now and whenever the connection is lost. */
    check(mm_connect(*connects, endpoint), "connect");
}

static void
share_out(mm_handle engine, mm_batch *batch)
{
    const char *jobs[] = { "wash", "dry", "fold" };
    mm_handle push, pull;
    open_pair(engine, MM_PULL, MM_PUSH, &pull, &push);
    for (int i = 0; i < 3; i++) {
        check(mm_send(push, jobs[i], strlen(jobs[i]), WAIT_MS, NO_SLICE), "send");
    }
    for (int received = 0; received < 3;) {
        /* Waits for one message, and takes those that are there with it: up to 10 here. */
        int count = check(mm_recv(pull, batch, 10, BYTES_MAX, WAIT_MS, NO_SLICE), "receive");
        for (int i = 0; i < count; i++, received++) {
            size_t size;
            const char *body = mm_batch_frame(batch, (uint32_t)i, 0, &size);
            printf("job: %.*s\n", (int)size, body);   /* no 0 stands at the end of a body */
        }
    }
}

static void
ask(mm_handle engine, mm_batch *batch)
{
    const mm_body question = { "how are you?", 12 }, answer = { "fine", 4 };
    mm_handle req, rep;
    size_t size;
    uint64_t id;
    open_pair(engine, MM_REP, MM_REQ, &rep, &req);
    check(mm_request(req, &question, 1, WAIT_MS, NO_SLICE, &id), "request");
    /* The other side: it answers message 0 of what it received; the batch knows who asked. */
    check(mm_recv(rep, batch, 1, BYTES_MAX, WAIT_MS, NO_SLICE), "receive");
    const char *body = mm_batch_frame(batch, 0, 0, &size);
    printf("asked: %.*s\n", (int)size, body);
    check(mm_send_reply(rep, batch, 0, &answer, 1), "reply");
    /* This side again: many requests may be on their way, so the id says which reply is meant. */
    check(mm_recv_reply(req, id, batch, WAIT_MS, NO_SLICE), "receive the reply");
    body = mm_batch_frame(batch, 0, 0, &size);
    printf("answered: %.*s\n", (int)size, body);
    /* A time that is over is no failure of the program: it says so, and nothing was taken. */
    int rc = mm_recv(rep, batch, 1, BYTES_MAX, 10, NO_SLICE);
    printf("nobody else asks: %s\n", rc == MM_ETIMEDOUT ? mm_strerror(rc) : "?");
}

int
main(void)
{
    mm_handle engine;
    mm_batch *batch;
    uint64_t abandoned;
    printf("meshmsg %s\n", mm_version());
    check(mm_engine_open(0, &engine), "open an engine");   /* one, for any number of sockets */
    check(mm_batch_new(&batch), "make a batch");
    share_out(engine, batch);
    ask(engine, batch);
    mm_batch_free(batch);
    check(mm_engine_close(engine, WAIT_MS, &abandoned), "close");   /* and its sockets */
    printf("left unsent: %u\n", (unsigned)abandoned);
    return abandoned == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
