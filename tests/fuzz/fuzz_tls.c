/*
 * fuzz_tls.c: libFuzzer harness of TLS by the real OpenSSL, with a shared secret: what a stranger
 * says to either side; a handshake, or the records behind one, that a program changes on their way.
 *
 * Whole and in pieces they end the same; what opens is what was sealed in front of the first
 * change; a handshake that was changed is not done at both sides, and opens nothing.  The first
 * octet says how octets are cut, the second what is tried, the rest is the stranger's or the
 * program (edited.h).  OpenSSL gets random octets that are the same each time.
 * Without OpenSSL every input is right.
 */
#include "edited.h"
#include "plat/library.h"
#include "steady.h"
#include "wire/tls/inside.h"

enum {
    FUZZ_ROOM = 300,
    FUZZ_WHOLE = 1 << 20,
    FUZZ_SAID_MAX = 4096,                /* octets that a stranger is told, at most */
    FUZZ_SEALED_MAX = 24 * 1024,         /* octets behind which no more is sealed   */
    FUZZ_RECORDS_MAX = 64,
    FUZZ_ROUNDS = 6,
    FUZZ_SECRET = 0x5e,
    FUZZ_NOW_NS = 1000,
    /* What is tried, and bits beside it. */
    FUZZ_RAW = 0,
    FUZZ_RECORDS = 1,
    FUZZ_FLIGHTS = 2,
    FUZZ_TRIED = 3,
    FUZZ_LISTENS = 4, /* the stranger dials; what is sealed goes to who dials */
    FUZZ_ASKS = 8,
    FUZZ_DENIES = 16,
    FUZZ_TIMES = 5, /* above it: how often a stranger says it all again */
    /* Steps of a program that are about no record. */
    FUZZ_KEYS = EDIT_KINDS,
    FUZZ_BACK,
    FUZZ_FAREWELL,
    FUZZ_STEPS
};

typedef struct fuzz_side {
    void *shield;
    bool denies;
    int rc; /* MMI_STEP_ of the handshake, or why it ended */
    mmi_refusal why;
    size_t said, fed; /* octets, of the handshake */
    uint64_t opened; /* plain octets             */
} fuzz_side;

typedef struct fuzz_end {
    int rc[2], reason[2];
    uint64_t opened, said;
    bool closed;
} fuzz_end;

typedef struct fuzz_cut {
    size_t piece, room;
} fuzz_cut;

static const mmi_mechanism *const table = &mmi_mechanism_tls;
static mmi_tls_config *fuzz_config, *fuzz_asks; /* made once; NULL: there is no OpenSSL */
static bool fuzz_steady; /* what is random is the same each time */

static uint64_t
fuzz_wall_ns(void *plat)
{
    (void)plat;
    return FUZZ_NOW_NS;
}

static mmi_tls_config *
fuzz_policy(const mmi_openssl *openssl, uint32_t asks)
{
    uint8_t secret[MMI_TLS_KEY_SIZE];
    const mmi_tls_world world = { .openssl = openssl, .wall_ns = fuzz_wall_ns };
    const mm_tls_opts opts = { .secrets = { .data = secret, .size = sizeof secret }, .asks = asks };
    mmi_tls_context *context;
    char why[MM_WHY_SIZE];
    memset(secret, FUZZ_SECRET, sizeof secret);
    if (mmi_tls_context_new(&world, &opts, &context, why, sizeof why) != MM_OK) {
        return NULL;
    }
    mmi_tls_config *config = mmi_tls_config_new(&world, context);
    MMI_ASSERT(config != NULL);
    return config;
}

static void
fuzz_prepare(void)
{
    static bool prepared;
    const mmi_openssl *openssl = prepared ? NULL : mmi_openssl_get();
    prepared = true;
    if (openssl != NULL) {
        fuzz_steady = steady_openssl();
        fuzz_config = fuzz_policy(openssl, 0);
        fuzz_asks = fuzz_policy(openssl, 1);
    }
}

/* ---- one side ---- */

static fuzz_side
side_begin(bool dials, int kind)
{
    fuzz_side s = { .rc = MMI_STEP_MORE, .denies = (kind & FUZZ_DENIES) != 0 };
    size_t used = 0;
    s.shield = table->begin((kind & FUZZ_ASKS) != 0 ? fuzz_asks : fuzz_config, dials, NULL, 0, 0);
    MMI_ASSERT(s.shield != NULL);
    if (dials) {
        MMI_ASSERT(table->aim(s.shield, "peer", NULL, NULL) == MM_OK);
        MMI_ASSERT(table->feed(s.shield, NULL, 0, &used, &s.why) == MMI_STEP_MORE);
    }
    return s;
}

