// io_uring operations, from submission to completion, by the address of the kernel's request.
//
// The submitter may be a kernel thread (SQPOLL), which belongs to the process but was never forked
// by it: such operations go to the unit of the process's first thread.

#pragma once

#include "shape.h"
#include "task.h"

struct operation {
	u64 start_ns;
	u32 unit, row;
};

MAP(OPERATIONS, MAP_HASH, 8, sizeof(struct operation), 65536, NO_PREALLOC);

INLINE u32 operation_row(u64 request)
{
	u32 opcode = field32(request, REQUEST_OPCODE) & 0xff;
	return CALL_ROWS + (opcode < RING_ROWS ? opcode : RING_ROWS - 1);
}

NOINLINE u32 submitter(void)
{
	u64 ids = current_ids();
	u32 tgid = ids >> 32;
	struct task *task = task_of((u32)ids);
	if (task)
		return task->unit;
	u32 *unit = map_lookup(&GROUPS, &tgid);
	return unit ? *unit : 0xffffffff;
}

NOINLINE struct tally *operation_tally(u32 unit, u32 row)
{
	struct tally *tally = tally_of(unit, row);
	return tally ? tally : shared_tally(row);
}

SECTION("raw_tp/io_uring_submit_req") int submits(u64 *context)
{
	u64 request = context[0];
	u32 unit = submitter();
	if (unit == 0xffffffff)
		return 0;
	struct operation operation = {
		.start_ns = clock_ns(), .unit = unit, .row = operation_row(request) };
	if (!WANTED(SHAPES[operation.row]))
		return 0;
	struct tally *tally = operation_tally(unit, operation.row);
	if (tally)
		__sync_fetch_and_add(&tally->words[COUNT], 1);
	if (map_update(&OPERATIONS, &request, &operation, UPDATE_ANY))
		count_up(LOST_RINGS);
	return 0;
}

// A request that the kernel refused to begin with completes without having been submitted.
NOINLINE int refused(u64 request, s32 result)
{
	u32 unit = submitter(), row = operation_row(request);
	if (unit == 0xffffffff || result >= 0 || row >= ROWS || !WANTED(SHAPES[row]))
		return 0;
	struct tally *tally = operation_tally(unit, row);
	if (tally)
		__sync_fetch_and_add(&tally->words[COUNT], 1);
	return add_error(unit, row, -result);
}

SECTION("raw_tp/io_uring_complete") int completes(u64 *context)
{
	u64 request = context[1];
	s32 result = 0;
	// A newer kernel has no fourth argument, and refuses a program that looks at one.
	if (FEATURES & FEATURE_CQE_POINTER)
		read_kernel(&result, sizeof(result), (void *)(context[2] + 8));
	else
		result = (s32)context[3];
	if (!request) {
		// A multishot operation posts results before its last one, and does not say whose.
		if (submitter() != 0xffffffff)
			count_up(EXTRA_COMPLETIONS);
		return 0;
	}
	struct operation *operation = map_lookup(&OPERATIONS, &request);
	if (!operation)
		return refused(request, result);
	u32 unit = operation->unit, row = operation->row;
	u64 elapsed = clock_ns() - operation->start_ns;
	map_delete(&OPERATIONS, &request);
	if (row >= ROWS)
		return 0;
	add_shared(operation_tally(unit, row), elapsed,
		   result >= 0 && SIZE_RETURNED(SHAPES[row]) ? result : -1);
	if (result < 0)
		add_error(unit, row, -result);
	return 0;
}

SECTION("raw_tp/io_uring_queue_async_work") int is_punted(u64 *context)
{
	u64 request = context[0];
	struct operation *operation = map_lookup(&OPERATIONS, &request);
	if (!operation)
		return 0;
	struct tally *tally = operation_tally(operation->unit, operation->row);
	if (tally)
		__sync_fetch_and_add(&tally->words[PUNTED], 1);
	return 0;
}
