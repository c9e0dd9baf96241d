/*
 * disk_data.c: what is in a file of the simulated disk: its pages, its size, the room it takes.
 *
 * Not here: names (disk_names.c), when a fault strikes (disk_fate.c).  Law: see disk_state.h; room
 * is counted once a page, by paid or by reserved, while the file has a name or is open.
 */
#include <errno.h>
#include <string.h>

#include "plat/sim/chance.h"
#include "plat/sim/disk_state.h"

enum { PPM = 1000000, SYNC_FAILED_KEEPS_PPM = PPM / 2 };

uint64_t
mmi_disk_between(mmi_disk *d, uint64_t low, uint64_t high)
{
    uint64_t drawn = sim_chance_next(&d->random_state);
    return high <= low ? low : low + drawn % (high - low + 1);
}

bool
mmi_disk_chance(mmi_disk *d, uint32_t ppm)
{
    return ppm > 0 && sim_chance_next(&d->random_state) % PPM < ppm;
}

bool
mmi_disk_chosen(mmi_disk *d)
{
    return d->keeps(d->keeps_arg, d->pieces++);
}

static uint64_t
data_pages(uint64_t octets)
{
    return octets / DISK_PAGE + (octets % DISK_PAGE != 0);
}

void
mmi_disk_settle(disk_page *page, int sector, bool as_seen)
{
    uint8_t bit = (uint8_t)(1u << sector);
    if ((page->differs & bit) == 0) {
        return;
    }
    uint8_t *kept = mmi_disk_kept(page, sector), *seen = mmi_disk_seen(page, sector);
    memcpy(as_seen ? kept : seen, as_seen ? seen : kept, MMI_FILE_SECTOR);
    page->dirty &= (uint8_t)~bit;
    page->differs &= (uint8_t)~bit;
    if (page->differs == 0) {
        mmi_free(page->kept);
        page->kept = NULL;
    }
}

bool
mmi_disk_touch(disk_page *page, int sector)
{
    uint8_t bit = (uint8_t)(1u << sector);
    if (page->kept == NULL) {
        page->kept = mmi_alloc(DISK_PAGE);
        if (page->kept == NULL) {
            return false;
        }
    }
    if ((page->differs & bit) == 0) {
        memcpy(mmi_disk_kept(page, sector), mmi_disk_seen(page, sector), MMI_FILE_SECTOR);
    }
    page->dirty |= bit;
    page->differs |= bit;
    return true;
}

static void
data_drop(disk_node *n, disk_page *page)
{
    (void)mmi_map_rm(&n->pages, page->index);
    mmi_free(page->kept);
    mmi_free(page);
}

static bool
data_full(const mmi_disk *d, uint64_t more)
{
    return d->opts.capacity > 0 && d->used + more > d->opts.capacity / DISK_PAGE;
}

disk_page *
mmi_disk_page(mmi_disk *d, disk_node *n, uint64_t index, int *error)
{
    disk_page *page = mmi_map_find(&n->pages, index);
    bool paid = index < n->reserved || (page != NULL && page->paid);
    if (!paid && data_full(d, 1)) {
        *error = ENOSPC;
        return NULL;
    }
    if (page == NULL) {
        page = mmi_alloc(sizeof *page);
        if (page == NULL || mmi_map_put(&n->pages, index, page) != MM_OK) {
            mmi_free(page);
            *error = ENOMEM;
            return NULL;
        }
        page->index = index;
    }
    if (!paid) {
        page->paid = true;
        d->used++;
    }
    return page;
}

/* Octets from at to end of a page are about to be changed: all of them can be, or none was. */
static bool
data_touch_range(mmi_disk *d, disk_page *page, size_t at, size_t end)
{
    for (size_t s = at / MMI_FILE_SECTOR; s * MMI_FILE_SECTOR < end; s++) {
        if ((page->dirty >> s & 1) != 0 && mmi_disk_chance(d, d->opts.writeback_ppm)) {
            mmi_disk_settle(page, (int)s, true);
        }
        if (!mmi_disk_touch(page, (int)s)) {
            return false;
        }
        page->bad &= (uint8_t)~(1u << s);
    }
    return true;
}

uint64_t
mmi_disk_data_write(mmi_disk *d, disk_node *n, uint64_t at, const uint8_t *data, uint64_t size,
                    int *error)
{
    uint64_t done = 0;
    while (done < size) {
        size_t from = (at + done) % DISK_PAGE, room = DISK_PAGE - from;
        size_t part = size - done < room ? (size_t)(size - done) : room;
        disk_page *page = mmi_disk_page(d, n, (at + done) / DISK_PAGE, error);
        if (page == NULL) {
            break;
        }
        if (!data_touch_range(d, page, from, from + part)) {
            *error = ENOMEM;
            break;
        }
        memcpy(page->seen + from, data + done, part);
        done += part;
    }
    if (done > 0 && at + done > n->size) {
        n->size = at + done;
        n->size_dirty = true;
    }
    return done;
}

