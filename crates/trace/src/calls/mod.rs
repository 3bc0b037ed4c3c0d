//! Names of system calls and io_uring operations, and the meaning of their figures.
//!
//! Both backends count in rows, system calls by number and then io_uring operations by opcode; only
//! this module maps rows to names.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod arguments;
mod errno;
mod packed;
mod rings;
mod shape;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::borrow::Cow;

#[cfg(target_arch = "aarch64")]
use aarch64::NAMES;
#[cfg(target_arch = "x86_64")]
use x86_64::NAMES;

pub(crate) use arguments::{Argument, arguments_of, open_flags};
pub use errno::errno_name;
use packed::{Packed, text_bytes};
pub(crate) use rings::OPERATIONS;
pub(crate) use shape::{Outcome, Shape, Size, operation_shape, shape_of};

/// Number of rows for system calls; the last one counts every higher number.
pub(crate) const CALL_ROWS: usize = 512;
/// Number of rows for io_uring operations.
pub(crate) const RING_ROWS: usize = 128;
/// Total number of rows.
pub(crate) const ROWS: usize = CALL_ROWS + RING_ROWS;

/// The names of the system calls of this architecture.
static CALLS: Packed<{ NAMES.len() }, { text_bytes(NAMES) }> = Packed::of(NAMES);

/// The name of a system call or of an io_uring operation.
pub type Name = Cow<'static, str>;

/// Returns the name of a row; `call_NUMBER` or `op_NUMBER` if the tables have none.
pub(crate) fn row_name(row: usize) -> Name {
    if let Some(opcode) = row.checked_sub(CALL_ROWS) {
        return OPERATIONS
            .get(opcode)
            .map_or_else(|| format!("op_{opcode}").into(), |name| (*name).into());
    }
    call_name(row).map_or_else(|| format!("call_{row}").into(), Into::into)
}

/// Returns the name of a system call of this architecture by its number.
pub(crate) fn call_name(number: usize) -> Option<&'static str> {
    CALLS.name(i32::try_from(number).ok()?)
}

/// Returns numbers and names of all system calls of this architecture.
#[cfg(test)]
pub(crate) fn all_names() -> impl Iterator<Item = (i32, &'static str)> {
    CALLS.rows()
}

/// Returns the number of a system call of this architecture by its name.
pub(crate) fn call_number(name: &str) -> Option<usize> {
    CALLS.number(name).and_then(|number| usize::try_from(number).ok())
}

/// Returns the opcode of an io_uring operation by its name.
pub(crate) fn operation_number(name: &str) -> Option<usize> {
    OPERATIONS.iter().position(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_headers() {
        for (number, name) in [
            (libc::SYS_read, "read"),
            (libc::SYS_openat, "openat"),
            (libc::SYS_copy_file_range, "copy_file_range"),
            (libc::SYS_exit_group, "exit_group"),
            (libc::SYS_prctl, "prctl"),
            (libc::SYS_io_uring_enter, "io_uring_enter"),
            (libc::SYS_mseal, "mseal"),
        ] {
            assert_eq!(call_name(usize::try_from(number).unwrap()), Some(name));
            assert_eq!(call_number(name), usize::try_from(number).ok());
        }
    }

    #[test]
    fn tables_are_sorted_and_fit_their_rows() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NAMES.iter().all(|(number, _)| {
            usize::try_from(*number).is_ok_and(|number| number < CALL_ROWS - 1)
        }));
        assert!(OPERATIONS.len() < RING_ROWS);
    }

    #[test]
    fn rows_without_a_name_show_their_number() {
        assert_eq!(row_name(500), "call_500");
        assert_eq!(row_name(CALL_ROWS + 22), "read");
        assert_eq!(row_name(CALL_ROWS + 100), "op_100");
    }
}
