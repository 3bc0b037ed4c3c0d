//! Backups: an existing target gets another name before the run replaces it.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use haul_sys::fs::{Follow, RenameMode, linkat, open_directory, renameat, statat};
use haul_sys::{Call, CallError, Errno, is_refused};

use super::swap::swap_in;
use crate::data::request::{Backup, BackupKind};
use crate::names::path::{directory_of, split, trimmed};

/// Number of attempts to find a free backup number while other processes take numbers.
const ATTEMPTS: u32 = 100;

/// Renames a target to its backup name, and returns that name, in the same directory.
pub(crate) fn make(
    directory: BorrowedFd<'_>,
    name: &CStr,
    backup: &Backup,
) -> haul_sys::Result<CString> {
    let rename = |to: &CStr, mode| renameat(directory, name, directory, to, mode);
    under_name(directory, name, backup, |backup_name, mode| match rename(backup_name, mode) {
        // The file system does not support RENAME_NOREPLACE: the number was free a moment ago.
        Err(error) if is_refused(error.call, error.errno) && mode == RenameMode::NoReplace => {
            rename(backup_name, RenameMode::Replace)
        }
        answer => answer,
    })
}

/// Links a target to its backup name, and returns that name.
pub(crate) fn link(
    directory: BorrowedFd<'_>,
    name: &CStr,
    backup: &Backup,
) -> haul_sys::Result<CString> {
    let link = |to: &CStr| linkat(directory, name, directory, to, Follow::No);
    under_name(directory, name, backup, |backup_name, mode| match mode {
        RenameMode::NoReplace => link(backup_name),
        _ => swap_in(directory, backup_name, link),
    })
}

/// Makes a backup under the name that it should get. If another process takes a number in the
/// meantime, the function tries the next number.
fn under_name(
    directory: BorrowedFd<'_>,
    name: &CStr,
    backup: &Backup,
    make: impl Fn(&CStr, RenameMode) -> haul_sys::Result<()>,
) -> haul_sys::Result<CString> {
    let mut taken = CallError::new(Call::Renameat2, Errno::EXIST);
    for _ in 0..ATTEMPTS {
        let (backup_name, mode) = name_for(directory, name, backup)?;
        match make(&backup_name, mode) {
            Ok(()) => return Ok(backup_name),
            Err(error) if error.errno == Errno::EXIST && mode == RenameMode::NoReplace => {
                taken = error;
            }
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Returns the name that a backup would get, and whether the backup may replace an older one.
pub(crate) fn name_for(
    directory: BorrowedFd<'_>,
    name: &CStr,
    backup: &Backup,
) -> haul_sys::Result<(CString, RenameMode)> {
    let numbered = match backup.kind {
        BackupKind::Simple => None,
        BackupKind::Existing => match highest(directory, name)? {
            0 => None,
            number => Some(number),
        },
        BackupKind::Numbered => Some(highest(directory, name)?),
    };
    let mut bytes = trimmed(name.to_bytes()).to_vec();
    let mode = match numbered {
        Some(number) => {
            bytes.extend_from_slice(format!(".~{}~", number.saturating_add(1)).as_bytes());
            RenameMode::NoReplace
        }
        None => {
            bytes.extend_from_slice(&backup.suffix);
            RenameMode::Replace
        }
    };
    let name = CString::new(bytes).map_err(|_| CallError::new(Call::Renameat2, Errno::INVAL))?;
    Ok((name, mode))
}

/// Returns the backup name of a target that has no numbered backups; `None` if the policy wants
/// numbers.
pub(crate) fn simple_name(name: &CStr, backup: &Backup) -> Option<CString> {
    let bytes = [trimmed(name.to_bytes()), &backup.suffix].concat();
    (backup.kind != BackupKind::Numbered).then(|| CString::new(bytes).ok()).flatten()
}

/// Returns the name of a file whose numbered backup may have this name; `None` if the name is none of a
/// numbered backup, or the policy wants no numbers.
pub(crate) fn numbered_from(name: &CStr, backup: &Backup) -> Option<CString> {
    if backup.kind == BackupKind::Simple {
        return None;
    }
    let name = name.to_bytes();
    let without_tilde = name.strip_suffix(b"~")?;
    let digits = without_tilde.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let base = without_tilde[..without_tilde.len() - digits].strip_suffix(b".~")?;
    number_of(name, base)?;
    CString::new(base).ok()
}

/// Returns the highest number among the numbered backups of a name; 0 if there are none.
fn highest(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<u64> {
    let (_, base) = split(name.to_bytes());
    let parent = open_directory(directory, &directory_of(name.to_bytes()), Follow::Yes)?;
    let mut highest = 0;
    haul_tree::for_each_name(&parent, |entry| {
        highest = highest.max(number_of(entry.name.to_bytes(), base).unwrap_or(0));
        ControlFlow::Continue(())
    })?;
    Ok(highest)
}

fn number_of(entry: &[u8], base: &[u8]) -> Option<u64> {
    let digits = entry.strip_prefix(base)?.strip_prefix(b".~")?.strip_suffix(b"~")?;
    if digits.first().is_none_or(|first| !matches!(first, b'1'..=b'9')) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns whether the simple backup of the target would overwrite the source.
pub(crate) fn would_destroy(
    source: (&CStr, &haul_sys::fs::Stat),
    directory: BorrowedFd<'_>,
    target: &CStr,
    backup: &Backup,
) -> bool {
    let Some(name) = simple_name(target, backup) else { return false };
    let (_, source_base) = split(source.0.to_bytes());
    let (_, target_base) = split(target.to_bytes());
    let is_named_so =
        source_base.strip_prefix(target_base).is_some_and(|rest| rest == backup.suffix.as_slice());
    if !is_named_so {
        return false;
    }
    statat(directory, &name).is_ok_and(|stat| stat.same_file(source.1))
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::{Backup, BackupKind, number_of, numbered_from};

    #[test]
    fn only_numbered_backups_of_the_name_count() {
        assert_eq!(number_of(b"f.~12~", b"f"), Some(12));
        assert_eq!(number_of(b"f.~012~", b"f"), None);
        assert_eq!(number_of(b"f.~~", b"f"), None);
        assert_eq!(number_of(b"ff.~1~", b"f"), None);
        assert_eq!(number_of(b"f~", b"f"), None);
    }

    #[test]
    fn a_numbered_backup_shows_whose_it_is() {
        let from = |name, kind| {
            let found = numbered_from(name, &Backup { kind, suffix: b"~".to_vec() });
            found.map(CString::into_bytes)
        };
        for kind in [BackupKind::Numbered, BackupKind::Existing] {
            assert_eq!(from(c"f.~12~", kind), Some(b"f".to_vec()));
            assert_eq!(from(c"f.~1~.~2~", kind), Some(b"f.~1~".to_vec()));
            for name in [c"f", c"f~", c"f.~~", c"f.~01~", c"f12~", c"~", c""] {
                assert_eq!(from(name, kind), None, "{name:?}");
            }
        }
        assert_eq!(from(c"f.~12~", BackupKind::Simple), None);
    }
}
