/*
 * disk_names.c: the names of the simulated disk, the changes of them that a sync is still to bring
 * to the platter, and who has what open.
 *
 * Not here: what is in a file (disk_data.c).  Law: a change reaches the platter only after the
 * earlier ones of the same entries; see disk_state.h for who lives how long.
 */
#include <errno.h>
#include <string.h>

#include "plat/sim/disk_state.h"

static disk_entry *
entry_of(mmi_list *at)
{
    return MMI_CONTAINER_OF(at, disk_entry, at);
}

static disk_change *
change_of(mmi_list *at)
{
    return MMI_CONTAINER_OF(at, disk_change, at);
}

disk_node *
mmi_disk_node(mmi_disk *d, bool folder)
{
    disk_node *n = mmi_alloc(sizeof *n);
    if (n != NULL) {
        n->folder = folder;
        mmi_list_init(&n->entries);
        mmi_list_push_back(&d->nodes, &n->at);
    }
    return n;
}

void
mmi_disk_unref(mmi_disk *d, disk_node *n)
{
    if (n == NULL || --n->refs > 0) {
        return;
    }
    MMI_LIST_EACH (&n->entries, at, after) {
        disk_entry *e = entry_of(at);
        mmi_disk_unref(d, e->seen);
        mmi_disk_unref(d, e->kept);
        mmi_free(e);
    }
    mmi_disk_data_fini(n);
    mmi_list_rm(&n->at);
    mmi_free(n);
}

static void
names_unpay_if_unused(mmi_disk *d, disk_node *n)
{
    if (n->links == 0 && n->opens == 0) {
        mmi_disk_data_unpay(d, n);
    }
}

static void
entry_see(mmi_disk *d, disk_entry *e, disk_node *n)
{
    disk_node *was = e->seen;
    e->seen = n;
    if (n != NULL) {
        n->refs++;
        n->links++;
    }
    if (was != NULL) {
        was->links--;
        names_unpay_if_unused(d, was);
        mmi_disk_unref(d, was);
    }
}

static void
entry_keep(mmi_disk *d, disk_entry *e, disk_node *n)
{
    disk_node *was = e->kept;
    e->kept = n;
    if (n != NULL) {
        n->refs++;
    }
    mmi_disk_unref(d, was);
}

static void
entry_free_if_unused(disk_entry *e)
{
    if (e->seen == NULL && e->kept == NULL && e->changes == 0) {
        mmi_list_rm(&e->at);
        mmi_free(e);
    }
}

static disk_entry *
entry_find(const disk_node *folder, const char *name)
{
    MMI_LIST_EACH (&folder->entries, at, after) {
        if (strcmp(entry_of(at)->name, name) == 0) {
            return entry_of(at);
        }
    }
    return NULL;
}

static disk_entry *
entry_made(disk_node *folder, const char *name)
{
    disk_entry *e = entry_find(folder, name);
    if (e == NULL && (e = mmi_alloc(sizeof *e)) != NULL) {
        e->folder = folder;
        memcpy(e->name, name, strlen(name) + 1);
        mmi_list_push_back(&folder->entries, &e->at);
    }
    return e;
}

disk_node *
mmi_disk_find(const disk_node *folder, const char *name)
{
    const disk_entry *e = entry_find(folder, name);
    return e != NULL ? e->seen : NULL;
}

bool
mmi_disk_holds(const disk_node *folder, const disk_node *n)
{
    bool found = folder == n;
    MMI_LIST_EACH (&folder->entries, at, after) {
        const disk_node *in = entry_of(at)->seen;
        found = found || (in != NULL && in->folder && mmi_disk_holds(in, n));
    }
    return found;
}

bool
mmi_disk_empty(const disk_node *folder)
{
    MMI_LIST_EACH (&folder->entries, at, after) {
        if (entry_of(at)->seen != NULL) {
            return false;
        }
    }
    return true;
}

