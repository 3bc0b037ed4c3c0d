"""One command with a time limit, isolated where that is asked for."""

import fcntl
import os
import pwd
import resource
import select
import signal
import termios
import time

from .isolation import (LIBC, MS_NODEV, MS_NOEXEC, MS_NOSUID, PR_SET_PDEATHSIG,
                        isolate, mount)


class User:
    def __init__(self, name, groups):
        entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, entry.pw_uid, entry.pw_gid
        self.groups = [self.gid] + [g for g in groups if g != self.gid]

    def become(self):
        os.setgroups(self.groups)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)


def exit_code(status):
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


class Sandbox:
    """Runs one command with a time limit, isolated if `isolated` is set."""

    def __init__(self, scratch, needed, isolated, tty):
        self.scratch, self.needed = scratch, needed
        self.isolated, self.tty = isolated, tty

    def command(self, argv, env, cwd, user, log, note, slave):
        os.setsid()
        stdin = slave
        if slave is None:
            stdin = os.open('/dev/null', os.O_RDONLY)
        else:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd, to in ((os.dup(stdin), 0), (log, 1), (log, 2), (note, 9)):
            os.dup2(fd, to, inheritable=True)
        os.closerange(3, 9)
        os.closerange(10, 1024)
        for sig in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT,
                    signal.SIGTERM):
            signal.signal(sig, signal.SIG_DFL)
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        os.umask(0o022)
        if user:
            user.become()
        os.chdir(cwd)
        os.execve(argv[0], argv, env)

    def first_process(self, *args):
        """PID 1 of the namespace: starts the command, reaps, passes its status on."""
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        mount('proc', '/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC)
        pid = os.fork()
        if pid == 0:
            self.command(*args)
        while True:
            done, status = os.wait()
            if done == pid:
                os._exit(exit_code(status))

    def keeper(self, *args):
        """Makes the namespaces and waits; SIGTERM ends every process in them."""
        inner = []
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM,
                      lambda *_: [os.kill(p, signal.SIGKILL) for p in inner])
        if not self.isolated:
            self.command(*args)
        isolate(self.scratch, self.needed)
        pid = os.fork()
        if pid == 0:
            self.first_process(*args)
        inner.append(pid)
        os._exit(exit_code(os.waitpid(pid, 0)[1]))

    def run(self, argv, env, cwd, user, log_path, note_path, limit):
        """Run a command; return its exit code, or None after a timeout, and seconds."""
        master = slave = None
        if self.tty:
            master, slave = os.openpty()
            if user:
                os.fchown(slave, user.uid, -1)
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        note = os.open(note_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        # Keep clear of the low numbers that the command's end uses.
        high = [None if fd is None else fcntl.fcntl(fd, fcntl.F_DUPFD, 20)
                for fd in (log, note, slave)]
        for fd in (log, note, slave):
            if fd is not None:
                os.close(fd)
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            try:
                self.keeper(argv, env, cwd, user, *high)
            except BaseException as e:
                os.write(high[0], f'gnu-tests: {e}\n'.encode())
            os._exit(99)
        for fd in high:
            if fd is not None:
                os.close(fd)
        code, deadline, step = None, start + limit, 0.005
        try:
            while True:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    code = exit_code(status)
                    break
                if time.monotonic() > deadline:
                    break
                if master is None:
                    time.sleep(step)
                elif select.select([master], [], [], step)[0]:
                    try:
                        os.read(master, 65536)
                    except OSError:      # the far end is closed
                        time.sleep(step)
                step = min(step * 1.5, 0.1)
        finally:
            if code is None:
                self.end(pid)
            if master is not None:
                os.close(master)
        return code, time.monotonic() - start

    def end(self, pid):
        signals = [signal.SIGTERM]
        if not self.isolated:
            signals = [signal.SIGTERM, signal.SIGKILL]
        for sig in signals:
            try:
                (os.kill if self.isolated else os.killpg)(pid, sig)
            except OSError:
                pass
            for _ in range(50):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
