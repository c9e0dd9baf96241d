/*
 * lb.c: the pipes with room, in turn or by what they have.
 * Not here: what to do when there is none (queue/backlog.c).
 * Law: the front of a list is the next in turn; who was chosen goes to the back.  A pipe without
 * room for a small message is full, also if nobody found that out by sending: ready is no guess.
 */
#include "queue/lb.h"

#include "queue/unacked.h"

void
mmi_lb_init(mmi_lb *lb)
{
    mmi_list_init(&lb->open);
    mmi_list_init(&lb->full);
    mmi_list_init(&lb->passed);
    lb->pipe_count = 0;
    lb->least = false;
}

static void
lb_move(mmi_lb *lb, mmi_lb_node *node, bool full)
{
    mmi_list_rm(&node->node);
    mmi_list_push_back(full ? &lb->full : &lb->open, &node->node);
    node->full = full;
}

void
mmi_lb_add(mmi_lb *lb, mmi_lb_node *node, mmi_pipe *pipe)
{
    mmi_list_init(&node->node);
    node->pipe = pipe;
    node->held = false;
    lb->pipe_count++;
    lb_move(lb, node, false);
}

void
mmi_lb_rm(mmi_lb *lb, mmi_lb_node *node)
{
    mmi_list_rm(&node->node);
    lb->pipe_count--;
}

void
mmi_lb_out(mmi_lb *lb, mmi_lb_node *node)
{
    if (node->full && mmi_ring_low(&node->pipe->outbox)) {
        lb_move(lb, node, false);
    }
}

static mmi_lb_node *
lb_node(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_lb_node, node);
}

/* Is there one that is not late? */
static bool
lb_timely(const mmi_lb *lb)
{
    const mmi_list *const lists[] = { &lb->open, &lb->full, &lb->passed };
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        MMI_LIST_EACH (lists[i], node, after) {
            if (!lb_node(node)->pipe->overdue) {
                return true;
            }
        }
    }
    return false;
}

bool
mmi_lb_late(const mmi_lb *lb, const mmi_pipe *p)
{
    return p->overdue && lb_timely(lb);
}

/* One look at the pipes: whether one of them is timely is found out when it first matters, and is
 * so to the end of the look. */
typedef struct lb_look {
    const mmi_lb *lb;
    bool known, timely;
} lb_look;

static bool
lb_passes(lb_look *look, const mmi_lb_node *node)
{
    if (node->held || !node->pipe->overdue) {
        return node->held;
    }
    if (!look->known) {
        look->timely = lb_timely(look->lb);
        look->known = true;
    }
    return look->timely;
}

bool
mmi_lb_ready(const mmi_lb *lb)
{
    lb_look look = { .lb = lb };
    MMI_LIST_EACH (&lb->open, node, after) {   /* mostly the first */
        if (mmi_pipe_has_room(lb_node(node)->pipe) && !lb_passes(&look, lb_node(node))) {
            return true;
        }
    }
    return false;
}

/* The first of a list that has words for it. */
static mmi_lb_node *
lb_speaker(mmi_list *list, const mmi_msg *m)
{
    MMI_LIST_EACH (list, node, after) {
        if (mmi_pipe_check(lb_node(node)->pipe, m) == MM_OK) {
            return lb_node(node);
        }
    }
    return NULL;
}

bool
mmi_lb_idle(const mmi_lb *lb)
{
    lb_look look = { .lb = lb };
    MMI_LIST_EACH (&lb->open, node, after) {
        const mmi_pipe *p = lb_node(node)->pipe;
        if (p->outbox.count == 0 && mmi_pipe_has_room(p) && !lb_passes(&look, lb_node(node))) {
            return true;
        }
    }
    return false;
}

bool
mmi_lb_full_for(const mmi_lb *lb, const mmi_framing *f, size_t cost)
{
    const mmi_list *const lists[] = { &lb->open, &lb->full, &lb->passed };
    bool speaks = false;
    lb_look look = { .lb = lb };
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        MMI_LIST_EACH (lists[i], node, after) {
            const mmi_pipe *p = lb_node(node)->pipe;
            if (mmi_ring_fits(&p->outbox, cost) && !lb_passes(&look, lb_node(node))) {
                return false;
            }
            speaks |= p->framing == f;
        }
    }
    return speaks;
}

static void
lb_move_all(mmi_list *from, mmi_list *to)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(from)) != NULL) {
        mmi_list_push_back(to, node);
    }
}

/* What is looked for: room for one of that cost; words for it, or, of one that is encoded, those
 * very words. */
typedef struct lb_wanted {
    const mmi_msg *m;
    const mmi_framing *framing;
    size_t cost;
} lb_wanted;

static bool
lb_speaks(const mmi_pipe *p, const lb_wanted *w)
{
    return w->m != NULL ? mmi_pipe_check(p, w->m) == MM_OK : p->framing == w->framing && !p->apart;
}

/* The first of a list that has words for it and room. */
static mmi_lb_node *
lb_find(mmi_lb *lb, mmi_list *list, const lb_wanted *w, lb_look *look)
{
    MMI_LIST_EACH (list, node, after) {
        const mmi_pipe *p = lb_node(node)->pipe;
        bool fits = mmi_ring_fits(&p->outbox, w->cost) && !lb_passes(look, lb_node(node));
        if (fits && lb_speaks(p, w)) {
            return lb_node(node);
        }
        if (!fits && !lb_node(node)->full) {
            lb_move(lb, lb_node(node), true);
        }
    }
    return NULL;
}

