// Counts, sizes and times the system calls and io_uring operations of chosen threads.
//
// Attached to raw tracepoints by name, which needs no tracefs. Everything is added up here, in the
// kernel, and read once at the end. Only --list sends events besides, which may be lost on the way.

#include "list.h"

char LICENSE[] SECTION("license") = "Dual MIT/GPL";

// A child that haul started says so by a prctl with a number that only haul knows; its own id may
// be another in our pid namespace.
NOINLINE int adopt(u64 registers)
{
	u64 ids = current_ids();
	if (argument(registers, 0) != 0x6861756c || argument(registers, 1) != MARK)
		return 0;
	return new_task((u32)ids, ids >> 32, new_unit(ids, 0, current_task()));
}

SECTION("raw_tp/sys_enter") int call_begins(u64 *context)
{
	struct task *task = task_of((u32)current_ids());
	if (!task) {
		if (context[1] == MARK_CALL)
			adopt(context[0]);
		return 0;
	}
	u32 row = row_of(context[1]), shape = SHAPES[row];
	if (!WANTED(shape)) {
		task->call = IN_UNWANTED;
		return 0;
	}
	if (SIZE_ARGUMENT(shape))
		task->length = argument(context[0], LENGTH_AT(shape));
	task->call = row + 1;
	task->off_ns = 0;
	task->start_ns = clock_ns();
	return 0;
}

// Whether the thread is being killed: a tracer would not see this call return, and the program
// does not either. As under ptrace, one thread sees it where a signal other than SIGKILL does it.
INLINE int is_killed(u64 task, u64 ids)
{
	if (!(FEATURES & FEATURE_KILLED) || !(field64(task, TASK_PENDING) & 1ULL << (9 - 1)))
		return 0;
	u32 by = field32(field64(task, TASK_SIGNAL), SIGNAL_EXIT_CODE) & 0x7f;
	return !by || by == 9 || (u32)ids != ids >> 32;
}

// A filter (seccomp) that refuses a call lets it end without having begun.
INLINE u32 refused_row(u64 registers)
{
	u32 number = 0;
	read_kernel(&number, sizeof(number), (void *)(registers + CALL_NUMBER));
	return row_of(number);
}

SECTION("raw_tp/sys_exit") int call_ends(u64 *context)
{
	u64 ids = current_ids(), elapsed = 0;
	struct task *task = task_of((u32)ids);
	if (!task)
		return 0;
	u32 call = task->call, row;
	task->call = IN_NONE;
	if (call >= IN_UNWANTED)
		return 0;
	if (call != IN_NONE) {
		elapsed = clock_ns() - task->start_ns;
		row = call - 1;
	} else {
		row = refused_row(context[0]);
	}
	if (row >= CALL_ROWS)
		return 0;
	s64 value = context[1], bytes = -1;
	u32 shape = SHAPES[row], unit = task->unit;
	if (!WANTED(shape))
		return 0;
	int failed = value < 0 && value >= -4095 && !NEVER_FAILS(shape);
	int interrupted = failed && (value == -4 || value <= -512);
	struct tally *tally = own_tally(task, row);
	if (interrupted && is_killed(current_task(), ids)) {
		if (tally)
			tally->words[UNFINISHED]++;
		return 0;
	}
	if (!failed && SIZE_RETURNED(shape))
		bytes = value;
	if (!failed && SIZE_ARGUMENT(shape))
		bytes = task->length;
	if (tally) {
		tally->words[COUNT]++;
		tally->words[TOTAL_NS] += elapsed;
		tally->words[CPU_NS] += cpu_of(task, elapsed);
		if (elapsed > tally->words[LONGEST_NS])
			tally->words[LONGEST_NS] = elapsed;
		if (call != IN_NONE)
			tally->words[latency_word(elapsed)]++;
		if (bytes >= 0) {
			tally->words[BYTES] += bytes;
			tally->words[size_word(bytes)]++;
		}
	} else {
		tally = shared_tally(row);
		if (tally) {
			__sync_fetch_and_add(&tally->words[COUNT], 1);
			__sync_fetch_and_add(&tally->words[CPU_NS], cpu_of(task, elapsed));
		}
		add_shared(tally, elapsed, bytes);
		unit = 0;
	}
	if (failed)
		add_error(unit, row, -value);
	return 0;
}

