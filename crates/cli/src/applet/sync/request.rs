//! From the words of `sync` to a request: its operands, its selections, its resources.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use haul_engine::request::{Parents, Policy, Request, Selected, TargetForm};
use haul_engine::select::Purpose;

use super::help::help;
use super::options::OPTIONS;
use super::other_options::{NEGATIONS, UNSUPPORTED, WITHOUT_EFFECT};
use super::settings::Settings;
use crate::ending::{CommandError, usage};
use crate::escape::quote;
use crate::getopt::{Opt, parse};
use crate::option::effect::{Asked, Effect, read_words};
use crate::value;

/// The name that messages begin with.
pub(super) const PROGRAM: &str = "sync";

/// What the words ask for.
pub(super) enum Command {
    Sync(Box<Settings>, Vec<OsString>),
    Print(String),
}

/// Reads the arguments.
pub(super) fn read(arguments: &[OsString]) -> Result<Command, CommandError> {
    let mut settings = Settings::new();
    let options: Vec<Opt<Effect<Settings>>> =
        [OPTIONS, NEGATIONS, WITHOUT_EFFECT, UNSUPPORTED].concat();
    let words = parse(arguments, &options);
    let operands = match read_words(words, &mut settings, PROGRAM, || help("haul sync"))? {
        Asked::Print(text) => return Ok(Command::Print(text)),
        Asked::Work(operands) => operands,
    };
    settings.settle()?;
    Ok(Command::Sync(Box::new(settings), operands))
}

/// Turns settings and operands into a request.
pub(super) fn request(settings: &Settings, operands: &[OsString]) -> Result<Request, CommandError> {
    for operand in operands {
        refuse_remote(operand)?;
    }
    let (target, sources) = match operands.split_last() {
        None => return usage("missing operands: give a SOURCE and a TARGET".to_owned()),
        Some((only, [])) => {
            return usage(format!("missing TARGET after {}", quote(only.as_bytes())));
        }
        Some(split) => split,
    };
    if let Some(empty) = operands.iter().find(|operand| operand.is_empty()) {
        return usage(format!(
            "the operand {} is empty: give '.' for this directory",
            quote(empty.as_bytes())
        ));
    }
    refuse_several_contents(settings, sources)?;
    refuse_relative(settings, sources)?;
    let jobs = || if value::is_one_small_file(sources) { 1 } else { value::default_jobs() };
    let mut policy = settings.policy.clone();
    let resources = settings.data.resources(&mut policy.data, settings.jobs, jobs);
    select(settings, &mut policy, sources)?;
    let is_there = |source: &&OsString| {
        let is_missing = std::fs::symlink_metadata(source)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        !(settings.ignores_missing && is_missing)
    };
    let has_list = policy.selection.as_ref().is_some_and(|selected| selected.0.has_list());
    let sources = sources.iter().filter(is_there).map(|source| {
        let mut name = source.clone();
        if has_list && !source.as_bytes().ends_with(b"/") {
            // Listed names are below SOURCE, and their copies below TARGET.
            name.push("/");
        }
        c_string(&name)
    });
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    Ok(Request::of_names(sources, c_string(target)?, policy, resources).form(TargetForm::Contents))
}

/// Refuses an operand that rsync would look for on another machine.
fn refuse_remote(operand: &OsStr) -> Result<(), CommandError> {
    let bytes = operand.as_bytes();
    let is_url = bytes.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case(b"rsync://"));
    let colon = bytes.iter().position(|byte| *byte == b':');
    let slash = bytes.iter().position(|byte| *byte == b'/');
    let is_remote = match (colon, slash) {
        (Some(0) | None, _) => false,
        (Some(colon), Some(slash)) => colon < slash,
        (Some(_), None) => true,
    };
    if !is_url && !is_remote {
        return Ok(());
    }
    Err(CommandError::Plain(format!(
        "{0} is on another machine, and haul sync works on local trees: run rsync itself for that; a file of this \
         name is {1}",
        quote(bytes),
        quote(&[b"./", bytes].concat())
    )))
}

