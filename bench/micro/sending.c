/*
 * sending.c: a file that the system has in memory goes out over TCP on loopback, in one of several
 * ways, as a range of a spool may (docs/adr/0119-ranges-are-batches-of-the-files.md).
 *
 * Not here: what is asked and answered, framing, other machines.  Law: no clock but that of each
 * thread's CPU; whoever calls takes the time.  All that was sent was received before it returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "spool/crc32c.h"

enum {
    SENDING_RECEIVED = 1024 * 1024,   /* octets that are asked for at once */
    SENDING_BUFFERS = 8, /* that may be on their way at once, where they are pinned */
    SENDING_CONTROL = 256 /* octets of what the error queue says at once */
};

typedef enum sending_way {
    SENDING_READ, /* into a buffer, and out of it */
    SENDING_CHECKED, /* the same, and its CRC in between, as a server does */
    SENDING_MAPPED, /* out of the mapped file */
    SENDING_MAPPED_CHECKED, /* the same, behind its CRC */
    SENDING_FILE, /* sendfile */
    SENDING_READ_PINNED, /* into one of several buffers, and out of it by MSG_ZEROCOPY */
    SENDING_MAPPED_PINNED, /* out of the mapped file by MSG_ZEROCOPY */
    SENDING_WAYS
} sending_way;

typedef struct sending {
    sending_way way;
    int file, from, to; /* the file; both ends of the connection */
    uint64_t size, total; /* octets of the file; to be sent, around it */
    size_t piece;
    const uint8_t *map;
    uint8_t *buffers;
    uint32_t begun, ended,
        copied; /* sends by MSG_ZEROCOPY; those whose octets were copied after all */
    uint32_t uses[SENDING_BUFFERS]; /* up to which of them a buffer is used */
    bool checks; /* the receiver makes a CRC of all */
    uint32_t crc, seen; /* that; and of the server */
    int64_t received, cpu_ns; /* of the receiver */
} sending;

static int64_t
sending_cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static void *
sending_receive(void *arg)
{
    sending *s = arg;
    uint8_t *buf = malloc(SENDING_RECEIVED);
    int64_t start = sending_cpu_ns();
    ssize_t got = buf == NULL ? -1 : 1;
    while (got > 0 && (got = recv(s->to, buf, SENDING_RECEIVED, 0)) > 0) {
        s->received += got;
        s->crc = s->checks ? mmi_crc32c(s->crc, buf, (size_t)got) : 0;
    }
    s->cpu_ns = sending_cpu_ns() - start;
    free(buf);
    return NULL;
}

/* What the system is done with; waits until something is, if that is asked for. */
static int
sending_reap(sending *s, bool waits)
{
    char control[SENDING_CONTROL];
    struct msghdr said = { .msg_control = control, .msg_controllen = sizeof control };
    while (recvmsg(s->from, &said, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        struct pollfd errors = { .fd = s->from, .events = 0 };
        if (errno != EAGAIN || (waits && poll(&errors, 1, -1) < 0)) {
            return -errno;
        }
        if (!waits) {
            return 0;
        }
        said.msg_controllen = sizeof control;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&said); c != NULL; c = CMSG_NXTHDR(&said, c)) {
        struct sock_extended_err what;
        memcpy(&what, CMSG_DATA(c), sizeof what);
        if (what.ee_origin == SO_EE_ORIGIN_ZEROCOPY) {
            uint32_t count = what.ee_data - what.ee_info + 1;
            s->ended += count;
            s->copied += what.ee_code == SO_EE_CODE_ZEROCOPY_COPIED ? count : 0;
        }
    }
    return 1;
}

static int
sending_out(sending *s, const uint8_t *at, size_t size, bool pinned)
{
    while (size > 0) {
        ssize_t done = send(s->from, at, size, MSG_NOSIGNAL | (pinned ? MSG_ZEROCOPY : 0));
        if (done < 0 && pinned && errno == ENOBUFS) {
            int rc = sending_reap(s, true);
            done = 0;
            if (rc < 0) {
                return rc;
            }
        } else if (done < 0) {
            return -errno;
        } else {
            s->begun += pinned;
        }
        at += done;
        size -= (size_t)done;
    }
    return pinned && sending_reap(s, false) < 0 ? -EIO : 0;
}

static int
sending_file(sending *s, uint64_t at, size_t size)
{
    off_t from = (off_t)at;
    while (size > 0) {
        ssize_t done = sendfile(s->from, s->file, &from, size);
        if (done <= 0) {
            return done < 0 ? -errno : -EIO;
        }
        size -= (size_t)done;
    }
    return 0;
}

