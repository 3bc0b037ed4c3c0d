// --stacks: where in the kernel the time goes, by stack. A timer looks at each processor again and again, and a thread
// that leaves its processor says where it waits, and for how long.

#pragma once

#include "task.h"

// As many as the kernel's own limit of frames allows (PERF_MAX_STACK_DEPTH).
#define FRAMES 127
#define STACKS_LENGTH 16384

// Nanoseconds between two looks at a processor, by the loader.
const volatile u64 SAMPLE_NS = 0;

struct stack_key {
	u32 unit;
	// Negative where there is no stack: the errno of bpf_get_stackid.
	s32 stack;
	// As in struct task: a call's row plus one, or IN_NONE and the others.
	u32 call;
	u32 waits;
};

struct wait {
	u64 since_ns;
	s32 stack;
	u32 call;
};

MAP(STACKS, MAP_STACK_TRACE, 4, FRAMES * 8, STACKS_LENGTH, 0);
// Before Linux 6.1 a program of a perf event may use no other hash than one whose memory is there.
MAP(STACK_TIMES, MAP_HASH, sizeof(struct stack_key), 8, STACKS_LENGTH, 0);
MAP(WAITS, MAP_ARRAY, 4, sizeof(struct wait), PLACES, 0);

NOINLINE int add_stack_time(struct stack_key *key, u64 elapsed_ns)
{
	if (!key)
		return 0;
	u64 *sum = map_lookup(&STACK_TIMES, key);
	if (!sum) {
		if (!map_update(&STACK_TIMES, key, &elapsed_ns, UPDATE_NOEXIST))
			return 0;
		sum = map_lookup(&STACK_TIMES, key);
	}
	if (sum)
		__sync_fetch_and_add(sum, elapsed_ns);
	else
		count_up(LOST_STACKS);
	return 0;
}

// Runs on each processor at each tick of its clock.
SECTION("perf_event") int samples(void *context)
{
	struct task *task = task_of((u32)current_ids());
	if (!task)
		return 0;
	struct stack_key key = { .unit = task->unit, .call = task->call };
	key.stack = (s32)stack_id(context, &STACKS, 0);
	add_stack_time(&key, SAMPLE_NS);
	return 0;
}

// The thread that leaves its processor is still the current one.
SECTION("raw_tp/sched_switch") int stacks_switch(u64 *context)
{
	u32 leaves = place_of(field32(context[1], TASK_PID));
	struct task *task = leaves ? map_lookup(&TASKS, &leaves) : NULL;
	struct wait *wait = leaves ? map_lookup(&WAITS, &leaves) : NULL;
	if (task && wait) {
		wait->stack = (s32)stack_id(context, &STACKS, 0);
		wait->call = task->call;
		wait->since_ns = clock_ns();
	}
	u32 comes = place_of(field32(context[2], TASK_PID));
	task = comes ? map_lookup(&TASKS, &comes) : NULL;
	wait = comes ? map_lookup(&WAITS, &comes) : NULL;
	if (task && wait && wait->since_ns) {
		struct stack_key key = {
			.unit = task->unit, .stack = wait->stack, .call = wait->call, .waits = 1,
		};
		u64 elapsed = clock_ns() - wait->since_ns;
		wait->since_ns = 0;
		add_stack_time(&key, elapsed);
	}
	return 0;
}

// A place is used again: the next thread in it has not waited.
SECTION("raw_tp/sched_process_exit") int stacks_exit(u64 *context)
{
	u32 place = place_of((u32)current_ids());
	struct wait *wait = place ? map_lookup(&WAITS, &place) : NULL;
	if (wait)
		wait->since_ns = 0;
	return 0;
}
