"""shutil's functions, by the engine of haul: trees are copied, moved and removed by several threads.

The arguments, results and exceptions are those of the standard library's module shutil, and three keyword arguments
are added where a call may take long:

    progress: a function that receives a Totals about 20 times a second, in the calling thread;
    cancel:   a threading.Event; when it is set, the call ends and raises Cancelled;
    jobs:     the number of threads that work; None and 0 are the usual one.

A call runs without the interpreter's lock, so that other threads go on. An exception that the handler of a signal
raises, such as KeyboardInterrupt, ends it. What differs from shutil is in docs/library.md of haul.
"""

import atexit
import collections
import ctypes
import errno
import operator
import os
import queue
import shutil
import signal
import stat
import sys
import threading
import time

__all__ = [
    "Cancelled", "Difference", "Error", "ReadError", "SameFileError", "SpecialFileError", "Totals",
    "compare", "copy", "copy2", "copyfile", "copytree", "ignore_patterns", "make_archive", "move",
    "rmtree", "sync", "unpack_archive", "version",
]

Error = shutil.Error
ReadError = shutil.ReadError
SameFileError = shutil.SameFileError
SpecialFileError = shutil.SpecialFileError
# A program may put haul's functions in the place of these.
_copyfile, _copytree, _move, _copy2 = shutil.copyfile, shutil.copytree, shutil.move, shutil.copy2
ignore_patterns = shutil.ignore_patterns

Totals = collections.namedtuple(
    "Totals", "entries files directories bytes skipped failures warnings differences deleted"
)
Difference = collections.namedtuple("Difference", "what a b message")
_Item = collections.namedtuple("_Item", "kind errno action source target message")


class Cancelled(Exception):
    """The event of the argument "cancel" was set, or the interpreter ends. What was complete stays.

    If something has failed before, or a file was cut short, the argument is a list of the failures, like that of Error.
    An exception of a handler or of the progress function that ends a call has this one as its cause then.
    """


class _CItem(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("error_number", ctypes.c_int)] + [
        (name, ctypes.c_char_p) for name in ("action", "source", "target", "message")
    ]


class _CTotals(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Totals._fields]


_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_CTotals))
_FOUND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_CItem))


class _COptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("flags", ctypes.c_uint64),
        ("jobs", ctypes.c_uint32),
        ("descriptors", ctypes.c_uint32),
        ("cancel", ctypes.c_void_p),
        ("progress", _PROGRESS),
        ("found", _FOUND),
        ("context", ctypes.c_void_p),
        ("exclude", ctypes.POINTER(ctypes.c_char_p)),
        ("exclude_count", ctypes.c_size_t),
        ("directory", ctypes.c_char_p),
        ("owner", ctypes.c_char_p),
        ("group", ctypes.c_char_p),
    ]


_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libhaul.so.0"))
_library.haul_version.restype = ctypes.c_char_p
for _name in ("copy_file", "copy_tree", "move", "remove", "compare", "sync", "pack", "unpack"):
    _paths = [ctypes.c_char_p] * (1 if _name == "remove" else 2)
    getattr(_library, "haul_" + _name).argtypes = _paths + [
        ctypes.POINTER(_COptions), ctypes.POINTER(ctypes.c_void_p),
    ]
_library.haul_report_totals.argtypes = [ctypes.c_void_p]
_library.haul_report_totals.restype = ctypes.POINTER(_CTotals)
_library.haul_report_item.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_library.haul_report_item.restype = ctypes.POINTER(_CItem)
_library.haul_report_free.argtypes = [ctypes.c_void_p]
_library.haul_report_free.restype = None

_OK, _FAILED, _DIFFERENT, _CANCELLED, _INVALID, _BUG = range(6)
_FAILURE, _WARNING, _DIFFERENCE = 1, 2, 3
_KEEP_MODE, _KEEP_TIMES, _KEEP_LINKS, _KEEP_XATTRS = 1 << 0, 1 << 2, 1 << 3, 1 << 4
_NEW_MODE, _FOLLOW_LINKS = 1 << 6, 1 << 8
_CONTENTS_ONLY = 1 << 17
_DELETE, _DELETE_FROM_EMPTY, _CHECKSUM = 1 << 18, 1 << 19, 1 << 20
_JOBS_MOST = 1024

