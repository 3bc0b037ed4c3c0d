"""Calls every function of the module haul in a folder of its own."""

import concurrent.futures
import errno
import faulthandler
import os
import pathlib
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

import haul

# Seconds for a child: far more than it needs, and less than the 45 after which the kernel ends a lease.
LIMIT = 30

# Holds a lease on a file, so that a process that opens the file waits. When one waits, interrupts the process that
# has started this one, and keeps the lease until its standard input ends.
HOLDER = """
import fcntl, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
file = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as error:
    print(error, flush=True)
    sys.exit()
print("held", flush=True)
signal.sigwait([signal.SIGIO])
os.kill(os.getppid(), signal.SIGINT)
sys.stdin.read()
lease = ["LEASE", "BREAKING"]
with open("/proc/locks") as locks:
    locks = [line.split() for line in locks]
print("still held" if any(line[1:3] == lease and str(os.getpid()) in line for line in locks) else locks)
"""

# Ends while a thread that the interpreter does not wait for is in a call, and tells how many calls work then.
# The functions of atexit are called in reverse order: "tell" after that of haul. The signal is blocked, so that it
# waits for sigwait(): lock.acquire() sleeps on if a signal has come between the last look at signals and the system
# call.
ENDING = """
import atexit, signal, subprocess, sys, threading

def tell():
    print(sum(call.is_working() for call in haul._running), flush=True)

atexit.register(tell)
import haul
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
holder = subprocess.Popen([sys.executable, "-c", sys.argv[1], "a/file"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, universal_newlines=True)
answer = holder.stdout.readline()
if answer != "held\\n":
    sys.exit(answer)
threading.Thread(target=haul.copytree, args=("a", "b"), daemon=True).start()
signal.sigwait([signal.SIGINT])
"""

# Calls haul in daemon threads, which a thread waits for when the main thread has ended. The event is set at the end of the
# main thread, after the functions that later imports register there. main_thread().join() may end in an assertion of
# threading._shutdown() before Python 3.13.
POOL = """
import threading
is_made, has_ended = threading.Event(), threading.Event()
threading._register_atexit(has_ended.set)
import multiprocessing.pool, haul

def work():
    # Python 3.12 starts no thread any more when the interpreter ends.
    with multiprocessing.pool.ThreadPool(2) as pool:
        is_made.set()
        has_ended.wait()
        print(pool.starmap(haul.copytree, [("a", "b"), ("a", "c")]), flush=True)

threading.Thread(target=work).start()
is_made.wait()
"""


def tasks(process):
    """Return where the kernel has the threads of a process."""
    told = []
    folder = "/proc/%d/task" % process
    for task in os.listdir(folder):
        for name in ("comm", "wchan", "syscall", "stack"):
            try:
                with open(os.path.join(folder, task, name)) as file:
                    told.append("%s %s: %s" % (task, name, file.read().strip()))
            except OSError as error:
                told.append(str(error))
    return "\n".join(told)


