//! Which defaults a command line gets, as words before its own.

use std::ffi::{OsStr, OsString};

use super::source::{Defaults, Origin, Setting, Value, all};
use crate::escape::quote;
use crate::getopt::{self, AsDefault, Opt, Takes, Values, Word, parse};
use crate::page::{Page, Shown, Topic};
use crate::suggest;

/// The options of every command that takes defaults.
pub(crate) const CONFIG: &str = "config";
pub(crate) const NO_CONFIG: &str = "no-config";

/// How the command was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// As `haul cp`.
    ThroughHaul,
    /// As `cp`.
    ByItsName,
}

/// A word that a default stands for, and where it is from.
pub(crate) type Given = (OsString, Origin);

/// The defaults of a command line.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) given: Vec<Given>,
    /// A message for each file that was ignored.
    pub(crate) ignored: Vec<String>,
    /// Whether they are to be shown (`--debug`, and not `--json`).
    pub(crate) are_shown: bool,
}

fn option(shown: (usize, &Shown)) -> Opt<usize> {
    let (id, shown) = shown;
    let (short, long, takes, origin, help) =
        (shown.short, shown.long, shown.takes, shown.origin, shown.help);
    let (values, as_default) = (Values::Named, shown.as_default);
    Opt { id, short, long, takes, origin, help, values, as_default }
}

/// Returns the defaults of a command line; fails with the message about a wrong one. A command
/// without the option `--config` has none.
pub(crate) fn words(
    topics: impl Fn() -> Vec<Topic>,
    (name, page): (&str, fn() -> Page),
    words: &[OsString],
    called: Called,
) -> Result<Words, String> {
    // A program that is called by its own name reads nothing unless it is asked to.
    let asks = |word: &OsString| word.as_encoded_bytes().starts_with(b"--c");
    if called == Called::ByItsName && !words.iter().any(asks) {
        return Ok(Words::default());
    }
    if !takes_defaults(&page()) {
        return Ok(Words::default());
    }
    // Mostly there are none, and then the pages of the commands are not needed.
    let read = all();
    if read.as_ref().is_ok_and(Defaults::is_empty) {
        return Ok(Words::default());
    }
    let topics = topics();
    let Some(topic) = topics.iter().find(|topic| topic.name == name) else {
        return Ok(Words::default());
    };
    let options: Vec<Opt<usize>> = topic.page.all_options().enumerate().map(option).collect();
    // A command line that is wrong is refused by the command itself.
    let Ok(parsed) = parse(words, &options) else { return Ok(Words::default()) };
    let given: Vec<&str> = parsed
        .iter()
        .filter_map(|word| match word {
            Word::Option { id, .. } => options.get(*id).map(|option| option.long),
            Word::Operand(_) => None,
        })
        .collect();
    let wanted = given.iter().rev().find(|name| [CONFIG, NO_CONFIG].contains(name));
    let is_wanted = match (wanted, called) {
        (Some(name), _) => *name == CONFIG,
        (None, called) => called == Called::ThroughHaul,
    };
    if !is_wanted || given.contains(&"help") || given.contains(&"version") {
        return Ok(Words::default());
    }
    let are_shown = given.contains(&"debug") && !given.contains(&"json");
    let Defaults { settings, ignored } = read?;
    Ok(Words { given: chosen(&topics, topic, settings)?, ignored, are_shown })
}

fn takes_defaults(page: &Page) -> bool {
    page.all_options().any(|option| option.long == CONFIG)
}

/// Checks all defaults, and returns the words of those that the command has. Of several for one option
/// the last counts: one for the command is behind those for all, and `HAUL_OPTIONS` is behind both.
fn chosen(topics: &[Topic], topic: &Topic, all: Vec<Setting>) -> Result<Vec<Given>, String> {
    let mut chosen: Vec<(Setting, OsString)> = Vec::new();
    let mut all = all;
    // The order within each rank stays: the machine's file before the user's.
    all.sort_by_key(|one| match (&one.origin, &one.command) {
        (Origin::Line(..), None) => 0,
        (Origin::Line(..), Some(_)) => 1,
        (Origin::Environment, _) => 2,
    });
    for default in all {
        check(topics, &default)?;
        if default.command.as_deref().is_some_and(|command| command != topic.name) {
            continue;
        }
        let option = own_option(topic, &default.name).filter(may_be_default);
        let Some(option) = option else { continue };
        let word = word(option, &default)?;
        chosen.retain(|(before, _)| before.name != default.name);
        if let Some(word) = word {
            chosen.push((default, word));
        }
    }
    Ok(chosen.into_iter().map(|(default, word)| (word, default.origin)).collect())
}

fn own_option<'t>(topic: &'t Topic, name: &str) -> Option<&'t Shown> {
    let mut options = topic.page.all_options();
    options.find(|option| option.long == name && option.origin == getopt::Origin::Haul)
}

fn may_be_default(option: &&Shown) -> bool {
    option.as_default == AsDefault::Allowed
}

