/*
 * test_radix.c: the tree of topics against a naive list, its shape, its depth, lack of memory.
 * Not here: what a publisher does with a match.
 * Law: after every step tree and list tell the same, and the tree keeps the law of radix_node.h.
 */
#include "base/radix_node.h"
#include "check.h"

enum { MODEL_TOPICS = 60, MODEL_SUBSCRIBERS = 5, TOPIC_MAX = 8 };

typedef struct model {
    uint8_t topics[MODEL_TOPICS][TOPIC_MAX];
    size_t sizes[MODEL_TOPICS];
    uint32_t counts[MODEL_TOPICS][MODEL_SUBSCRIBERS];
    char names[MODEL_SUBSCRIBERS];               /* their addresses are the subscribers */
} model;

typedef struct seen {
    const model *m;
    mmi_radix *r;
    uint32_t hits[MODEL_SUBSCRIBERS], topics, gone;
    uint8_t last[TOPIC_MAX];
    size_t last_size;
    int subscriber;
} seen;

static void
model_init(model *m, uint32_t *seed)
{
    memset(m, 0, sizeof(*m));
    for (int i = 0; i < MODEL_TOPICS; i++) {
        bool again = true;
        while (again) {
            again = false;
            m->sizes[i] = check_random(seed) % (TOPIC_MAX + 1);
            for (size_t j = 0; j < m->sizes[i]; j++) {
                m->topics[i][j] = (uint8_t)("ab\xff"[check_random(seed) % 3]);
            }
            for (int k = 0; k < i; k++) {
                again |= m->sizes[k] == m->sizes[i] &&
                         memcmp(m->topics[k], m->topics[i], m->sizes[i]) == 0;
            }
        }
    }
}

static uint32_t
model_held(const model *m, int topic)
{
    uint32_t held = 0;
    for (int i = 0; i < MODEL_SUBSCRIBERS; i++) {
        held += m->counts[topic][i] > 0;
    }
    return held;
}

static int
model_find(const model *m, const uint8_t *topic, size_t size)
{
    for (int i = 0; i < MODEL_TOPICS; i++) {
        if (m->sizes[i] == size && memcmp(m->topics[i], topic, size) == 0) {
            return i;
        }
    }
    check_failed("a topic of the model", __FILE__, __LINE__);
}

static bool
seen_match(void *arg, void *subscriber)
{
    seen *s = arg;
    s->hits[(char *)subscriber - s->m->names]++;
    return true;
}

static void
seen_each(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    seen *s = arg;
    int i = model_find(s->m, topic, size);
    uint32_t wanted = 0;
    for (int k = 0; k < MODEL_SUBSCRIBERS; k++) {
        wanted += s->subscriber < 0 || s->subscriber == k ? s->m->counts[i][k] : 0;
    }
    CHECK_INT(count, wanted);
    if (s->topics++ > 0) {
        size_t common = size < s->last_size ? size : s->last_size;
        int order = memcmp(s->last, topic, common);
        CHECK(order < 0 || (order == 0 && s->last_size < size));
    }
    memcpy(s->last, topic, size);
    s->last_size = size;
}

static void
seen_gone(void *arg, mmi_radix_node *node, bool last)
{
    seen *s = arg;
    size_t size;
    const uint8_t *topic = mmi_radix_topic(s->r, node, &size);
    int i = model_find(s->m, topic, size);
    CHECK(s->m->counts[i][s->subscriber] > 0);
    CHECK(last == (model_held(s->m, i) == 1));
    s->gone += last;
}

/* The law of radix_node.h, and how many pairs there are. */
static size_t
shape_check(const mmi_radix_node *node)
{
    size_t pairs = node->sub_count;
    CHECK((node->parent == NULL) == (node->label_size == 0));
    CHECK(node->parent == NULL || node->sub_count > 0 || node->child_count >= 2);
    for (uint32_t i = 0; i < node->child_count; i++) {
        CHECK(node->children[i]->parent == node);
        CHECK(i == 0 || node->children[i - 1]->label[0] < node->children[i]->label[0]);
        pairs += shape_check(node->children[i]);
    }
    return pairs;
}

static void
model_compare(const model *m, mmi_radix *r, uint32_t *seed)
{
    uint8_t text[TOPIC_MAX * 2];
    size_t size = check_random(seed) % sizeof(text), pairs = 0;
    for (size_t i = 0; i < size; i++) {
        text[i] = (uint8_t)("ab\xff"[check_random(seed) % 3]);
    }
    seen s = { .m = m };
    mmi_radix_match(r, text, size, seen_match, &s);
    uint32_t wanted[MODEL_SUBSCRIBERS] = { 0 }, topics = 0;
    for (int i = 0; i < MODEL_TOPICS; i++) {
        bool prefix = m->sizes[i] <= size && memcmp(text, m->topics[i], m->sizes[i]) == 0;
        topics += model_held(m, i) > 0;
        pairs += model_held(m, i);
        for (int k = 0; k < MODEL_SUBSCRIBERS; k++) {
            wanted[k] += prefix && m->counts[i][k] > 0;
        }
    }
    CHECK(memcmp(wanted, s.hits, sizeof(wanted)) == 0);
    CHECK_INT(r->topic_count, pairs);
    CHECK(r->root == NULL ? pairs == 0 : shape_check(r->root) == pairs);
    s = (seen){ .m = m, .subscriber = -1 };
    mmi_radix_each(r, NULL, seen_each, &s);
    CHECK_INT(s.topics, topics);
}