def run(*words):
    """Run a program in Python. One that has not ended after LIMIT is a failure that tells where its threads are."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c"] + list(words), stdout=output,
                                 stderr=errors)
        descriptor = os.pidfd_open(child.pid)
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        where = None
        if not end.poll(LIMIT * 1000):
            where = tasks(child.pid)
            # faulthandler prints the stack of each thread.
            child.send_signal(signal.SIGABRT)
            if not end.poll(LIMIT * 1000):
                child.kill()
        os.close(descriptor)
        child.wait()
        output.seek(0)
        errors.seek(0)
        done = subprocess.CompletedProcess(words, child.returncode, output.read(), errors.read())
    if where is not None:
        raise AssertionError("no end after %d s:\n%s\n%s\n%s" % (LIMIT, where, done.stdout, done.stderr))
    return done


def put(path, text="content"):
    with open(path, "w") as file:
        file.write(text)


def holds(path):
    with open(path) as file:
        return file.read()


class Tests(unittest.TestCase):
    def setUp(self):
        # A test that hangs ends the program, which prints the stack of each thread.
        faulthandler.dump_traceback_later(4 * LIMIT, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        os.chdir(self.folder)
        os.makedirs("a/below")
        put("a/file")
        put("a/below/[x]*")
        put("a/below/other.pyc")
        os.symlink("file", "a/link")

    def test_a_tree_is_copied_as_by_shutil(self):
        for symlinks in (False, True):
            for folder, module in (("theirs", shutil), ("ours", haul)):
                os.mkdir(folder)
                patterns = haul.ignore_patterns("*.pyc", "[[]*")
                for name, entries in (("whole", None), ("some", patterns)):
                    target = os.path.join(folder, "new", name)
                    self.assertEqual(module.copytree("a", target, symlinks, entries), target)
            for name in ("whole", "some"):
                target = os.path.join("new", name)
                found = haul.compare(os.path.join("theirs", target), os.path.join("ours", target))
                self.assertEqual(found, [])
            haul.rmtree("theirs")
            haul.rmtree("ours")
        self.assertFalse(os.path.exists("ours"))

    def test_paths_are_text_bytes_or_path_like(self):
        import pathlib
        self.assertEqual(haul.copytree(b"a", b"bytes"), b"bytes")
        self.assertEqual(haul.copytree(pathlib.Path("a"), pathlib.Path("p")), pathlib.Path("p"))
        with self.assertRaises(haul.Error) as raised:
            os.symlink("none", "a/dangling")
            haul.copytree(b"a", b"again")
        self.assertEqual(raised.exception.args[0][0][:2], (b"a/dangling", b"again/dangling"))
        self.assertEqual(haul.copytree("a", "quiet", ignore_dangling_symlinks=True), "quiet")
        with self.assertRaises(ValueError):
            haul.copyfile("a\0b", "c")

    def test_exceptions_are_those_of_shutil(self):
        os.symlink("a/below", "to-below")
        for call, kind in (
            (lambda it: it.copytree("none", "b"), FileNotFoundError),
            (lambda it: it.copytree("a", "a/below"), FileExistsError),
            (lambda it: it.copytree("a/file", "b"), NotADirectoryError),
            (lambda it: it.copyfile("none", "b"), FileNotFoundError),
            (lambda it: it.copyfile("a/file", "none/b"), FileNotFoundError),
            (lambda it: it.copyfile("a", "b"), IsADirectoryError),
            (lambda it: it.copyfile("a/file", "a/below"), IsADirectoryError),
            (lambda it: it.copyfile("a/file", "a/link"), shutil.SameFileError),
            (lambda it: it.rmtree("none"), FileNotFoundError),
            (lambda it: it.rmtree("a/file"), NotADirectoryError),
            (lambda it: it.rmtree("a/link"), OSError),
            (lambda it: it.move("none", "b"), FileNotFoundError),
            (lambda it: it.move("a", "a/below"), shutil.Error),
            (lambda it: it.copyfile("a/link", "a/file", follow_symlinks=False), shutil.SameFileError),
            (lambda it: it.copyfile("a/file", ""), FileNotFoundError),
            (lambda it: it.copyfile("a/file", "to-below"), IsADirectoryError),
            (lambda it: it.move("a/file", ""), FileNotFoundError),
            (lambda it: it.move("a/file", "none/b"), FileNotFoundError),
            (lambda it: it.move("a/below", "a/file"), OSError),
        ):
            raised = []
            for module in (shutil, haul):
                with self.assertRaises(kind) as context:
                    call(module)
                raised.append(context.exception)
            theirs, ours = raised
            self.assertEqual(type(ours), type(theirs))
            self.assertEqual(getattr(ours, "errno", 0), getattr(theirs, "errno", 0))
            if isinstance(theirs, OSError) and theirs.filename is not None:
                self.assertEqual(ours.filename, theirs.filename)

    def test_one_file(self):
        os.chmod("a/file", 0o741)
        os.utime("a/file", (1000, 2000))
        for name, mode in (("copyfile", None), ("copy", 0o741), ("copy2", 0o741)):
            for module in (shutil, haul):
                self.assertEqual(getattr(module, name)("a/file", module.__name__), module.__name__)
            ours, theirs = os.stat("haul"), os.stat("shutil")
            self.assertEqual(stat.S_IMODE(ours.st_mode), stat.S_IMODE(theirs.st_mode), name)
            if name == "copy2":
                self.assertEqual(ours.st_mtime_ns, theirs.st_mtime_ns)
            os.remove("haul")
            os.remove("shutil")
        self.assertEqual(haul.copy("a/file", "a/below"), "a/below/file")
        os.symlink("created", "through")
        haul.copyfile("a/file", "through")
        self.assertEqual(holds("created"), "content")
        haul.copyfile("a/link", "link", follow_symlinks=False)
        self.assertEqual(os.readlink("link"), "file")
        os.mkfifo("fifo")
        with self.assertRaises(haul.SpecialFileError):
            haul.copyfile("fifo", "b")

    def test_a_move_goes_into_a_directory(self):
        os.mkdir("b")
        self.assertEqual(haul.move("a/", "b"), "b/a")
        self.assertEqual(haul.move("b/a/file", "c"), "c")
        self.assertEqual(holds("c"), "content")
        put("b/c")
        with self.assertRaises(haul.Error):
            haul.move("c", "b")

    def test_failures_of_a_removal_reach_the_handler(self):
        seen = []
        haul.rmtree("none", onexc=lambda *found: seen.append(found))
        self.assertEqual(seen[0][:2], (os.lstat, "none"))
        haul.rmtree("none", onerror=lambda function, path, info: seen.append(info))
        self.assertIs(seen[1][0], FileNotFoundError)
        haul.rmtree("none", ignore_errors=True)
        directory = os.open("a", os.O_RDONLY)
        haul.rmtree("below", dir_fd=directory)
        os.close(directory)
        self.assertFalse(os.path.exists("a/below"))

    def test_differences_are_a_list(self):
        haul.copytree("a", "b")
        put("b/file", "another")
        found = haul.compare("a", "b", contents_only=True)
        self.assertEqual([(it.what, it.a, it.b) for it in found if it.what == "bytes"],
                         [("bytes", "a/file", "b/file")])
        with self.assertRaises(haul.Error):
            haul.compare("a", "none")

    def test_progress_and_the_end_of_a_call(self):
        seen = []
        haul.copytree("a", "b", progress=seen.append)
        self.assertEqual(seen[-1].files, 4)
        cancel = threading.Event()
        cancel.set()
        with self.assertRaises(haul.Cancelled):
            haul.copytree("a", "c", cancel=cancel)

        def interrupt(_totals):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            haul.copytree("a", "d", progress=interrupt)

    def test_ctrl_c_ends_a_call(self):
        # A program in the background may ignore the signal.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        child = subprocess.Popen([sys.executable, "-c", HOLDER, "a/file"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.kill)
        answer = child.stdout.readline()
        if answer != "held\n":
            self.skipTest("a file system with leases: " + answer.strip())

        with self.assertRaises(KeyboardInterrupt):
            haul.copytree("a", "b")
        # The library has returned, and did not wait for the end of the lease.
        self.assertEqual(threading.active_count(), 1)
        child.stdin.close()
        self.assertEqual(child.stdout.read(), "still held\n")

    def test_an_object_that_dies_with_the_interpreter_may_remove_its_directory(self):
        program = "import haul\nclass D:\n def __del__(self, remove=haul.rmtree): remove('a')\nd = D()"
        done = run(program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(os.path.exists("a"))

    def test_a_copy_gets_the_access_control_list_of_its_directory(self):
        os.mkdir("shared")
        # Version 2: the owner, user 1234, the group, the mask, others.
        entries = ((1, 7, -1), (2, 6, 1234), (4, 5, -1), (16, 7, -1), (32, 5, -1))
        acl = b"".join([struct.pack("<I", 2)] + [struct.pack("<HHi", *entry) for entry in entries])
        try:
            os.setxattr("shared", "system.posix_acl_default", acl)
        except OSError as error:
            self.skipTest("a file system with access-control lists: %s" % error)
        for name in ("copyfile", "copy", "copy2"):
            lists = []
            for module in (shutil, haul):
                getattr(module, name)("a/file", "shared/file")
                lists.append(os.getxattr("shared/file", "system.posix_acl_access"))
                os.remove("shared/file")
            self.assertEqual(*lists)

    def test_the_end_of_the_interpreter_ends_the_calls_of_daemons(self):
        done = run(ENDING, HOLDER)
        if done.returncode == 1 and done.stderr.startswith("[Errno"):
            self.skipTest("a file system with leases: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)
        self.assertNotIn("haul", done.stderr)

    def test_daemons_may_call_while_the_interpreter_waits_for_other_threads(self):
        done = run(POOL)
        self.assertEqual((done.returncode, done.stdout), (0, "['b', 'c']\n"), done.stderr)

    def test_a_child_of_fork_does_not_wait_for_the_call(self):
        children = []

        def fork(_totals):
            if not children:
                children.append(os.fork())
                if children == [0]:
                    # One that waits all the same ends by this signal.
                    signal.alarm(LIMIT)
        error = None
        try:
            haul.copytree("a", "b", progress=fork)
        except BaseException as raised:
            error = raised
        if children == [0]:
            os._exit(0 if isinstance(error, RuntimeError) else 1)
        self.assertIsNone(error)
        self.assertEqual(os.waitpid(children[0], 0)[1], 0)
        self.assertEqual(holds("b/file"), "content")

    def test_no_failure_is_lost(self):
        os.symlink("none", "a/dangling")
        item = haul._Item
        self.addCleanup(setattr, haul, "_Item", item)

        def without_memory(*_fields):
            raise MemoryError
        haul._Item = without_memory
        with self.assertRaises(MemoryError):
            haul.copytree("a", "b")
        haul._Item = lambda kind, *fields: item(haul._WARNING, *fields)
        with self.assertRaises(RuntimeError):
            haul.copytree("a", "c")

    def test_failures_before_the_end_of_a_call_are_told(self):
        os.symlink("none", "a/dangling")
        cancel = threading.Event()
        item = haul._Item
        self.addCleanup(setattr, haul, "_Item", item)

        def ask_to_end(*fields):
            cancel.set()
            # The library asks whether to end when 50 ms have passed, also if all threads have ended meanwhile.
            time.sleep(0.2)
            return item(*fields)
        haul._Item = ask_to_end
        with self.assertRaises(haul.Cancelled) as raised:
            haul.copytree("a", "b", cancel=cancel)
        self.assertEqual([error[:2] for error in raised.exception.args[0]], [("a/dangling", "b/dangling")])

        def interrupt(totals):
            if totals.failures:
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt) as raised:
            haul.copytree("a", "c", progress=interrupt)
        failures = raised.exception.__cause__.args[0]
        self.assertEqual([error[:2] for error in failures], [("a/dangling", "c/dangling")])

    def test_a_directory_is_not_copied_into_itself(self):
        os.symlink("a/below", "elsewhere")
        for target in ("a/new", "elsewhere/new/newer"):
            with self.assertRaises(haul.Error):
                haul.copytree("a", target)
        self.assertEqual(sorted(os.listdir("a")), ["below", "file", "link"])
        self.assertEqual(sorted(os.listdir("a/below")), ["[x]*", "other.pyc"])

    def test_archives_are_made_and_extracted(self):
        os.mkfifo("a/fifo")
        names = sorted(os.listdir("a"))
        for kind, end in (("tar", ".tar"), ("gztar", ".tar.gz"), ("xztar", ".tar.xz"), ("zstdtar", ".tar.zst")):
            seen = []
            path = haul.make_archive("new/" + kind, kind, "a", progress=seen.append)
            self.assertEqual(path, os.path.abspath("new/" + kind + end))
            self.assertEqual((seen[-1].files, seen[-1].failures), (3, 0))
            haul.unpack_archive(path, "out/deep", progress=seen.append)
            self.assertEqual(seen[-1].files, 3)
            self.assertEqual(sorted(os.listdir("out/deep")), names)
            self.assertEqual(holds("out/deep/file"), "content")
            haul.rmtree("out")
        # Names as they are given, and bytes.
        self.assertEqual(haul.make_archive(b"new/part", "tar", base_dir=b"a/below"), b"new/part.tar")
        with tarfile.open("new/part.tar") as archive:
            self.assertIn("a/below/other.pyc", archive.getnames())
        haul.unpack_archive(pathlib.Path("new/part.tar"), pathlib.Path("out"))
        self.assertEqual(os.listdir("out/a"), ["below"])

    def test_formats_of_shutil_alone_are_handed_over(self):
        for kind in ("zip", "bztar"):
            path = haul.make_archive("new", kind, "a")
            haul.unpack_archive(path, "out-" + kind)
            self.assertEqual(holds("out-%s/file" % kind), "content")
            with self.assertRaises(ValueError):
                haul.make_archive("new", kind, "a", jobs=1)
        with self.assertRaises(ValueError):
            haul.make_archive("new", "unknown", "a")
        with self.assertRaises(haul.ReadError):
            haul.unpack_archive("a/file")

    def test_an_archive_that_is_none_or_damaged_is_a_read_error(self):
        with self.assertRaises(haul.ReadError):
            haul.unpack_archive("a/file", "out", "tar")
        self.assertFalse(os.path.exists("out"))
        path = haul.make_archive("new", "gztar", "a")
        with open(path, "rb+") as archive:
            archive.truncate(os.path.getsize(path) - 9)
        with self.assertRaises(haul.ReadError):
            haul.unpack_archive(path, "out")
        with self.assertRaises(FileNotFoundError):
            haul.unpack_archive("none.tar", "out")

    def test_no_member_leaves_the_directory(self):
        outside = os.path.join(os.pardir, "outside")
        with tarfile.open("evil.tar", "w") as archive:
            for name in (outside, "/absolute", "inside"):
                archive.addfile(tarfile.TarInfo(name))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, ".."
            archive.addfile(link)
            archive.addfile(tarfile.TarInfo("link/outside"))
        with self.assertRaises(haul.Error) as raised:
            haul.unpack_archive("evil.tar", "out")
        self.assertIn(outside, [error[0] for error in raised.exception.args[0]])
        self.assertFalse(os.path.exists("outside"))
        self.assertTrue(os.path.exists("out/absolute") and os.path.exists("out/inside"))

    def test_a_cancelled_archive_leaves_the_old_one(self):
        with open("new.tar", "w") as old:
            old.write("old")
        with self.assertRaises(FileNotFoundError):
            haul.make_archive("new", "tar", base_dir="none")
        self.assertEqual(holds("new.tar"), "old")

        def interrupt(_totals):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            haul.make_archive("new", "tar", "a", progress=interrupt)
        # The call may have been complete by then. Nothing is between the old archive and the new one.
        if holds("new.tar") != "old":
            haul.unpack_archive("new.tar", "out")
            self.assertEqual(haul.compare("a", "out", contents_only=True), [])
        self.assertEqual([name for name in os.listdir(".") if name.startswith(".haul")], [])

    def test_a_tree_becomes_the_same_as_another(self):
        totals = haul.sync("a", "b")
        self.assertEqual((totals.files, totals.deleted), (3, 0))
        with open("b/more", "w") as more:
            more.write("more")
        with open("b/kept.o", "w") as more:
            more.write("more")
        totals = haul.sync(pathlib.Path("a"), b"b", delete=True, exclude=["*.o"])
        self.assertEqual((totals.files, totals.deleted), (0, 1))
        self.assertEqual(sorted(set(os.listdir("b")) - set(os.listdir("a"))), ["kept.o"])
        self.assertEqual(haul.compare("a", "b", contents_only=True)[0].what, "only_in_b")
        os.mkdir("empty")
        with self.assertRaises(haul.Error):
            haul.sync("empty", "b", delete=True)
        self.assertEqual(haul.sync("empty", "b", delete=True, from_empty=True).deleted, 6)
        for arguments in ({"exclude": "*.o"}, {"exclude": b"*.o"}):
            with self.assertRaises(TypeError):
                haul.sync("a", "b", **arguments)
        with self.assertRaises(ValueError):
            haul.sync("a", "b", from_empty=True)
        with self.assertRaises(haul.Error) as raised:
            haul.sync("none", "c")
        self.assertEqual(raised.exception.args[0][0][:2], ("none", "c"))

    def test_a_refusal_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "haul_remove has no flag HAUL_CONTENTS_ONLY"):
            haul._call("remove", (b"a",), haul._CONTENTS_ONLY)
        self.assertEqual(holds("a/file"), "content")

    def test_the_number_of_threads_has_limits(self):
        for jobs in (-1, 1025, 1 << 32):
            with self.assertRaises(ValueError):
                haul.copytree("a", "b", jobs=jobs)
        with self.assertRaises(TypeError):
            haul.copytree("a", "b", jobs=1.5)
        haul.copytree("a", "c", jobs=1024)

    def test_a_link_in_a_circle_is_one_failure(self):
        os.symlink("circle", "a/circle")
        for ignore in (None, haul.ignore_patterns("*.pyc")):
            for target in ("fresh", "merged"):
                with self.assertRaises(haul.Error) as raised:
                    haul.copytree("a", target, ignore=ignore, dirs_exist_ok=target == "merged")
                errors = [error[:2] for error in raised.exception.args[0]]
                self.assertEqual(errors, [("a/circle", target + "/circle")])
                self.assertEqual(holds(target + "/file"), "content")
                shutil.rmtree(target)
                os.mkdir("merged")
            os.rmdir("merged")

    def test_a_link_to_the_directory_that_it_is_in_is_not_followed_for_ever(self):
        for name in ("one", "two", "three"):
            os.symlink(".", "a/" + name)
        with self.assertRaises(haul.Error) as raised:
            haul.copytree("a", "b", ignore=haul.ignore_patterns("*.pyc"))
        errors = sorted(error[0] for error in raised.exception.args[0])
        self.assertEqual(errors, ["a/one", "a/three", "a/two"])

    def test_a_failure_of_the_function_ignore_concerns_its_directory(self):
        class Some:
            def __contains__(self, name):
                return name.endswith(".pyc")

        def ignore(directory, _names):
            if directory == "a/below":
                raise PermissionError(13, "no", directory)
            return Some()
        put("a/one.pyc")
        for module in (shutil, haul):
            with self.assertRaises(shutil.Error) as raised:
                module.copytree("a", module.__name__, ignore=ignore)
            target = module.__name__ + "/below"
            self.assertEqual([error[:2] for error in raised.exception.args[0]], [("a/below", target)])
            self.assertEqual(sorted(os.listdir(module.__name__)), ["file", "link"])

    def test_a_call_without_a_further_thread_does_the_work(self):
        def start(_thread):
            raise RuntimeError("can't start new thread")
        self.addCleanup(setattr, threading.Thread, "start", threading.Thread.start)
        threading.Thread.start = start
        seen = []
        haul.copytree("a", "b", progress=seen.append)
        self.assertEqual(seen[-1].files, 4)

    def test_what_exists_is_not_replaced_by_a_link_or_a_fifo(self):
        os.mkfifo("a/below/fifo")
        os.makedirs("b/below")
        put("a/pipe")
        os.mkfifo("b/pipe")
        reader = os.open("b/pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        put("b/link", "precious")
        put("b/file", "old")
        put("b/below/fifo", "precious")
        with self.assertRaises(haul.Error) as raised:
            haul.copytree("a", "b", symlinks=True, dirs_exist_ok=True)
        errors = sorted(error[:2] for error in raised.exception.args[0])
        self.assertEqual(errors, [("a/below/fifo", "b/below/fifo"), ("a/link", "b/link"), ("a/pipe", "b/pipe")])
        self.assertEqual(os.read(reader, 1), b"")
        self.assertEqual([holds("b/link"), holds("b/below/fifo"), holds("b/file")],
                         ["precious", "precious", "content"])
        self.assertEqual(holds("b/below/[x]*"), "content")

    def test_a_device_is_read_and_written(self):
        for copy in (haul.copyfile, haul.copy, haul.copy2):
            put("log", "old")
            # The mode of a device may be what no file should have.
            copy("/dev/null", "log")
            self.assertTrue(stat.S_ISREG(os.lstat("log").st_mode))
            self.assertEqual(holds("log"), "")
        haul.copyfile("a/file", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.lstat("/dev/null").st_mode))

    def become_unprivileged(self):
        if os.geteuid() == 0:
            os.chown(self.folder, 65534, 65534)
            os.seteuid(65534)
            self.addCleanup(os.seteuid, 0)

    def test_attributes_of_a_file_that_nobody_may_write_are_kept(self):
        self.become_unprivileged()
        put("f")
        try:
            os.setxattr("f", "user.tag", b"value")
        except OSError as error:
            self.skipTest("a file system with extended attributes: %s" % error)
        os.chmod("f", 0o444)
        haul.copy2("f", "g")
        self.assertEqual(os.getxattr("g", "user.tag"), b"value")
        self.assertEqual(stat.S_IMODE(os.stat("g").st_mode), 0o444)

    def test_a_handler_of_a_removal_repairs_or_hears_of_everything(self):
        self.become_unprivileged()
        seen = []

        def make():
            os.makedirs("r/locked")
            put("r/locked/file")
            put("r/other")
            os.chmod("r/locked", 0o555)

        def repair(function, path, _error):
            os.chmod(os.path.dirname(path), 0o700)
            function(path)
        make()
        haul.rmtree("r", onexc=repair)
        self.assertFalse(os.path.exists("r"))
        make()
        haul.rmtree("r", onexc=lambda function, path, _error: seen.append((function, path)))
        self.assertEqual(seen, [(os.unlink, "r/locked/file"), (os.rmdir, "r/locked"), (os.rmdir, "r")])
        os.chmod("r/locked", 0o700)
        with self.assertRaises(OSError):
            os.chdir("r")
            haul.rmtree(".")
        self.assertEqual(os.listdir("."), [])
        os.makedirs("one/two")
        with self.assertRaises(FileNotFoundError):
            haul.rmtree("one/two/..")
        self.assertEqual(os.listdir("one"), [])
        os.chmod("one", 0)
        haul.rmtree("one/.", ignore_errors=True)
        with self.assertRaises(PermissionError) as raised:
            haul.rmtree("one/.")
        self.assertEqual(raised.exception.filename, "one/.")
        os.chmod("one", 0o700)

    def test_an_unreadable_directory_is_one_failure(self):
        self.become_unprivileged()
        os.makedirs("s/locked")
        put("s/file")
        os.chmod("s/locked", 0)
        self.addCleanup(os.chmod, os.path.join(self.folder, "s/locked"), 0o700)
        with self.assertRaises(haul.Error) as raised:
            haul.copytree("s", "t", ignore=haul.ignore_patterns("*.pyc"))
        self.assertEqual([error[0] for error in raised.exception.args[0]], ["s/locked"])
        self.assertEqual(holds("t/file"), "content")

    def test_what_ignore_has_not_seen_is_not_copied(self):
        scandir = os.scandir

        def fail(path):
            if os.fspath(path) == "a/below":
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
            return scandir(path)
        self.addCleanup(setattr, os, "scandir", scandir)
        os.scandir = fail
        with self.assertRaises(haul.Error) as raised:
            haul.copytree("a", "b", ignore=haul.ignore_patterns("*.pyc"))
        os.scandir = scandir
        self.assertEqual([error[:2] for error in raised.exception.args[0]], [("a/below", "b/below")])
        self.assertEqual(sorted(os.listdir("b")), ["file", "link"])

    def test_many_calls_share_the_descriptors_of_the_process(self):
        for folder in range(30):
            os.makedirs("wide/%d" % folder)
            for name in range(3):
                put("wide/%d/%d" % (folder, name))
        limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (limit, most))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for target in pool.map(lambda number: haul.copytree("wide", "w%d" % number), range(40)):
                self.assertEqual(len(os.listdir(target)), 30)

    def test_a_dangling_link_of_the_target_is_not_ignored(self):
        os.mkdir("b")
        os.symlink("none/below", "b/link")
        with self.assertRaises(haul.Error):
            haul.copytree("a", "b", ignore_dangling_symlinks=True, dirs_exist_ok=True)

    def test_links_to_directories_are_operands(self):
        os.symlink("a", "source")
        os.mkdir("b")
        os.symlink("b", "target")
        for symlinks in (False, True):
            haul.copytree("source", "target/%s" % symlinks, symlinks)
            self.assertEqual(holds("b/%s/file" % symlinks), "content")
        haul.copytree("source", "target", True, dirs_exist_ok=True)
        self.assertTrue(os.path.islink("target"))
        self.assertEqual(holds("b/below/[x]*"), "content")
        os.symlink("none", "dangling")
        self.assertEqual(haul.move("dangling", "b"), "b/dangling")
        for function in (haul.copyfile, haul.move):
            with self.assertRaises(FileNotFoundError):
                function("a/file", "nowhere/")

    def test_a_copy_function_of_the_caller_has_no_progress(self):
        class Empty(list):
            def __call__(self, totals):
                self.append(totals)
        for function in (haul.copytree, haul.move):
            with self.assertRaises(ValueError):
                function("a", "b", copy_function=shutil.copyfile, progress=Empty())
        self.assertEqual(holds("a/file"), "content")

    def test_haul_may_take_the_place_of_shutil(self):
        for name in ("copyfile", "copy", "copy2", "copytree", "move", "rmtree"):
            self.addCleanup(setattr, shutil, name, getattr(shutil, name))
            setattr(shutil, name, getattr(haul, name))
        copy = shutil.copy
        shutil.copytree("a", "b", copy_function=lambda source, target: copy(source, target))
        shutil.move("b", "c", copy_function=lambda source, target: copy(source, target))
        self.assertEqual(holds("c/file"), "content")

    def test_threads_copy_at_the_same_time(self):
        errors = []

        def work(number):
            try:
                haul.copytree("a", "t%d" % number, jobs=2)
                haul.rmtree("t%d" % number)
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


if __name__ == "__main__":
    print(sys.version.split()[0], haul.version())
    unittest.main()
