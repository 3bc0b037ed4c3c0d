// What a file descriptor refers to, by following the kernel's own table of the calling process.
//
// No bookkeeping of opens and dups can know what was inherited, or received over a socket; the
// table does. A file is known by its dentry, inode and device, and its path is read once, when it
// is first seen. Calls that name a path are known by that string and the directory it starts at.

#pragma once

#include "shape.h"
#include "task.h"

#define TEXT_BYTES 512
#define COMPONENT_BYTES 256
#define MOST_COMPONENTS 32

enum { TEXT_TRUNCATED = 1, TEXT_ARGUMENT = 2 };

// In place of a size: the call has none, or it failed.
enum { NO_SIZE = -1, FAILED = -2 };

struct file_key {
	u64 dentry, inode, device;
};

struct path_key {
	u32 directory;
	char text[COMPONENT_BYTES - 4];
};

struct name {
	u64 device, inode;
	u32 mode, flags, directory, bytes;
	// Components from the last to the first, each with its NUL; or the argument as it was given.
	char text[TEXT_BYTES + COMPONENT_BYTES];
};

struct file_tally {
	u64 count, errors, total_ns, bytes;
	u32 sizes[SIZE_BUCKETS];
};

MAP(FILES, MAP_HASH, sizeof(struct file_key), 4, 65536, NO_PREALLOC);
MAP(PATHS, MAP_HASH, sizeof(struct path_key), 4, 65536, NO_PREALLOC);
MAP(NAMES, MAP_HASH, 4, sizeof(struct name), 65536, NO_PREALLOC);
MAP(FILE_TALLIES, MAP_HASH, 8, sizeof(struct file_tally), 262144, NO_PREALLOC);
MAP(NAME_SCRATCH, MAP_PERCPU_ARRAY, 4, sizeof(struct name), 1, 0);
MAP(PATH_SCRATCH, MAP_PERCPU_ARRAY, 4, sizeof(struct path_key), 1, 0);
MAP(NO_FILE_TALLY, MAP_ARRAY, 4, sizeof(struct file_tally), 1, 0);

// Gives a file its number and stores its name; 0 where a table is full.
INLINE u32 store_name(void *map, const void *key, struct name *name)
{
	u32 id = (u32)count_up(LAST_FILE) + 1;
	if (map_update(&NAMES, &id, name, UPDATE_ANY) || map_update(map, key, &id, UPDATE_ANY)) {
		count_up(LOST_FILES);
		return 0;
	}
	return id;
}

// The verifier walks every way through this loop, and would tell the ends of the text apart in each.
// It knows nothing of a map's contents, so the end is kept in the map and loaded anew each time:
// then all ways look alike, and loading takes milliseconds instead of seconds.
NOINLINE int read_path(struct name *name, u64 mount, u64 dentry)
{
	volatile u32 *end = &name->bytes;
	*end = 0;
	for (u32 i = 0; i < MOST_COMPONENTS; i++) {
		if (dentry == field64(mount, MOUNT_ROOT)) {
			// A file system's root goes by the name of the directory that it is mounted on.
			u64 outer = mount - OFFSETS[MOUNT_SELF];
			u64 parent = field64(outer, MOUNT_PARENT);
			if (parent == outer || !parent)
				return 0;
			dentry = field64(outer, MOUNT_POINT);
			mount = parent + OFFSETS[MOUNT_SELF];
			continue;
		}
		u32 start = *end;
		if (start >= TEXT_BYTES)
			break;
		u64 parent = field64(dentry, DENTRY_PARENT);
		void *text = (void *)field64(dentry, DENTRY_NAME);
		long bytes = read_kernel_text(&name->text[start], COMPONENT_BYTES, text);
		if (bytes > 0)
			*end = start + (u32)bytes;
		if (parent == dentry || !parent)
			return 0;
		dentry = parent;
	}
	name->flags |= TEXT_TRUNCATED;
	return 0;
}

