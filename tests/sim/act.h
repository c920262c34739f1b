/*
 * act - the calls of the simulation. For each kind of call, one function chooses random
 * arguments, and another checks the answer.
 */
#ifndef TESTS_SIM_ACT_H
#define TESTS_SIM_ACT_H

#include "tests/sim/model.h"

struct agent *act_caller(struct sim *s, const struct act *a);
int act_team(const struct act *a);
int act_mate(struct sim *s, const struct act *a); /* a random teammate of the caller */

/* The next functions add arguments to the call. */
void act_text(struct act *a, const char *key, const char *value);
void act_int(struct act *a, const char *key, int64_t value);
void act_task(struct act *a); /* adds a->number as the argument `task` */
void act_key(struct sim *s, struct act *a);

/* Fails the simulation if the call was refused. `why` is the reason why the state had to accept
 * the call. */
void act_must_go(struct sim *s, struct act *a, const char *why);

void choose_ack(struct sim *s, struct act *a);
void choose_allow(struct sim *s, struct act *a);
void choose_fall(struct sim *s, struct act *a);
void choose_found(struct sim *s, struct act *a);
void choose_spend(struct sim *s, struct act *a);
void end_allow(struct sim *s, struct act *a);
void end_fall(struct sim *s, struct act *a);
void end_found(struct sim *s, struct act *a);
void end_spend(struct sim *s, struct act *a);
void choose_again(struct sim *s, struct act *a);
void choose_beat(struct sim *s, struct act *a);
void choose_block(struct sim *s, struct act *a);
void choose_claim(struct sim *s, struct act *a);
void choose_create(struct sim *s, struct act *a);
void choose_end(struct sim *s, struct act *a);
void choose_lead_task(struct sim *s, struct act *a);
void choose_note(struct sim *s, struct act *a);
void choose_notified(struct sim *s, struct act *a);
void choose_old(struct sim *s, struct act *a);
void choose_order(struct sim *s, struct act *a);
void choose_own(struct sim *s, struct act *a);
void choose_receive(struct sim *s, struct act *a);
void choose_replace(struct sim *s, struct act *a);
void choose_reply(struct sim *s, struct act *a);
void choose_result(struct sim *s, struct act *a);
void choose_send(struct sim *s, struct act *a);
void choose_show(struct sim *s, struct act *a);
void choose_tick(struct sim *s, struct act *a);
void choose_unblock(struct sim *s, struct act *a);
void end_ack(struct sim *s, struct act *a);
void end_again(struct sim *s, struct act *a);
void end_block(struct sim *s, struct act *a);
void end_cancel(struct sim *s, struct act *a);
void end_claim(struct sim *s, struct act *a);
void end_create(struct sim *s, struct act *a);
void end_end(struct sim *s, struct act *a);
void end_heartbeat(struct sim *s, struct act *a);
void end_nothing(struct sim *s, struct act *a);
void end_order(struct sim *s, struct act *a);
void end_receive(struct sim *s, struct act *a);
void end_replace(struct sim *s, struct act *a);
void end_reply(struct sim *s, struct act *a);
void end_result(struct sim *s, struct act *a);
void end_send(struct sim *s, struct act *a);
void end_show(struct sim *s, struct act *a);
void end_start(struct sim *s, struct act *a);
void end_tick(struct sim *s, struct act *a);
void end_unblock(struct sim *s, struct act *a);

#endif
