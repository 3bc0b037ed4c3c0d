//! Lines for people, and the question for their consent.

use haul_engine::monitor::{Event, MovedFile, Outcome, Question};
use haul_io::Detection;

use super::How;
use crate::escape::quote;
use crate::output::Output;

/// Returns the line that `-v` prints for an entry, if it prints one.
pub(super) fn entry(event: &Event, how: &How) -> Option<String> {
    let (source, target) = (quote(&event.source), quote(&event.target));
    match event.outcome {
        Outcome::Copied | Outcome::Linked => Some(match &event.backup {
            Some(backup) => format!("{source} -> {target} (backup: {})", quote(backup)),
            None => format!("{source} -> {target}"),
        }),
        // GNU cp quotes everything but these.
        Outcome::Parent => Some(format!(
            "{} -> {}",
            String::from_utf8_lossy(&event.source).escape_debug(),
            String::from_utf8_lossy(&event.target).escape_debug()
        )),
        Outcome::Removed => Some(format!("removed {target}")),
        Outcome::Skipped => how.debug.then(|| format!("skipped {target}")),
    }
}

/// Returns the line that `--debug` prints when the bytes are there: GNU cp's, and our method.
pub(super) fn moved(file: &MovedFile, how: &How) -> String {
    let method = haul_io::ladder::name(file.moved.line);
    let never = how.never_shares;
    let has_no_data = file.moved.bytes == 0
        && match file.moved.detection {
            Detection::Holes | Detection::HolesAndZeros => true,
            Detection::Unknown | Detection::No => !never,
            Detection::Zeros => false,
        };
    let (offload, reflink) = match method {
        "reflink" => ("unknown", "yes"),
        "copy-range" => ("yes", "unsupported"),
        // GNU cp says no more of what has no data; where it looks for zeros, or may not share
        // blocks, it avoids the call beforehand.
        _ if has_no_data && never => ("unknown", "no"),
        _ if has_no_data => ("unknown", "unsupported"),
        _ if never => ("avoided", "no"),
        _ => ("avoided", "unsupported"),
    };
    let detection = match file.moved.detection {
        Detection::Unknown => "unknown",
        Detection::No => "no",
        Detection::Zeros => "zeros",
        Detection::Holes => "SEEK_HOLE",
        Detection::HolesAndZeros => "SEEK_HOLE + zeros",
    };
    format!(
        "copy offload: {offload}, reflink: {reflink}, sparse detection: {detection}, method: {method}"
    )
}

/// Asks whether a target may be overwritten. No answer is no.
pub(super) fn ask(output: &Output, question: &Question, how: &How) -> bool {
    output.flush();
    let target = quote(&question.target);
    let text = match question.unwritable_mode {
        None => format!("overwrite {target}? "),
        Some(mode) if how.overrides => {
            format!("replace {target}, overriding mode {mode:04o} ({})? ", permissions(mode))
        }
        Some(mode) => {
            format!("unwritable {target} (mode {mode:04o}, {}); try anyway? ", permissions(mode))
        }
    };
    output.raw_error(&format!("{}: {text}", output.program()));
    crate::answer::is_yes()
}

/// Formats permission bits as `ls` does, without the file's kind.
fn permissions(mode: u32) -> String {
    let triple = |shift: u32, special: u32, letters: [char; 2]| {
        let bits = mode >> shift;
        let execute = match (bits & 1 != 0, mode & special != 0) {
            (true, true) => letters[0],
            (false, true) => letters[1],
            (true, false) => 'x',
            (false, false) => '-',
        };
        let read = if bits & 4 != 0 { 'r' } else { '-' };
        let write = if bits & 2 != 0 { 'w' } else { '-' };
        [read, write, execute]
    };
    let mut text = String::with_capacity(9);
    text.extend(triple(6, 0o4000, ['s', 'S']));
    text.extend(triple(3, 0o2000, ['s', 'S']));
    text.extend(triple(0, 0o1000, ['t', 'T']));
    text
}

#[cfg(test)]
mod tests {
    use super::permissions;

    #[test]
    fn permissions_look_like_those_of_ls() {
        assert_eq!(permissions(0o444), "r--r--r--");
        assert_eq!(permissions(0o4755), "rwsr-xr-x");
        assert_eq!(permissions(0o1666), "rw-rw-rwT");
    }
}
