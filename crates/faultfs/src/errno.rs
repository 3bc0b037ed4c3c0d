//! The names of errors, for the text form of rules.

use rustix::io::Errno;

const NAMES: &[(&str, Errno)] = &[
    ("EPERM", Errno::PERM),
    ("ENOENT", Errno::NOENT),
    ("EINTR", Errno::INTR),
    ("EIO", Errno::IO),
    ("ENXIO", Errno::NXIO),
    ("EBADF", Errno::BADF),
    ("EAGAIN", Errno::AGAIN),
    ("ENOMEM", Errno::NOMEM),
    ("EACCES", Errno::ACCESS),
    ("EBUSY", Errno::BUSY),
    ("EEXIST", Errno::EXIST),
    ("EXDEV", Errno::XDEV),
    ("ENODEV", Errno::NODEV),
    ("ENOTDIR", Errno::NOTDIR),
    ("EISDIR", Errno::ISDIR),
    ("EINVAL", Errno::INVAL),
    ("ENFILE", Errno::NFILE),
    ("EMFILE", Errno::MFILE),
    ("ETXTBSY", Errno::TXTBSY),
    ("EFBIG", Errno::FBIG),
    ("ENOSPC", Errno::NOSPC),
    ("EROFS", Errno::ROFS),
    ("EMLINK", Errno::MLINK),
    ("ERANGE", Errno::RANGE),
    ("ENAMETOOLONG", Errno::NAMETOOLONG),
    ("ENOSYS", Errno::NOSYS),
    ("ENOTEMPTY", Errno::NOTEMPTY),
    ("ELOOP", Errno::LOOP),
    ("ENODATA", Errno::NODATA),
    ("EOPNOTSUPP", Errno::OPNOTSUPP),
    ("ETIMEDOUT", Errno::TIMEDOUT),
    ("ESTALE", Errno::STALE),
    ("EDQUOT", Errno::DQUOT),
];

/// Returns the errno for a name or a number.
pub(crate) fn of_name(name: &str) -> Option<i32> {
    let named = NAMES.iter().find(|(known, _)| *known == name);
    named.map_or_else(
        || name.parse().ok().filter(|number| (1..4096).contains(number)),
        |(_, errno)| Some(errno.raw_os_error()),
    )
}