# Signals that are not caused by the instruction that a thread executes.
_DEFERRED = signal.valid_signals() - {
    signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT,
}

# What copystat keeps: everything but the owner.
_STAT = _KEEP_MODE | _KEEP_TIMES | _KEEP_XATTRS

# Actions of which the target is what the caller wants to know.
_ABOUT_TARGET = {
    "StatTarget", "CreateFile", "Write", "Extend", "Close", "Sync", "CreateDirectory",
    "OpenDirectory", "CreateSymlink", "CreateFifo", "CreateSpecial", "Ownership", "Permissions",
    "Times", "Xattr", "Flags", "OverDirectory", "OverNonDirectory", "DanglingTarget", "NotReplacing",
    "RemoveTarget",
}

# Refusals of haul itself, and the errno of the call by which shutil would have met them.
_ERRNO_OF_REFUSAL = {
    "OverDirectory": errno.EISDIR,
    "OverNonDirectory": errno.EEXIST,
    "OmittedDirectory": errno.EISDIR,
    "NotReplacing": errno.EEXIST,
}


def version():
    """Return the version of haul, such as "0.1.0"."""
    return _library.haul_version().decode()


def _like(path, encoded):
    """Return the path from the library in the type of one from the caller."""
    return encoded if isinstance(path, bytes) else os.fsdecode(encoded)


def _encode(path):
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


# Calls that run.
_running = set()
# The process and the thread that end the interpreter, once they have begun.
_ending = None

# Seconds for which the end of the interpreter waits for calls at most, and such a call for the end.
_LONGEST_WAIT = 10
# Seconds after which a thread that waits for the library looks whether it still has to.
_LOOK = 1


def _end_calls():
    """End the calls of other threads, and wait until the library has returned.

    The interpreter waits for no daemon thread, and ends one where that asks for the interpreter's lock. In a callback
    that would leave a call of the library behind, of which the other threads go on.
    """
    global _ending
    _ending = os.getpid(), threading.get_ident()
    calls = _running.copy()
    for call in calls:
        call.end()
    deadline = time.monotonic() + _LONGEST_WAIT
    while any(call.is_working() for call in calls) and time.monotonic() < deadline:
        time.sleep(0.005)


# By then, all threads that the interpreter waits for have ended, and have needed no call of a daemon any more.
atexit.register(_end_calls)


def _is_left_behind():
    """Return whether another thread ends the interpreter, which does not wait for this one."""
    return _ending is not None and _ending[0] == os.getpid() and _ending[1] != threading.get_ident()


