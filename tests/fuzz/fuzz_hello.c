/*
 * fuzz_hello.c: libFuzzer harness of the handshake: the same bytes whole and in pieces end the
 * same.
 *
 * The first octet says how the rest is cut, the second which role we are.
 */
#include <string.h>

#include "role/role.h"
#include "wire/wire.h"
#include "wire/zmtp/hello.h"

typedef struct fuzz_end {
    int rc, reason, role;
    size_t used;
} fuzz_end;

static fuzz_end
fuzz_run(const uint8_t *data, size_t size, size_t piece, int role)
{
    mmi_hello h;
    mmi_hello_config config = { .role = role,
                                .roles = &mmi_roles_known,
                                .identity = (const uint8_t *)"me",
                                .identity_size = 2,
                                .features = "1",
                                .takes_size = size,
                                .takes_frames = 1,
                                .group = "me" };
    fuzz_end end = { 0 };
    if (mmi_hello_init(&h, &config) != MM_OK) {
        return end;
    }
    while (size > 0 && end.rc == 0) {
        size_t part = piece < size ? piece : size, used;
        uint8_t *copy = mmi_alloc(part);
        memcpy(copy, data, part);
        end.rc = mmi_hello_feed(&h, copy, part, &used);
        MMI_ASSERT(used <= part);
        mmi_free(copy);
        end.used += used;
        data += part;
        size -= part;
        const uint8_t *out;
        size_t ready = mmi_hello_output(&h, &out);
        MMI_ASSERT(ready <= MMI_HELLO_OUT_MAX);
        mmi_hello_sent(&h, ready);
    }
    end.reason = h.reason;
    end.role = end.rc == 1 ? h.peer.role : 0;
    size_t named = strlen(h.peer.group);
    MMI_ASSERT(named == 0 || mmi_wire_group_valid((const uint8_t *)h.peer.group, named));
    uint64_t most;
    uint32_t frames = 0;
    MMI_ASSERT(!mmi_wire_takes(h.peer.features, &most, &frames) || frames > 0);
    mmi_hello_fini(&h);
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    int role = 1 + data[1] % (MM_ROLE_COUNT - 1);
    fuzz_end whole = fuzz_run(data + 2, size - 2, size, role);
    fuzz_end cut = fuzz_run(data + 2, size - 2, 1 + data[0] % 16, role);
    MMI_ASSERT(whole.rc == cut.rc && whole.reason == cut.reason && whole.role == cut.role);
    MMI_ASSERT(whole.rc != 1 || whole.used == cut.used);
    return 0;
}
