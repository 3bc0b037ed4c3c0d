"""Archives: shutil's functions for them, by what "haul tar" uses."""

import errno
import os
import shutil
import stat
import sys

import haul

# A program may put haul's functions in the place of these.
_make_archive, _unpack_archive = shutil.make_archive, shutil.unpack_archive

# The formats that haul writes, and the ends of their names.
_ENDINGS = {"tar": ".tar", "gztar": ".tar.gz", "xztar": ".tar.xz", "zstdtar": ".tar.zst"}
# The formats that haul reads, and the ends of their names.
_READABLE = {
    "tar": (".tar",), "gztar": (".tar.gz", ".tgz"), "bztar": (".tar.bz2", ".tbz2"),
    "xztar": (".tar.xz", ".txz"), "zstdtar": (".tar.zst", ".tzst"),
}


def _is_shutils(registry, format):
    """Return whether a format is the one of shutil, and not one that the program has registered in its place."""
    found = getattr(haul.shutil, registry, {}).get(format)
    if found is None:
        # Only the newest version of shutil has it.
        return format == "zstdtar"
    function = found[0] if registry == "_ARCHIVE_FORMATS" else found[1]
    return getattr(function, "__module__", None) == "shutil"


def _refuse_others(reason, progress, cancel, jobs):
    """Refuse arguments that shutil does not have, for what is handed over to it."""
    if progress is not None or cancel is not None or jobs:
        raise ValueError("%s cannot be combined with progress, cancel and jobs" % reason)


def _owner(name, find, what):
    """Return the argument for the owner of all members; shutil ignores names that do not exist."""
    try:
        return None if name is None else haul._encode(name) + b":%d" % getattr(find(name), what)
    except (ImportError, KeyError):
        return None


def _user(name):
    import pwd
    return pwd.getpwnam(name)


def _group(name):
    import grp
    return grp.getgrnam(name)


def make_archive(base_name, format, root_dir=None, base_dir=None, verbose=0, dry_run=0, owner=None, group=None,
                 logger=None, *, progress=None, cancel=None, jobs=None):
    """Make an archive of base_dir, with names relative to root_dir, and return its path.

    haul writes the formats "tar", "gztar", "xztar" and "zstdtar", which every version of Python has then; all others are
    handed over to shutil. Raise Error with all failures; the archive has the rest then.
    """
    if format not in _ENDINGS or not _is_shutils("_ARCHIVE_FORMATS", format):
        _refuse_others("the format %s" % format, progress, cancel, jobs)
        return _make_archive(base_name, format, root_dir, base_dir, verbose, dry_run, owner, group, logger)
    sys.audit("shutil.make_archive", base_name, format, root_dir, base_dir)
    jobs = haul._number_of(jobs)
    if root_dir is not None and not stat.S_ISDIR(os.stat(root_dir).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", root_dir)
    base_dir = os.curdir if base_dir is None else base_dir
    archive = os.fspath(base_name)
    archive += os.fsencode(_ENDINGS[format]) if isinstance(archive, bytes) else _ENDINGS[format]
    folder = os.path.dirname(archive)
    if folder and not os.path.exists(folder):
        if logger is not None:
            logger.info("creating %s", folder)
        if not dry_run:
            os.makedirs(folder)
    if logger is not None:
        logger.info("Creating tar archive")
    if not dry_run:
        # As open(2) does, it goes through a link.
        target = os.path.realpath(archive) if os.path.islink(archive) else archive
        fields = {"owner": _owner(owner, _user, "pw_uid"), "group": _owner(group, _group, "gr_gid")}
        if root_dir is not None:
            fields["directory"] = haul._encode(root_dir)
        items = haul._failures(haul._call("pack", (base_dir, target), 0, (), progress, cancel, jobs, **fields))
        if len(items) == 1 and items[0].source == os.fsencode(base_dir):
            # There is no archive.
            raise haul._exception(items[0], os.fspath(base_dir), archive)
        if items:
            raise haul.Error(haul._errors(items, os.fspath(base_dir)))
    return archive if root_dir is None else os.path.abspath(archive)


def _format_of(filename):
    """Return the format that the end of a name stands for, if shutil does not know another one."""
    for format, endings in _READABLE.items():
        if os.fsdecode(filename).endswith(endings):
            return format
    return None


def unpack_archive(filename, extract_dir=None, format=None, *, filter=None, progress=None, cancel=None, jobs=None):
    """Extract an archive into a directory, by default the current one.

    haul reads the tar formats with the filter "data", which is that of None in every version of Python; other formats and
    filters are handed over to shutil. Raise ReadError for what is no archive or is damaged, and Error with all other failures.
    """
    known = _format_of(filename) if format is None else format
    if known not in _READABLE or filter not in (None, "data") or not _is_shutils("_UNPACK_FORMATS", known):
        _refuse_others("the format or the filter", progress, cancel, jobs)
        others = {} if filter is None else {"filter": filter}
        return _unpack_archive(filename, extract_dir, format, **others)
    sys.audit("shutil.unpack_archive", filename, extract_dir, format)
    jobs = haul._number_of(jobs)
    extract_dir = os.getcwd() if extract_dir is None else os.fspath(extract_dir)
    filename = os.fspath(filename)
    open(filename, "rb").close()
    os.makedirs(os.path.dirname(os.path.abspath(extract_dir)), exist_ok=True)
    items = haul._failures(haul._call("unpack", (filename, extract_dir), 0, (), progress, cancel, jobs))
    for item in items:
        if item.action == "NotArchive":
            raise haul.ReadError("%s is not a compressed or uncompressed tar file" % os.fsdecode(filename))
        if item.action == "BadArchive":
            raise haul.ReadError(item.message)
    if items:
        raise haul.Error(haul._errors(items, extract_dir))
    return None


# To programs they are functions of haul.
make_archive.__module__ = unpack_archive.__module__ = "haul"