NOINLINE u32 file_at(u64 path)
{
	u32 zero = 0;
	u64 mount = field64(path, PATH_MOUNT), dentry = field64(path, PATH_DENTRY);
	u64 inode = field64(dentry, DENTRY_INODE);
	struct file_key key = {
		.dentry = dentry,
		.inode = field64(inode, INODE_NUMBER),
		.device = field32(field64(inode, INODE_SUPER), SUPER_DEVICE),
	};
	if (!dentry || !inode)
		return 0;
	u32 *known = map_lookup(&FILES, &key);
	if (known)
		return *known;
	struct name *name = map_lookup(&NAME_SCRATCH, &zero);
	if (!name)
		return 0;
	name->device = key.device;
	name->inode = key.inode;
	name->mode = field32(inode, INODE_MODE) & 0xffff;
	name->flags = 0;
	name->directory = 0;
	read_path(name, mount, dentry);
	return store_name(&FILES, &key, name);
}

// Returns where the kernel has the path of an open file; 0 where there is none.
INLINE u64 path_of_fd(u32 fd)
{
	u64 table = field64(field64(current_task(), TASK_FILES), FILES_TABLE);
	u64 file = 0;
	if (fd >= field32(table, TABLE_LENGTH))
		return 0;
	u64 files = field64(table, TABLE_FILES);
	read_kernel(&file, sizeof(file), (void *)(files + (u64)fd * 8));
	return file ? file + OFFSETS[FILE_PATH] : 0;
}

// The path that an argument names, which begins at `directory`: known by both.
NOINLINE u32 file_of_argument(struct path_key *key, u32 directory, u32 bytes)
{
	u32 zero = 0;
	struct name *name = map_lookup(&NAME_SCRATCH, &zero);
	if (!name || !key)
		return 0;
	key->directory = directory;
	u32 *known = map_lookup(&PATHS, key);
	if (known)
		return *known;
	name->device = 0;
	name->inode = 0;
	name->mode = 0;
	name->directory = directory;
	name->bytes = bytes;
	name->flags = TEXT_ARGUMENT | (bytes >= sizeof(key->text) ? TEXT_TRUNCATED : 0);
	__builtin_memcpy(name->text, key->text, sizeof(key->text));
	return store_name(&PATHS, key, name);
}

// The file that a call is about where that is known only when it returns: one that it opened, or
// one that it named. By then the kernel has paged the argument in.
INLINE u32 file_of_result(struct task *task, u32 shape, s64 value)
{
	u32 zero = 0;
	long bytes = 0;
	struct path_key *key = map_lookup(&PATH_SCRATCH, &zero);
	if (!key)
		return 0;
	int opened = RETURNS_FD(shape) && value >= 0;
	u64 path = 0;
	if (opened) {
		path = path_of_fd((u32)value);
	} else {
		__builtin_memset(key, 0, sizeof(*key));
		bytes = read_user_text(key->text, sizeof(key->text), (void *)task->path);
		if (bytes > 1 && key->text[0] == '/')
			path = 0;
		else if (task->directory >= 0)
			path = path_of_fd(task->directory);
		else if (bytes > 1)
			path = field64(current_task(), TASK_FS) + OFFSETS[FS_DIRECTORY];
	}
	u32 base = path ? file_at(path) : 0;
	return opened || bytes <= 1 ? base : file_of_argument(key, base, (u32)bytes);
}

NOINLINE int add_to_file(u32 file, u32 row, u64 elapsed, s64 bytes)
{
	u64 key = (u64)file << 32 | (row & 0xffff);
	struct file_tally *tally = map_lookup(&FILE_TALLIES, &key);
	if (!tally) {
		u32 zero = 0;
		void *empty = map_lookup(&NO_FILE_TALLY, &zero);
		if (empty)
			map_update(&FILE_TALLIES, &key, empty, UPDATE_NOEXIST);
		tally = map_lookup(&FILE_TALLIES, &key);
		if (!tally) {
			count_up(LOST_FILE_ROWS);
			return 0;
		}
	}
	__sync_fetch_and_add(&tally->count, 1);
	__sync_fetch_and_add(&tally->total_ns, elapsed);
	if (bytes == FAILED)
		__sync_fetch_and_add(&tally->errors, 1);
	if (bytes >= 0) {
		u32 bucket = size_word(bytes) - SIZES;
		__sync_fetch_and_add(&tally->bytes, bytes);
		if (bucket < SIZE_BUCKETS)
			__sync_fetch_and_add(&tally->sizes[bucket], 1);
	}
	return 0;
}