size_t
mmi_disk_data_read(const disk_node *n, uint64_t at, void *buf, size_t size)
{
    uint64_t left = at < n->size ? n->size - at : 0;
    size_t wanted = left < size ? (size_t)left : size, done = 0;
    while (done < wanted) {
        size_t from = (at + done) % DISK_PAGE, room = DISK_PAGE - from;
        size_t part = wanted - done < room ? wanted - done : room;
        const disk_page *page = mmi_map_find(&n->pages, (at + done) / DISK_PAGE);
        if (page != NULL) {
            memcpy((uint8_t *)buf + done, page->seen + from, part);
        } else {
            memset((uint8_t *)buf + done, 0, part);
        }
        done += part;
    }
    return wanted;
}

/* Where a page has octets behind this place of the file: the first of them; DISK_PAGE: nowhere. */
static size_t
data_behind(const disk_page *page, uint64_t place)
{
    uint64_t start = page->index * DISK_PAGE;
    return place <= start ? 0 : place - start >= DISK_PAGE ? DISK_PAGE : (size_t)(place - start);
}

int
mmi_disk_data_truncate(mmi_disk *d, disk_node *n, uint64_t size)
{
    DISK_PAGES_EACH(n, page)
    {
        if (!data_touch_range(d, page, data_behind(page, size), DISK_PAGE)) {
            return ENOMEM;
        }
    }
    DISK_PAGES_EACH(n, page)
    {
        size_t from = data_behind(page, size);
        memset(page->seen + from, 0, DISK_PAGE - from);
        if (from == 0 && page->paid) {
            page->paid = false;
            d->used--;
        }
    }
    if (n->reserved > data_pages(size)) {
        d->used -= n->reserved - data_pages(size);
        n->reserved = data_pages(size);
    }
    n->size_dirty = n->size_dirty || n->size != size;
    n->size = size;
    return 0;
}

int
mmi_disk_data_reserve(mmi_disk *d, disk_node *n, uint64_t size)
{
    uint64_t pages = data_pages(size);
    if (pages > n->reserved) {
        uint64_t more = pages - n->reserved;
        DISK_PAGES_EACH(n, page)
        {
            more -= page->paid && page->index < pages;
        }
        if (data_full(d, more)) {
            uint64_t some = mmi_disk_between(d, n->size, size);
            n->size_dirty = n->size_dirty || some > n->size;
            n->size = some > n->size ? some : n->size;
            return ENOSPC;
        }
        DISK_PAGES_EACH(n, page)
        {
            page->paid = page->paid && page->index >= pages;
        }
        d->used += more;
        n->reserved = pages;
        n->size_dirty = true;
    }
    if (size > n->size) {
        n->size = size;
        n->size_dirty = true;
    }
    return 0;
}

/* Pages that are behind the end on both sides hold nothing. */
static void
data_trim(disk_node *n)
{
    uint64_t end = data_pages(n->size > n->kept_size ? n->size : n->kept_size);
    for (uint32_t i = 0; i < n->pages.cap;) {
        disk_page *page = n->pages.slots[i].value;
        if (page != NULL && page->index >= end && page->differs == 0) {
            data_drop(n, page);   /* and another may have moved here */
        } else {
            i++;
        }
    }
}

static void
data_keep_size(disk_node *n)
{
    if (n->size_dirty) {
        n->kept_size = n->size;
        n->kept_reserved = n->reserved;
        n->size_dirty = false;
    }
}

void
mmi_disk_data_sync(disk_node *n)
{
    DISK_PAGES_EACH(n, page)
    {
        for (int s = 0; s < DISK_SECTORS; s++) {
            if ((page->dirty >> s & 1) != 0) {
                mmi_disk_settle(page, s, true);
            }
        }
    }
    data_keep_size(n);
    data_trim(n);
}

