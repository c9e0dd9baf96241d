/*
 * asked.h: simulated worlds in which somebody is asked whether a peer may come in.
 * Not here: tests; a mechanism (toy_mechanism.h).
 * Law: the data of the question that was taken last lie in data.
 */
#ifndef ASKED_H
#define ASKED_H

#include "link/ask.h"
#include "protected.h"
#include "raw.h"

enum { ROUNDS_MAX = 2000 };

static const char TYPE[] = "\x0bSocket-Type\0\0\0\x04PUSH";
static uint8_t data[MM_QUESTION_DATA_MAX];

static inline mm_stats
stats_of(mm_handle socket)
{
    mm_stats stats;
    CHECK_INT(mm_socket_stats(socket, &stats), MM_OK);
    return stats;
}

/* The world goes on until somebody asks. */
static inline mm_question
asked(mm_handle world, mm_handle engine)
{
    mm_question question;
    int rc = 0;
    for (int i = 0; i < ROUNDS_MAX && rc == 0; i++) {
        CHECK_INT(mm_sim_run(world, MS), MM_OK);
        rc = mm_question_take(engine, &question, data);
    }
    CHECK_INT(rc, 1);
    return question;
}

#endif
