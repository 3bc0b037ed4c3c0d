"""Mount and PID namespaces in which the tools under test can do no harm."""

import ctypes
import errno
import os
import re
import stat

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_NOATIME, MS_NODIRATIME = 32, 1024, 2048
MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = 4096, 16384, 1 << 18, 1 << 21
PR_SET_PDEATHSIG = 1
LOOP_MAJOR = 7
PRIVATE = ('/tmp', '/dev/shm', '/run')
KEPT_FLAGS = {'nosuid': MS_NOSUID, 'nodev': MS_NODEV, 'noexec': MS_NOEXEC,
              'noatime': MS_NOATIME, 'nodiratime': MS_NODIRATIME,
              'relatime': MS_RELATIME}
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags, data=None):
    enc = [x.encode() if isinstance(x, str) else x
           for x in (source, target, kind, data)]
    if LIBC.mount(enc[0], enc[1], enc[2], ctypes.c_ulong(flags), enc[3]) != 0:
        e = ctypes.get_errno()
        raise OSError(e, f'mount {source} on {target}: {os.strerror(e)}')


def mounts():
    with open('/proc/self/mountinfo') as f:
        for line in f:
            fields = line.split()
            point = re.sub(r'\\([0-7]{3})', lambda m: chr(int(m.group(1), 8)),
                           fields[4])
            yield point, fields[5].split(',')


def under(path, top):
    return path == top or path.startswith(top.rstrip('/') + '/')


def isolate(scratch, needed):
    """Own mount and PID namespaces; all read-only but scratch and some tmpfs.

    The PID namespace takes effect for the children made after this.
    """
    if LIBC.unshare(CLONE_NEWNS | CLONE_NEWPID) != 0:
        e = ctypes.get_errno()
        raise OSError(e, f'unshare: {os.strerror(e)}')
    mount(None, '/', None, MS_REC | MS_PRIVATE)
    held = {path: os.open(path, os.O_PATH) for path in {scratch, *needed}}
    for point, options in list(mounts()):
        if under(point, '/proc') or under(point, '/dev/pts'):
            continue
        flags = sum(KEPT_FLAGS.get(o, 0) for o in options)
        try:
            mount(None, point, None,
                  MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
        except OSError as e:
            # A mount that another one hides cannot be reached at all.
            if e.errno not in (errno.ENOENT, errno.EINVAL, errno.ENOTDIR):
                raise
            if e.errno == errno.EINVAL and os.path.ismount(point):
                raise
    # Read-only or not, a device can be written; dd's tests open the one that
    # the scratch folder is on.
    for folder, _, names in os.walk('/dev'):
        for name in names:
            st = os.lstat(os.path.join(folder, name))
            if (stat.S_ISBLK(st.st_mode)
                    and os.major(st.st_rdev) != LOOP_MAJOR):
                mount('/dev/null', os.path.join(folder, name), None, MS_BIND)
    # /run is where mount(8) keeps its notes.
    covered = [d for d in PRIVATE if os.path.isdir(d)]
    for d in covered:
        mount('tmpfs', d, 'tmpfs', MS_NOSUID | MS_NODEV, 'mode=1777')
    for path, fd in held.items():
        hidden = any(under(path, d) for d in covered)
        if hidden:
            os.makedirs(path, exist_ok=True)
        if hidden or path == scratch:
            mount(f'/proc/self/fd/{fd}', path, None, MS_BIND)
            ro = 0 if path == scratch else MS_RDONLY
            mount(None, path, None, MS_REMOUNT | MS_BIND | ro)
        os.close(fd)
    if '/tmp' in covered:
        # For the test that needs a file of another user in a sticky folder.
        with open('/tmp/owned-by-root', 'w'):
            os.chmod('/tmp/owned-by-root', 0o644)