static void
model_add(model *m, mmi_radix *r, int topic, int who)
{
    bool first = false;
    int rc = mmi_radix_add(r, m->topics[topic], m->sizes[topic], &m->names[who], &first);
    if (rc == MM_ENOMEM) {
        return;
    }
    CHECK(first == (model_held(m, topic) == 0));
    CHECK_INT(rc, ++m->counts[topic][who]);
    mmi_radix_node *node = mmi_radix_find(r, m->topics[topic], m->sizes[topic]);
    CHECK(mmi_radix_has(node, &m->names[who]));
}

static void
model_rm(model *m, mmi_radix *r, int topic, int who)
{
    bool last = true;
    int rc = mmi_radix_rm(r, m->topics[topic], m->sizes[topic], &m->names[who], &last);
    if (m->counts[topic][who] == 0) {
        CHECK_INT(rc, MM_EINVAL);
        CHECK(!last);
        return;
    }
    CHECK_INT(rc, --m->counts[topic][who]);
    CHECK(last == (model_held(m, topic) == 0));
}

static void
model_rm_all(model *m, mmi_radix *r, int who)
{
    seen s = { .m = m, .r = r, .subscriber = who };
    uint32_t mine = 0, only_mine = 0;
    for (int i = 0; i < MODEL_TOPICS; i++) {
        mine += m->counts[i][who] > 0;
        only_mine += m->counts[i][who] > 0 && model_held(m, i) == 1;
    }
    mmi_radix_each(r, &m->names[who], seen_each, &s);
    CHECK_INT(s.topics, mine);
    mmi_radix_rm_all(r, &m->names[who], seen_gone, &s);
    CHECK_INT(s.gone, only_mine);
    for (int i = 0; i < MODEL_TOPICS; i++) {
        m->counts[i][who] = 0;
    }
}

static void
test_the_tree_tells_what_a_naive_list_tells(void)
{
    for (uint32_t seed = 1; seed <= 30; seed++) {
        uint32_t state = seed * 7919;
        model m;
        mmi_radix r;
        model_init(&m, &state);
        mmi_radix_init(&r);
        for (int step = 0; step < 1000; step++) {
            int topic = (int)(check_random(&state) % MODEL_TOPICS);
            int who = (int)(check_random(&state) % MODEL_SUBSCRIBERS);
            uint32_t what = check_random(&state) % 100;
            if (what < 2) {
                model_rm_all(&m, &r, who);
            } else if (what < 50 + (uint32_t)(step / 250) * 10) {
                model_rm(&m, &r, topic, who);
            } else {
                model_add(&m, &r, topic, who);
            }
            model_compare(&m, &r, &state);
        }
        mmi_radix_fini(&r);
    }
}

static void
test_no_memory_at_any_point_changes_no_topic(void)
{
    for (uint32_t seed = 1; seed <= 30; seed++) {
        uint32_t state = seed * 104729;
        model m;
        mmi_radix r;
        model_init(&m, &state);
        mmi_radix_init(&r);
        for (int step = 0; step < 600; step++) {
            int topic = (int)(check_random(&state) % MODEL_TOPICS);
            int who = (int)(check_random(&state) % MODEL_SUBSCRIBERS);
            bool add = check_random(&state) % 2 == 0;
            mm_test_alloc_fail(add ? check_random(&state) % 12 : 0);
            if (add) {
                model_add(&m, &r, topic, who);
            } else {
                model_rm(&m, &r, topic, who);
            }
            mm_test_alloc_fail(0);
            seen s = { .m = &m, .subscriber = -1 };
            mmi_radix_each(&r, NULL, seen_each, &s);
        }
        for (int who = 0; who < MODEL_SUBSCRIBERS; who++) {
            model_rm_all(&m, &r, who);
        }
        CHECK_INT(r.topic_count, 0);
        CHECK_INT(r.holders.count, 0);
        mmi_radix_fini(&r);
    }
}

static void
test_a_removal_without_memory_still_removes(void)
{
    char who;
    mmi_radix r;
    mmi_radix_init(&r);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"aa", 2, &who, NULL), 1);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"ab", 2, &who, NULL), 1);
    mm_test_alloc_fail(1);
    CHECK_INT(mmi_radix_rm(&r, (const uint8_t *)"ab", 2, &who, NULL), 0);
    mm_test_alloc_fail(0);
    CHECK_INT(mmi_radix_rm(&r, (const uint8_t *)"aa", 2, &who, NULL), 0);
    CHECK_INT(r.root->child_count, 0);
    mmi_radix_fini(&r);
}