// With --files, these two run besides: after call_begins, and before call_ends. As programs of
// their own they cost nothing without, and the verifier has two small ones instead of a large one.
SECTION("raw_tp/sys_enter") int files_begin(u64 *context)
{
	struct task *task = task_of((u32)current_ids());
	if (!task || task->call == IN_NONE || task->call >= IN_UNWANTED)
		return 0;
	u32 shape = SHAPES[row_of(context[1])];
	u64 first = 0, second = 0;
	if (FD_AT(shape))
		first = path_of_fd(argument(context[0], FD_AT(shape) - 1));
	if (SECOND_FD_AT(shape))
		second = path_of_fd(argument(context[0], SECOND_FD_AT(shape) - 1));
	task->path = PATH_AT(shape) ? argument(context[0], PATH_AT(shape) - 1) : 0;
	task->directory = DIRECTORY_AT(shape) ? (s32)argument(context[0], DIRECTORY_AT(shape) - 1) : -1;
	task->file = first ? file_at(first) : 0;
	task->second_file = second ? file_at(second) : 0;
	return 0;
}

SECTION("raw_tp/sys_exit") int files_end(u64 *context)
{
	u64 ids = current_ids();
	struct task *task = task_of((u32)ids);
	if (!task || task->call == IN_NONE || task->call >= IN_UNWANTED)
		return 0;
	u32 row = row_of(task->call - 1), shape = SHAPES[row];
	s64 value = context[1], bytes = NO_SIZE;
	u64 elapsed = clock_ns() - task->start_ns;
	int failed = value < 0 && value >= -4095 && !NEVER_FAILS(shape);
	if (failed && is_killed(current_task(), ids))
		return 0;
	if (failed)
		bytes = FAILED;
	else if (SIZE_RETURNED(shape))
		bytes = value;
	else if (SIZE_ARGUMENT(shape))
		bytes = task->length;
	if (PATH_AT(shape))
		task->file = file_of_result(task, shape, value);
	if (task->file)
		add_to_file(task->file, row, elapsed, bytes);
	if (task->second_file)
		add_to_file(task->second_file, row, elapsed, bytes);
	return 0;
}

// A thread that leaves its processor in a call takes no processor time until it comes back.
SECTION("raw_tp/sched_switch") int switches(u64 *context)
{
	struct task *task = task_of(field32(context[1], TASK_PID));
	if (task)
		task->off_since = clock_ns();
	task = task_of(field32(context[2], TASK_PID));
	if (task && task->off_since) {
		task->off_ns += clock_ns() - task->off_since;
		task->off_since = 0;
	}
	return 0;
}

SECTION("raw_tp/sched_process_fork") int forks(u64 *context)
{
	struct task *parent = task_of((u32)current_ids());
	if (!parent)
		return 0;
	u64 child = context[1];
	u32 tid = field32(child, TASK_PID), tgid = field32(child, TASK_TGID);
	new_task(tid, tgid, new_unit((u64)tgid << 32 | tid, parent->unit, 0));
	return 0;
}

SECTION("raw_tp/sched_process_exec") int executes(u64 *context)
{
	u64 ids = current_ids();
	u32 tid = (u32)ids, former = (u32)context[1];
	struct task *task = task_of(former);
	if (!task)
		return 0;
	if (former != tid) {
		// A thread that was not the first takes over the first one's id with the process.
		set_place(tid, place_of(former));
		set_place(former, 0);
	}
	end_unit(task->unit, current_task());
	u32 unit = new_unit(ids, task->unit, current_task());
	task->unit = unit;
	__builtin_memset(task->recent_rows, 0, sizeof(task->recent_rows));
	map_update(&GROUPS, &tid, &unit, UPDATE_ANY);
	return 0;
}

SECTION("raw_tp/sched_process_exit") int exits(u64 *context)
{
	u64 ids = current_ids(), task = current_task();
	u32 tid = (u32)ids, tgid = ids >> 32;
	struct task *known = task_of(tid);
	if (!known)
		return 0;
	if (known->call != IN_NONE && known->call < IN_UNWANTED) {
		u32 row = known->call - 1;
		struct tally *tally = tally_of(known->unit, row < CALL_ROWS ? row : 0);
		if (tally)
			tally->words[UNFINISHED]++;
	}
	end_unit(known->unit, task);
	u32 place = place_of(tid);
	set_place(tid, 0);
	map_push(&FREE_PLACES, &place, 0);
	count_down(LIVE);
	if ((FEATURES & FEATURE_KILLED) && !field32(field64(task, TASK_SIGNAL), SIGNAL_LIVE))
		map_delete(&GROUPS, &tgid);
	return 0;
}

#include "ring.h"
#include "stacks.h"
