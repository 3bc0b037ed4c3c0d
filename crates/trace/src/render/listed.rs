//! One call of a list as a line, in the form of strace(1).

use super::escape::escaped;
use super::quantity::time;
use crate::calls::{Argument, Outcome, arguments_of, open_flags, shape_of};
use crate::errno_name;
use crate::report::{CallEnd, ListedCall};

/// Returns the line of a call, with its end: thread, seconds since the first call, the call with its arguments and
/// its result, and the time that it took, of which the second figure is processor time.
#[must_use]
pub fn listed(call: &ListedCall) -> String {
    let seconds = call.start_ns / 1_000_000_000;
    let micros = call.start_ns % 1_000_000_000 / 1_000;
    let mut line = format!("{:>7} {seconds:>3}.{micros:06} {}(", call.tid, call.name);
    match arguments_of(&call.name) {
        None => line.push('…'),
        Some(kinds) => {
            let shown: Vec<String> = kinds
                .iter()
                .enumerate()
                .map(|(index, kind)| argument(call, index, *kind))
                .collect();
            line.push_str(&shown.join(", "));
        }
    }
    line.push_str(") = ");
    line.push_str(&match call.end {
        CallEnd::Returned(value) => result(call, value),
        CallEnd::Failed(errno) => format!("-1 {}", errno_name(errno)),
        CallEnd::Unfinished => "?".to_owned(),
    });
    line.push_str(&format!("  <{}", time(call.elapsed_ns)));
    if let Some(cpu_ns) = call.cpu_ns {
        line.push_str(&format!(", cpu {}", time(cpu_ns)));
    }
    line.push_str(">\n");
    line
}

/// A call that returns an address, which is not a number for people.
fn returns_address(name: &str) -> bool {
    matches!(name, "mmap" | "mremap" | "brk")
}

fn result(call: &ListedCall, value: i64) -> String {
    if returns_address(&call.name) { format!("{value:#x}") } else { value.to_string() }
}

/// Shows an argument by its meaning.
fn argument(call: &ListedCall, index: usize, kind: Argument) -> String {
    let register = call.arguments.get(index).copied().unwrap_or(0);
    let shape = shape_of(&call.name);
    let is_at = |place: Option<u8>| place.map(usize::from) == Some(index);
    match kind {
        Argument::Fd => {
            let file = if is_at(shape.fd) {
                call.file.as_deref()
            } else if is_at(shape.second_fd) {
                call.second_file.as_deref()
            } else {
                None
            };
            descriptor(register, file)
        }
        Argument::Path => path(call.file.as_deref(), register),
        Argument::SecondPath => path(call.second_path.as_deref(), register),
        Argument::Number => register.cast_signed().to_string(),
        Argument::Bits if register == 0 => "0".to_owned(),
        Argument::Bits => format!("{register:#x}"),
        Argument::OpenFlags => open_flags(register),
        // Only a call that creates reads the mode.
        Argument::Mode if shape.result == Outcome::Fd && !creates(call) => "0".to_owned(),
        Argument::Mode => format!("0{:o}", register & 0o7777),
    }
}

/// Returns whether a call of `open` may create a file, so that it reads its last argument.
fn creates(call: &ListedCall) -> bool {
    let flags = match call.name.as_ref() {
        "creat" => return true,
        "open" => call.arguments[1],
        _ => call.arguments[2],
    };
    let made = u64::try_from(libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).unwrap_or(0);
    flags & made != 0
}

fn descriptor(register: u64, file: Option<&str>) -> String {
    // The kernel reads the lower half of the register.
    let bytes = (register & 0xffff_ffff).to_le_bytes();
    let fd = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    match (fd, file) {
        (libc::AT_FDCWD, _) => "AT_FDCWD".to_owned(),
        (fd, Some(file)) if fd >= 0 => format!("{fd}<{}>", escaped(file)),
        (fd, _) => fd.to_string(),
    }
}

fn path(text: Option<&str>, register: u64) -> String {
    match text {
        Some(text) => format!("\"{}\"", escaped(text).replace('"', "\\\"")),
        None if register == 0 => "NULL".to_owned(),
        None => format!("{register:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &'static str, arguments: [u64; 6], end: CallEnd) -> ListedCall {
        ListedCall {
            pid: 71,
            tid: 72,
            start_ns: 1_000_002_500,
            name: name.into(),
            arguments,
            file: None,
            second_file: None,
            second_path: None,
            end,
            elapsed_ns: 12_300,
            cpu_ns: None,
        }
    }

    #[test]
    fn a_call_is_shown_with_names_and_times() {
        let fdcwd = u64::from((-100_i32).cast_unsigned());
        let flags = u64::try_from(libc::O_CREAT | libc::O_WRONLY).unwrap();
        let mut opened = call("openat", [fdcwd, 9, flags, 0o100_644, 0, 0], CallEnd::Returned(3));
        opened.file = Some("/tmp/a\u{1b}".to_owned());
        opened.cpu_ns = Some(9_000);
        assert_eq!(
            listed(&opened),
            "     72   1.000002 openat(AT_FDCWD, \"/tmp/a\\u{1b}\", O_WRONLY|O_CREAT, 0644) = 3  \
             <12.3 µs, cpu 9.00 µs>\n"
        );
        let mut copied = call("copy_file_range", [3, 0, 4, 0, 4096, 0], CallEnd::Failed(18));
        copied.file = Some("/s".to_owned());
        copied.second_file = Some("/t".to_owned());
        assert!(
            listed(&copied).contains(" copy_file_range(3</s>, 0, 4</t>, 0, 4096, 0) = -1 EXDEV  <"),
            "{}",
            listed(&copied)
        );
    }

    #[test]
    fn nothing_is_shown_of_registers_that_a_call_does_not_read() {
        let unknown = call("landlock_restrict_self", [9; 6], CallEnd::Returned(0));
        assert!(listed(&unknown).contains(" landlock_restrict_self(…) = 0  <"));
        let read = call("openat", [3, 9, 0, 0o777, 9, 9], CallEnd::Unfinished);
        assert!(listed(&read).contains(" openat(3, 0x9, O_RDONLY, 0) = ?  <"), "{}", listed(&read));
        let mapped = call("mmap", [0, 4096, 1, 2, u64::MAX, 0], CallEnd::Returned(0x7f00));
        assert!(listed(&mapped).contains(" mmap(0, 4096, 0x1, 0x2, -1, 0) = 0x7f00  <"));
        let gone = call("exit_group", [3, 9, 9, 9, 9, 9], CallEnd::Unfinished);
        assert!(listed(&gone).contains(" exit_group(3) = ?  <"));
    }
}
