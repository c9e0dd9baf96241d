/*
 * queue/overdue.c: see queue/overdue.h.
 */
#include "queue/overdue.h"

#include <string.h>

enum { OVERDUE_EXTENDED_MAX = 2 * MMI_UNACKED_MAX };   /* half of them are done then */

typedef struct overdue_extended {
    mmi_list node;
    uint64_t number, at_ns;
} overdue_extended;

static overdue_extended *
overdue_of(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, overdue_extended, node);
}

mmi_overdue *
mmi_overdue_new(uint64_t timeout_ns)
{
    mmi_overdue *o = mmi_alloc(sizeof *o);
    if (o != NULL) {
        o->timeout_ns = timeout_ns;
        o->next = 1;
        mmi_list_init(&o->extended);
    }
    return o;
}

static void
overdue_forget(mmi_overdue *o, overdue_extended *e)
{
    mmi_list_rm(&e->node);
    (void)mmi_map_rm(&o->by_number, e->number);
    mmi_free(e);
}

void
mmi_overdue_free(mmi_overdue *o)
{
    if (o == NULL) {
        return;
    }
    MMI_LIST_EACH (&o->extended, node, after) {
        overdue_forget(o, overdue_of(node));
    }
    mmi_map_fini(&o->by_number);
    mmi_free(o);
}

void
mmi_overdue_look(mmi_overdue *o, uint64_t written, uint64_t now_ns)
{
    uint32_t over = 0;
    while (over < o->mark_count && now_ns - o->at_ns[over] >= o->timeout_ns) {
        o->upto = o->written[over++];
    }
    o->mark_count -= over;
    memmove(o->written, o->written + over, o->mark_count * sizeof o->written[0]);
    memmove(o->at_ns, o->at_ns + over, o->mark_count * sizeof o->at_ns[0]);
    uint64_t last = o->mark_count > 0 ? o->written[o->mark_count - 1] : o->upto;
    if (written == last) {
        return;
    }
    if (o->mark_count == MMI_OVERDUE_MARKS) { /* it was looked at too often: those come later */
        o->mark_count--;
    }
    o->written[o->mark_count] = written;
    o->at_ns[o->mark_count] = now_ns;
    o->mark_count++;
}

uint64_t
mmi_overdue_take(mmi_overdue *o, const mmi_marks *done, uint64_t now_ns)
{
    o->next = o->next > done->floor ? o->next : done->floor + 1;
    while (o->next <= o->upto) {
        uint64_t number = o->next++;
        if (!mmi_marks_has(done, number) && mmi_map_find(&o->by_number, number) == NULL) {
            return number;
        }
    }
    MMI_LIST_EACH (&o->extended, node, after) {
        overdue_extended *e = overdue_of(node);
        uint64_t number = e->number;
        if (now_ns - e->at_ns < o->timeout_ns) {
            break;
        }
        bool over = number < o->next;   /* else it is still found by its number */
        overdue_forget(o, e);
        if (over && !mmi_marks_has(done, number)) {
            return number;
        }
    }
    return 0;
}

/* Those that are done are forgotten. */
static void
overdue_clean(mmi_overdue *o, const mmi_marks *done)
{
    MMI_LIST_EACH (&o->extended, node, after) {
        if (mmi_marks_has(done, overdue_of(node)->number)) {
            overdue_forget(o, overdue_of(node));
        }
    }
}

int
mmi_overdue_extend(mmi_overdue *o, const mmi_marks *done, uint64_t number, uint64_t now_ns)
{
    overdue_extended *e = mmi_map_find(&o->by_number, number);
    if (e == NULL) {
        if (o->by_number.count >= (uint32_t)OVERDUE_EXTENDED_MAX) {
            overdue_clean(o, done);
        }
        e = mmi_alloc(sizeof *e);
        if (e == NULL || mmi_map_put(&o->by_number, number, e) != MM_OK) {
            mmi_free(e);
            return MM_ENOMEM;
        }
        e->number = number;
        mmi_list_init(&e->node);
    }
    e->at_ns = now_ns;
    mmi_list_rm(&e->node);
    mmi_list_push_back(&o->extended, &e->node);
    return MM_OK;
}
