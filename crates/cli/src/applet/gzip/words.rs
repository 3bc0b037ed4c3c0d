//! What the words of the command line and of the variable `GZIP` ask for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::options::OPTIONS;
use super::settings::Settings;
use crate::ending::{CommandError, usage};
use crate::getopt::{Opt, Takes, Word, parse};
use crate::option::effect::{Answer, Effect};

/// What the words ask for.
#[derive(Debug)]
pub(super) enum Asked {
    Print(Answer),
    Files(Box<Settings>, Vec<OsString>),
}

/// Reads the variable `GZIP` and the words. Warnings go to `warn`.
pub(super) fn read(
    mut settings: Settings,
    variable: Option<OsString>,
    arguments: &[OsString],
    warn: &dyn Fn(&str),
) -> Result<Asked, CommandError> {
    if let Some(variable) = variable {
        from_variable(&mut settings, &variable, warn)?;
    }
    let mut files = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(file) => files.push(file),
            Word::Option { id: effect, value } => match effect.answer() {
                Some(answer) => return Ok(Asked::Print(answer)),
                None => effect.apply(&mut settings, value)?,
            },
        }
    }
    if settings.index.is_some() && files.len() > 1 {
        return Err(CommandError::Plain("--index is for one file".to_owned()));
    }
    if let Some(text) = settings.settle()? {
        warn(text);
    }
    Ok(Asked::Files(Box::new(settings), files))
}

/// The options that the variable may have, beside the levels.
const IN_VARIABLE: [&str; 8] =
    ["best", "fast", "name", "no-name", "quiet", "rsyncable", "silent", "verbose"];

/// Applies the words of the variable `GZIP`, of which only a few are allowed.
fn from_variable(
    settings: &mut Settings,
    variable: &OsStr,
    warn: &dyn Fn(&str),
) -> Result<(), CommandError> {
    let words: Vec<OsString> = variable
        .as_bytes()
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    if words.is_empty() {
        return Ok(());
    }
    let invalid =
        |option: &str| usage(format!("{option}: option not valid in GZIP environment variable"));
    if words.iter().any(|word| word == "--") {
        return invalid("--");
    }
    // Each is known by its place in the table.
    let places: Vec<Opt<usize>> =
        OPTIONS.iter().enumerate().map(|(at, option)| option.known_as(at)).collect();
    for word in parse(&words, &places)? {
        match word {
            Word::Operand(file) => {
                let file = file.to_string_lossy();
                return usage(format!("{file}: non-option in GZIP environment variable"));
            }
            Word::Option { id: at, value } => {
                let option = &OPTIONS[at];
                if !IN_VARIABLE.contains(&option.long) && option.takes != Takes::Digits {
                    return invalid(&shown(at));
                }
                option.id.apply(settings, value)?;
            }
        }
    }
    if !settings.is_quiet() {
        warn("warning: GZIP environment variable is deprecated; use an alias or script");
    }
    Ok(())
}

/// Returns how GNU's message names an option: by its letter, also where another name of it is given.
fn shown(at: usize) -> String {
    let is_other_name =
        |option: &Opt<Effect<Settings>>| option.short.is_empty() && option.help.is_empty();
    let option = match at.checked_sub(1).map(|before| &OPTIONS[before]) {
        Some(before) if is_other_name(&OPTIONS[at]) && !before.help.is_empty() => before,
        _ => &OPTIONS[at],
    };
    match option.short.chars().next() {
        None => format!("--{}", option.long),
        Some(letter) => format!("-{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Target, Task};
    use super::*;

    fn asked(variable: Option<&str>, words: &[&str]) -> Result<Box<Settings>, CommandError> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(
            Settings::new(Task::Compress, Target::Files),
            variable.map(OsString::from),
            &words,
            &|_| (),
        ) {
            Ok(Asked::Files(settings, _)) => Ok(settings),
            Ok(Asked::Print(answer)) => panic!("{answer:?}"),
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
        let several = CommandError::Plain("--index is for one file".to_owned());
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
