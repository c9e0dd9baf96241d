/*
 * ready.c: the properties of READY, theirs and ours.  RFC 37, metadata.
 *
 * Not here: who may talk to whom (wire/roles.h).
 * Names are taken in any case and sent as libzmq spells them, which compares them exactly.
 * Law: every length is checked before it is used; a property twice, or more than
 * MMI_PROPERTIES_MAX, refuses the peer.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/octets.h"
#include "wire/wire.h"
#include "wire/zmtp/frame.h"
#include "wire/zmtp/hello.h"

enum {
    READY_VALUE_LENGTH = 4,
    READY_TAKES_MAX = sizeof " takes=18446744073709551615/4294967295" - 1   /* octets */
};

static const char ready_type[] = "Socket-Type";
static const char ready_identity[] = "Identity";
static const char ready_features[] = "X-Meshmsg";
static const char ready_group[] = "X-Meshmsg-Group";

typedef struct ready_property {
    const uint8_t *name, *value;
    size_t name_size, value_size;
} ready_property;

static bool
ready_is(const ready_property *p, const char *name)
{
    return strlen(name) == p->name_size &&
           strncasecmp(name, (const char *)p->name, p->name_size) == 0;
}

static bool
ready_name_valid(const ready_property *p)
{
    for (size_t i = 0; i < p->name_size; i++) {
        if (!isalnum(p->name[i]) && strchr("-_.+", p->name[i]) == NULL) {
            return false;
        }
        if (p->name[i] == 0) {
            return false;   /* strchr finds the terminator */
        }
    }
    return p->name_size > 0;
}

/* One property off the front of data. Returns its size on the wire, 0: malformed. */
static size_t
ready_next(const uint8_t *data, size_t size, ready_property *out)
{
    size_t name_size = data[0];
    if (size < 1 + name_size + READY_VALUE_LENGTH) {
        return 0;
    }
    uint32_t value_size = mmi_be32_get(data + 1 + name_size);
    size_t head = 1 + name_size + READY_VALUE_LENGTH;
    if (value_size > size - head) {
        return 0;
    }
    *out = (ready_property){
        .name = data + 1, .name_size = name_size, .value = data + head, .value_size = value_size
    };
    return ready_name_valid(out) ? head + value_size : 0;
}

/* What there is room for; a word that is cut would be another one, and is left out, but for the
 * first, which is no feature. */
static void
ready_take_features(mmi_hello *h, const uint8_t *value, size_t size)
{
    size_t kept = size < MMI_FEATURES_MAX ? size : MMI_FEATURES_MAX;
    while (size > MMI_FEATURES_MAX && kept > 0 && value[kept] != ' ') {
        kept--;
    }
    kept = kept == 0 && size > 0 ? MMI_FEATURES_MAX : kept;
    memcpy(h->peer.features, value, kept);
    h->peer.features[kept] = '\0';
}

static int
ready_take_group(mmi_hello *h, const uint8_t *value, size_t size)
{
    if (!mmi_wire_group_valid(value, size)) {
        return mmi_refuse(h, MM_REASON_METADATA,
                          "a group of %zu octet%s; it has 1 to %d of A-Z a-z 0-9 . _ -", size,
                          mmi_plural(size), MMI_GROUP_NAME_MAX);
    }
    memcpy(h->peer.group, value, size);
    h->peer.group[size] = '\0';
    return MM_OK;
}

static int
ready_take(mmi_hello *h, const ready_property *p)
{
    if (ready_is(p, ready_type)) {
        const mmi_role_facts *role = h->config.roles->named(p->value, p->value_size);
        if (role == NULL) {
            return mmi_refuse(h, MM_REASON_SOCKET_TYPE, "an unknown Socket-Type of %zu octet%s",
                              p->value_size, mmi_plural(p->value_size));
        }
        h->peer.role = role->number;
    } else if (ready_is(p, ready_identity)) {
        if (p->value_size > MM_IDENTITY_MAX || (p->value_size > 0 && p->value[0] == 0)) {
            return mmi_refuse(
                h, MM_REASON_IDENTITY,
                "an identity of %zu octet%s; it has %d at most and does not begin with 0",
                p->value_size, mmi_plural(p->value_size), MM_IDENTITY_MAX);
        }
        h->peer.identity_size = (uint8_t)p->value_size;
        memcpy(h->peer.identity, p->value, p->value_size);
    } else if (ready_is(p, ready_features)) {
        ready_take_features(h, p->value, p->value_size);
    } else if (ready_is(p, ready_group)) {
        return ready_take_group(h, p->value, p->value_size);
    }
    return MM_OK;
}