/* Each prefix of a long topic is a topic: as deep as a tree can be, and nothing recurses. */
static void
test_depth_is_no_danger(void)
{
    enum { DEPTH = 65536 };
    static uint8_t topic[DEPTH];
    char who;
    uint32_t count = 0;
    mmi_radix r;
    mmi_radix_init(&r);
    memset(topic, 'x', DEPTH);
    for (size_t size = 1; size <= DEPTH; size *= 2) {
        CHECK_INT(mmi_radix_add(&r, topic, size, &who, NULL), 1);
        count++;
    }
    for (size_t size = 30000; size < 34000; size++) {
        count += mmi_radix_add(&r, topic, size, &who, NULL) == 1 && size != 32768;
    }
    CHECK_INT(r.topic_count, count);
    mmi_radix_rm_all(&r, &who, NULL, NULL);
    CHECK_INT(r.root->child_count, 0);
    for (size_t size = 1; size <= 5000; size++) {
        CHECK_INT(mmi_radix_add(&r, topic, size, &who, NULL), 1);
    }
    mmi_radix_fini(&r);
}

static bool
match_stop(void *arg, void *subscriber)
{
    (void)subscriber;
    return --*(int *)arg > 0;
}

static void
test_match_ends_when_told_to(void)
{
    char a, b;
    int left = 1;
    mmi_radix r;
    mmi_radix_init(&r);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"", 0, &a, NULL), 1);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"", 0, &b, NULL), 1);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"x", 1, &b, NULL), 1);
    mmi_radix_match(&r, (const uint8_t *)"xyz", 3, match_stop, &left);
    CHECK_INT(left, 0);
    mmi_radix_fini(&r);
}

static void
test_a_kept_topic_stays_where_it_is_until_it_is_released(void)
{
    char who;
    mmi_radix r;
    mmi_radix_init(&r);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"abc", 3, &who, NULL), 1);
    mmi_radix_node *node = mmi_radix_find(&r, (const uint8_t *)"abc", 3);
    CHECK(mmi_radix_find(&r, (const uint8_t *)"ab", 2) == NULL);
    CHECK(!mmi_radix_has(node, &r));
    *mmi_radix_mark(node) = &who;
    mmi_radix_keep(node);
    mmi_radix_keep(node);
    CHECK_INT(mmi_radix_rm(&r, (const uint8_t *)"abc", 3, &who, NULL), 0);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"ab", 2, &who, NULL), 1);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"abcde", 5, &who, NULL), 1);
    mmi_radix_rm_all(&r, &who, NULL, NULL);
    CHECK(mmi_radix_find(&r, (const uint8_t *)"abc", 3) == node);
    CHECK(*mmi_radix_mark(node) == &who && !mmi_radix_has(node, &who));
    mmi_radix_release(node);
    size_t size;
    const uint8_t *topic = mmi_radix_topic(&r, node, &size);
    CHECK(size == 3 && memcmp(topic, "abc", 3) == 0);
    CHECK(mmi_radix_place(&r, (const uint8_t *)"abcd", 4) == NULL);
    mmi_radix_release(node);
    CHECK(mmi_radix_find(&r, (const uint8_t *)"abc", 3) == NULL);
    CHECK_INT(r.root->child_count, 0);
    mmi_radix_fini(&r);
}

static const void *
place_of(const mmi_radix *r, const char *text)
{
    return mmi_radix_place(r, (const uint8_t *)text, strlen(text));
}

static void
test_a_place_stands_for_who_matches(void)
{
    char a, b;
    mmi_radix r;
    mmi_radix_init(&r);
    CHECK(place_of(&r, "x") == NULL);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"abc", 3, &a, NULL), 1);
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"abd", 3, &b, NULL), 1);
    CHECK(place_of(&r, "ab") == NULL && place_of(&r, "abe") == NULL);
    CHECK(place_of(&r, "abc") != NULL && place_of(&r, "abc") == place_of(&r, "abcd"));
    CHECK(place_of(&r, "abd") != NULL && place_of(&r, "abd") != place_of(&r, "abc"));
    CHECK_INT(mmi_radix_add(&r, (const uint8_t *)"", 0, &b, NULL), 1);
    CHECK(place_of(&r, "") != NULL && place_of(&r, "ab") == place_of(&r, "x"));
    CHECK(place_of(&r, "abc") != place_of(&r, "x"));
    mmi_radix_fini(&r);
}

int
main(void)
{
    RUN(test_the_tree_tells_what_a_naive_list_tells);
    RUN(test_no_memory_at_any_point_changes_no_topic);
    RUN(test_a_removal_without_memory_still_removes);
    RUN(test_depth_is_no_danger);
    RUN(test_match_ends_when_told_to);
    RUN(test_a_kept_topic_stays_where_it_is_until_it_is_released);
    RUN(test_a_place_stands_for_who_matches);
    return 0;
}