/* Messages that it has: queued, or written and not acknowledged. */
static uint64_t
lb_load(const mmi_pipe *p)
{
    return p->outbox.count + (p->unacked != NULL ? mmi_unacked_count(p->unacked) : 0);
}

/* Of those that have words for it and room: who has the fewest messages; of several the next in
 * turn. */
static mmi_lb_node *
lb_find_least(mmi_lb *lb, const lb_wanted *w)
{
    mmi_list *const lists[] = { &lb->open, &lb->full };
    mmi_lb_node *least = NULL;
    lb_look look = { .lb = lb };
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        MMI_LIST_EACH (lists[i], node, after) {
            mmi_lb_node *one = lb_node(node);
            uint64_t load = lb_load(one->pipe);
            bool fits = mmi_ring_fits(&one->pipe->outbox, w->cost) && !lb_passes(&look, one);
            if (fits && load < fewest && lb_speaks(one->pipe, w)) {
                least = one;
                fewest = load;
            } else if (!fits && !one->full) {
                lb_move(lb, one, true);
            }
        }
    }
    return least;
}

/* The next in turn. */
static mmi_lb_node *
lb_find_next(mmi_lb *lb, const lb_wanted *w)
{
    lb_look look = { .lb = lb };
    mmi_lb_node *node = lb_find(lb, &lb->open, w, &look);
    return node != NULL ? node : lb_find(lb, &lb->full, w, &look);
}

/* The only pipe, if it has words for it and room, and is not held; else NULL. */
static mmi_lb_node *
lb_find_only(const mmi_lb *lb, const lb_wanted *w)
{
    mmi_lb_node *node = lb_node(lb->open.next);
    bool fits = lb->pipe_count == 1 && !mmi_list_empty(&lb->open) && !node->held &&
                mmi_ring_fits(&node->pipe->outbox, w->cost);
    return fits && lb_speaks(node->pipe, w) ? node : NULL;
}

/* Whose turn it is, with room; NULL: nobody's. */
static mmi_lb_node *
lb_take_turn(mmi_lb *lb, const lb_wanted *w)
{
    mmi_lb_node *only = lb_find_only(lb, w);
    if (only != NULL) {
        return only;
    }
    if (!mmi_list_empty(&lb->passed)) {
        lb_move_all(&lb->passed, &lb->open);
    }
    mmi_lb_node *node = lb->least ? lb_find_least(lb, w) : lb_find_next(lb, w);
    if (node != NULL) {
        lb_move(lb, node, node->full);
    }
    return node;
}

int
mmi_lb_can(const mmi_lb *lb, const mmi_msg *m)
{
    const mmi_list *const lists[] = { &lb->open, &lb->full, &lb->passed };
    int why = MM_OK;
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        MMI_LIST_EACH (lists[i], node, after) {
            int rc = mmi_pipe_check(lb_node(node)->pipe, m);
            if (rc == MM_OK) {
                return MM_OK;
            }
            why = rc == MM_EMSGSIZE || why == MM_EMSGSIZE ? MM_EMSGSIZE : MM_ENOTSUP;
        }
    }
    return why;
}

void
mmi_lb_takes(const mmi_lb *lb, uint64_t *size, uint32_t *frames)
{
    const mmi_list *const lists[] = { &lb->open, &lb->full, &lb->passed };
    *size = *frames = 0;
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        MMI_LIST_EACH (lists[i], node, after) {
            const mmi_pipe *p = lb_node(node)->pipe;
            *size = p->takes_size > *size ? p->takes_size : *size;
            *frames = p->takes_frames > *frames ? p->takes_frames : *frames;
        }
    }
}

/* As mmi_lb_next. */
static int
lb_choose(mmi_lb *lb, const mmi_msg *m, mmi_lb_node **chosen)
{
    const lb_wanted wanted = { .m = m, .cost = mmi_msg_cost(m) };
    *chosen = lb_take_turn(lb, &wanted);
    if (*chosen != NULL) {
        return MM_OK;
    }
    int rc = mmi_lb_can(lb, m);
    if (rc == MM_OK) {
        lb_move_all(&lb->open, &lb->passed);   /* they have room, but cannot have it */
        return MM_EAGAIN;
    }
    return rc;   /* nobody will wait */
}

mmi_pipe *
mmi_lb_next_of(mmi_lb *lb, const mmi_framing *f, size_t cost)
{
    const lb_wanted wanted = { .framing = f, .cost = cost };
    mmi_lb_node *node = lb_take_turn(lb, &wanted);
    return node != NULL ? node->pipe : NULL;
}

int
mmi_lb_next(mmi_lb *lb, const mmi_msg *m, mmi_pipe **to)
{
    mmi_lb_node *node;
    int rc = lb_choose(lb, m, &node);
    if (rc == MM_OK) {
        *to = node->pipe;
    }
    return rc;
}

mmi_pipe *
mmi_lb_turn(mmi_lb *lb, const mmi_msg *m)
{
    mmi_lb_node *node = lb_speaker(&lb->open, m);
    if (node == NULL) {
        node = lb_speaker(&lb->full, m);
    }
    if (node == NULL) {
        return NULL;
    }
    lb_move(lb, node, node->full);
    return node->pipe;
}

int
mmi_lb_send(mmi_lb *lb, mmi_msg *m, mmi_pipe **to)
{
    mmi_lb_node *node;
    int rc = lb_choose(lb, m, &node);
    if (rc != MM_OK) {
        return rc;
    }
    *to = node->pipe;
    rc = mmi_pipe_send(node->pipe, m);
    if (rc == MM_OK && !node->full && !mmi_pipe_has_room(node->pipe)) {
        lb_move(lb, node, true);
    }
    return rc;
}
