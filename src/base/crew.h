/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * crew.h - threads that take work off the one that owns them.
 *
 * Tasks of a lane are done in the order in which they were given, one at a time, by whoever is free: a thread of the
 * crew, or the owner while it waits for a task.  So two processors are busy with two threads whatever the shares of the
 * lanes are.  Who finds nothing to do sleeps.  A task sees what was written before it was given and by those before it
 * in its lane, and the owner sees what a task wrote that it has waited for.
 */
#ifndef SQT_CREW_H
#define SQT_CREW_H

/* What is to be done first stands first. */
enum sqt_lane { SQT_LANE_FIGURES, SQT_LANE_READING, SQT_LANES };

struct sqt_crew;

/* The owner's; must stay where it is from sqt_crew_give until it was waited for. */
struct sqt_task {
    void (*function)(void *context);
    void *context;
    int given; /* and not done; this and what follows is the crew's, 0 at first */
    struct sqt_task *next;
};

/* How many processors this process may use; at least 1. */
unsigned sqt_processors(void);

/* That many threads, at most one for each lane.  NULL if none are wanted, or none can be had. */
struct sqt_crew *sqt_crew_new(unsigned threads);

/* Ends the threads; all tasks must have been waited for.  NULL is welcome. */
void sqt_crew_free(struct sqt_crew *crew);

/* These two are the owner's to call. */
void sqt_crew_give(struct sqt_crew *crew, enum sqt_lane lane, struct sqt_task *task);

/* Returns when the task is done; at once if it was not given. */
void sqt_crew_wait(struct sqt_crew *crew, struct sqt_task *task);

#endif
