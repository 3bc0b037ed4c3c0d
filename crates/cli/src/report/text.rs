//! Lines for people, and the question for their consent.

use std::io::BufRead;

use haul_engine::monitor::{Event, Outcome, Question};

use crate::escape::quote;
use crate::output::Output;

/// Returns the line that `-v` prints for an entry, if it prints one.
pub(super) fn entry(event: &Event) -> Option<String> {
    match event.outcome {
        Outcome::Copied | Outcome::Linked => {
            Some(format!("{} -> {}", quote(&event.source), quote(&event.target)))
        }
        Outcome::Removed => Some(format!("removed {}", quote(&event.target))),
        Outcome::Skipped => None,
    }
}

/// Asks whether a target may be overwritten. No answer is no.
pub(super) fn ask(output: &Output, question: &Question) -> bool {
    output.flush();
    let target = quote(&question.target);
    let text = match question.unwritable_mode {
        None => format!("overwrite {target}? "),
        Some(mode) => {
            format!("unwritable {target} (mode {mode:04o}, {}); try anyway? ", permissions(mode))
        }
    };
    output.raw_error(&format!("{}: {text}", output.program()));
    let mut answer = String::new();
    match std::io::stdin().lock().read_line(&mut answer) {
        Ok(_) => answer.starts_with(['y', 'Y']),
        Err(_) => false,
    }
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