/// Refuses a default that no command has, one that is an option of GNU's, and one that is for one run.
fn check(topics: &[Topic], default: &Setting) -> Result<(), String> {
    let origin = &default.origin;
    let shown = quote(format!("--{}", default.name).as_bytes());
    let taking = || topics.iter().filter(|topic| takes_defaults(&topic.page));
    let of_command =
        |topic: &&Topic| default.command.as_deref().is_none_or(|name| name == topic.name);
    if let Some(command) = &default.command
        && !taking().any(|topic| topic.name == command)
    {
        let names: Vec<&str> = taking().map(|topic| topic.name).collect();
        return Err(format!(
            "{origin}: {} takes no defaults; these do: {}",
            quote(command.as_bytes()),
            names.join(", ")
        ));
    }
    let is_gnus = |topic: &Topic| {
        let mut options = topic.page.all_options();
        options.any(|it| it.long == default.name && it.origin == getopt::Origin::Gnu)
    };
    if let Some(topic) = taking().filter(of_command).find(|topic| topic.drop_in && is_gnus(topic)) {
        return Err(format!(
            "{origin}: {shown} is an option of GNU {}, and cannot be a default",
            topic.name
        ));
    }
    let mut found = taking().filter(of_command).filter_map(|it| own_option(it, &default.name));
    if let Some(first) = found.next() {
        if may_be_default(&first) || found.any(|option| may_be_default(&option)) {
            return Ok(());
        }
        return Err(format!(
            "{origin}: {shown} is for the run that it is given to, and no default"
        ));
    }
    let names = taking()
        .filter(of_command)
        .flat_map(|topic| topic.page.all_options())
        .filter(may_be_default)
        .map(|option| option.long);
    let meant = suggest::option(&default.name, names)
        .map(|name| format!("; did you mean '--{name}'?"))
        .unwrap_or_default();
    let owner = default.command.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
    Err(format!("{origin}: there is no option {shown}{owner} that can be a default{meant}"))
}

/// Returns the word that a default stands for; none where it switches an option off.
fn word(option: &Shown, default: &Setting) -> Result<Option<OsString>, String> {
    let long = option.long;
    let refused = |why: &str| Err(format!("{}: '--{long}' {why}", default.origin));
    match (&default.value, option.takes) {
        (Value::Switch(false), _) => Ok(None),
        (Value::Switch(true), Takes::Nothing | Takes::Optional(_)) => {
            Ok(Some(OsStr::new(&format!("--{long}")).to_owned()))
        }
        (Value::Switch(true), _) => refused("needs a value"),
        (Value::Text(_), Takes::Nothing) => refused("takes no value: give true or false"),
        (Value::Text(text), _) => Ok(Some(OsString::from(format!("--{long}={text}")))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source::{of_environment, of_text};
    use super::*;
    use crate::getopt::{Takes, own};

    fn topics() -> Vec<Topic> {
        let gnu = [getopt::long(0, "recursive", Takes::Nothing, "a")];
        let mine = [
            own(1, "jobs", Takes::Required("N"), "b").or_default(),
            own(2, "stats", Takes::Nothing, "c").or_default(),
            own(3, CONFIG, Takes::Nothing, "d"),
            own(4, NO_CONFIG, Takes::Nothing, "e"),
        ];
        let page = |mine: &[Opt<i32>]| {
            let page = Page::new("").options(&gnu, getopt::Origin::Gnu);
            page.options(mine, getopt::Origin::Haul)
        };
        let topic = |name, page| Topic { name, summary: "", drop_in: true, page };
        let (all, less) = (page(&mine), page(&mine[1..]));
        vec![topic("cp", all), topic("rm", less), topic("cat", Page::new(""))]
    }

    fn of(command: usize, text: &str, environment: &str) -> Result<Vec<String>, String> {
        let mut all = of_text(Path::new("f"), text)?;
        all.extend(of_environment(&environment.into())?);
        let topics = topics();
        let given = chosen(&topics, &topics[command], all)?;
        Ok(given.into_iter().map(|(word, _)| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn later_and_closer_defaults_win() {
        let text = "[defaults]\njobs = 2\nstats = true\n[defaults.cp]\nstats = false\n";
        assert_eq!(of(0, text, ""), Ok(vec!["--jobs=2".into()]));
        assert_eq!(of(1, text, ""), Ok(vec!["--stats".into()]), "rm has no --jobs here");
        assert_eq!(of(0, text, "--jobs=7"), Ok(vec!["--jobs=7".into()]));
        assert_eq!(of(0, text, "--stats"), Ok(vec!["--jobs=2".into(), "--stats".into()]));
    }

    #[test]
    fn gnus_options_and_unknown_ones_are_refused_with_their_line() {
        for (text, why) in [
            ("[defaults]\nrecursive = true\n", "'f', line 2: '--recursive' is an option of GNU cp"),
            (
                "[defaults]\n\njbos = 2\n",
                "'f', line 3: there is no option '--jbos' that can be a default; did you mean '--jobs'?",
            ),
            (
                "[defaults.cat]\njobs = 2\n",
                "'f', line 2: 'cat' takes no defaults; these do: cp, rm",
            ),
            ("[defaults.rm]\njobs = 2\n", "'f', line 2: there is no option '--jobs' of rm that"),
            (
                "[defaults]\nconfig = true\n",
                "'f', line 2: '--config' is for the run that it is given",
            ),
            ("[defaults]\njobs = true\n", "'f', line 2: '--jobs' needs a value"),
            ("[defaults]\nstats = 1\n", "'f', line 2: '--stats' takes no value"),
        ] {
            let error = of(0, text, "").unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
        assert!(of(0, "", "--recursive").unwrap_err().starts_with("HAUL_OPTIONS: "));
    }
}
