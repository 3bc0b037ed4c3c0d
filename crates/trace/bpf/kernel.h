// What the program needs of the kernel's interface, so that clang alone suffices to compile it.
//
// Helper numbers are from enum bpf_func_id, map types from enum bpf_map_type, both of
// include/uapi/linux/bpf.h and never renumbered. No kernel structure is described here: where a
// field lies is asked of the running kernel's BTF by src/ebpf/offsets.rs and arrives in OFFSETS.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline)) inline
#define NOINLINE static __attribute__((noinline))
#define NULL ((void *)0)

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_STACK_TRACE = 7, MAP_QUEUE = 22 };
enum { NO_PREALLOC = 1 };
enum { UPDATE_ANY = 0, UPDATE_NOEXIST = 1 };

// The layout that loaders of objects without BTF expect in the section "maps".
struct map {
	u32 type, key_bytes, value_bytes, max_entries, flags, id, pinning;
};

#define MAP(name, kind, key, value, entries, extra) \
	SECTION("maps") struct map name = { \
		.type = kind, .key_bytes = key, .value_bytes = value, \
		.max_entries = entries, .flags = extra }

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static long (*map_pop)(void *map, void *value) = (void *)88;
static u64 (*clock_ns)(void) = (void *)5;
static u64 (*current_ids)(void) = (void *)14;
static long (*current_name)(void *buffer, u32 bytes) = (void *)16;
static long (*stack_id)(void *context, void *map, u64 flags) = (void *)27;
static u64 (*current_task)(void) = (void *)35;
static long (*map_push)(void *map, const void *value, u64 flags) = (void *)87;
static long (*read_kernel)(void *target, u32 bytes, const void *source) = (void *)113;
static long (*read_user_text)(void *target, u32 bytes, const void *source) = (void *)114;
static long (*read_kernel_text)(void *target, u32 bytes, const void *source) = (void *)115;

// The order of src/ebpf/offsets.rs; a test compares the two lists.
enum offset {
	TASK_PID,
	TASK_TGID,
	TASK_MINOR_FAULTS,
	TASK_MAJOR_FAULTS,
	TASK_RUNTIME,
	TASK_PENDING,
	TASK_SIGNAL,
	SIGNAL_LIVE,
	SIGNAL_EXIT_CODE,
	REQUEST_OPCODE,
	TASK_FILES,
	TASK_FS,
	FILES_TABLE,
	TABLE_LENGTH,
	TABLE_FILES,
	FILE_PATH,
	FS_DIRECTORY,
	PATH_MOUNT,
	PATH_DENTRY,
	DENTRY_NAME,
	DENTRY_PARENT,
	DENTRY_INODE,
	INODE_NUMBER,
	INODE_MODE,
	INODE_SUPER,
	SUPER_DEVICE,
	MOUNT_ROOT,
	MOUNT_SELF,
	MOUNT_PARENT,
	MOUNT_POINT,
	OFFSET_COUNT,
};

// Filled in by the loader before the program is verified, so that branches on them cost nothing.
const volatile u32 OFFSETS[OFFSET_COUNT] = { 0 };
const volatile u32 FEATURES = 0;
const volatile u32 MARK_CALL = 0;
const volatile u64 MARK = 0;
const volatile u32 ARGUMENTS[8] = { 0 };
const volatile u32 CALL_NUMBER = 0;

enum feature {
	FEATURE_FILES = 1,
	FEATURE_USAGE = 2,
	FEATURE_KILLED = 4,
	FEATURE_CQE_POINTER = 8,
	FEATURE_OPCODE = 16,
};

INLINE u64 field64(u64 structure, enum offset which)
{
	u64 value = 0;
	read_kernel(&value, sizeof(value), (void *)(structure + OFFSETS[which]));
	return value;
}

INLINE u64 argument(u64 registers, u32 index)
{
	u64 value = 0;
	read_kernel(&value, sizeof(value), (void *)(registers + ARGUMENTS[index & 7]));
	return value;
}

INLINE u32 field32(u64 structure, enum offset which)
{
	u32 value = 0;
	read_kernel(&value, sizeof(value), (void *)(structure + OFFSETS[which]));
	return value;
}
