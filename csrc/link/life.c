/*
 * link/life.c: the states of a link, and which one may follow another.
 *
 * Not here: what is done when one does (link/end.c and those that the table names).
 * Law: as in link/life.h.
 */
#include "link/link.h"

enum { LIFE_STATES = MMI_LINK_DEAD + 1 };

bool
mmi_life_follows(mmi_link_state from, mmi_link_state to)
{
    static const bool table[LIFE_STATES][LIFE_STATES] = {
        [MMI_LINK_NEW] = { [MMI_LINK_CONNECTING] = true },
        [MMI_LINK_CONNECTING] = { [MMI_LINK_HELLO] = true, [MMI_LINK_DEAD] = true },
        [MMI_LINK_HELLO] = { [MMI_LINK_ACTIVE] = true,
                             [MMI_LINK_REFUSED] = true,
                             [MMI_LINK_DEAD] = true },
        [MMI_LINK_ACTIVE] = { [MMI_LINK_REFUSED] = true,
                              [MMI_LINK_PARTING] = true,
                              [MMI_LINK_DEAD] = true },
        [MMI_LINK_REFUSED] = { [MMI_LINK_DEAD] = true },
        [MMI_LINK_PARTING] = { [MMI_LINK_DEAD] = true },
    };
    return table[from][to];
}

void
mmi_life_to(mmi_link *link, mmi_link_state state)
{
    MMI_ASSERT(mmi_life_follows(link->state, state));
    link->state = state;
#ifdef MMI_CHECKED
    mmi_life_invariants(link);
#endif
}

void
mmi_life_invariants(const mmi_link *link)
{
    const mmi_link_state state = link->state;
    bool peer = state == MMI_LINK_ACTIVE || state == MMI_LINK_PARTING;
    MMI_ASSERT(link->ask == NULL || state == MMI_LINK_HELLO || state == MMI_LINK_DEAD);
    MMI_ASSERT(!link->surplus || !peer);
    MMI_ASSERT(link->leave_ns == 0 || peer || state == MMI_LINK_DEAD);
    MMI_ASSERT(link->retiring == NULL || (state == MMI_LINK_ACTIVE && link->leave_ns != 0));
    MMI_ASSERT(link->end_out == MMI_END_NONE || state >= MMI_LINK_HELLO);
    MMI_ASSERT(link->end_out != MMI_END_TOLD || state >= MMI_LINK_ACTIVE);
    MMI_ASSERT(!link->fin_sent || state >= MMI_LINK_REFUSED);
    MMI_ASSERT(!mmi_list_linked(&link->parted) || state == MMI_LINK_PARTING);
}
