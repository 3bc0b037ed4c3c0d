//! What the command line and the variable `GZIP` ask for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use haul_codec::Cut;
use haul_io::digest::Algorithm;
use haul_io::{Cache, DataPolicy};

use super::names::SUFFIX_BYTES_MAX;
use super::options::{Id, OPTIONS};
use crate::getopt::{Usage, Word, parse};
use crate::metrics;
use crate::option::data::cache;
use crate::option::gentle;
use crate::option::stream::sum_algorithm;
use crate::value::{Dash, When, file, jobs, processors, when};

/// What is done with each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Compress,
    Decompress,
    /// Decompress, and write nothing.
    Test,
    List,
}

/// Where outputs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Files,
    Stdout,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Off,
    On,
}

impl Switch {
    pub(super) fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// The options of a run.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) task: Task,
    pub(super) target: Target,
    /// How often `-f` was given.
    pub(super) force: u32,
    pub(super) keep: Switch,
    pub(super) level: u8,
    /// Whether the name is stored or restored; by default only stored.
    name: Option<Switch>,
    time: Option<Switch>,
    pub(super) presume_terminal: Switch,
    pub(super) quiet: Switch,
    pub(super) verbose: u32,
    pub(super) recursive: Switch,
    pub(super) cut: Cut,
    pub(super) suffix: Vec<u8>,
    pub(super) synchronous: Switch,
    ascii: Switch,
    atomic: Switch,
    pub(super) policy: DataPolicy,
    pub(super) jobs: usize,
    /// The file that has the index, or gets it.
    pub(super) index: Option<OsString>,
    pub(super) metrics: metrics::Wanted,
    pub(super) progress: When,
    pub(super) sum: Option<&'static Algorithm>,
}

/// A text that is printed in place of any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Help,
    Version,
    Licence,
}

/// What the words ask for.
#[derive(Debug)]
pub(super) enum Asked {
    Text(Text),
    Files(Box<Settings>, Vec<OsString>),
}

/// Why nothing is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The hint at `--help` follows.
    Usage(String),
    Plain(String),
}

impl From<Usage> for Refused {
    fn from(usage: Usage) -> Refused {
        Refused::Usage(usage.0)
    }
}

impl Settings {
    pub(super) fn new(task: Task, target: Target) -> Settings {
        Settings {
            task,
            target,
            force: 0,
            keep: Switch::Off,
            level: 6,
            name: None,
            time: None,
            presume_terminal: Switch::Off,
            quiet: Switch::Off,
            verbose: 0,
            recursive: Switch::Off,
            cut: Cut::Even,
            suffix: b".gz".to_vec(),
            synchronous: Switch::Off,
            ascii: Switch::Off,
            atomic: Switch::Off,
            policy: DataPolicy::of_run(),
            jobs: processors(),
            index: None,
            metrics: metrics::Wanted::default(),
            progress: When::Auto,
            sum: None,
        }
    }

    pub(super) fn decompresses(&self) -> bool {
        self.task != Task::Compress
    }

    /// Returns whether names are stored, or restored.
    pub(super) fn keeps_name(&self) -> bool {
        self.name.map_or(!self.decompresses(), Switch::is_on)
    }

    /// Returns whether times are stored, or restored.
    pub(super) fn keeps_time(&self) -> bool {
        self.time.map_or(!self.decompresses(), Switch::is_on)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.is_on()
    }

    /// Returns whether what is in no known format is passed on.
    pub(super) fn passes_unknown(&self) -> bool {
        self.force > 0 && self.target == Target::Stdout && self.task == Task::Decompress
    }