/* One that failed says why. */
static void
side_check(const fuzz_side *s)
{
    MMI_ASSERT(s->rc >= 0 || s->rc == MM_EPROTO);
    MMI_ASSERT(s->rc >= 0 || (s->why.reason != 0 && s->why.detail[0] != '\0'));
}

static void
side_answer(fuzz_side *s)
{
    const mmi_answer answer = { .kind = s->denies ? MM_DENY : MM_ALLOW,
                                .reason = MM_REASON_NOT_ALLOWED,
                                .why = "not you" };
    s->rc = table->answer(s->shield, &answer, &s->why);
    MMI_ASSERT((s->rc == MMI_STEP_DONE) == !s->denies);
}

/* Octet at of all that is sealed one way. */
static uint8_t
fuzz_plain(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8));
}

static void
side_open(fuzz_side *s, uint8_t *data, size_t size, size_t room)
{
    uint8_t *out = mmi_alloc(room);
    size_t given;
    int rc;
    MMI_ASSERT(out != NULL);
    do {
        rc = table->open(s->shield, data, size, out, room, &given, &s->why);
        MMI_ASSERT(given <= room);
        for (size_t i = 0; i < given; i++) {
            MMI_ASSERT(out[i] == fuzz_plain(s->opened));
            s->opened++;
        }
        size = 0;
    } while (rc == MM_OK && given == room);
    mmi_free(out);
    s->rc = rc < 0 ? rc : s->rc;
}

/* A piece of what comes, whatever state it is in. */
static void
side_take(fuzz_side *s, uint8_t *data, size_t size, size_t room)
{
    size_t used = 0;
    if (s->rc == MMI_STEP_MORE) {
        s->rc = table->feed(s->shield, data, size, &used, &s->why);
        MMI_ASSERT(used <= size && (s->rc != MMI_STEP_MORE || used == size));
        s->fed += used;
        if (s->rc == MMI_STEP_ASK) {
            side_answer(s);
        }
    }
    if (s->rc == MMI_STEP_DONE && used < size) {
        side_open(s, data + used, size - used, room);
    }
    side_check(s);
}

/* In pieces, each of a block of its own, so that what is read behind it is seen. */
static void
side_take_all(fuzz_side *s, const uint8_t *data, size_t size, fuzz_cut cut)
{
    while (size > 0 && s->rc >= 0) {
        size_t part = cut.piece < size ? cut.piece : size;
        uint8_t *copy = mmi_alloc(part);
        MMI_ASSERT(copy != NULL);
        memcpy(copy, data, part);
        side_take(s, copy, part, cut.room);
        mmi_free(copy);
        data += part;
        size -= part;
    }
}

/* What it has to say, up to now. */
static size_t
side_say(fuzz_side *s, edit_octets *to)
{
    const uint8_t *out;
    size_t size = table->output(s->shield, &out);
    edit_add(to, out, size);
    table->sent(s->shield, size);
    s->said += size;
    return size;
}

static fuzz_end
fuzz_ended(fuzz_side *first, fuzz_side *second)
{
    fuzz_end end = { 0 };
    fuzz_side *sides[] = { first, second };
    for (int i = 0; i < 2 && sides[i] != NULL; i++) {
        end.rc[i] = sides[i]->rc;
        end.reason[i] = sides[i]->rc < 0 ? sides[i]->why.reason : 0;
        end.opened = end.opened * 31 + sides[i]->opened;
        end.said = end.said * 31 + sides[i]->said;
        end.closed |= table->closed(sides[i]->shield);
        table->end(sides[i]->shield);
    }
    return end;
}

/* ---- a stranger ---- */

/* Who does not have the secret is never let in, and hears little. */
static fuzz_end
fuzz_stranger(const uint8_t *data, size_t size, fuzz_cut cut, int kind)
{
    fuzz_side s = side_begin((kind & FUZZ_LISTENS) == 0, kind);
    edit_octets all = { NULL, 0 }, said = { NULL, 0 };
    for (int i = 0; i <= kind >> FUZZ_TIMES; i++) {
        edit_add(&all, data, size);
    }
    side_take_all(&s, all.data, all.size, cut);
    MMI_ASSERT(s.rc != MMI_STEP_DONE && s.opened == 0);
    MMI_ASSERT(s.rc < 0 || s.fed == all.size);
    MMI_ASSERT(side_say(&s, &said) <= FUZZ_SAID_MAX);
    mmi_free(all.data);
    mmi_free(said.data);
    return fuzz_ended(&s, NULL);
}

/* ---- flights of a handshake ---- */

