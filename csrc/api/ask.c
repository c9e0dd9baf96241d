/*
 * api/ask.c: who may come in, for who is asked: questions and answers.
 *
 * Not here: what they are (link/ask.h).  Law: none of these waits.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "link/ask.h"
#include "meshmsg_binding.h"

int
mm_questions_open(mm_handle engine, int *fd)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    return rc == MM_OK ? mmi_api_end(e, mmi_ask_open(e, fd)) : rc;
}

int
mm_questions_close(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_ask_close(e);
    return mmi_api_end(e, MM_OK);
}

int
mm_questions_ring(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_ask_ring(e);
    return mmi_api_end(e, MM_OK);
}

int
mm_question_take(mm_handle engine, mm_question *out, void *data)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine_refresh(e);
    return mmi_api_end(e, mmi_ask_take(e, out, data));
}

int
mm_question_waits(mm_handle engine, uint64_t id)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    return mmi_api_end(e, mmi_ask_waits(e, id) ? MM_OK : MM_ESTATE);
}

int
mm_socket_revoke(mm_handle socket, const char *user_id)
{
    mmi_socket *s;
    int rc = user_id[0] == '\0' ? MM_EINVAL : mmi_api_enter(socket, &s);
    return rc == MM_OK ? mmi_api_leave(s, mmi_socket_revoke_user(s, user_id)) : rc;
}

static int
ask_answer(mm_handle engine, uint64_t id, const mmi_answer *said, mmi_octets metadata)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine_refresh(e);
    return mmi_api_end(e, mmi_ask_answer(e, id, said, metadata));
}

int
mm_question_answer(mm_handle engine, uint64_t id, int answer, const char *text)
{
    mmi_answer said = { .kind = answer, .reason = MM_REASON_NOT_ALLOWED };
    bool allows = answer == MM_ALLOW;
    if ((!allows && answer != MM_DENY && answer != MM_LATER) ||
        (allows && strlen(text) > MM_USER_ID_MAX)) {
        return MM_EINVAL;
    }
    snprintf(allows ? said.user_id : said.why, allows ? sizeof said.user_id : sizeof said.why, "%s",
             text);
    return ask_answer(engine, id, &said, (mmi_octets){ .size = 0 });
}

int
mm_question_allow(mm_handle engine, uint64_t id, const char *user_id, const uint8_t *metadata,
                  size_t size)
{
    mmi_answer said = { .kind = MM_ALLOW };
    if (strlen(user_id) > MM_USER_ID_MAX) {
        return MM_EINVAL;
    }
    if (size > MM_ALLOW_METADATA_MAX) {
        return MM_EMSGSIZE;
    }
    snprintf(said.user_id, sizeof said.user_id, "%s", user_id);
    return ask_answer(engine, id, &said, (mmi_octets){ .data = metadata, .size = size });
}
