// Which threads are traced, and what is known of each: who they are, and the call they are in.
//
// The calls of all other threads pass here too, so the first test must be cheap: each thread id has
// 16 bits in an array, which the verifier turns into a plain load. They are the number of the
// thread's place in a second array, and 0 for all other threads.

#pragma once

#include "tally.h"

// What a thread is in: a call's number plus one, or one of these.
enum { IN_NONE = 0, IN_UNWANTED = 0xfffffffe, IN_EARLIER = 0xffffffff };

#define RECENT 4

struct task {
	u32 call, unit;
	u64 start_ns;
	u64 length;
	u32 file, second_file;
	u64 path;
	s32 directory;
	u32 spare;
	// When the thread left its processor, 0 while it has one; and for how long it had none in this call.
	u64 off_since, off_ns;
	// The cells of the last calls, by the lowest bits of the row: row plus one, and cell. Finding a
	// cell in the hash costs more than everything else that is done for a short call.
	u32 recent_rows[RECENT], recent_cells[RECENT];
};

// As many threads as can be traced at once. The loader fills those that run already in from the
// top; the program takes the others from the bottom.
#define PLACES 32768
#define OWN_PLACES (PLACES - 4096)

MAP(PLACE_OF, MAP_ARRAY, 4, 8, 1 << 20, 0);
MAP(TASKS, MAP_ARRAY, 4, sizeof(struct task), PLACES, 0);
MAP(FREE_PLACES, MAP_QUEUE, 0, 4, PLACES, 0);
MAP(GROUPS, MAP_HASH, 4, 4, 32768, NO_PREALLOC);

INLINE u32 place_of(u32 tid)
{
	u32 word = tid >> 2;
	u64 *places = map_lookup(&PLACE_OF, &word);
	return places ? *places >> ((tid & 3) * 16) & 0xffff : 0;
}

INLINE struct task *task_of(u32 tid)
{
	u32 place = place_of(tid);
	return place ? map_lookup(&TASKS, &place) : NULL;
}

// Returns the tally of a row of a thread's own; NULL where there is no room.
INLINE struct tally *own_tally(struct task *task, u32 row)
{
	u32 recent = row & (RECENT - 1);
	if (task->recent_rows[recent] != row + 1) {
		u32 cell = cell_of(task->unit, row);
		if (!cell)
			return NULL;
		task->recent_rows[recent] = row + 1;
		task->recent_cells[recent] = cell;
	}
	u32 cell = task->recent_cells[recent];
	return map_lookup(&CELLS, &cell);
}

// Returns the part of a call's time in which the thread had a processor.
INLINE u64 cpu_of(struct task *task, u64 elapsed)
{
	u64 off = task->off_ns;
	return off < elapsed ? elapsed - off : 0;
}

INLINE void set_place(u32 tid, u32 place)
{
	u32 word = tid >> 2, shift = (tid & 3) * 16;
	u64 *places = map_lookup(&PLACE_OF, &word);
	if (!places)
		return;
	__sync_fetch_and_and(places, ~(0xffffULL << shift));
	__sync_fetch_and_or(places, (u64)place << shift);
}

NOINLINE u32 free_place(void)
{
	u32 place = 0;
	if (!map_pop(&FREE_PLACES, &place))
		return place;
	place = (u32)count_up(LAST_PLACE) + 1;
	return place < OWN_PLACES ? place : 0;
}

INLINE void usage(struct unit *unit, u64 task, u32 first)
{
	if (!(FEATURES & FEATURE_USAGE) || !task || first + 2 >= UNIT_WORDS)
		return;
	unit->words[first] = field64(task, TASK_MINOR_FAULTS);
	unit->words[first + 1] = field64(task, TASK_MAJOR_FAULTS);
	unit->words[first + 2] = field64(task, TASK_RUNTIME);
}

// `task` is the kernel's structure where the unit takes over a running thread, 0 for a new one.
NOINLINE u32 new_unit(u64 ids, u32 parent, u64 task)
{
	u32 id = (u32)count_up(LAST_UNIT) + 1;
	struct unit unit = {};
	unit.words[IDS] = ids;
	unit.words[PARENT] = parent;
	unit.words[START_NS] = clock_ns();
	current_name(&unit.words[NAME], 16);
	usage(&unit, task, MINOR_BEFORE);
	if (map_update(&UNITS, &id, &unit, UPDATE_ANY)) {
		count_up(LOST_UNITS);
		return 0;
	}
	return id;
}

NOINLINE int end_unit(u32 id, u64 task)
{
	struct unit *unit = map_lookup(&UNITS, &id);
	if (!unit)
		return 0;
	usage(unit, task, MINOR_AFTER);
	unit->words[END_NS] = clock_ns();
	// A full queue is no loss: what was not taken early is read at the end.
	map_push(&ENDED, &id, 0);
	return 0;
}

NOINLINE int new_task(u32 tid, u32 tgid, u32 unit)
{
	u32 place = free_place();
	struct task *task = map_lookup(&TASKS, &place);
	if (!place || !task) {
		count_up(LOST_THREADS);
		return 0;
	}
	task->call = IN_EARLIER;
	task->unit = unit;
	task->off_since = 0;
	task->off_ns = 0;
	__builtin_memset(task->recent_rows, 0, sizeof(task->recent_rows));
	if (tid == tgid)
		map_update(&GROUPS, &tgid, &unit, UPDATE_ANY);
	count_up(LIVE);
	set_place(tid, place);
	return 0;
}
