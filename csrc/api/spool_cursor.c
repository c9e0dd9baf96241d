/*
 * api/spool_cursor.c: cursors and leases of spools as the binding sees them.
 *
 * Not here: what they do (spool/shared_cursors.h).  Law: as in api/spool.c.
 */
#include <string.h>

#include "api/spool.h"

struct mm_spool_cursor {
    mm_spool *spool;
    mmi_spool_cursor *cursor;
};

_Static_assert((int)MM_SPOOL_CURSOR_NAME_MAX == (int)MMI_CURSOR_NAME_MAX, "names");
_Static_assert((int)MM_SPOOL_CURSOR_SPAN_MAX == (int)MMI_CURSOR_SPAN_MAX, "spans");
_Static_assert((int)MM_SPOOL_ACKED_BY_MAX == (int)MMI_SPOOL_ACKED_BY_MAX, "names to wait for");
_Static_assert(sizeof((mm_spool_cursor_lag *)0)->name > MMI_CURSOR_NAME_MAX, "names to tell");
_Static_assert((int)MM_SPOOL_LEASES_MAX == (int)MMI_SPOOL_LEASES_MAX, "leases");

int
mm_spool_cursor_open(mm_spool *s, const char *name, int create, uint64_t start,
                     mm_spool_cursor **cursor)
{
    mm_spool_cursor *c = mmi_alloc(sizeof *c);
    if (c == NULL) {
        return MM_ENOMEM;
    }
    c->spool = s;
    int rc = mmi_spool_shared_cursor_open(&s->shared, name, create != 0, start, &c->cursor);
    if (rc != MM_OK) {
        mmi_free(c);
        return rc;
    }
    *cursor = c;
    return MM_OK;
}

int
mm_spool_cursor_close(mm_spool_cursor *c)
{
    int rc = mmi_spool_shared_cursor_close(&c->spool->shared, c->cursor);
    mmi_free(c);
    return rc;
}

int
mm_spool_cursor_done(mm_spool_cursor *c, uint64_t first, uint64_t last)
{
    return mmi_spool_shared_cursor_done(&c->spool->shared, c->cursor, first, last);
}

uint64_t
mm_spool_cursor_next(mm_spool_cursor *c, uint64_t from)
{
    return mmi_spool_shared_cursor_next(&c->spool->shared, c->cursor, from);
}

void
mm_spool_cursor_compacted(mm_spool_cursor *c, const mm_spool_rows *rows, uint64_t first,
                          uint64_t behind)
{
    uint64_t count = 0, bytes, next = first;
    mm_spool_message m = { .seq = behind };
    int rc = MM_OK;
    if (rows != NULL) {
        mm_spool_rows_facts(rows, &count, &bytes);
    }
    for (uint64_t i = 0; i <= count && rc == MM_OK; i++) {
        if (i < count) {
            mm_spool_rows_at(rows, (uint32_t)i, &m);
        }
        uint64_t seq = i < count ? m.seq : behind;
        if (seq > next) {
            rc = mmi_spool_shared_cursor_done(&c->spool->shared, c->cursor, next, seq - 1);
        }
        next = seq + 1;
    }
}

uint64_t
mm_spool_cursor_next_done(mm_spool_cursor *c, uint64_t from)
{
    return mmi_spool_shared_cursor_next_done(&c->spool->shared, c->cursor, from);
}

int
mm_spool_cursor_seek(mm_spool_cursor *c, uint64_t seq)
{
    return mmi_spool_shared_cursor_seek(&c->spool->shared, c->cursor, seq);
}

int
mm_spool_cursor_save(mm_spool_cursor *c, int64_t timeout_ms, int64_t slice_ms)
{
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    int rc = mmi_spool_shared_cursor_save(&c->spool->shared, c->cursor, &wait);
    return mmi_spool_rc(rc, timeout_ms);
}

