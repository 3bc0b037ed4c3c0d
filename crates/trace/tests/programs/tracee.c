// Cases for a tracer, each selected by its name on the command line; deterministic in its
// calls, so that any two tracers must agree on the counts.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	_exit(99);
}

// Calls straight into the kernel, so that no library decides how many there are.
static void work(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
}

static int done;

static int thread(void *argument)
{
	work(3);
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, argument != NULL);
	return 0;
}

// Raw clones: joining by futex would take an unpredictable number of calls.
static int threads(int many)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	char *stacks = mmap(NULL, (size_t)many * 16384, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < many; i++)
		if (clone(thread, stacks + (size_t)(i + 1) * 16384, flags, NULL) < 0)
			die("clone");
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < many)
		;
	// They must be through their exit before exit_group kills them within it.
	for (volatile long i = 0; i < 300000000L; i++)
		;
	return 0;
}

static void *exec_from_thread(void *argument)
{
	char *arguments[] = { argument, "calls", "5", NULL };
	// The first thread must be in its pause, or its calls before that are counted or not.
	usleep(200000);
	execv(argument, arguments);
	die("execv");
	return NULL;
}

static int caught;

static void handler(int number)
{
	caught += number != 0;
}

static int signals(int many)
{
	struct sigaction action = { .sa_handler = handler };
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < many; i++)
		kill(getpid(), SIGUSR1);
	return caught == many ? 0 : 98;
}

struct ring {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static struct ring ring_new(unsigned flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 1000 };
	struct ring r = { .fd = (int)syscall(SYS_io_uring_setup, 64, &p) };
	if (r.fd < 0)
		exit(77);
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
			r.fd, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
			PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, IORING_OFF_CQ_RING);
	r.sqes = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		      MAP_SHARED, r.fd, IORING_OFF_SQES);
	r.sq_tail = (unsigned *)(sq + p.sq_off.tail);
	r.sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	r.sq_array = (unsigned *)(sq + p.sq_off.array);
	r.sq_flags = (unsigned *)(sq + p.sq_off.flags);
	r.cq_head = (unsigned *)(cq + p.cq_off.head);
	r.cq_tail = (unsigned *)(cq + p.cq_off.tail);
	r.cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	r.cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return r;
}

static int ring_one(struct ring *r, unsigned flags, struct io_uring_sqe sqe)
{
	unsigned tail = *r->sq_tail, index = tail & *r->sq_mask;
	r->sqes[index] = sqe;
	r->sq_array[index] = index;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (!(flags & IORING_SETUP_SQPOLL))
		syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	else if (__atomic_load_n(r->sq_flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == *r->cq_head)
		;
	int result = r->cqes[*r->cq_head & *r->cq_mask].res;
	__atomic_store_n(r->cq_head, *r->cq_head + 1, __ATOMIC_RELEASE);
	return result;
}

static int ring(unsigned flags, int many)
{
	static char buffer[8192];
	int fd = memfd_create("tracee", 0);
	struct ring r = ring_new(flags);
	for (int i = 0; i < many; i++) {
		struct io_uring_sqe nop = { .opcode = IORING_OP_NOP };
		struct io_uring_sqe write = { .opcode = IORING_OP_WRITE, .fd = fd, .off = i * 4096,
					      .addr = (uintptr_t)buffer, .len = 4096 };
		struct io_uring_sqe read = { .opcode = IORING_OP_READ, .fd = fd, .off = 0,
					     .addr = (uintptr_t)buffer, .len = 4096 };
		struct io_uring_sqe punted = { .opcode = IORING_OP_READ, .fd = fd, .off = 0,
					       .addr = (uintptr_t)buffer, .len = 512,
					       .flags = IOSQE_ASYNC };
		struct io_uring_sqe bad = { .opcode = IORING_OP_READ, .fd = 1000, .off = 0,
					    .addr = (uintptr_t)buffer, .len = 512 };
		ring_one(&r, flags, nop);
		if (ring_one(&r, flags, write) != 4096 || ring_one(&r, flags, read) != 4096)
			return 98;
		ring_one(&r, flags, punted);
		if (ring_one(&r, flags, bad) != -EBADF)
			return 98;
	}
	return 0;
}

int main(int count, char **arguments)
{
	const char *way = count > 1 ? arguments[1] : "";
	int many = count > 2 ? atoi(arguments[2]) : 1;
	if (!strcmp(way, "calls")) {
		work(many);
	} else if (!strcmp(way, "threads")) {
		return threads(many);
	} else if (!strcmp(way, "exec")) {
		pthread_t other;
		pthread_create(&other, NULL, exec_from_thread, arguments[0]);
		for (;;)
			pause();
	} else if (!strcmp(way, "vfork")) {
		for (int i = 0; i < many; i++) {
			pid_t child = vfork();
			if (!child) {
				char *child_arguments[] = { arguments[0], "calls", "7", NULL };
				execv(arguments[0], child_arguments);
				_exit(99);
			}
			waitpid(child, NULL, 0);
		}
	} else if (!strcmp(way, "fork")) {
		for (int i = 0; i < many; i++) {
			pid_t child = fork();
			if (!child) {
				work(11);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
	} else if (!strcmp(way, "signals")) {
		return signals(many);
	} else if (!strcmp(way, "killed")) {
		kill(getpid(), SIGTERM);
		for (;;)
			pause();
	} else if (!strcmp(way, "paused")) {
		pid_t child = fork();
		if (!child)
			for (;;)
				pause();
		usleep(200000);
		kill(child, many);
		waitpid(child, NULL, 0);
	} else if (!strcmp(way, "sizes")) {
		static char buffer[1 << 20];
		int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
		for (int i = 0; i <= 20; i++) {
			if (read(zero, buffer, 1u << i) != 1 << i || write(null, buffer, 1u << i) < 0)
				return 98;
		}
		read(null, buffer, 1);
		open("/nonexistent/name", O_RDONLY);
	} else if (!strcmp(way, "ring")) {
		return ring(0, many);
	} else if (!strcmp(way, "sqpoll")) {
		return ring(IORING_SETUP_SQPOLL, many);
	} else if (!strcmp(way, "daemon")) {
		if (!fork()) {
			setsid();
			usleep(300000);
			work(13);
			_exit(0);
		}
	} else if (!strcmp(way, "sleep")) {
		usleep(many * 1000);
		work(17);
	} else if (!strcmp(way, "told")) {
		char byte;
		syscall(SYS_read, 0, &byte, 1);
		work(17);
	} else if (!strcmp(way, "load")) {
		for (int i = 0; i < 4; i++)
			if (!fork()) {
				work(many);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
	} else {
		return 97;
	}
	return 0;
}
