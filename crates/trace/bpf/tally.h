// Where the figures are kept: one tally for each (unit, row), one unit for each thread and program
// that it executed.
//
// A thread has its tallies to itself, so plain additions are exact on any number of CPUs and cost
// a fifth of atomic ones. Only io_uring completions, which other threads may post, and the shared
// tallies of unit 0, which take what the tables have no room for, are added to atomically.

#pragma once

#include "kernel.h"

// Rows: system calls by number, then io_uring operations by opcode. src/ebpf/decode.rs has the
// same figures, and a test compares them.
#define CALL_ROWS 512
#define RING_ROWS 128
#define ROWS (CALL_ROWS + RING_ROWS)
#define LATENCY_BUCKETS 38
#define SIZE_BUCKETS 34

enum tally_word {
	COUNT,
	UNFINISHED,
	TOTAL_NS,
	LONGEST_NS,
	BYTES,
	PUNTED,
	CPU_NS,
	SPARE,
	LATENCIES,
	SIZES = LATENCIES + LATENCY_BUCKETS,
	TALLY_WORDS = SIZES + SIZE_BUCKETS,
};

enum unit_word {
	IDS,
	PARENT,
	START_NS,
	END_NS,
	MINOR_BEFORE,
	MAJOR_BEFORE,
	CPU_BEFORE,
	MINOR_AFTER,
	MAJOR_AFTER,
	CPU_AFTER,
	NAME,
	NAME_REST,
	USED,
	UNIT_WORDS = USED + ROWS / 64,
};

enum counter {
	LAST_UNIT,
	LIVE,
	LAST_FILE,
	LOST_THREADS,
	LOST_UNITS,
	SHARED_CALLS,
	LOST_ERRORS,
	LOST_FILES,
	LOST_FILE_ROWS,
	EXTRA_COMPLETIONS,
	LOST_RINGS,
	LAST_PLACE,
	LAST_CELL,
	LOST_EVENTS,
	LOST_STACKS,
	COUNTERS_LENGTH,
};

struct tally {
	u64 words[TALLY_WORDS];
};

struct unit {
	u64 words[UNIT_WORDS];
};

// 10 MiB: a shell script's process takes about 40, a thread of a pool about 10; those of ended
// threads are given back while the command runs, once a quarter has been used.
#define CELLS_LENGTH 16384

MAP(CELLS, MAP_ARRAY, 4, sizeof(struct tally), CELLS_LENGTH, 0);
MAP(FREE_CELLS, MAP_QUEUE, 0, 4, CELLS_LENGTH, 0);
MAP(CELL_OF, MAP_HASH, 8, 4, CELLS_LENGTH, NO_PREALLOC);
MAP(UNITS, MAP_HASH, 4, sizeof(struct unit), 65536, NO_PREALLOC);
MAP(SHARED, MAP_ARRAY, 4, sizeof(struct tally), ROWS, 0);
MAP(ERRORS, MAP_HASH, 8, 8, 65536, NO_PREALLOC);
MAP(COUNTERS, MAP_ARRAY, 4, 8, COUNTERS_LENGTH, 0);
MAP(ENDED, MAP_QUEUE, 0, 4, 65536, 0);

INLINE u64 count_up(u32 which)
{
	u64 *counter = map_lookup(&COUNTERS, &which);
	return counter ? __sync_fetch_and_add(counter, 1) : 0;
}

INLINE void count_down(u32 which)
{
	u64 *counter = map_lookup(&COUNTERS, &which);
	if (counter)
		__sync_fetch_and_add(counter, (u64)-1);
}

// Powers of two below 256: most latencies of short calls need one comparison and one load.
#define TIMES_4(n) n, n, n, n
#define TIMES_16(n) TIMES_4(n), TIMES_4(n), TIMES_4(n), TIMES_4(n)
#define TIMES_64(n) TIMES_16(n), TIMES_16(n), TIMES_16(n), TIMES_16(n)
const volatile u8 LOG2[256] = {
	0, 0, 1, 1, TIMES_4(2), TIMES_4(3), TIMES_4(3), TIMES_16(4), TIMES_16(5), TIMES_16(5),
	TIMES_64(6), TIMES_64(7), TIMES_64(7),
};

INLINE u32 log2_floor(u64 value)
{
	u32 power = 0;
	if (value >= 1ULL << 16) {
		power = 16;
		value >>= 16;
		if (value >= 1ULL << 16) {
			power = 32;
			value >>= 16;
			if (value >= 1ULL << 16) {
				power = 48;
				value >>= 16;
			}
		}
	}
	if (value >= 1 << 8) {
		power += 8;
		value >>= 8;
	}
	return power + LOG2[value & 0xff];
}

INLINE u32 latency_word(u64 elapsed)
{
	u32 bucket = log2_floor(elapsed);
	return LATENCIES + (bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1);
}

// Bucket 0 is for nothing at all, which a read at the end of a file returns.
INLINE u32 size_word(u64 bytes)
{
	u32 bucket = bytes ? log2_floor(bytes) + 1 : 0;
	return SIZES + (bucket < SIZE_BUCKETS ? bucket : SIZE_BUCKETS - 1);
}

// Returns the number of a tally's cell, which is made if need be; 0 where there is no room.
NOINLINE u32 cell_of(u32 unit, u32 row)
{
	u64 key = (u64)unit << 32 | row;
	u32 *known = map_lookup(&CELL_OF, &key), cell = 0;
	if (known)
		return *known;
	struct unit *owner = map_lookup(&UNITS, &unit);
	if (!owner || row >= ROWS)
		return 0;
	if (map_pop(&FREE_CELLS, &cell)) {
		cell = (u32)count_up(LAST_CELL) + 1;
		if (cell >= CELLS_LENGTH)
			return 0;
	}
	if (map_update(&CELL_OF, &key, &cell, UPDATE_NOEXIST)) {
		// Another thread was faster, as can happen with io_uring rows; or there is no memory.
		map_push(&FREE_CELLS, &cell, 0);
		known = map_lookup(&CELL_OF, &key);
		return known ? *known : 0;
	}
	__sync_fetch_and_or(&owner->words[USED + (row >> 6)], 1ULL << (row & 63));
	return cell;
}

INLINE struct tally *tally_of(u32 unit, u32 row)
{
	u32 cell = cell_of(unit, row);
	return cell ? map_lookup(&CELLS, &cell) : NULL;
}

INLINE struct tally *shared_tally(u32 row)
{
	count_up(SHARED_CALLS);
	return map_lookup(&SHARED, &row);
}

NOINLINE int add_shared(struct tally *tally, u64 elapsed, s64 bytes)
{
	if (!tally)
		return 0;
	__sync_fetch_and_add(&tally->words[TOTAL_NS], elapsed);
	if (elapsed > tally->words[LONGEST_NS])
		tally->words[LONGEST_NS] = elapsed;
	__sync_fetch_and_add(&tally->words[latency_word(elapsed)], 1);
	if (bytes >= 0) {
		__sync_fetch_and_add(&tally->words[BYTES], bytes);
		__sync_fetch_and_add(&tally->words[size_word(bytes)], 1);
	}
	return 0;
}

NOINLINE int add_error(u32 unit, u32 row, u32 errno)
{
	u64 key = (u64)unit << 32 | row << 16 | (errno & 0xffff), one = 1;
	u64 *count = map_lookup(&ERRORS, &key);
	if (!count) {
		if (!map_update(&ERRORS, &key, &one, UPDATE_NOEXIST))
			return 0;
		count = map_lookup(&ERRORS, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		count_up(LOST_ERRORS);
	return 0;
}