static void
cursor_info_of(const mmi_spool_cursor_info *info, mm_spool_cursor_info *out)
{
    *out = (mm_spool_cursor_info){ .floor = info->floor,
                                   .saved_floor = info->saved_floor,
                                   .left = info->left,
                                   .above = info->above,
                                   .unsaved = info->unsaved,
                                   .missed = info->missed,
                                   .ahead = info->ahead,
                                   .failed = info->failed };
}

void
mm_spool_cursor_inspect(mm_spool_cursor *c, mm_spool_cursor_info *out)
{
    mmi_spool_cursor_info info;
    mmi_spool_shared_cursor_inspect(&c->spool->shared, c->cursor, &info);
    cursor_info_of(&info, out);
}

int
mm_spool_cursor_look(mm_spool *s, const char *name, mm_spool_cursor_info *out)
{
    mmi_spool_cursor_info info;
    int rc = mmi_spool_shared_cursor_look(&s->shared, name, &info);
    if (rc == MM_OK) {
        cursor_info_of(&info, out);
    }
    return rc;
}

typedef struct cursor_lag {
    mm_spool_cursor_lag *out;
    uint32_t cap, count;
} cursor_lag;

static void
cursor_lag_each(void *arg, const char *name, uint64_t left)
{
    cursor_lag *lag = arg;
    if (lag->count++ < lag->cap) {
        mm_spool_cursor_lag *out = &lag->out[lag->count - 1];
        out->left = left;
        memcpy(out->name, name, strlen(name) + 1);
    }
}

uint32_t
mm_spool_cursors_left(mm_spool *s, mm_spool_cursor_lag *out, uint32_t cap)
{
    cursor_lag lag = { .out = out, .cap = cap };
    mmi_spool_shared_cursors_each(&s->shared, cursor_lag_each, &lag);
    return lag.count;
}

int
mm_spool_cursor_delete(mm_spool *s, const char *name)
{
    return mmi_spool_shared_cursor_delete(&s->shared, name);
}

typedef struct cursor_names {
    char *out;
    size_t size;
    int64_t used;
} cursor_names;

/* What is no cursor's name is not told of: the folder may have what is not ours. */
static void
cursor_names_each(void *arg, const mmi_entry *entry)
{
    cursor_names *n = arg;
    size_t size = strlen(entry->name) + 1;
    if (entry->kind != MMI_ENTRY_FILE || mmi_cursor_check_name(entry->name) != MM_OK) {
        return;
    }
    if ((size_t)n->used + size <= n->size) {
        memcpy(n->out + n->used, entry->name, size - 1);
        n->out[n->used + (int64_t)size - 1] = '\n';
    }
    n->used += (int64_t)size;
}

static int64_t
cursor_names_of(const mmi_files *files, int dir, char *out, size_t size)
{
    cursor_names names = { .out = out, .size = size };
    int rc = mmi_cursor_list(files, dir, cursor_names_each, &names);
    return rc < 0 ? rc : names.used;
}

int64_t
mm_spool_cursor_names(mm_spool *s, char *out, size_t size)
{
    return cursor_names_of(&s->shared.files, s->shared.dir, out, size);
}

int64_t
mm_spool_view_cursor_names(mm_spool_view *v, char *out, size_t size)
{
    return cursor_names_of(&v->view.files, v->view.dir, out, size);
}

int
mm_spool_view_cursor(mm_spool_view *v, const char *name, mm_spool_cursor_info *out)
{
    mmi_spool_cursor_info info;
    int rc = mmi_spool_view_cursor(&v->view, name, &info);
    if (rc == MM_OK) {
        cursor_info_of(&info, out);
    }
    return rc;
}

int
mm_spool_lease(mm_spool *s, const char *name, uint64_t from_seq, uint64_t ttl_ms)
{
    uint64_t most = UINT64_MAX / MMI_SPOOL_NS_PER_MS;
    uint64_t ttl_ns = (ttl_ms < most ? ttl_ms : most) * MMI_SPOOL_NS_PER_MS;
    return mmi_spool_shared_lease(&s->shared, name, from_seq, ttl_ns);
}

int
mm_spool_release(mm_spool *s, const char *name)
{
    return mmi_spool_shared_release(&s->shared, name);
}
