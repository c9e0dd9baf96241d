/*
 * disk_harm.c: what befalls the simulated disk and no call tells of: bits that turn, sectors that
 * cannot be read, writes that go astray.
 *
 * Not here: calls that fail, crashes (disk_fate.c).  Law: a write that went astray is right in the
 * cache until that forgets it, and wrong on the platter.
 */
#include <string.h>

#include "plat/sim/disk_state.h"

enum { HARM_NEAR = 16 /* sectors: so far from its place half of the writes go that are moved */ };

static bool
harm_rot(mmi_disk *d, disk_node *n, uint64_t at)
{
    disk_page *page = mmi_map_find(&n->pages, at / DISK_PAGE);
    if (page != NULL) {
        mmi_disk_rot_sector(d, page, (int)(at % DISK_PAGE / MMI_FILE_SECTOR));
    }
    return page != NULL;
}

static bool
harm_spoil(disk_node *n, uint64_t at)
{
    disk_page *page = mmi_map_find(&n->pages, at / DISK_PAGE);
    if (page != NULL) {
        n->spoiled = true;
        page->bad |= (uint8_t)(1u << at % DISK_PAGE / MMI_FILE_SECTOR);
    }
    return page != NULL;
}

int
mmi_disk_rot(mmi_disk *d, int file, uint64_t at)
{
    disk_handle *h = mmi_disk_handle_find(d, file);
    return h != NULL && harm_rot(d, h->node, at) ? MM_OK : MM_EINVAL;
}

int
mmi_disk_spoil(mmi_disk *d, int file, uint64_t at)
{
    disk_handle *h = mmi_disk_handle_find(d, file);
    return h != NULL && harm_spoil(h->node, at) ? MM_OK : MM_EINVAL;
}

bool
mmi_disk_data_bad(const disk_node *n, uint64_t at, size_t size)
{
    bool bad = false;
    uint64_t end = at + size < n->size ? at + size : n->size;
    uint64_t first = n->spoiled ? at / MMI_FILE_SECTOR : UINT64_MAX / MMI_FILE_SECTOR;
    for (uint64_t sector = first; sector * MMI_FILE_SECTOR < end; sector++) {
        const disk_page *page = mmi_map_find(&n->pages, sector / DISK_SECTORS);
        bad = bad || (page != NULL && (page->bad >> sector % DISK_SECTORS & 1) != 0);
    }
    return bad;
}

void
mmi_disk_stray(mmi_disk *d, mmi_disk_way way, uint64_t nth)
{
    d->stray_way = way;
    d->stray_in = nth;
}

/* Another file that has a name and some octets, by chance; NULL: there is none. */
static disk_node *
harm_other(mmi_disk *d, const disk_node *n)
{
    disk_node *found = NULL;
    uint64_t seen = 0;
    MMI_LIST_EACH (&d->nodes, at, after) {
        disk_node *other = MMI_CONTAINER_OF(at, disk_node, at);
        bool fits = other != n && !other->folder && other->links > 0 && other->size > 0;
        if (fits && mmi_disk_between(d, 0, seen++) == 0) {
            found = other;
        }
    }
    return found;
}

/* The sector of that file where the first one goes, which was meant for `first`: near it, or
 * anywhere; of the same file another one. */
static uint64_t
harm_place(mmi_disk *d, const disk_node *to, uint64_t first, bool same)
{
    uint64_t sectors = (to->size + MMI_FILE_SECTOR - 1) / MMI_FILE_SECTOR;
    uint64_t low = 0, high = sectors - 1;
    if (mmi_disk_between(d, 0, 1) == 0) {
        low = first > HARM_NEAR ? first - HARM_NEAR : 0;
        high = first + HARM_NEAR < high ? first + HARM_NEAR : high;
        low = low < high ? low : high;
    }
    uint64_t place = mmi_disk_between(d, low, high);
    return same && place == first ? (place + 1) % sectors : place;
}

/* These octets are in that sector of the platter, and no sync is to bring them. */
static void
harm_put(mmi_disk *d, disk_node *to, uint64_t sector, const uint8_t *octets)
{
    int error = 0, s = (int)(sector % DISK_SECTORS);
    disk_page *page = mmi_disk_page(d, to, sector / DISK_SECTORS, &error);
    uint8_t bit = (uint8_t)(1u << s);
    if (page == NULL) {
        return;
    }
    bool dirty = (page->dirty & bit) != 0;
    if (mmi_disk_touch(page, s)) {
        memcpy(mmi_disk_kept(page, s), octets, MMI_FILE_SECTOR);
        page->dirty = (uint8_t)(dirty ? page->dirty : page->dirty & ~bit);
    }
}

void
mmi_disk_data_stray(mmi_disk *d, disk_node *n, uint64_t at, uint64_t size)
{
    if (d->stray_in == 0 || --d->stray_in > 0) {
        return;
    }
    d->struck++;
    uint64_t first = at / MMI_FILE_SECTOR, end = (at + size - 1) / MMI_FILE_SECTOR + 1;
    for (uint64_t sector = first; sector < end; sector++) {
        disk_page *page = mmi_map_find(&n->pages, sector / DISK_SECTORS);
        page->dirty &= (uint8_t)~(1u << sector % DISK_SECTORS);
    }
    disk_node *to = d->stray_way == MMI_DISK_MOVED   ? n
                    : d->stray_way == MMI_DISK_OTHER ? harm_other(d, n)
                                                     : NULL;
    uint64_t place = to != NULL ? harm_place(d, to, first, to == n) : 0;
    for (uint64_t sector = first; to != NULL && sector < end; sector++, place++) {
        const disk_page *page = mmi_map_find(&n->pages, sector / DISK_SECTORS);
        if (place * MMI_FILE_SECTOR < to->size) {
            harm_put(d, to, place, page->seen + sector % DISK_SECTORS * MMI_FILE_SECTOR);
        }
    }
}

void
mmi_disk_forget(mmi_disk *d)
{
    MMI_LIST_EACH (&d->nodes, at, after) {
        disk_node *n = MMI_CONTAINER_OF(at, disk_node, at);
        DISK_PAGES_EACH(n, page)
        {
            for (int s = 0; s < DISK_SECTORS; s++) {
                if ((page->differs & ~page->dirty) >> s & 1) {
                    mmi_disk_settle(page, s, false);
                }
            }
        }
    }
}
