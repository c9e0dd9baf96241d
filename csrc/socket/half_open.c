/*
 * socket/half_open.c: see socket/half_open.h.
 * Not here: links and listeners.
 * Law: as in socket/half_open.h.
 */
#include "socket/half_open.h"

void
mmi_half_open_init(mmi_half_open *all)
{
    *all = (mmi_half_open){ .count = 0 };
    mmi_list_init(&all->oldest);
}

void
mmi_half_open_fini(mmi_half_open *all)
{
    MMI_LIST_EACH (&all->oldest, node, after) {
        mmi_half_open_leave(all, MMI_CONTAINER_OF(node, mmi_half_open_place, node));
    }
    mmi_map_fini(&all->addresses);
}

int
mmi_half_open_enter(mmi_half_open *all, mmi_half_open_place *place, const mmi_addr *peer)
{
    uint64_t key = mmi_addr_network(peer);
    mmi_half_open_from *from = mmi_map_find(&all->addresses, key);
    if (from == NULL) {
        from = mmi_alloc(sizeof *from);
        if (from == NULL || mmi_map_put(&all->addresses, key, from) != MM_OK) {
            mmi_free(from);
            return MM_ENOMEM;
        }
        from->key = key;
    }
    from->count++;
    all->count++;
    place->from = from;
    mmi_list_push_back(&all->oldest, &place->node);
    return MM_OK;
}

void
mmi_half_open_leave(mmi_half_open *all, mmi_half_open_place *place)
{
    mmi_half_open_from *from = place->from;
    if (from == NULL) {
        return;
    }
    mmi_list_rm(&place->node);
    place->from = NULL;
    all->count--;
    if (--from->count == 0) {
        (void)mmi_map_rm(&all->addresses, from->key);
        mmi_free(from);
    }
}

mmi_half_open_place *
mmi_half_open_surplus(const mmi_half_open *all)
{
    MMI_LIST_EACH (&all->oldest, node, after) {
        mmi_half_open_place *place = MMI_CONTAINER_OF(node, mmi_half_open_place, node);
        if (place->from->count > MMI_HALF_OPEN_ADDRESS_MAX) {
            return place;
        }
    }
    return all->count == 0 ? NULL : MMI_CONTAINER_OF(all->oldest.next, mmi_half_open_place, node);
}
