//! A command line of a check: programs in a pipeline, and where its bytes come from and go to.
//!
//! Words are separated by spaces. A word in square brackets is for haul alone: an option that GNU's tool does
//! not have. `|`, `<FILE` and `>FILE` mean what they mean to a shell; there is no quoting.

use crate::trial::Ends;
use std::path::Path;

/// Whose programs a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Haul,
    Gnu,
}

/// A line that has been read.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    /// The programs with their arguments.
    pub(super) programs: Vec<Vec<&'a str>>,
    pub(super) ends: Ends,
}

/// Reads a line; paths for its ends are below `dir`.
pub(super) fn read<'a>(line: &'a str, whose: Whose, dir: &Path) -> Line<'a> {
    let mut read = Line { programs: vec![Vec::new()], ends: Ends::default() };
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let for_haul = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        match (word, for_haul) {
            ("|", _) => read.programs.push(Vec::new()),
            (_, Some(_)) if whose == Whose::Gnu => {}
            (word, None) if word.starts_with('<') => read.ends.input = Some(dir.join(&word[1..])),
            (word, None) if word.starts_with('>') => read.ends.output = Some(dir.join(&word[1..])),
            (word, own) => {
                if let Some(program) = read.programs.last_mut() {
                    program.push(own.unwrap_or(word));
                }
            }
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_brackets_are_for_haul() {
        let line = "cat [--cache=drop] far/a | tee far/b >far/c";
        let haul = read(line, Whose::Haul, Path::new("/x"));
        assert_eq!(haul.programs, [vec!["cat", "--cache=drop", "far/a"], vec!["tee", "far/b"]]);
        assert_eq!(haul.ends.output.as_deref(), Some(Path::new("/x/far/c")));
        let gnu = read(line, Whose::Gnu, Path::new("/x"));
        assert_eq!(gnu.programs[0], ["cat", "far/a"]);
        assert!(read("cat <near/a", Whose::Gnu, Path::new("/x")).ends.input.is_some());
    }
}