/* Room for one more set of it was seen to by its maker. */
static void
change_add(disk_change *c, disk_entry *e, disk_node *n, bool order_only)
{
    c->sets[c->count++] = (disk_set){ .entry = e, .node = n, .order_only = order_only };
    e->changes++;
    e->folder->refs++;
    if (n != NULL) {
        n->refs++;
    }
}

static void
change_free(mmi_disk *d, disk_change *c)
{
    mmi_list_rm(&c->at);
    for (int i = 0; i < c->count; i++) {
        disk_node *folder = c->sets[i].entry->folder;
        c->sets[i].entry->changes--;
        entry_free_if_unused(c->sets[i].entry);
        mmi_disk_unref(d, c->sets[i].node);
        mmi_disk_unref(d, folder);
    }
    mmi_free(c);
}

/* It is seen from now on. */
static void
change_begin(mmi_disk *d, disk_change *c)
{
    mmi_list_push_back(&d->changes, &c->at);
    for (int i = 0; i < c->count; i++) {
        if (!c->sets[i].order_only) {
            entry_see(d, c->sets[i].entry, c->sets[i].node);
        }
    }
}

/* It is kept from now on. */
static void
change_finish(mmi_disk *d, disk_change *c)
{
    for (int i = 0; i < c->count; i++) {
        if (!c->sets[i].order_only) {
            entry_keep(d, c->sets[i].entry, c->sets[i].node);
        }
    }
    change_free(d, c);
}

int
mmi_disk_change_name(mmi_disk *d, disk_node *folder, const char *name, disk_node *n)
{
    disk_change *c = mmi_alloc(sizeof *c);
    disk_entry *e = c != NULL ? entry_made(folder, name) : NULL;
    if (e == NULL) {
        mmi_free(c);
        return ENOMEM;
    }
    change_add(c, e, n, false);
    change_begin(d, c);
    return 0;
}

/* Within a folder it is one change; else the new name first. */
int
mmi_disk_change_rename(mmi_disk *d, disk_node *from_dir, const char *from, disk_node *to_dir,
                       const char *to)
{
    disk_change *first = mmi_alloc(sizeof *first), *second = mmi_alloc(sizeof *second);
    disk_entry *old = entry_find(from_dir, from);
    disk_entry *new = first != NULL && second != NULL ? entry_made(to_dir, to) : NULL;
    if (new == NULL) {
        mmi_free(first);
        mmi_free(second);
        return ENOMEM;
    }
    change_add(first, new, old->seen, false);
    if (from_dir == to_dir) {
        change_add(first, old, NULL, false);
        change_begin(d, first);
        mmi_free(second);
        return 0;
    }
    change_add(second, old, NULL, false);
    change_add(second, new, NULL, true);
    change_begin(d, first);
    change_begin(d, second);
    return 0;
}

static bool
change_is_in(const disk_change *c, const disk_node *folder)
{
    bool found = false;
    for (int i = 0; i < c->count; i++) {
        found = found || (!c->sets[i].order_only && c->sets[i].entry->folder == folder);
    }
    return found;
}

static bool
change_shares(const disk_change *a, const disk_change *b)
{
    bool found = false;
    for (int i = 0; i < a->count; i++) {
        for (int j = 0; j < b->count; j++) {
            found = found || a->sets[i].entry == b->sets[j].entry;
        }
    }
    return found;
}

/* Those of the folder, and what must come before them. */
void
mmi_disk_names_sync(mmi_disk *d, const disk_node *folder)
{
    for (mmi_list *at = d->changes.prev; at != &d->changes; at = at->prev) {
        disk_change *c = change_of(at);
        c->marked = !c->gone && change_is_in(c, folder);
        for (mmi_list *later = at->next; later != &d->changes; later = later->next) {
            c->marked =
                c->marked || (change_of(later)->marked && change_shares(c, change_of(later)));
        }
    }
    MMI_LIST_EACH (&d->changes, at, after) {
        if (change_of(at)->marked) {
            change_finish(d, change_of(at));
        }
    }
}

