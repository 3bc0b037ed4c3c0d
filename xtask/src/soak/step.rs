//! One step of a script: a command or a pipeline, the same for haul and for GNU's tools.

use super::promise::Promise;
use super::stage::FILE_SYSTEMS;
use haul_manifest::{Aspect, Aspects};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: OsString,
    /// Whether only haul has this option.
    pub(crate) is_own: bool,
}

/// The program that a call runs in haul's cell. In the other cell it is always GNU's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Haul,
    Gnu,
}

/// One program of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) words: Vec<Word>,
    pub(crate) by: By,
}

impl Call {
    pub(crate) fn new(tool: &'static str) -> Self {
        Self { tool, words: Vec::new(), by: By::Haul }
    }

    pub(crate) fn arg(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(Word { text: word.into(), is_own: false });
        self
    }

    pub(crate) fn args<T: Into<OsString>>(self, words: impl IntoIterator<Item = T>) -> Self {
        words.into_iter().fold(self, Self::arg)
    }

    /// Adds options that only haul has.
    pub(crate) fn own<T: Into<OsString>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(|word| Word { text: word.into(), is_own: true }));
        self
    }

    pub(crate) fn by(mut self, by: By) -> Self {
        self.by = by;
        self
    }

    /// Whether the call has one of these words.
    pub(crate) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.iter().any(|one| word.text == *one))
    }
}

/// What is compared with GNU's tools after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Exit status and all trees, in these aspects.
    Compare(Aspects),
    /// Only the exit status: the step wrote bytes that may differ, such as a compressed stream.
    Status,
    /// Nothing: only the promises count. The options have a meaning that GNU's tools do not have.
    Promises,
}

/// Whether the paths of a command line begin at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Relative,
    Absolute,
}

impl Naming {
    /// Returns a word for a cell: a path, as its first part shows, may become an absolute one.
    pub(crate) fn word(self, word: &OsStr, dir: &Path) -> OsString {
        let first = word.as_bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
        match self {
            Self::Absolute if FILE_SYSTEMS.iter().any(|name| name.as_bytes() == first) => {
                // Not as a `Path`, which would not keep every slash.
                [dir.as_os_str(), OsStr::new("/"), word].into_iter().collect()
            }
            _ => word.to_owned(),
        }
    }
}

/// A command or a pipeline, with the paths relative to a cell.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) calls: Vec<Call>,
    pub(crate) input: Option<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    /// How haul's cell and the other one name their paths on the command line.
    pub(crate) naming: Naming,
    pub(crate) after: After,
    /// What holds in haul's cell if the exit status is 0.
    pub(crate) promises: Vec<Promise>,
}

impl Step {
    pub(crate) fn new(calls: Vec<Call>) -> Self {
        Self {
            calls,
            input: None,
            output: None,
            naming: Naming::Relative,
            after: After::Compare(Aspects::preserved()),
            promises: Vec::new(),
        }
    }

    pub(crate) fn from(mut self, input: impl Into<PathBuf>) -> Self {
        self.input = Some(input.into());
        self
    }

    pub(crate) fn to(mut self, output: impl Into<PathBuf>) -> Self {
        self.output = Some(output.into());
        self
    }

    pub(crate) fn after(mut self, after: After) -> Self {
        self.after = after;
        self
    }

    /// Names all paths of the command line from the root on.
    pub(crate) fn absolute(mut self) -> Self {
        self.naming = Naming::Absolute;
        self
    }

    /// Leaves an aspect out of the comparison with GNU's tools.
    pub(crate) fn without(mut self, aspect: Aspect) -> Self {
        if let After::Compare(aspects) = &mut self.after {
            *aspects = aspects.without(aspect);
        }
        self
    }

    pub(crate) fn promise(mut self, promise: Promise) -> Self {
        self.promises.push(promise);
        self
    }

    /// Returns the line for a shell, as it is run in haul's cell.
    pub(crate) fn shown(&self) -> String {
        let mut line = String::new();
        for (index, call) in self.calls.iter().enumerate() {
            if index > 0 {
                line.push_str(" | ");
            }
            line.push_str(if call.by == By::Haul { "haul " } else { "" });
            line.push_str(call.tool);
            for word in &call.words {
                line.push(' ');
                let shown = self.naming.word(&word.text, Path::new("$PWD"));
                let is_absolute = shown != word.text;
                line.push_str(if is_absolute { "$PWD/" } else { "" });
                line.push_str(&quoted(word.text.as_bytes()));
            }
        }
        for (sign, path) in [("<", &self.input), (">", &self.output)] {
            if let Some(path) = path {
                line.push_str(&format!(" {sign} {}", quoted(path.as_os_str().as_bytes())));
            }
        }
        line
    }
}

/// Returns a word as bash and zsh read it.
pub(crate) fn quoted(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=./,+:%@".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let mut text = String::from("$'");
    for byte in word {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string does not fail.
            _ => write!(text, "\\x{byte:02x}").unwrap_or_default(),
        }
    }
    text.push('\'');
    text
}

/// Joins a path of a cell and a name that need not be UTF-8.
pub(crate) fn below(path: &str, name: &[u8]) -> OsString {
    OsString::from_vec([path.as_bytes(), b"/", name].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_as_a_shell_reads_it() {
        let first = Call::new("tar").arg("-c").own(["--jobs=1"]).arg(below("ext4", b"a b\xff'"));
        let step = Step::new(vec![first, Call::new("cat").by(By::Gnu)]).to("x/out");
        assert_eq!(step.shown(), "haul tar -c --jobs=1 $'ext4/a b\\xff\\'' | cat > x/out");
        assert!(step.calls[0].has(&["-c"]) && !step.calls[0].has(&["-x"]));
    }

    #[test]
    fn only_paths_become_absolute_and_keep_their_slashes() {
        let word = |text: &str| Naming::Absolute.word(text.as_ref(), Path::new("/cell"));
        assert_eq!(word("ext4/a/"), "/cell/ext4/a/");
        assert_eq!(word("--format=gnu"), "--format=gnu");
        assert_eq!(Naming::Relative.word("ext4/a".as_ref(), Path::new("/cell")), "ext4/a");
        let step = Step::new(vec![Call::new("cp").args(["-a", "ext4/x", "xfs/y"])]).absolute();
        assert_eq!(step.shown(), "haul cp -a $PWD/ext4/x $PWD/xfs/y");
    }

    #[test]
    fn quoted_words_survive_the_shell() {
        for word in [&b"a'b\\c\nd"[..], b"", b"\x01\xfe $HOME"] {
            let script = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(output.stdout, word);
        }
    }
}