/* Each record of what one says is a step of the program. */
static bool
fuzz_flight(fuzz_side *from, fuzz_side *to, edit_way *w, edit_program *p, fuzz_cut cut)
{
    edit_octets said = { NULL, 0 };
    size_t before = w->came.size, size = side_say(from, &said);
    for (size_t at = 0; at < size;) {
        size_t whole = TLS_HEAD + ((size_t)said.data[at + 3] << 8 | said.data[at + 4]);
        MMI_ASSERT(whole <= size - at); /* what we say are records */
        edit_record(w, p, edit_next(p) % EDIT_KINDS, said.data + at, whole);
        at += whole;
    }
    edit_release(w);
    mmi_free(said.data);
    if (w->came.size > before) {
        side_take_all(to, w->came.data + before, w->came.size - before, cut);
    }
    return size > 0;
}

/* One record of that many octets; what became of it. */
static int64_t
fuzz_seal(fuzz_side *s, uint64_t at, size_t size, edit_octets *sealed)
{
    size_t room = table->room(s->shield, size), took = size;
    uint8_t *plain = mmi_alloc(size), *out = mmi_alloc(room);
    MMI_ASSERT(plain != NULL && out != NULL);
    for (size_t i = 0; i < size; i++) {
        plain[i] = fuzz_plain(at + i);
    }
    int64_t n = table->seal(s->shield, plain, &took, out);
    MMI_ASSERT(n == MM_EPROTO || (n > 0 && (size_t)n <= room && took == size));
    sealed->size = 0;
    edit_add(sealed, out, n > 0 ? (size_t)n : 0);
    mmi_free(plain);
    mmi_free(out);
    return n;
}

/* Both are done: they read each other, unless something else came in between. */
static void
fuzz_talk(fuzz_side *from, fuzz_side *to, const edit_way *w, fuzz_cut cut)
{
    edit_octets sealed = { NULL, 0 };
    MMI_ASSERT(edit_same_essence(w, to->fed));
    MMI_ASSERT(fuzz_seal(from, 0, 1, &sealed) > 0);
    side_take_all(to, sealed.data, sealed.size, cut);
    MMI_ASSERT(to->opened == 1 || w->came.size > to->fed);
    mmi_free(sealed.data);
}

static fuzz_end
fuzz_flights(edit_program p, fuzz_cut cut, int kind)
{
    fuzz_side dialer = side_begin(true, kind), listener = side_begin(false, kind);
    edit_way there = { 0 }, back = { 0 };
    for (int i = 0; i < FUZZ_ROUNDS; i++) {
        bool moved = fuzz_flight(&dialer, &listener, &there, &p, cut);
        moved |= fuzz_flight(&listener, &dialer, &back, &p, cut);
        if (!moved) {
            break;
        }
    }
    MMI_ASSERT(dialer.opened == 0 && listener.opened == 0);
    if (dialer.rc == MMI_STEP_DONE && listener.rc == MMI_STEP_DONE) {
        fuzz_talk(&dialer, &listener, &there, cut);
        fuzz_talk(&listener, &dialer, &back, cut);
    } else {
        bool changed = edit_same(&there) < there.sent.size || edit_same(&back) < back.sent.size ||
                       there.came.size > there.sent.size || back.came.size > back.sent.size;
        MMI_ASSERT(changed || listener.denies);
    }
    edit_end(&there);
    edit_end(&back);
    return fuzz_ended(&dialer, &listener);
}

/* ---- records behind a handshake ---- */

typedef struct fuzz_records {
    fuzz_side from, to;
    edit_way way;
    uint64_t plain, back; /* octets that were sealed there, and back */
    struct {
        size_t sealed; /* octets up to its end */
        uint64_t plain;
    } ends[FUZZ_RECORDS_MAX];
    size_t count;
    bool left; /* it said farewell */
} fuzz_records;

/* One comes back, is opened where it belongs, and then goes to who made it. */
static void
records_back(fuzz_records *r, fuzz_cut cut)
{
    edit_octets sealed = { NULL, 0 };
    MMI_ASSERT(fuzz_seal(&r->to, r->back, 1, &sealed) > 0);
    r->back++;
    side_take_all(&r->from, sealed.data, sealed.size, cut);
    MMI_ASSERT(r->from.opened == r->back);
    edit_add(&r->way.came, sealed.data, sealed.size);
    mmi_free(sealed.data);
}

static void
records_farewell(fuzz_records *r)
{
    uint8_t out[MMI_FAREWELL_MAX];
    size_t size = table->farewell(r->from.shield, out);
    MMI_ASSERT(size <= sizeof out && (size > 0) == !r->left);
    r->left = true;
    edit_add(&r->way.sent, out, size);
    edit_add(&r->way.came, out, size);
}