/// Refuses to remove what is not in the one of several directories, although it is in another one.
fn refuse_several_contents(settings: &Settings, sources: &[OsString]) -> Result<(), CommandError> {
    let is_contents = |source: &&OsString| {
        let bytes = source.as_bytes();
        let last = bytes.rsplit(|byte| *byte == b'/').next();
        matches!(last, Some(b"" | b"." | b".."))
    };
    let is_cut = settings.policy.parents == Parents::Cut;
    if is_cut
        && settings.deletes
        && sources.len() > 1
        && sources.iter().any(|source| is_contents(&source))
    {
        return usage(
            "--delete is not supported by haul with several SOURCEs of which one ends in a slash: each would have to \
             be removed what the others have; give one command for each"
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses paths that would lead out of TARGET.
fn refuse_relative(settings: &Settings, sources: &[OsString]) -> Result<(), CommandError> {
    if settings.policy.parents == Parents::Cut {
        return Ok(());
    }
    let goes_up = |source: &&OsString| {
        let bytes = source.as_bytes();
        let dot = bytes.windows(3).position(|part| part == b"/./");
        let path = &bytes[dot.map_or(0, |at| at + 3)..];
        path.split(|byte| *byte == b'/').any(|part| part == b"..")
    };
    match sources.iter().find(goes_up) {
        Some(source) => usage(format!(
            "--relative with '..' in {} is not supported by haul: put /./ behind it",
            quote(source.as_bytes())
        )),
        None => Ok(()),
    }
}

/// Sets what is selected for the copy, and what is protected. The files of rules are read here, before anything is
/// done.
fn select(
    settings: &Settings,
    policy: &mut Policy,
    sources: &[OsString],
) -> Result<(), CommandError> {
    let protect =
        if settings.deletes_excluded { Purpose::ProtectExplicitly } else { Purpose::Protect };
    let [sent, protected] = settings.select.selections([Purpose::Send, protect], sources.len())?;
    let has_list = sent.as_ref().is_some_and(|selection| selection.has_list());
    if has_list && settings.deletes {
        return usage(
            "--files-from cannot be combined with --delete: what is not listed would be removed"
                .to_owned(),
        );
    }
    if has_list && !settings.is_recursive_by_itself {
        return usage(
            "--files-from needs -r, also beside -a: a directory that is listed is copied with everything in it"
                .to_owned(),
        );
    }
    let mut rules = settings.rules.clone();
    rules.protected = protected.map(Selected);
    policy.selection = sent.map(Selected);
    policy.synchronize = Some(rules);
    Ok(())
}

fn c_string(name: &OsStr) -> Result<CString, CommandError> {
    // The kernel hands no argument with a NUL to a program.
    CString::new(name.as_bytes())
        .map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))
}

#[cfg(test)]
mod tests {
    use haul_engine::request::{
        Appearance, Borders, Dereference, Keep, Links, ModePolicy, Order, Ownership, Recursion,
        SameBy,
    };

    use super::*;
    use crate::getopt::Usage;
    use crate::report::Lists;
    use crate::value::When;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn settings(line: &str) -> Settings {
        match read(&words(line)) {
            Ok(Command::Sync(settings, _)) => *settings,
            Ok(Command::Print(_)) => panic!("{line} prints"),
            Err(error) => panic!("{line}: {error:?}"),
        }
    }

    fn asked(line: &str) -> Request {
        let Ok(Command::Sync(settings, operands)) = read(&words(line)) else {
            panic!("{line} is refused");
        };
        request(&settings, &operands).unwrap_or_else(|error| panic!("{line}: {error:?}"))
    }

    fn refusal(line: &str) -> String {
        let refused = read(&words(line)).and_then(|command| match command {
            Command::Sync(settings, operands) => request(&settings, &operands).map(|_| ()),
            Command::Print(_) => Ok(()),
        });
        match refused {
            Err(CommandError::Usage(Usage(text)) | CommandError::Plain(text)) => text,
            Ok(()) => panic!("{line} is not refused"),
        }
    }

    #[test]
    fn archive_stands_for_its_letters() {
        for line in ["-a s t", "-rlptgoD s t", "-rlptgo --devices --specials s t"] {
            let Settings { policy, rules, .. } = settings(line);
            assert_eq!(policy.recursion, Recursion::Yes);
            assert_eq!(policy.dereference, Dereference::Never);
            assert_eq!(policy.appearance, Appearance::Whole);
            let preserve = policy.preserve;
            assert_eq!((preserve.mode, preserve.times), (ModePolicy::Keep, Keep::Must));
            assert_eq!((preserve.ownership, preserve.xattr), (Keep::Must, Keep::No));
            assert_eq!(preserve.links, Links::Split);
            assert!(rules.symlinks && rules.devices && rules.specials, "{line}");
            assert_eq!(rules, haul_engine::request::Synchronize::default());
        }
    }

    #[test]
    fn the_last_of_an_option_and_its_negation_counts() {
        assert_eq!(settings("-a --no-r s t").policy.recursion, Recursion::No);
        assert_eq!(settings("--no-r -a s t").policy.recursion, Recursion::Yes);
        assert_eq!(settings("-a --no-o --no-g s t").policy.preserve.ownership, Keep::No);
        assert_eq!(settings("-a --no-times s t").policy.preserve.times, Keep::No);
        assert_eq!(settings("-a --no-p -A s t").policy.preserve.mode, ModePolicy::Keep);
        let rules = settings("-a --no-D --specials --no-l s t").rules;
        assert_eq!((rules.devices, rules.specials, rules.symlinks), (false, true, false));
        assert_eq!(settings("-aHX --no-H --no-X s t").policy.preserve.links, Links::Split);
    }

    #[test]
    fn owner_and_group_are_kept_each_for_itself() {
        let kept = |line: &str| {
            let settings = settings(line);
            (settings.policy.preserve.ownership, settings.rules.ownership)
        };
        for (line, keep, ownership) in [
            ("-ro s t", Keep::Must, Ownership::User),
            ("-rg s t", Keep::Must, Ownership::Group),
            ("-a --no-o s t", Keep::Must, Ownership::Group),
            ("-a --no-group s t", Keep::Must, Ownership::User),
            ("-a --no-o --no-g s t", Keep::No, Ownership::Both),
            ("-r --usermap=*:0 s t", Keep::Must, Ownership::User),
            ("-r --groupmap=5-7:0,:3,root:4 s t", Keep::Must, Ownership::Group),
            ("-r --chown=0:0 s t", Keep::Must, Ownership::Both),
            ("-r --chown=:0 s t", Keep::Must, Ownership::Group),
        ] {
            assert_eq!(kept(line), (keep, ownership), "{line}");
        }
        for line in
            ["--usermap=a s t", "--usermap=*:no-such-user s t", "--chown=0 --usermap=*:0 s t"]
        {
            assert!(refusal(line).contains("--usermap"), "{line}");
        }
        assert!(refusal("--chmod=u+q s t").contains("--chmod"));
    }

    #[test]
    fn the_question_for_sameness_is_rsyncs() {
        let same = |line: &str| settings(line).rules.same;
        assert_eq!(same("-a s t"), SameBy::SizeAndTime { window_s: 0 });
        assert_eq!(same("-a -@2 s t"), SameBy::SizeAndTime { window_s: 2 });
        assert_eq!(same("-a --modify-window=-1 s t"), SameBy::SizeAndTime { window_s: 0 });
        assert_eq!(same("-a --size-only -I s t"), SameBy::Size);
        assert_eq!(same("-aI s t"), SameBy::Never);
        assert_eq!(same("-acI --size-only s t"), SameBy::Content);
    }

    #[test]
    fn every_form_of_delete_deletes() {
        for option in [
            "--delete",
            "--del",
            "--delete-before",
            "--delete-during",
            "--delete-delay",
            "--delete-after",
            "--delete-excluded",
        ] {
            let policy = asked(&format!("-a {option} --max-delete=5 s/ t")).policy;
            let rules = policy.synchronize.unwrap_or_default();
            assert!(rules.clears_directories, "{option}");
            let delete = rules.delete.unwrap_or_default();
            assert_eq!(delete.most, Some(5), "{option}");
            let excluded = settings(&format!("-a {option} s/ t")).deletes_excluded;
            assert_eq!(excluded, option == "--delete-excluded");
            assert!(!delete.from_empty, "{option}");
        }
        let none = |line: &str| asked(line).policy.synchronize.and_then(|rules| rules.delete);
        assert_eq!(none("-a --max-delete=5 --allow-empty --ignore-errors s t"), None);
        let rules = asked("-a --delete --allow-empty s t").policy.synchronize;
        assert!(rules.and_then(|rules| rules.delete).is_some_and(|delete| delete.from_empty));
        assert!(settings("-a --force s t").rules.clears_directories);
        assert!(refusal("--delete s t").contains("-r"));
        assert!(refusal("-a --delete a/ b/ t").contains("one command for each"));
        assert!(refusal("-a --delete a b/. t").contains("one command for each"));
        asked("-a --delete a b t");
    }

    #[test]
    fn rules_select_and_protect() {
        let protected = |policy: Policy| policy.synchronize.and_then(|rules| rules.protected);
        let policy = asked("-a --delete --exclude=*.o -f P_*.keep s t").policy;
        assert!(policy.selection.is_some());
        assert!(protected(policy).is_some());
        assert!(asked("-aC s t").policy.selection.is_some());
        assert!(asked("-aFF s t").policy.selection.is_some());
        assert!(asked("-a s t").policy.selection.is_none());
        assert!(refusal("-a --delete --files-from=/dev/null s t").contains("no name"));
    }

    #[test]
    fn lines_are_wanted_by_v_and_i() {
        let lists = |line: &str| settings(line).lists();
        assert_eq!(lists("-a s t"), None);
        assert_eq!(lists("-av s t"), Some(Lists::Names));
        assert_eq!(lists("-avv s t"), Some(Lists::AllNames));
        assert_eq!(lists("-ai s t"), Some(Lists::Items));
        assert_eq!(lists("-avi s t"), Some(Lists::Items));
        assert_eq!(lists("-aii s t"), Some(Lists::AllItems));
        assert_eq!(lists("-aivv s t"), Some(Lists::AllItems));
        assert_eq!(lists("-avq s t"), None);
        assert_eq!(lists("-avv --no-v s t"), None);
        assert_eq!(settings("-av s t").policy.order, Order::Listed);
        assert_eq!(settings("-av --json s t").policy.order, Order::Any);
    }

    #[test]
    fn moments_and_digests_are_read() {
        for line in ["--stop-after=1 s t", "--stop-at=2999-01-01 s t", "--time-limit=5 s t"] {
            assert!(settings(line).stop_at.is_some(), "{line}");
        }
        assert!(settings("--stop-after=1 --no-stop-after s t").stop_at.is_none());
        for line in ["--stop-after=0 s t", "--stop-after=x s t", "--stop-at=2001-01-01 s t"] {
            assert!(refusal(line).contains("--stop-"), "{line}");
        }
        for name in ["xxh128", "xxh3", "md5", "sha1", "none,md5"] {
            let rules = settings(&format!("-c --checksum-choice={name} s t")).rules;
            assert!(rules.comparing.is_some(), "{name}");
        }
        assert!(settings("-c --cc=auto s t").rules.comparing.is_none());
        assert!(refusal("-c --cc=none s t").contains("none"));
        assert_eq!(settings("-a --info=name2,stats s t").lists(), Some(Lists::AllNames));
        assert!(settings("-a --info=stats2 s t").stats);
        assert_eq!(settings("-a --info=progress2 s t").progress, When::Always);
        assert!(refusal("-a --info=flist s t").contains("flist"));
        assert!(refusal("-aR ../a/b t").contains("/./"));
        assert_eq!(asked("-aR ../a/./b t").policy.parents, Parents::Keep);
    }

    #[test]
    fn other_machines_are_refused_by_name() {
        for operand in ["host:x", "me@host:x", "host::module", "rsync://host/x", "host:", "[::1]:x"]
        {
            for line in [format!("-a {operand} t"), format!("-a s {operand}")] {
                let text = refusal(&line);
                assert!(text.contains(operand) && text.contains("run rsync itself"), "{text}");
            }
        }
        for operand in ["./a:b", "/a:b", "a/b:c", ":a"] {
            assert_eq!(asked(&format!("-a {operand} t")).form, TargetForm::Contents);
        }
    }

    #[test]
    fn what_haul_does_not_have_is_refused_by_name_with_advice() {
        let mut names = std::collections::HashSet::new();
        for option in UNSUPPORTED {
            let value = if option.takes == crate::getopt::Takes::Nothing { "" } else { "=1" };
            let long = format!("--{}{value}", option.long);
            let short = format!("-{}{}", option.short, value.trim_start_matches('='));
            for word in
                [long, short].into_iter().filter(|word| !matches!(&**word, "-" | "--" | "-1"))
            {
                let text = refusal(&format!("-a {word} s t"));
                let name = word.split('=').next().unwrap_or(&word);
                let name = if name.starts_with("--") { name } else { &name[..2] };
                assert!(text.contains(&format!("'{name}'")), "{word}: {text}");
                assert!(text.contains("is not supported by haul: "), "{word}: {text}");
            }
        }
        for option in [OPTIONS, NEGATIONS, WITHOUT_EFFECT, UNSUPPORTED].concat() {
            assert!(option.long.is_empty() || names.insert(option.long), "{}", option.long);
            for letter in option.short.chars() {
                assert!(names.insert(Box::leak(letter.to_string().into_boxed_str())), "{letter}");
            }
        }
        assert!(refusal("-a --no-such-option s t").contains("--no-such-option"));
        assert!(refusal("-axx s t").contains("-x"));
    }

    #[test]
    fn what_has_no_effect_on_local_trees_is_accepted() {
        let policy = asked(
            "-aWz8hs --compress-level=9 --zc=zstd --no-inc-recursive --no-i-r --protect-args \
             --blocking-io --no-motd --ignore-errors -e ssh --rsh=ssh s t",
        )
        .policy;
        assert_eq!(policy.synchronize, asked("-a s t").policy.synchronize);
        assert_eq!(settings("-ax s t").policy.borders, Borders::Stay);
    }

    #[test]
    fn operands_are_a_source_and_a_target_at_least() {
        assert!(refusal("-a").contains("missing"));
        assert!(refusal("-a s").contains("'s'"));
        assert_eq!(asked("-a a b/ t").sources.len(), 2);
    }
}
