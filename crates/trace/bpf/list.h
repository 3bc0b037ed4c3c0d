// With --list: each call by itself, with its arguments, in a queue that the tracer empties.
//
// Like those of files.h these are programs of their own, attached only if they are asked for. A queue that is full
// loses calls, which are counted, rather than to hold the traced program up.

#pragma once

#include "files.h"

#define SECOND_PATH_BYTES 144
#define EVENTS_LENGTH 65536

enum { EVENT_RETURNED, EVENT_UNFINISHED };

struct pending {
	u64 arguments[6];
	char second_path[SECOND_PATH_BYTES];
};

struct event {
	u64 ids, start_ns, elapsed_ns, cpu_ns;
	s64 value;
	u32 row, end;
	u32 file, second_file;
	u64 arguments[6];
	u64 unit;
	char second_path[SECOND_PATH_BYTES];
};

MAP(PENDING, MAP_ARRAY, 4, sizeof(struct pending), PLACES, 0);
MAP(EVENT_SCRATCH, MAP_PERCPU_ARRAY, 4, sizeof(struct event), 1, 0);
MAP(EVENTS, MAP_QUEUE, 0, sizeof(struct event), EVENTS_LENGTH, 0);

// Runs after call_begins, which decides whether the call is wanted.
SECTION("raw_tp/sys_enter") int list_begins(u64 *context)
{
	u32 tid = (u32)current_ids(), place = place_of(tid);
	struct task *task = task_of(tid);
	if (!task || task->call == IN_NONE || task->call >= IN_UNWANTED)
		return 0;
	struct pending *pending = map_lookup(&PENDING, &place);
	if (!pending)
		return 0;
	for (u32 i = 0; i < 6; i++)
		pending->arguments[i] = argument(context[0], i);
	u32 shape = SHAPES[row_of(context[1])];
	pending->second_path[0] = 0;
	if (SECOND_PATH_AT(shape)) {
		// execve drops the memory that its argument is in.
		u64 text = argument(context[0], SECOND_PATH_AT(shape) - 1);
		read_user_text(pending->second_path, SECOND_PATH_BYTES, (void *)text);
	}
	return 0;
}

NOINLINE int list_call(u32 end, s64 value)
{
	u64 ids = current_ids();
	u32 zero = 0, place = place_of((u32)ids);
	struct task *task = task_of((u32)ids);
	struct pending *pending = map_lookup(&PENDING, &place);
	struct event *event = map_lookup(&EVENT_SCRATCH, &zero);
	if (!task || !pending || !event)
		return 0;
	u32 row = task->call - 1;
	if (row >= CALL_ROWS)
		return 0;
	u32 shape = SHAPES[row];
	event->ids = ids;
	event->start_ns = task->start_ns;
	event->elapsed_ns = clock_ns() - task->start_ns;
	event->cpu_ns = cpu_of(task, event->elapsed_ns);
	event->value = value;
	event->row = row;
	event->end = end;
	event->file = task->file;
	event->second_file = task->second_file;
	event->unit = task->unit;
	for (u32 i = 0; i < 6; i++)
		event->arguments[i] = pending->arguments[i];
	__builtin_memcpy(event->second_path, pending->second_path, SECOND_PATH_BYTES);
	if (SECOND_PATH_AT(shape) && !event->second_path[0]) {
		// When the call began, the text was on a page that nothing had read yet.
		u64 text = pending->arguments[(SECOND_PATH_AT(shape) - 1) & 3];
		read_user_text(event->second_path, SECOND_PATH_BYTES, (void *)text);
	}
	if (map_push(&EVENTS, event, 0))
		count_up(LOST_EVENTS);
	return 0;
}

// Runs after files_end, and before call_ends drops the call.
SECTION("raw_tp/sys_exit") int list_ends(u64 *context)
{
	struct task *task = task_of((u32)current_ids());
	if (!task || task->call == IN_NONE || task->call >= IN_UNWANTED)
		return 0;
	return list_call(EVENT_RETURNED, context[1]);
}

// Runs before exits forgets the thread.
SECTION("raw_tp/sched_process_exit") int list_exits(u64 *context)
{
	struct task *task = task_of((u32)current_ids());
	if (!task || task->call == IN_NONE || task->call >= IN_UNWANTED)
		return 0;
	return list_call(EVENT_UNFINISHED, 0);
}