void
mmi_disk_names_sync_failed(mmi_disk *d, const disk_node *folder)
{
    bool gone = mmi_disk_between(d, 0, 1) != 0;
    MMI_LIST_EACH (&d->changes, at, after) {
        disk_change *c = change_of(at);
        c->gone = c->gone || (gone && change_is_in(c, folder));
    }
}

/* Marks what is lost: by chance, or as it comes after something that is. */
static void
names_lose(mmi_disk *d, const disk_mood *mood)
{
    uint64_t count = 0, index = 0;
    MMI_LIST_EACH (&d->changes, at, after) {
        count++;
    }
    uint64_t front = mood->in_order ? mmi_disk_between(d, 0, count) : UINT64_MAX;
    for (mmi_list *at = d->changes.next; at != &d->changes; at = at->next, index++) {
        disk_change *c = change_of(at);
        c->marked = c->gone || index >= front || !mmi_disk_chance(d, mood->keep_ppm);
        for (mmi_list *before = d->changes.next; before != at; before = before->next) {
            c->marked =
                c->marked || (change_of(before)->marked && change_shares(c, change_of(before)));
        }
    }
}

void
mmi_disk_names_choose(mmi_disk *d)
{
    MMI_LIST_EACH (&d->changes, at, after) {
        change_of(at)->gone = change_of(at)->gone || !mmi_disk_chosen(d);
    }
}

/* What is kept is seen.  Each node is held meanwhile, so that none goes while they are walked. */
void
mmi_disk_names_crash(mmi_disk *d, const disk_mood *mood)
{
    names_lose(d, mood);
    MMI_LIST_EACH (&d->changes, at, after) {
        if (change_of(at)->marked) {
            change_free(d, change_of(at));
        } else {
            change_finish(d, change_of(at));
        }
    }
    MMI_LIST_EACH (&d->nodes, at, after) {
        MMI_CONTAINER_OF(at, disk_node, at)->refs++;
    }
    MMI_LIST_EACH (&d->nodes, folder, next) {
        MMI_LIST_EACH (&MMI_CONTAINER_OF(folder, disk_node, at)->entries, at, after) {
            entry_see(d, entry_of(at), entry_of(at)->kept);
            entry_free_if_unused(entry_of(at));
        }
    }
    MMI_LIST_EACH (&d->nodes, at, after) {
        mmi_disk_unref(d, MMI_CONTAINER_OF(at, disk_node, at));
    }
}

int
mmi_disk_handle(mmi_disk *d, disk_node *n, bool write, int *id)
{
    uint32_t limit = d->opts.handles_max;
    limit = limit > 0 && limit < DISK_HANDLES_MAX ? limit : DISK_HANDLES_MAX;
    for (uint32_t i = 0; i < DISK_HANDLES_MAX && d->handle_count < limit; i++) {
        disk_handle *h = &d->handles[i];
        if (h->id == 0) {
            *h = (disk_handle){ .id = ++d->last_handle, .write = write, .node = n };
            d->handle_count++;
            n->refs++;
            n->opens++;
            *id = h->id;
            return 0;
        }
    }
    return EMFILE;
}

disk_handle *
mmi_disk_handle_find(mmi_disk *d, int id)
{
    for (int i = 0; i < DISK_HANDLES_MAX && id > 0; i++) {
        if (d->handles[i].id == id) {
            return &d->handles[i];
        }
    }
    return NULL;
}

void
mmi_disk_handle_close(mmi_disk *d, disk_handle *h)
{
    disk_node *n = h->node;
    if (n->locked_by == h->id) {
        n->locked_by = 0;
    }
    *h = (disk_handle){ .id = 0 };
    d->handle_count--;
    n->opens--;
    names_unpay_if_unused(d, n);
    mmi_disk_unref(d, n);
}
