/* SPDX-License-Identifier: ISC */

/*
 * The log: one line an event on standard error, "event key=value ...".  Any
 * process of the daemon may call; threads may not.
 */
#ifndef LOG_H
#define LOG_H

#include "config.h"

/*
 * Where standard error is a journal or no terminal, each line begins with
 * the level as <N>.  Called once, before the first line; a child calls
 * log_set_process() alone.
 */
void	log_init(void);

/*
 * What this process is called in its lines, "worker-0"; "" for the
 * supervisor.  Lines that were held back stay the parent's.
 */
void	log_set_process(const char *name);

/* Lines above the level are dropped; LOG_LEVEL_INFO at first. */
void	log_set_level(enum log_level level);

/*
 * One line.  format makes the "key=value ..." part; a line end or another
 * control byte in it is written as \xNN.  An event that comes too often is
 * held back, and counted in a line "repeated=N" later.
 */
void	log_line(enum log_level level, const char *event, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

/* The same, for what must not be held back: changes made by hand. */
void	log_audit(const char *event, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write the counts whose time has come; once a second or more rarely. */
void	log_tick(void);

/* Write all counts now: the process ends. */
void	log_flush(void);

#endif