    fn set(&mut self, id: Id, value: Option<&OsStr>) -> Result<(), Refused> {
        let word = value.unwrap_or_default();
        match id {
            Id::Ascii => self.ascii = Switch::On,
            Id::Atomic => self.atomic = Switch::On,
            Id::Best => self.level = 9,
            Id::Bits if word.as_bytes().iter().all(u8::is_ascii_digit) => {
                return Err(Refused::Plain("-b is for -Z, which is not supported".to_owned()));
            }
            Id::Bits => return Err(Refused::Usage("-b operand is not an integer".to_owned())),
            Id::Cache => self.policy.cache = cache(word)?,
            Id::Decompress if self.task == Task::Compress => self.task = Task::Decompress,
            Id::Durable | Id::Synchronous => self.synchronous = Switch::On,
            Id::Fast => self.level = 1,
            Id::Force => self.force += 1,
            Id::Gentle => gentle::begin()?,
            Id::Index => {
                let value = value.map(OsStr::to_owned);
                self.index = Some(file("--index", value, Dash::NoOutput)?);
            }
            Id::Job => self.metrics.set_job(value)?,
            Id::Jobs => self.jobs = jobs(value)?,
            Id::Keep => self.keep = Switch::On,
            Id::Level => {
                // Several digits are several levels, of which the last counts.
                let digit = word.as_bytes().last().copied().unwrap_or(b'6');
                if word.as_bytes().contains(&b'0') {
                    return Err(Refused::Usage("invalid option -- '0'".to_owned()));
                }
                self.level = digit - b'0';
            }
            Id::List => (self.task, self.target) = (Task::List, Target::Stdout),
            Id::Lzw => return Err(Refused::Usage("-Z not supported in this version".to_owned())),
            Id::Metrics => self.metrics.set_file(value.map(OsStr::to_owned))?,
            Id::Name => (self.name, self.time) = (Some(Switch::On), Some(Switch::On)),
            Id::NoName => (self.name, self.time) = (Some(Switch::Off), Some(Switch::Off)),
            Id::NoTime => self.time = Some(Switch::Off),
            Id::PresumeTerminal => self.presume_terminal = Switch::On,
            Id::Progress => self.progress = when("--progress", value)?,
            Id::Quiet => (self.quiet, self.verbose) = (Switch::On, 0),
            Id::Recursive => self.recursive = Switch::On,
            Id::Rsyncable => self.cut = Cut::ByContent,
            Id::Stdout => self.target = Target::Stdout,
            Id::Suffix => self.suffix = word.as_bytes().to_vec(),
            Id::Sum => self.sum = Some(sum_algorithm(word)?),
            Id::Test if self.task != Task::List => {
                (self.task, self.target) = (Task::Test, Target::Stdout);
            }
            Id::Time => self.time = Some(Switch::On),
            Id::Verbose => (self.quiet, self.verbose) = (Switch::Off, self.verbose + 1),
            Id::Decompress | Id::Test | Id::Help | Id::Licence | Id::Version => {}
        }
        Ok(())
    }

    /// Refuses what contradicts itself. Returns the warning that is due.
    fn settle(&self) -> Result<Option<&'static str>, Refused> {
        // With a slash it would name a file in another directory.
        let leads_elsewhere = self.suffix.contains(&b'/');
        if self.suffix.is_empty() || self.suffix.len() > SUFFIX_BYTES_MAX || leads_elsewhere {
            let suffix = String::from_utf8_lossy(&self.suffix);
            return Err(Refused::Plain(format!("invalid suffix '{suffix}'")));
        }
        if self.atomic.is_on() && self.target == Target::Stdout {
            let text = "--atomic is about names of outputs, and here no output gets a name";
            return Err(Refused::Plain(text.to_owned()));
        }
        if self.sum.is_some() && self.task == Task::List {
            return Err(Refused::Plain("--sum and --list exclude each other".to_owned()));
        }
        if self.index.is_some() && (self.recursive.is_on() || self.passes_unknown()) {
            let other = if self.recursive.is_on() { "-r" } else { "-cdf" };
            return Err(Refused::Plain(format!("--index and {other} exclude each other")));
        }
        if matches!(self.policy.cache, Cache::Restore) && self.target == Target::Files {
            let text = "--cache=restore is for outputs that exist; use drop or direct";
            return Err(Refused::Plain(text.to_owned()));
        }
        self.metrics.settle()?;
        let is_due = self.ascii.is_on() && !self.is_quiet();
        Ok(is_due.then_some("option --ascii ignored on this system"))
    }
}

/// Reads the variable `GZIP` and the words. Warnings go to `warn`.
pub(super) fn read(
    mut settings: Settings,
    variable: Option<OsString>,
    arguments: &[OsString],
    warn: &dyn Fn(&str),
) -> Result<Asked, Refused> {
    if let Some(variable) = variable {
        from_variable(&mut settings, &variable, warn)?;
    }
    let mut files = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(file) => files.push(file),
            Word::Option { id: Id::Help, .. } => return Ok(Asked::Text(Text::Help)),
            Word::Option { id: Id::Version, .. } => return Ok(Asked::Text(Text::Version)),
            Word::Option { id: Id::Licence, .. } => return Ok(Asked::Text(Text::Licence)),
            Word::Option { id, value } => settings.set(id, value.as_deref())?,
        }
    }
    if settings.index.is_some() && files.len() > 1 {
        return Err(Refused::Plain("--index is for one file".to_owned()));
    }
    if let Some(text) = settings.settle()? {
        warn(text);
    }
    Ok(Asked::Files(Box::new(settings), files))
}