class _Call:
    """A call of the library, in a thread of its own, which runs the library's callbacks as well.

    Python runs the handlers of signals in the main thread, between two of its instructions. So the thread of the
    caller waits for a queue, which such a handler interrupts, and not for the library. What a handler or the
    progress function raises there ends the call.
    """

    def __init__(self, function, paths, options, cancel):
        self.items = []
        self.status = None
        # Totals of the report.
        self.totals = None
        # Why the library has refused the call, or which bug it has.
        self.refusal = None
        # What went wrong in the thread.
        self.error = None
        self._function = function
        self._paths = paths
        self._options = options
        self._cancel = cancel
        self._is_ending = False
        # The newest totals while the library works.
        self._current = None
        # True: there are newer totals; False: the library has returned.
        self._news = queue.SimpleQueue()
        self._has_ended = False
        self._process = os.getpid()
        # Taken by the thread when it begins, or by the caller that does not want it to begin any more.
        self._beginning = threading.Lock()
        # Whether the work is that thread's, and not the caller's.
        self._is_apart = True
        self._thread = threading.Thread(target=self._work, name="haul")

    def end(self):
        """Ask the library to end the call."""
        self._is_ending = True

    def is_working(self):
        """Return whether the library may work. A child of fork(2) has none of the threads that do."""
        return not self._has_ended and self._process == os.getpid()

    def run(self, progress):
        """Make the call. Raise what a signal's handler, the progress function or the thread raises."""
        mask, before = signal.pthread_sigmask, signal.pthread_sigmask(signal.SIG_BLOCK, ())
        _running.add(self)
        try:
            is_started = self._start()
            mask(signal.SIG_SETMASK, before)
            if not is_started:
                self._is_apart = False
                self._work()
            self._listen(progress)
        finally:
            # Further signals wait until the library has returned. The function may raise what an earlier one leads to,
            # and has blocked the others then.
            try:
                mask(signal.SIG_BLOCK, _DEFERRED)
            finally:
                try:
                    self._finish()
                finally:
                    _running.discard(self)
                    mask(signal.SIG_SETMASK, before)
                    if _is_left_behind():
                        # The interpreter ends meanwhile, and no traceback disturbs that.
                        time.sleep(_LONGEST_WAIT)
        if self.error is not None:
            raise self.error

    def _start(self):
        """Start the thread. Return whether it could be started, and otherwise this thread has to do the work.

        Signals are blocked then: a handler must not run within start(), and the thread inherits that. The kernel may choose
        any thread for a signal, and only the caller's is woken by its own.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED)
        if _is_left_behind():
            raise Cancelled("the interpreter ends")
        if sys.is_finalizing():
            # A thread could start, and would never get the interpreter's lock.
            return False
        try:
            self._thread.start()
        except RuntimeError:
            return False
        return True

    def _listen(self, progress):
        told = None
        while self._has_news():
            told = self._current
            if progress is not None:
                progress(told)
        if progress is not None and self._current is not told:
            progress(self._current)

    def _has_news(self):
        """Wait until there are newer totals or the library has returned. Return whether there are.

        A handler or the progress function may call fork(2). And a handler does not run while the thread sleeps if its
        signal has come just before: see acquire_timed() in CPython's _threadmodule.c.
        """
        while self._process == os.getpid():
            try:
                return self._news.get(timeout=_LOOK)
            except queue.Empty:
                pass
        raise RuntimeError("only the parent of this process continues the call in which it was made")

    def _finish(self):
        """End the call unless the library has returned, and wait for the thread."""
        if self._beginning.acquire(blocking=False) or not self._is_apart:
            # The thread does nothing when it begins, or there is none.
            self._has_ended = True
            return
        if not self._has_ended:
            self.end()
        while True:
            try:
                if self.is_working():
                    self._news.get(timeout=_LOOK)
                elif self._process == os.getpid() and self._thread.is_alive():
                    self._thread.join(_LOOK)
                else:
                    return
            except BaseException:
                # The call is ending already, and the first exception is the one that is raised.
                pass

    def _work(self):
        if not self._beginning.acquire(blocking=False):
            return
        try:
            self._options.progress = _PROGRESS(self._on_progress)
            self._options.found = _FOUND(self._on_found)
            report = ctypes.c_void_p()
            self.status = self._function(*self._paths, ctypes.byref(self._options),
                                         ctypes.byref(report))
            self.totals = _totals(_library.haul_report_totals(report))
            if self.status in (_INVALID, _BUG):
                self.refusal = os.fsdecode(_library.haul_report_item(report, 0)[0].message)
            _library.haul_report_free(report)
        except BaseException as error:
            self.error = error
        finally:
            # The callbacks and this object hold each other.
            self._options = None
            self._has_ended = True
            self._news.put(False)

    # An exception cannot pass through the library: it ends the call and is raised afterwards.
    def _on_progress(self, _context, totals):
        try:
            self._current = _totals(totals)
            # One report waits at most: a slow function gets the newest totals.
            if self._news.empty():
                self._news.put(True)
            if self._cancel is not None and self._cancel.is_set():
                self._is_ending = True
        except BaseException as error:
            self.error = error
        return int(self._is_ending or self.error is not None)

    def _on_found(self, _context, found):
        try:
            item = found[0]
            self.items.append(_Item(item.kind, item.error_number, item.action.decode(), item.source,
                                    item.target, os.fsdecode(item.message)))
        except BaseException as error:
            self.error = error


def _totals(pointer):
    return Totals(*(getattr(pointer[0], name) for name in Totals._fields))


def _number_of(jobs):
    number = 0 if jobs is None else operator.index(jobs)
    if not 0 <= number <= _JOBS_MOST:
        raise ValueError("jobs must be between 0 and %d" % _JOBS_MOST)
    return number


def _call(name, paths, flags=0, exclude=(), progress=None, cancel=None, jobs=None, **fields):
    """Call the library, and return the items. Raise what a handler or a callback has raised, or Cancelled."""
    if cancel is not None and cancel.is_set():
        raise Cancelled()
    options = _COptions(size=ctypes.sizeof(_COptions), flags=flags, jobs=_number_of(jobs), **fields)
    patterns = (ctypes.c_char_p * len(exclude))(*exclude)
    if exclude:
        options.exclude = ctypes.cast(patterns, ctypes.POINTER(ctypes.c_char_p))
        options.exclude_count = len(exclude)
    call = _Call(getattr(_library, "haul_" + name), [_encode(path) for path in paths], options, cancel)
    try:
        call.run(progress)
    except BaseException as error:
        # Such as a file that the end of the call has cut short.
        if _failures(call.items):
            raise error from _cancelled(call.items, paths)
        raise
    if call.status == _CANCELLED:
        raise _cancelled(call.items, paths)
    if call.refusal is not None:
        raise RuntimeError(call.refusal)
    # A failure must not be lost on its way here.
    lost = call.totals.failures - len(_failures(call.items))
    if lost or (call.status == _FAILED and not call.totals.failures):
        raise RuntimeError("libhaul had {} failures, of which it did not tell {}".format(
            call.totals.failures, lost))
    return call.items


def _failures(items):
    return [item for item in items if item.kind == _FAILURE]


def _errors(failures, path):
    """Return the argument of Error, with paths in the type of one from the caller."""
    return [(_like(path, item.source), _like(path, item.target), item.message) for item in failures]


def _cancelled(items, paths):
    """Return the exception of a call that was ended."""
    failures = _errors(_failures(items), os.fspath(paths[0]))
    return Cancelled(failures) if failures else Cancelled()


def _exception(item, path, target=None):
    """Return the exception of a failure, with the paths of the caller and their type."""
    if item.action == "SameFile":
        source, target = _like(path, item.source), _like(path, item.target)
        return SameFileError("{!r} and {!r} are the same file".format(source, target))
    number = item.errno or _ERRNO_OF_REFUSAL.get(item.action)
    if number:
        is_about_target = item.action in _ABOUT_TARGET
        if item.action == "Move" and number == errno.ENOENT:
            # rename(2) does not say which of both is missing.
            is_about_target = os.path.lexists(item.source)
        if not is_about_target:
            about = _like(path, item.source)
        else:
            about = _like(path, item.target) if target is None else target
        return OSError(number, os.strerror(number), about)
    return Error(item.message)


def _raise_first(items, path, target):
    for item in _failures(items):
        raise _exception(item, path, target)


def _mode(path):
    """Return the mode of what a path leads to, 0 if there is nothing."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _is_device(path):
    mode = _mode(path)
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode)