void
mmi_disk_data_sync_failed(mmi_disk *d, disk_node *n)
{
    enum { STAYS, GONE_BUT_SEEN, GONE, FATES };
    uint64_t fate = mmi_disk_between(d, 0, FATES - 1);
    DISK_PAGES_EACH(n, page)
    {
        for (int s = 0; s < DISK_SECTORS; s++) {
            if ((page->dirty >> s & 1) == 0) {
                continue;
            }
            if (mmi_disk_chance(d, SYNC_FAILED_KEEPS_PPM)) {
                mmi_disk_settle(page, s, true);
            } else if (fate == GONE) {
                mmi_disk_settle(page, s, false);
            } else if (fate == GONE_BUT_SEEN) {
                page->dirty &= (uint8_t)~(1u << s);
            }
        }
    }
    if (mmi_disk_chance(d, SYNC_FAILED_KEEPS_PPM)) {
        data_keep_size(n);
    } else if (fate != STAYS) {
        n->size_dirty = false;
    }
}

void
mmi_disk_data_choose(mmi_disk *d, disk_node *n)
{
    uint64_t size = n->size > n->kept_size ? n->size : n->kept_size;
    for (uint64_t at = 0; at < size; at += MMI_FILE_SECTOR) {
        disk_page *page = mmi_map_find(&n->pages, at / DISK_PAGE);
        int s = (int)(at % DISK_PAGE / MMI_FILE_SECTOR);
        if (page == NULL || (page->dirty >> s & 1) == 0) {
            continue;
        }
        bool same = memcmp(mmi_disk_kept(page, s), mmi_disk_seen(page, s), MMI_FILE_SECTOR) == 0;
        if (same || mmi_disk_chosen(d)) {
            mmi_disk_settle(page, s, true);
        }
    }
    if (n->size_dirty && mmi_disk_chosen(d)) {
        data_keep_size(n);
    }
}

static uint64_t
data_crash_size(mmi_disk *d, const disk_node *n, const disk_mood *mood, uint64_t front)
{
    if (!n->size_dirty) {
        return n->kept_size;
    }
    if (mood->in_order && n->size > n->kept_size) {
        return front > n->kept_size ? front : n->kept_size;
    }
    if (mmi_disk_chance(d, mood->keep_ppm)) {
        return n->size;
    }
    bool some = n->size > n->kept_size && mmi_disk_chance(d, mood->keep_ppm);
    return some ? mmi_disk_between(d, n->kept_size, n->size) : n->kept_size;
}

void
mmi_disk_rot_sector(mmi_disk *d, disk_page *page, int sector)
{
    uint64_t bit = mmi_disk_between(d, 0, MMI_FILE_SECTOR * 8 - 1);
    mmi_disk_seen(page, sector)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (page->kept != NULL) {
        mmi_disk_kept(page, sector)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void
data_crash_page(mmi_disk *d, disk_page *page, const disk_mood *mood, uint64_t front)
{
    bool whole = mmi_disk_chance(d, mood->keep_ppm);
    for (int s = 0; s < DISK_SECTORS; s++) {
        uint64_t at = page->index * DISK_PAGE + (uint64_t)s * MMI_FILE_SECTOR;
        bool dirty = (page->dirty >> s & 1) != 0;
        bool drawn = mood->whole_pages ? whole : mmi_disk_chance(d, mood->keep_ppm);
        mmi_disk_settle(page, s, dirty && at < front && drawn);
        if (mmi_disk_chance(d, d->opts.rot_ppm)) {
            mmi_disk_rot_sector(d, page, s);
        }
    }
}

void
mmi_disk_data_crash(mmi_disk *d, disk_node *n, const disk_mood *mood)
{
    uint64_t front = mood->in_order ? mmi_disk_between(d, 0, n->size) : UINT64_MAX;
    n->kept_size = data_crash_size(d, n, mood, front);
    if (!n->size_dirty || !mmi_disk_chance(d, mood->keep_ppm)) {
        n->reserved = n->kept_reserved;
    }
    if (n->reserved > data_pages(n->kept_size)) {
        n->reserved = data_pages(n->kept_size);
    }
    n->kept_reserved = n->reserved;
    n->size = n->kept_size;
    n->size_dirty = false;
    DISK_PAGES_EACH(n, page)
    {
        data_crash_page(d, page, mood, front);
        size_t from = data_behind(page, n->size);
        memset(page->seen + from, 0, DISK_PAGE - from);
    }
    data_trim(n);
    d->used += n->reserved;
    DISK_PAGES_EACH(n, page)
    {
        page->paid = page->index >= n->reserved;
        d->used += page->paid;
    }
}

void
mmi_disk_data_unpay(mmi_disk *d, disk_node *n)
{
    d->used -= n->reserved;
    n->reserved = 0;
    DISK_PAGES_EACH(n, page)
    {
        d->used -= page->paid;
        page->paid = false;
    }
}

void
mmi_disk_data_fini(disk_node *n)
{
    DISK_PAGES_EACH(n, page)
    {
        mmi_free(page->kept);
        mmi_free(page);
    }
    mmi_map_fini(&n->pages);
}