/// Applies the words of the variable `GZIP`, of which only a few are allowed.
fn from_variable(
    settings: &mut Settings,
    variable: &OsStr,
    warn: &dyn Fn(&str),
) -> Result<(), Refused> {
    let words: Vec<OsString> = variable
        .as_bytes()
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    if words.is_empty() {
        return Ok(());
    }
    let invalid = |option: &str| {
        Refused::Usage(format!("{option}: option not valid in GZIP environment variable"))
    };
    if words.iter().any(|word| word == "--") {
        return Err(invalid("--"));
    }
    for word in parse(&words, OPTIONS)? {
        match word {
            Word::Operand(file) => {
                let file = file.to_string_lossy();
                let text = format!("{file}: non-option in GZIP environment variable");
                return Err(Refused::Usage(text));
            }
            Word::Option {
                id:
                    id @ (Id::Best
                    | Id::Fast
                    | Id::Level
                    | Id::Name
                    | Id::NoName
                    | Id::Quiet
                    | Id::Rsyncable
                    | Id::Verbose),
                value,
            } => settings.set(id, value.as_deref())?,
            Word::Option { id, .. } => {
                let found = OPTIONS.iter().find(|option| option.id == id);
                let name = found.map_or(String::new(), |option| match option.short {
                    "" => format!("--{}", option.long),
                    short => format!("-{}", short.get(..1).unwrap_or(short)),
                });
                return Err(invalid(&name));
            }
        }
    }
    if !settings.is_quiet() {
        warn("warning: GZIP environment variable is deprecated; use an alias or script");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(variable: Option<&str>, words: &[&str]) -> Result<Box<Settings>, Refused> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(
            Settings::new(Task::Compress, Target::Files),
            variable.map(OsString::from),
            &words,
            &|_| (),
        ) {
            Ok(Asked::Files(settings, _)) => Ok(settings),
            Ok(Asked::Text(text)) => panic!("{text:?}"),
            Err(refused) => Err(refused),
        }
    }

    #[test]
    fn the_last_level_counts() {
        assert_eq!(asked(None, &["-19", "--fast", "-37"]).unwrap().level, 7);
        assert_eq!(asked(Some("-9"), &[]).unwrap().level, 9);
        assert_eq!(asked(Some("-9 --rsyncable"), &["-2"]).unwrap().level, 2);
        assert!(asked(None, &["-10"]).is_err());
    }

    #[test]
    fn listing_is_testing_that_prints() {
        for words in [["-l", "-t", "-d"], ["-d", "-t", "-l"]] {
            let settings = asked(None, &words).unwrap();
            assert_eq!((settings.task, settings.target), (Task::List, Target::Stdout));
        }
        assert_eq!(asked(None, &["-dt"]).unwrap().task, Task::Test);
    }

    #[test]
    fn names_and_times_are_stored_and_not_restored_unless_asked() {
        let settings = asked(None, &[]).unwrap();
        assert!(settings.keeps_name() && settings.keeps_time());
        let settings = asked(None, &["-d"]).unwrap();
        assert!(!settings.keeps_name() && !settings.keeps_time());
        let settings = asked(None, &["-dN"]).unwrap();
        assert!(settings.keeps_name() && settings.keeps_time());
        assert!(!asked(None, &["-n"]).unwrap().keeps_name());
    }

    #[test]
    fn the_variable_may_not_change_what_is_done() {
        for words in ["--", "-c", "--stdout", "-d", "-Sxxx", "--suffix=xxx", "-t", "file", "-h"] {
            assert!(asked(Some(words), &[]).is_err(), "{words}");
        }
        for words in ["", " ", "-n", "--name", "-qv", "-1 --best"] {
            assert!(asked(Some(words), &[]).is_ok(), "{words}");
        }
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        let several = Refused::Plain("--index is for one file".to_owned());
        assert_eq!(asked(None, &["--index=x", "a", "b"]).unwrap_err(), several);
        assert!(asked(None, &["--index=x", "-r", "a"]).is_err());
        assert!(asked(None, &["--index=x", "-cdf", "a"]).is_err());
        assert!(asked(None, &["--index=", "a"]).is_err());
        assert!(asked(None, &["-Z"]).is_err());
        assert!(asked(None, &["-b", "9"]).is_err());
        assert!(asked(None, &["--atomic", "-c"]).is_err());
        assert!(asked(None, &["-S", ""]).is_err());
    }
}
