/*
 * poll.c: the poller for systems without epoll: poll(2) over a table.
 *
 * watch may be called while another thread is inside poll, which is then interrupted, as poll(2)
 * looks at its table only once.  Law: the table has one row a descriptor; poll works on a copy of
 * it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "plat/posix/posix.h"

enum {
    POLL_FIRST = 16,           /* entries, from the start: the wake-up always has one */
    POLL_SHORT_NS = 10000000   /* short of memory for all rows: then look at them again soon */
};

typedef struct poll_row {
    int fd;
    uint32_t events;
    uint64_t tag;
} poll_row;

struct mmi_poller {
    pthread_mutex_t lock;
    poll_row *rows;
    uint32_t count, cap;
    struct pollfd *copy;      /* the polling thread's own */
    uint64_t *tags;
    uint32_t copy_cap;
    bool polling;
    int wake;
};

static void
poll_close(mmi_poller *p)
{
    if (p->wake >= 0) {
        close(p->wake);
    }
    pthread_mutex_destroy(&p->lock);
    mmi_free(p->rows);
    mmi_free(p->copy);
    mmi_free(p->tags);
    mmi_free(p);
}

static mmi_poller *
poll_open(int *error)
{
    mmi_poller *p = mmi_alloc(sizeof *p);
    if (p == NULL) {
        *error = MM_ENOMEM;
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->copy = mmi_alloc(POLL_FIRST * sizeof *p->copy);
    p->tags = mmi_alloc(POLL_FIRST * sizeof *p->tags);
    p->copy_cap = POLL_FIRST;
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->wake < 0 || p->copy == NULL || p->tags == NULL) {
        *error = p->wake < 0 ? mmi_posix_error(errno) : MM_ENOMEM;
        poll_close(p);
        return NULL;
    }
    return p;
}

static void
poll_interrupt(mmi_poller *p)
{
    uint64_t one = 1;
    (void)(write(p->wake, &one, sizeof one) == sizeof one);
}

/* The row of a descriptor, or a new one; NULL: no memory. */
static poll_row *
poll_find(mmi_poller *p, int fd, bool add)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->rows[i].fd == fd) {
            return &p->rows[i];
        }
    }
    if (!add) {
        return NULL;
    }
    if (p->count == p->cap) {
        uint32_t cap = p->cap == 0 ? POLL_FIRST : p->cap * 2;
        poll_row *grown = mmi_realloc(p->rows, cap * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        p->rows = grown;
        p->cap = cap;
    }
    p->rows[p->count] = (poll_row){ .fd = fd };
    return &p->rows[p->count++];
}

static int
poll_watch(mmi_poller *p, int fd, uint32_t events, uint64_t tag)
{
    pthread_mutex_lock(&p->lock);
    poll_row *row = poll_find(p, fd, events != 0);
    int rc = row == NULL && events != 0 ? MM_ENOMEM : MM_OK;
    if (row != NULL && events == 0) {
        *row = p->rows[--p->count];
    } else if (row != NULL) {
        row->events = events;
        row->tag = tag;
    }
    bool polling = p->polling;
    pthread_mutex_unlock(&p->lock);
    if (polling && rc == MM_OK) {
        poll_interrupt(p);
    }
    return rc;
}

/* Copies the table for one poll(2). Returns the number of entries, the wake-up first. Some rows may
 * wait a turn when memory is short, which is a short one then. */
static uint32_t
poll_copy(mmi_poller *p, uint64_t *deadline_ns)
{
    pthread_mutex_lock(&p->lock);
    uint32_t want = p->count + 1;
    if (want > p->copy_cap) {
        struct pollfd *copy = mmi_realloc(p->copy, 2 * want * sizeof *copy);
        p->copy = copy != NULL ? copy : p->copy;
        uint64_t *tags = mmi_realloc(p->tags, 2 * want * sizeof *tags);
        p->tags = tags != NULL ? tags : p->tags;
        p->copy_cap = copy != NULL && tags != NULL ? 2 * want : p->copy_cap;
        if (want > p->copy_cap) {
            want = p->copy_cap;
            uint64_t soon_ns = mmi_posix_now_ns() + POLL_SHORT_NS;
            *deadline_ns = *deadline_ns < soon_ns ? *deadline_ns : soon_ns;
        }
    }
    for (uint32_t i = 1; i < want; i++) {
        const poll_row *row = &p->rows[i - 1];
        short events = (short)(((row->events & MMI_WATCH_READ) != 0 ? POLLIN : 0) |
                               ((row->events & MMI_WATCH_WRITE) != 0 ? POLLOUT : 0));
        p->copy[i] = (struct pollfd){ .fd = row->fd, .events = events };
        p->tags[i] = row->tag;
    }
    p->copy[0] = (struct pollfd){ .fd = p->wake, .events = POLLIN };
    p->polling = true;
    pthread_mutex_unlock(&p->lock);
    return want;
}

static int
poll_poll(mmi_poller *p, mmi_event *out, int cap, uint64_t deadline_ns)
{
    uint32_t total = poll_copy(p, &deadline_ns);
    int ready = mmi_posix_poll(p->copy, total, deadline_ns);
    pthread_mutex_lock(&p->lock);
    p->polling = false;
    pthread_mutex_unlock(&p->lock);
    int count = 0;
    for (uint32_t i = 0; ready > 0 && i < total && count < cap; i++) {
        short e = p->copy[i].revents;
        if (i == 0 && e != 0) {
            uint64_t drained;
            (void)(read(p->wake, &drained, sizeof drained) == sizeof drained);
        } else if ((e & ~POLLNVAL) != 0) {
            bool hung = (e & (POLLHUP | POLLERR)) != 0;
            out[count].tag = p->tags[i];
            out[count++].events = ((e & POLLIN) != 0 || hung ? (uint32_t)MMI_WATCH_READ : 0) |
                                  ((e & POLLOUT) != 0 || hung ? (uint32_t)MMI_WATCH_WRITE : 0) |
                                  (hung ? (uint32_t)MMI_WATCH_HANGUP : 0);
        }
    }
    return count;
}

static void
poll_after_fork(mmi_poller *p)
{
    close(p->wake);
}

const mmi_poller_ops mmi_poller_poll = {
    .name = "poll",
    .open = poll_open,
    .watch = poll_watch,
    .poll = poll_poll,
    .interrupt = poll_interrupt,
    .close = poll_close,
    .after_fork = poll_after_fork,
};
