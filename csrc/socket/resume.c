/*
 * socket/resume.c: see socket/resume.h.
 */
#include "socket/resume.h"

#include <string.h>

static bool
resume_is(const mmi_resume_place *place, const uint8_t *producer)
{
    return (place->of.next > 0 || place->users > 0) &&
           memcmp(place->of.producer, producer, MMI_PRODUCER_SIZE) == 0;
}

mmi_resume_place *
mmi_resume_find(mmi_resume *r, const uint8_t producer[MMI_PRODUCER_SIZE], const void *owner)
{
    mmi_resume_place *found = NULL, *oldest = NULL;
    for (size_t i = 0; i < MMI_REPLAY_PLACES_MAX && found == NULL; i++) {
        mmi_resume_place *place = &r->places[i];
        found = resume_is(place, producer) ? place : NULL;
        if (place->users == 0 && (oldest == NULL || place->heard < oldest->heard)) {
            oldest = place;
        }
    }
    if (found == NULL && oldest != NULL) {
        found = oldest;
        found->of.next = found->epoch = 0;
        memcpy(found->of.producer, producer, sizeof found->of.producer);
    }
    if (found != NULL && found->users > 0 && found->owner != owner) {
        return NULL;
    }
    if (found != NULL) {
        found->owner = owner;
        found->users++;
        found->heard = ++r->finds;
    }
    return found;
}

bool
mmi_resume_taken(const mmi_resume *r, const uint8_t producer[MMI_PRODUCER_SIZE], const void *owner)
{
    for (size_t i = 0; i < MMI_REPLAY_PLACES_MAX; i++) {
        const mmi_resume_place *place = &r->places[i];
        if (resume_is(place, producer)) {
            return place->users > 0 && place->owner != owner;
        }
    }
    return false;
}

void
mmi_resume_leave(mmi_resume_place *place)
{
    if (place != NULL) {
        place->users--;
    }
}

void
mmi_resume_ask(const mmi_resume *r, mmi_replay *out)
{
    *out = r->from;
    out->place_count = 0;
    for (size_t i = 0; i < MMI_REPLAY_PLACES_MAX; i++) {
        if (r->places[i].of.next > 0) {
            out->places[out->place_count++] = r->places[i].of;
        }
    }
}