static int
sending_piece(sending *s, uint64_t turn, uint64_t at, size_t size)
{
    bool pinned = s->way == SENDING_READ_PINNED || s->way == SENDING_MAPPED_PINNED;
    if (s->way == SENDING_FILE) {
        return sending_file(s, at, size);
    }
    if (s->map != NULL) {
        bool checked = s->way == SENDING_MAPPED_CHECKED;
        s->seen = checked ? mmi_crc32c(s->seen, s->map + at, size) : 0;
        return sending_out(s, s->map + at, size, pinned);
    }
    size_t which = pinned ? turn % SENDING_BUFFERS : 0;
    uint8_t *buf = s->buffers + which * s->piece;
    while (pinned && s->ended < s->uses[which]) {
        int rc = sending_reap(s, true);
        if (rc < 0) {
            return rc;
        }
    }
    if (pread(s->file, buf, size, (off_t)at) != (ssize_t)size) {
        return -EIO;
    }
    s->seen = s->way == SENDING_CHECKED ? mmi_crc32c(s->seen, buf, size) : 0;
    int rc = sending_out(s, buf, size, pinned);
    s->uses[which] = s->begun;
    return rc;
}

static int
sending_all(sending *s)
{
    int rc = 0;
    uint64_t at = 0, turn = 0;
    for (uint64_t left = s->total; rc == 0 && left > 0; turn++) {
        uint64_t most = s->size - at < left ? s->size - at : left;
        size_t size = most < s->piece ? (size_t)most : s->piece;
        rc = sending_piece(s, turn, at, size);
        left -= size;
        at = (at + size) % s->size;
    }
    while (rc == 0 && s->ended < s->begun) {
        rc = sending_reap(s, true) < 0 ? -EIO : 0;
    }
    return rc;
}

/* A connection on loopback. */
static int
sending_connect(sending *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    s->from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good =
        listener >= 0 && s->from >= 0 && bind(listener, (struct sockaddr *)&at, sizeof at) == 0 &&
        listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
        connect(s->from, (struct sockaddr *)&at, size) == 0;
    s->to = good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    good =
        good && s->to >= 0 && setsockopt(s->from, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) == 0;
    int rc = good ? 0 : -errno;
    if (listener >= 0) {
        (void)close(listener);
    }
    return rc;
}

static int
sending_open(sending *s, const char *path)
{
    struct stat about;
    s->file = open(path, O_RDONLY | O_CLOEXEC);
    if (s->file < 0 || fstat(s->file, &about) != 0) {
        return -errno;
    }
    s->size = (uint64_t)about.st_size;
    if (s->way == SENDING_MAPPED || s->way == SENDING_MAPPED_CHECKED ||
        s->way == SENDING_MAPPED_PINNED) {
        void *map = mmap(NULL, s->size, PROT_READ, MAP_SHARED | MAP_POPULATE, s->file, 0);
        s->map = map == MAP_FAILED ? NULL : map;
        return map == MAP_FAILED ? -errno : 0;
    }
    s->buffers = calloc(SENDING_BUFFERS, s->piece);
    return s->buffers == NULL ? -ENOMEM : 0;
}

static void
sending_close(sending *s)
{
    int *const all[] = { &s->file, &s->from, &s->to };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (*all[i] >= 0) {
            (void)close(*all[i]);
        }
    }
    if (s->map != NULL) {
        (void)munmap((void *)s->map, s->size);
    }
    free(s->buffers);
}

/* Sends so many octets of the file, around it, in pieces of that size.  The octets received, or a
 * negative errno.  told: CPU in ns of who sends, and of who receives; the parts in a million of
 * the sends by MSG_ZEROCOPY that were copied all the same; the CRC of what came, if it is checked. */
int64_t
micro_send(int way, const char *path, size_t piece, uint64_t total, int checks, int64_t told[4])
{
    sending s = { .way = (sending_way)way,
                  .file = -1,
                  .from = -1,
                  .to = -1,
                  .total = total,
                  .piece = piece,
                  .checks = checks != 0 };
    pthread_t receiver;
    int rc = way < 0 || way >= SENDING_WAYS ? -EINVAL : sending_open(&s, path);
    rc = rc == 0 ? sending_connect(&s) : rc;
    rc = rc == 0 ? -pthread_create(&receiver, NULL, sending_receive, &s) : rc;
    if (rc == 0) {
        int64_t start = sending_cpu_ns();
        rc = sending_all(&s);
        told[0] = sending_cpu_ns() - start;
        (void)shutdown(s.from, SHUT_WR);
        (void)pthread_join(receiver, NULL);
        told[1] = s.cpu_ns;
        told[2] = s.begun > 0 ? (int64_t)s.copied * 1000000 / s.begun : 0;
        told[3] = s.crc;
    }
    sending_close(&s);
    return rc < 0 ? rc : s.received;
}