def _refuse_special(path):
    if stat.S_ISFIFO(_mode(path)):
        raise SpecialFileError("`{}` is a named pipe".format(os.fspath(path)))


def _refuse_missing_directory(src, dst):
    """Refuse a file as a directory that does not exist: a name with a slash at its end."""
    names_directory = os.fsencode(dst).endswith(b"/")
    if names_directory and not os.path.exists(dst) and stat.S_IFMT(_mode(src)) == stat.S_IFREG:
        raise FileNotFoundError("Directory does not exist: %s" % os.fspath(dst))


def _copy_one(src, dst, copy_attributes, follow_symlinks):
    sys.audit("shutil.copyfile", src, dst)
    _refuse_special(src)
    _refuse_special(dst)
    _refuse_missing_directory(src, dst)
    if not follow_symlinks and os.path.islink(src):
        if os.path.exists(dst) and os.path.samefile(src, dst):
            raise SameFileError("{!r} and {!r} are the same file".format(src, dst))
        os.symlink(os.readlink(src), dst)
        if copy_attributes:
            copy_attributes(src, dst, follow_symlinks=False)
        return dst
    if _is_device(src) or _is_device(dst):
        # shutil reads and writes what is behind it; haul makes another name of the device.
        _copyfile(src, dst)
    else:
        # As open(2) does, a copy goes through a link, also if it leads to no file yet.
        target = os.path.realpath(dst) if os.path.islink(dst) else dst
        # Extended attributes need a file that its owner may write.
        is_usual = copy_attributes is None or not _mode(src) & stat.S_IWUSR
        flags = _FOLLOW_LINKS | (_NEW_MODE if is_usual else 0)
        items = _call("copy_file", (src, target), flags)
        _raise_first(items, os.fspath(src), os.fspath(dst))
    if copy_attributes:
        # These do not touch an access-control list that the target has of its directory.
        copy_attributes(src, dst)
    return dst