int
mmi_ready_parse(mmi_hello *h, const uint8_t *data, size_t size)
{
    ready_property seen[MMI_PROPERTIES_MAX];
    size_t count = 0, at = 0;
    while (at < size) {
        if (count == MMI_PROPERTIES_MAX) {
            return mmi_refuse(h, MM_REASON_METADATA, "over %d properties", MMI_PROPERTIES_MAX);
        }
        size_t used = ready_next(data + at, size - at, &seen[count]);
        if (used == 0) {
            return mmi_refuse(h, MM_REASON_METADATA, "a malformed property at octet %zu", at);
        }
        for (size_t i = 0; i < count; i++) {
            if (seen[i].name_size == seen[count].name_size &&
                strncasecmp((const char *)seen[i].name, (const char *)seen[count].name,
                            seen[i].name_size) == 0) {
                return mmi_refuse(h, MM_REASON_METADATA, "a property twice, at octet %zu", at);
            }
        }
        int rc = ready_take(h, &seen[count]);
        if (rc != MM_OK) {
            return rc;
        }
        count++;
        at += used;
    }
    if (h->peer.role == 0) {
        return mmi_refuse(h, MM_REASON_SOCKET_TYPE, "no Socket-Type");
    }
    const mmi_role_facts *ours = h->config.roles->of(h->config.role);
    const mmi_role_facts *theirs = h->config.roles->of(h->peer.role);
    if (!mmi_roles_fit(ours, theirs)) {
        return mmi_refuse(h, MM_REASON_SOCKET_TYPE, "%s cannot talk to %s", ours->name,
                          theirs->name);
    }
    return MM_OK;
}

static size_t
ready_put_property(uint8_t *out, const char *name, const void *value, size_t size)
{
    size_t name_size = strlen(name);
    uint8_t *at = out;
    *at++ = (uint8_t)name_size;
    memcpy(at, name, name_size);
    at += name_size;
    for (int shift = 24; shift >= 0; shift -= 8) {
        *at++ = (uint8_t)(size >> shift);
    }
    if (size > 0) {
        memcpy(at, value, size);
    }
    return (size_t)(at - out) + size;
}

/* Features, and what we take at most: no part of that, where there is no room for all of it. */
static size_t
ready_put_features(const mmi_hello_config *config, uint8_t *out)
{
    char value[MMI_FEATURES_MAX + READY_TAKES_MAX + 1];
    size_t size = strnlen(config->features, MMI_FEATURES_MAX);
    memcpy(value, config->features, size);
    if (config->takes_frames > 0) {
        int more = snprintf(value + size, sizeof value - size, " takes=%" PRIu64 "/%" PRIu32,
                            config->takes_size, config->takes_frames);
        size += size + (size_t)more <= (size_t)MMI_FEATURES_MAX ? (size_t)more : 0;
    }
    return ready_put_property(out, ready_features, value, size);
}

size_t
mmi_ready_put_metadata(const mmi_hello_config *config, uint8_t *out)
{
    const mmi_role_facts *role = config->roles->of(config->role);
    size_t size = ready_put_property(out, ready_type, role->name, strlen(role->name));
    if (role->says_identity || config->identity_size > 0) {
        size +=
            ready_put_property(out + size, ready_identity, config->identity, config->identity_size);
    }
    if (config->features != NULL) {
        size += ready_put_features(config, out + size);
    }
    if (config->group != NULL) {
        size += ready_put_property(out + size, ready_group, config->group, strlen(config->group));
    }
    return size;
}

size_t
mmi_ready_put(const mmi_hello_config *config, uint8_t *out)
{
    uint8_t body[MMI_HELLO_OUT_MAX / 2];   /* the properties take 450 octets at most */
    memcpy(body, "\x05READY", 6);
    size_t size = 6 + mmi_ready_put_metadata(config, body + 6);
    size_t head = mmi_frame_head_put(out, MMI_FRAME_COMMAND, size);
    memcpy(out + head, body, size);
    return head + size;
}
