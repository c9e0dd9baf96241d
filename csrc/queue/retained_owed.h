/*
 * queue/retained_owed.h: of retained.c and retained_owed.c alone: values by their places, and who is owed them.
 */
#ifndef MMI_RETAINED_OWED_H
#define MMI_RETAINED_OWED_H

#include "queue/retained.h"

enum { RETAINED_NOWHERE = UINT32_MAX };

typedef struct mmi_retained_value {
    mmi_radix_node *topic;       /* NULL: nothing is in this place */
    mmi_msg *msg;
    uint32_t next;               /* then the next such place, and 1 more; 0: there is none */
} mmi_retained_value;

static inline uint32_t
mmi_retained_place(mmi_radix_node *topic)
{
    return (uint32_t)(uintptr_t)*mmi_radix_mark(topic) - 1;
}

/* Is its time over? */
static inline bool
mmi_retained_over(const mmi_retained *r, uint32_t place)
{
    const mmi_msg *m = r->values[place].msg;
    const mmi_proto_host *host = r->dist->host;
    return mmi_expires(m) && m->meta->expires_ns <= host->wall_ns(host);
}

/* What was newly subscribed to is looked at, and who is owed something by that gets what it has room for. */
void mmi_retained_look(mmi_retained *r);
/* m is about to be sent, and replaces the value in that place: who is owed that gets it now, given room for both. */
void mmi_retained_ahead(mmi_retained *r, uint32_t place, const mmi_msg *m);
/* It was sent: who got it without is owed that value no more. */
void mmi_retained_behind(mmi_retained *r, uint32_t place);
void mmi_retained_settle_all(mmi_retained *r, uint32_t place);   /* nobody is owed what is in it */

#endif
