/*
 * Surveys, for rivals in C that have them: one asks many and waits for all answers.
 * Not here: how a survey travels; what a respondent answers is its question.
 * Law: a question of one byte ends a respondent, as in bench/ends/survey.py.
 */
#ifndef BENCH_SURVEY_H
#define BENCH_SURVEY_H

#include "end.h"
#include "paced.h"

enum { SURVEY_STOP_SIZE = 1 /* bytes of the question that ends a respondent */ };

/* Surveys until so many answers came to one of them. */
void bench_meet(bench_end *end, uint32_t answers);

/* Waits until some of the ends can receive; which, as indexes, and how many. */
int bench_poll(bench_end **ends, uint32_t count, uint32_t *ready);

/* Asks so many times; counts how long each took to its last answer. */
void survey_ask(bench_end *end, const bench_task *task, const uint8_t *body, uint64_t count,
                paced_counts *late);

/* Answers over the task's connections, the first of which is there, until all were told to end. */
void survey_answer(bench_end **ends, const bench_task *task);

#endif
