/*
 * api/features.c: for tests: an engine whose connections say other features than ours.
 *
 * Law: only what is said changes, not what is known.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

int
mm_test_features(mm_handle engine, const char *features)
{
    void *object;
    mmi_engine *e;
    if (strlen(features) > MMI_FEATURES_MAX) {
        return MM_EINVAL;
    }
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    snprintf(e->features, sizeof e->features, "%s", features);
    e->mute_limits = true;
    return mmi_api_end(e, MM_OK);
}