def _inside(src, dst):
    if os.path.isdir(dst):
        return os.path.join(dst, os.path.basename(src))
    return dst


def copyfile(src, dst, *, follow_symlinks=True):
    """Copy the bytes of a file, and return dst."""
    return _copy_one(src, dst, None, follow_symlinks)


def copy(src, dst, *, follow_symlinks=True):
    """Copy the bytes and the permissions of a file, and return the new path."""
    return _copy_one(src, _inside(src, dst), shutil.copymode, follow_symlinks)


def copy2(src, dst, *, follow_symlinks=True):
    """Copy the bytes, permissions, times and extended attributes of a file; return the new path."""
    return _copy_one(src, _inside(src, dst), shutil.copystat, follow_symlinks)


def _escaped(path):
    """Return the pattern that matches this path only."""
    if any(letter in path for letter in b"*?["):
        for letter in (b"\\", b"*", b"?", b"["):
            path = path.replace(letter, b"\\" + letter)
    return path


def _kind(entry, symlinks):
    """Return the type of what a copy of an entry becomes, as in a mode."""
    # For most entries, the directory says it without a call.
    if entry.is_file(follow_symlinks=not symlinks):
        return stat.S_IFREG
    if entry.is_dir(follow_symlinks=not symlinks):
        return stat.S_IFDIR
    return stat.S_IFMT(entry.stat(follow_symlinks=not symlinks).st_mode)


def _refuse_existing(kind, target, shown):
    """Refuse an existing target that a copy of this kind must not replace or write to."""
    if kind == stat.S_IFREG:
        if stat.S_ISFIFO(_mode(target)):
            raise SpecialFileError("`{}` is a named pipe".format(os.fsdecode(shown)))
    elif kind != stat.S_IFDIR and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), shown)


def _left_out(src, dst, symlinks, ignore, ignore_dangling_symlinks):
    """Return the patterns of what is not copied, and errors.

    The function "ignore" decides by directory. What exists is not replaced by a link or a special file, which is an
    error. What cannot be looked at here is not copied either: the copy, which comes later, might enter it.
    """
    patterns = []
    errors = []
    waiting = [(src, os.fsencode(dst), b"", ())]
    while waiting:
        directory, target, below, above = waiting.pop()
        is_merged = os.path.isdir(target)
        if ignore is None and not is_merged:
            continue
        try:
            found = os.stat(directory)
            with os.scandir(directory) as entries:
                entries = list(entries)
        except OSError as error:
            if not below:
                raise
            patterns.append(_escaped(below))
            errors.append((directory, _like(directory, target), str(error)))
            continue
        identity = (found.st_dev, found.st_ino)
        if identity in above:
            # So it does a link to a directory that the link is in.
            continue
        names = ()
        if ignore is not None:
            try:
                names = ignore(os.fspath(directory), [entry.name for entry in entries])
            except OSError as error:
                if not below:
                    raise
                patterns.append(_escaped(below))
                errors += (error.args[0] if isinstance(error, Error) else
                           [(directory, _like(directory, target), str(error))])
                continue
        for entry in entries:
            name = os.fsencode(entry.name)
            path, there = below + b"/" + name, os.path.join(target, name)
            if entry.name in names:
                patterns.append(_escaped(path))
                continue
            try:
                kind = _kind(entry, symlinks)
                if is_merged:
                    _refuse_existing(kind, there, _like(entry.path, there))
            except OSError as error:
                patterns.append(_escaped(path))
                is_dangling = entry.is_symlink() and not os.path.exists(entry.path)
                if not (is_dangling and ignore_dangling_symlinks):
                    errors.append((entry.path, _like(entry.path, there), str(error)))
                continue
            if kind == stat.S_IFDIR:
                waiting.append((entry.path, there, path, above + (identity,)))
    return patterns, errors


def _directory(path):
    """Return the path of a directory, also if the last name is a symbolic link."""
    path = os.fspath(path)
    return os.path.join(path, path[:0]) if os.path.islink(path) else path


