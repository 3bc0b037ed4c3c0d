//! Questions before an entry is overwritten or removed, in the words of GNU's cp, mv and rm.

use haul_engine::monitor::{PromptReason, Protection, Question};
use haul_sys::fs::Kind;

use super::how::How;
use crate::escape::quote;
use crate::output::Output;

/// Asks a question on standard error; no answer is no.
pub(crate) fn ask(output: &Output, text: &str) -> bool {
    output.flush();
    output.raw_error(&format!("{}: {text}", output.program()));
    crate::answer::is_yes()
}

/// Returns the text of a question.
pub(super) fn text(question: &Question, how: &How) -> String {
    let path = quote(&question.path);
    match question.reason {
        PromptReason::Overwrite { unwritable_mode: None } => format!("overwrite {path}? "),
        PromptReason::Overwrite { unwritable_mode: Some(mode) } if how.overrides => {
            format!("replace {path}, overriding mode {mode:04o} ({})? ", permissions(mode))
        }
        PromptReason::Overwrite { unwritable_mode: Some(mode) } => {
            format!("unwritable {path} (mode {mode:04o}, {}); try anyway? ", permissions(mode))
        }
        PromptReason::Descend(protection) => {
            format!("descend into {}directory {path}? ", words_of(protection))
        }
        PromptReason::TryInaccessible => {
            format!("attempt removal of inaccessible directory {path}? ")
        }
        PromptReason::Remove { kind, size, protection } => {
            format!("remove {}{} {path}? ", words_of(protection), kind_words(kind, size))
        }
    }
}

const fn words_of(protection: Protection) -> &'static str {
    match protection {
        Protection::None => "",
        Protection::Protected => "write-protected ",
    }
}

/// Returns the name of a kind of file in GNU's tools.
fn kind_words(kind: Kind, size: u64) -> &'static str {
    match kind {
        Kind::Regular if size == 0 => "regular empty file",
        Kind::Regular => "regular file",
        Kind::Directory => "directory",
        Kind::Symlink => "symbolic link",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::BlockDevice => "block special file",
        Kind::CharDevice => "character special file",
        Kind::Unknown => "weird file",
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
    use super::*;

    #[test]
    fn permissions_look_like_those_of_ls() {
        assert_eq!(permissions(0o444), "r--r--r--");
        assert_eq!(permissions(0o4755), "rwsr-xr-x");
        assert_eq!(permissions(0o1666), "rw-rw-rwT");
    }

    #[test]
    fn questions_are_gnus() {
        let ask = |reason| text(&Question { path: b"x".to_vec(), reason }, &How::QUIET);
        let remove = |kind, size, protection| PromptReason::Remove { kind, size, protection };
        assert_eq!(
            ask(remove(Kind::Regular, 0, Protection::Protected)),
            "remove write-protected regular empty file 'x'? "
        );
        assert_eq!(ask(remove(Kind::Directory, 9, Protection::None)), "remove directory 'x'? ");
        assert_eq!(
            ask(PromptReason::Descend(Protection::Protected)),
            "descend into write-protected directory 'x'? "
        );
    }
}