static void
records_seal(fuzz_records *r, edit_program *p, int kind)
{
    edit_octets sealed = { NULL, 0 };
    size_t size = 1 + (size_t)edit_next(p) * 16;
    size = size > 255 * 16 ? (size_t)MMI_TLS_RECORD_MAX : size;
    MMI_ASSERT((fuzz_seal(&r->from, r->plain, size, &sealed) > 0) == !r->left);
    if (sealed.size > 0) {
        r->plain += size;
        edit_record(&r->way, p, kind, sealed.data, sealed.size);
        r->ends[r->count].sealed = r->way.sent.size;
        r->ends[r->count++].plain = r->plain;
    }
    mmi_free(sealed.data);
}

static void
records_step(fuzz_records *r, edit_program *p, fuzz_cut cut)
{
    int kind = edit_next(p) % FUZZ_STEPS;
    switch (kind) {
    case FUZZ_KEYS: ((mmi_tls *)r->from.shield)->sealed = MMI_TLS_UPDATE_RECORDS; break;
    case FUZZ_BACK: records_back(r, cut); break;
    case FUZZ_FAREWELL: records_farewell(r); break;
    default: records_seal(r, p, kind);
    }
}

/* What came opens as far as it is what was sent; behind that it fails, or waits for more. */
static void
records_check(const fuzz_records *r)
{
    size_t same = edit_same(&r->way);
    uint64_t plain = 0;
    for (size_t i = 0; i < r->count && r->ends[i].sealed <= same; i++) {
        plain = r->ends[i].plain;
    }
    bool waits = !table->idle(r->to.shield), closed = table->closed(r->to.shield);
    MMI_ASSERT(r->to.opened == plain);
    /* Who dialed, and hears no more than a farewell, takes it that it is not let in. */
    bool alone = r->left && plain == 0 && r->to.why.reason == MM_REASON_TLS_ALERT;
    MMI_ASSERT(same < r->way.came.size || r->to.rc == MMI_STEP_DONE || alone);
    MMI_ASSERT(same == r->way.came.size || r->to.rc < 0 || waits || closed);
    MMI_ASSERT(!closed || r->left);
}

static fuzz_end
fuzz_record_run(edit_program p, fuzz_cut cut, int kind)
{
    edit_way none = { 0 };
    edit_program keep = { NULL, 0 };
    fuzz_side dialer = side_begin(true, 0), listener = side_begin(false, 0);
    for (int i = 0; i < FUZZ_ROUNDS; i++) {
        (void)fuzz_flight(&dialer, &listener, &none, &keep, cut);
        (void)fuzz_flight(&listener, &dialer, &none, &keep, cut);
    }
    MMI_ASSERT(dialer.rc == MMI_STEP_DONE && listener.rc == MMI_STEP_DONE);
    bool back = (kind & FUZZ_LISTENS) != 0;
    fuzz_records r = { .from = back ? listener : dialer, .to = back ? dialer : listener };
    while (p.left > 0 && r.count < FUZZ_RECORDS_MAX && r.way.sent.size < FUZZ_SEALED_MAX) {
        records_step(&r, &p, cut);
    }
    edit_release(&r.way);
    side_take_all(&r.to, r.way.came.data, r.way.came.size, cut);
    records_check(&r);
    edit_end(&none);
    edit_end(&r.way);
    return fuzz_ended(&r.from, &r.to);
}

static fuzz_end
fuzz_run(const uint8_t *data, size_t size, fuzz_cut cut, int kind)
{
    const edit_program program = { data, size };
    steady_state = 1;
    switch (kind & FUZZ_TRIED) {
    case FUZZ_RECORDS: return fuzz_record_run(program, cut, kind);
    case FUZZ_FLIGHTS: return fuzz_flights(program, cut, kind);
    default: return fuzz_stranger(data, size, cut, kind);
    }
}

static void
fuzz_compare(const fuzz_end *whole, const fuzz_end *cut)
{
    for (int i = 0; i < 2; i++) {
        MMI_ASSERT(whole->rc[i] == cut->rc[i] && whole->reason[i] == cut->reason[i]);
    }
    MMI_ASSERT(whole->opened == cut->opened && whole->closed == cut->closed);
    MMI_ASSERT(whole->said == cut->said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_prepare();
    if (size < 3 || fuzz_config == NULL || fuzz_asks == NULL) {
        return 0;
    }
    const size_t piece = 1 + data[0] % 64, room = 1 + data[0] % FUZZ_ROOM;
    const fuzz_cut cuts[] = { { FUZZ_WHOLE, FUZZ_WHOLE }, { piece, room }, { FUZZ_WHOLE, room } };
    fuzz_end ends[MMI_COUNT_OF(cuts)];
    for (size_t i = 0; i < MMI_COUNT_OF(cuts); i++) {
        ends[i] = fuzz_run(data + 2, size - 2, cuts[i], data[1]);
        if (fuzz_steady || (data[1] & FUZZ_TRIED) == FUZZ_RAW) {
            fuzz_compare(&ends[0], &ends[i]);
        }
    }
    return 0;
}