def _refuse_inside(src, dst):
    """Refuse a new directory inside the source before it is created. The library refuses what exists."""
    source, target = (os.path.realpath(os.fsencode(path)) for path in (src, dst))
    if target.startswith(os.path.join(source, b"")) and not os.path.lexists(target):
        raise Error([(os.fspath(src), os.fspath(dst), "the target is inside the source")])


def _is_dangling(item):
    """Return whether a failure is that of a link in the source that leads to nothing."""
    about_target = item.action in _ABOUT_TARGET
    is_missing = item.errno == errno.ENOENT and not about_target
    return is_missing and os.path.islink(item.source) and not os.path.exists(item.source)


def copytree(src, dst, symlinks=False, ignore=None, copy_function=copy2,
             ignore_dangling_symlinks=False, dirs_exist_ok=False, *, progress=None, cancel=None,
             jobs=None):
    """Copy a directory with its content, and return dst. Raise Error with a list of all failures."""
    if copy_function not in (copy2, _copy2):
        if progress is not None or cancel is not None or jobs:
            raise ValueError("a copy_function cannot be combined with progress, cancel and jobs")
        return _copytree(src, dst, symlinks, ignore, copy_function, ignore_dangling_symlinks,
                         dirs_exist_ok)
    # Before anything is created.
    jobs = _number_of(jobs)
    sys.audit("shutil.copytree", src, dst)
    os.scandir(src).close()
    _refuse_inside(src, dst)
    exclude, errors = _left_out(src, dst, symlinks, ignore, ignore_dangling_symlinks)
    os.makedirs(dst, exist_ok=dirs_exist_ok)
    flags = _STAT | (0 if symlinks else _FOLLOW_LINKS)
    paths = (_directory(src), _directory(dst))
    items = _failures(_call("copy_tree", paths, flags, exclude, progress, cancel, jobs))
    path = os.fspath(src)
    if ignore_dangling_symlinks:
        items = [item for item in items if not _is_dangling(item)]
    errors += _errors(items, path)
    if errors:
        raise Error(errors)
    return dst


def _function_of(item, base):
    """Return the function of os that would have failed."""
    if item.action in ("ReadDirectory", "OpenDirectory"):
        return os.scandir
    if item.action == "Stat":
        return os.lstat
    try:
        is_directory = stat.S_ISDIR(os.lstat(base + item.source).st_mode)
    except OSError:
        is_directory = False
    return os.rmdir if is_directory else os.unlink


def _above(paths, root):
    """Return the directories between the root and the paths, with the root, each after those inside."""
    found = set()
    for path in paths:
        path = os.path.dirname(path)
        while len(path) >= len(root) and path not in found:
            found.add(path)
            path = os.path.dirname(path)
    return sorted(found, key=len, reverse=True)


def _remove(path, base, tell, others):
    """Remove a directory, and tell the failures. "base" is put before each path."""
    given = os.fspath(path)
    root = os.fsencode(given).rstrip(b"/") or b"/"
    roots = [os.fsencode(given)]
    is_dotted = os.path.basename(root) in (b".", b"..")
    if is_dotted:
        # haul refuses the name, as rm does; shutil removes what is in it.
        try:
            roots = [os.path.join(root, name) for name in os.listdir(base + root)]
        except OSError as error:
            return tell(os.scandir, given, OSError(error.errno, error.strerror, given))
    failures = []
    for each in roots:
        failures += _failures(_call("remove", (_like(given, base + each),), 0, (), *others))
    failures = [item._replace(source=item.source[len(base):]) for item in failures]
    for item in failures:
        number = item.errno or errno.EPERM
        where = _like(given, item.source)
        tell(_function_of(item, base), where, OSError(number, os.strerror(number), where))
    # The function that was told may have removed what has failed; then the directories above are empty.
    above = _above([item.source for item in failures], root)
    if is_dotted:
        above = [directory for directory in above if directory != root] + [root]
    for directory in above:
        where = _like(given, directory)
        try:
            os.rmdir(base + directory)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not is_dotted:
                continue
            tell(os.rmdir, where, OSError(error.errno, os.strerror(error.errno), where))


def rmtree(path, ignore_errors=False, onerror=None, *, onexc=None, dir_fd=None, progress=None,
           cancel=None, jobs=None):
    """Remove a directory with its content. What follows a failure is removed as well."""
    sys.audit("shutil.rmtree", path, dir_fd)
    if onexc is None and onerror is not None:
        def onexc(function, path, error):
            return onerror(function, path, (type(error), error, error.__traceback__))

    def tell(function, path, error):
        if ignore_errors:
            return
        if onexc is None:
            raise error
        onexc(function, path, error)

    try:
        mode = os.lstat(path, dir_fd=dir_fd).st_mode
    except OSError as error:
        return tell(os.lstat, path, error)
    if stat.S_ISLNK(mode):
        error = OSError("Cannot call rmtree on a symbolic link")
        error.filename = path
        return tell(os.path.islink, path, error)
    if not stat.S_ISDIR(mode):
        error = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return tell(os.scandir, path, error)
    base = b"" if dir_fd is None or os.path.isabs(path) else b"/proc/self/fd/%d/" % dir_fd
    _remove(path, base, tell, (progress, cancel, jobs))


rmtree.avoids_symlink_attacks = True


def move(src, dst, copy_function=copy2, *, progress=None, cancel=None, jobs=None):
    """Move a file or a directory, also to another file system, and return the new path."""
    if copy_function not in (copy2, _copy2):
        if progress is not None or cancel is not None or jobs:
            raise ValueError("a copy_function cannot be combined with progress, cancel and jobs")
        return _move(src, dst, copy_function)
    sys.audit("shutil.move", src, dst)
    target = dst
    if os.path.isdir(dst):
        if not os.path.islink(src) and os.path.samefile(src, dst):
            # The names of one directory may differ in case.
            os.rename(src, dst)
            return None
        path = os.fspath(src)
        separators = b"/" if isinstance(path, bytes) else "/"
        target = os.path.join(dst, os.path.basename(path.rstrip(separators)))
        if os.path.exists(target):
            raise Error("Destination path '%s' already exists" % target)
    _refuse_missing_directory(src, target)
    items = _call("move", (src, target), 0, (), progress, cancel, jobs)
    for item in _failures(items):
        if item.action == "IntoItself":
            raise Error("Cannot move a directory '%s' into itself '%s'." % (src, dst))
        # An entry of a tree has names of its own.
        is_whole = item.source == os.fsencode(src)
        raise _exception(item, os.fspath(src), os.fspath(target) if is_whole else None)
    return target


def compare(a, b, *, contents_only=False, progress=None, cancel=None):
    """Compare two files or trees, and return a list of Difference. Raise Error with all failures."""
    flags = _CONTENTS_ONLY if contents_only else 0
    items = _call("compare", (a, b), flags, (), progress, cancel)
    path = os.fspath(a)
    failures = _failures(items)
    if failures:
        raise Error(_errors(failures, path))
    return [Difference(item.action, _like(path, item.source), _like(path, item.target),
                       item.message) for item in items if item.kind == _DIFFERENCE]


def sync(source, target, *, delete=False, exclude=(), checksum=False, hard_links=False, xattrs=False,
         from_empty=False, progress=None, cancel=None, jobs=None):
    """Make the directory target the same as the directory source, as "haul sync -a" does, and return Totals.

    Files of equal size and time stay. Raise Error with all failures.

    delete:     remove what the source does not have; an empty source is an Error then, unless from_empty is true;
    exclude:    patterns, as those of "haul sync --exclude", of what is left out and not deleted either;
    checksum:   compare the bytes, and not the times;
    hard_links: names of one file stay names of one file;
    xattrs:     keep extended attributes.
    """
    if isinstance(exclude, (str, bytes)):
        raise TypeError("exclude is a sequence of patterns")
    if from_empty and not delete:
        raise ValueError("from_empty needs delete")
    flags = 0
    for is_wanted, flag in ((delete, _DELETE), (from_empty, _DELETE_FROM_EMPTY), (checksum, _CHECKSUM),
                            (hard_links, _KEEP_LINKS), (xattrs, _KEEP_XATTRS)):
        flags |= flag if is_wanted else 0
    newest = []

    def tell(totals):
        newest[:] = [totals]
        if progress is not None:
            progress(totals)
    patterns = [_encode(pattern) for pattern in exclude]
    items = _failures(_call("sync", (source, target), flags, patterns, tell, cancel, jobs))
    if items:
        raise Error(_errors(items, os.fspath(source)))
    return newest[0]


# It uses what is above.
from haul._archives import make_archive, unpack_archive  # noqa: E402
