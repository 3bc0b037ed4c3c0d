//! The command line of `haul bench`: what to measure, who, where, how often.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use haul_bench::{CacheState, Conditions, Group, Ranking, Rounds, Scale, Template, Tool};

use crate::ending::{CommandError, usage};
use crate::escape::quote_word;
use crate::getopt::{Opt, Takes, Usage, Values, Word, choose, long, parse, words_of};
use crate::option::color::{COLOR, color};
use crate::option::data::size;
use crate::option::effect::{
    Answer, Effect, help_row, read as read_by, read_optional, set, set_to, version_row,
};
use crate::value::{Dash, When, file, when};

use Takes::{Nothing, Optional, Required};

pub(super) const OPTIONS: &[Opt<Effect<Draft>>] = &[
    long(
        set(|bench| bench.list = true),
        "list",
        Nothing,
        "list the scenarios, and the tools that are\ninstalled, and exit",
    ),
    long(
        read_by(|bench, command| {
            bench.settings.tools.push(tool(&command)?);
            Ok(())
        }),
        "tool",
        Required("NAME='COMMAND'"),
        "measure COMMAND, which contains {source} and\n{target}, as NAME; may be repeated",
    ),
    long(
        read_by(|bench, list| {
            bench.settings.only.get_or_insert_default().extend(names(&list)?);
            Ok(())
        }),
        "only",
        Required("NAMES"),
        "measure only these of the known tools (none: no\nknown tool)",
    ),
    long(
        read_by(|bench, list| {
            bench.settings.add.extend(names(&list)?);
            Ok(())
        }),
        "add",
        Required("NAMES"),
        "also measure these, which are left out by default,\nsuch as cp-noreflink or dd-direct",
    ),
    long(
        read_by(|bench: &mut Draft, list| {
            bench.settings.series = series(&list)?;
            Ok(())
        }),
        "series",
        Required("LIST"),
        "series to measure: methods, jobs, io-sizes,\ndepths, all (the default) or none",
    )
    .with(Values::List(|| words_of(SERIES))),
    long(
        read_by(|bench, name| {
            bench.settings.baseline = Some(text(&name)?);
            Ok(())
        }),
        "baseline",
        Required("NAME"),
        "compare the others with this tool (default: cp; rm\nfor deleting)",
    ),
    long(
        set_to(|bench, file| bench.settings.haul = Some(PathBuf::from(file))),
        "haul",
        Required("FILE"),
        "measure this haul (default: the one that runs)",
    ),
    long(
        read_by(|bench, list| {
            bench.names = Some(names(&list)?);
            Ok(())
        }),
        "fs",
        Required("LIST"),
        "on fresh file systems, as root: ext4, xfs, btrfs,\ntmpfs, or pairs of source and target: xfs:ext4;\ntheir images are held in memory",
    ),
    long(
        set_to(|bench, folder| bench.disk = Some(PathBuf::from(folder))),
        "disk",
        Required("DIR"),
        "hold the images in DIR, past its page cache, so\nthat its device is measured",
    ),
    long(
        read_by(|bench, folder| {
            bench.to = Some(PathBuf::from(file("--to", Some(folder), Dash::NoOutput)?));
            Ok(())
        }),
        "to",
        Required("DIR"),
        "copy from --disk or --here to DIR, which may be\non another device",
    ),
    long(
        read_optional(|bench, folder| Ok(bench.set_here(folder)?)),
        "here",
        Optional("DIR"),
        "in fresh folders of a scratch folder: DIR, which\nis new or empty, or one in this folder",
    ),
    long(
        read_by(|bench, word| {
            let percent = number("--bystander", &word, 1, PERCENT_MAX)?;
            bench.settings.conditions.bystander_percent = Some(percent);
            Ok(())
        }),
        "bystander",
        Required("PERCENT"),
        "beside each run, read a file of PERCENT of the\nmemory at random, and show what becomes of that",
    ),
    long(
        read_by(|bench, bytes| {
            bench.settings.conditions.memory_bytes = Some(size("--memory", &bytes)?);
            Ok(())
        }),
        "memory",
        Required("SIZE"),
        "run each tool, with the bystander, in a memory\ncgroup of SIZE, as root",
    ),
    long(
        read_by(|bench, word| {
            bench.settings.together = Some(number("--together", &word, 1, TOGETHER_MAX)?);
            Ok(())
        }),
        "together",
        Required("N"),
        "copy with N processes of each tool at once, and\nshow the time and the memory (Pss) of each",
    ),
    long(
        read_by(|bench, word| {
            bench.settings.rounds.counted = number("--rounds", &word, 1, ROUNDS_MAX)?;
            Ok(())
        }),
        "rounds",
        Required("N"),
        "count N rounds (default: 5)",
    ),
    long(
        read_by(|bench, word| {
            bench.settings.rounds.warm_up = number("--warm-up", &word, 0, ROUNDS_MAX)?;
            Ok(())
        }),
        "warm-up",
        Required("N"),
        "run N rounds before these (default: 1)",
    ),
    long(
        set(|bench| bench.add_cache(CacheState::Warm)),
        "warm",
        Nothing,
        "read all sources just before (the default)",
    ),
    color(read_optional(|bench, word| {
        bench.settings.color = when(COLOR, word.as_deref())?;
        Ok(())
    })),
    long(
        set(|bench| bench.add_cache(CacheState::Cold)),
        "cold",
        Nothing,
        "start with no source in the page cache; with\n--warm: both, one after the other",
    ),
    long(
        set(|bench| bench.settings.drop_caches = true),
        "drop-caches",
        Nothing,
        "with --here and --cold: drop the whole machine's\npage cache, as root, rather than advise the kernel\nabout each file",
    ),
    long(
        set(|bench| bench.settings.ranking = Ranking::WithSync),
        "fsync",
        Nothing,
        "rank by the time until all data is on the device",
    ),
    long(
        set(|bench| bench.settings.ranking = Ranking::Command),
        "no-fsync",
        Nothing,
        "rank by the command's time (the default)",
    ),
    long(
        set(|bench| bench.settings.scale = Scale::Full),
        "full",
        Nothing,
        "use the full corpora, not the quick ones",
    ),
    long(
        read_by(|bench, word| {
            bench.settings.seed = number("--seed", &word, 0, u64::MAX)?;
            Ok(())
        }),
        "seed",
        Required("N"),
        "seed of contents and order (default: 1)",
    ),
    long(
        read_by(|bench, word| {
            let minutes = number("--minutes", &word, 1, MINUTES_MAX)?;
            bench.settings.budget = Some(Duration::from_secs(60 * minutes));
            Ok(())
        }),
        "minutes",
        Required("N"),
        "skip rounds after this time, but measure five",
    ),
    long(
        read_by(|bench, folder| {
            let folder = file("--out", Some(folder), Dash::NoOutput)?;
            bench.settings.out = Some(PathBuf::from(folder));
            Ok(())
        }),
        "out",
        Required("DIR"),
        "write report.html, report.md, results.json,\nresults.csv and the plots there",
    ),
    help_row(),
    version_row(),
];

/// Where runs take place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// What is best for the current file system.
    Usual,
    /// A scratch folder: the named one, or one that is made here; targets may be in another.
    Folder { path: Option<PathBuf>, to: Option<PathBuf> },
    /// Fresh file systems by name, in memory or on a disk; targets may be on another.
    Fresh { names: Vec<String>, disk: Option<PathBuf>, to: Option<PathBuf> },
    /// Fresh file systems of the kinds of two folders.
    Between { disk: PathBuf, to: PathBuf },
}

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) scenarios: Vec<String>,
    pub(super) place: Place,
    pub(super) tools: Vec<Tool>,
    pub(super) only: Option<Vec<String>>,
    pub(super) add: Vec<String>,
    pub(super) series: Vec<Group>,
    pub(super) baseline: Option<String>,
    pub(super) haul: Option<PathBuf>,
    pub(super) rounds: Rounds,
    /// The states of the cache; empty for the default.
    pub(super) caches: Vec<CacheState>,
    pub(super) drop_caches: bool,
    pub(super) ranking: Ranking,
    pub(super) scale: Scale,
    pub(super) seed: u64,
    pub(super) budget: Option<Duration>,
    pub(super) out: Option<PathBuf>,
    pub(super) conditions: Conditions,
    /// How many processes of a tool run at once.
    pub(super) together: Option<u32>,
    /// Whether titles and verdicts stand out.
    pub(super) color: When,
}

/// What to do.
#[derive(Debug)]
pub(super) enum Wanted {
    Print(Answer),
    List(Box<Settings>),
    Compare(OsString, OsString),
    Measure(Box<Settings>),
}

/// The word in place of a scenario that compares two results.
const COMPARE: &str = "compare";

/// The most rounds: who needs more has a question that rounds do not answer.
const ROUNDS_MAX: u32 = 10_000;

/// The longest session: a week.
const MINUTES_MAX: u64 = 7 * 24 * 60;

/// The most processes at once: more than processors, and each has a target of its own.
const TOGETHER_MAX: u32 = 1024;

/// The largest working set of the bystander: beside it there is room for a tool's own memory.
const PERCENT_MAX: u64 = 80;

/// Reads the applet's arguments.
pub(super) fn read(arguments: &[OsString]) -> Result<Wanted, CommandError> {
    let mut draft = Draft::new();
    let mut operands = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: effect, value } => match effect.answer() {
                Some(answer) => return Ok(Wanted::Print(answer)),
                None => effect.apply(&mut draft, value)?,
            },
        }
    }
    if operands.first().is_some_and(|word| word == COMPARE) {
        return match operands.as_slice() {
            [_, old, new] => Ok(Wanted::Compare(old.clone(), new.clone())),
            _ => usage("compare takes two files: the OLD results.json and the NEW one".to_owned()),
        };
    }
    for operand in &operands {
        draft.settings.scenarios.push(text(operand)?);
    }
    let list = draft.list;
    let settings = Box::new(draft.settle()?);
    Ok(if list { Wanted::List(settings) } else { Wanted::Measure(settings) })
}

fn said(text: &str) -> Usage {
    Usage(text.to_owned())
}

/// What was read so far.
pub(super) struct Draft {
    settings: Settings,
    list: bool,
    here: Option<Option<PathBuf>>,
    names: Option<Vec<String>>,
    disk: Option<PathBuf>,
    to: Option<PathBuf>,
}

impl Draft {
    fn new() -> Draft {
        let settings = Settings {
            scenarios: Vec::new(),
            place: Place::Usual,
            tools: Vec::new(),
            only: None,
            add: Vec::new(),
            series: vec![Group::Methods, Group::Jobs, Group::Sizes, Group::Depths],
            baseline: None,
            haul: None,
            rounds: Rounds { warm_up: 1, counted: 5 },
            caches: Vec::new(),
            drop_caches: false,
            ranking: Ranking::Command,
            scale: Scale::Quick,
            seed: 1,
            budget: None,
            out: None,
            conditions: Conditions::default(),
            together: None,
            color: When::Auto,
        };
        Draft { settings, list: false, here: None, names: None, disk: None, to: None }
    }

    fn add_cache(&mut self, state: CacheState) {
        if !self.settings.caches.contains(&state) {
            self.settings.caches.push(state);
        }
    }

    fn set_here(&mut self, folder: Option<OsString>) -> Result<(), Usage> {
        let folder = folder.map(|name| file("--here", Some(name), Dash::NoOutput)).transpose()?;
        self.here = Some(folder.map(PathBuf::from));
        Ok(())
    }

    /// Settles what depends on several options together.
    fn settle(mut self) -> Result<Settings, Usage> {
        self.settings.place = match (self.here, self.names, self.disk, self.to) {
            (Some(_), Some(_), _, _) | (Some(_), _, Some(_), _) => {
                return Err(said(
                    "--here measures in folders, --fs and --disk on fresh file systems: choose one",
                ));
            }
            (Some(None), None, None, Some(_)) => {
                return Err(said("--to needs the folder of the sources: --here=DIR"));
            }
            (Some(path), None, None, to) => Place::Folder { path, to },
            (None, _, None, Some(_)) => {
                return Err(said(
                    "--to says where targets are: say where sources are with --disk or --here",
                ));
            }
            (None, None, Some(disk), Some(to)) => Place::Between { disk, to },
            (None, None, Some(_), None) => {
                return Err(said(
                    "--disk says where the images of --fs are held: add --fs=ext4, say",
                ));
            }
            (None, Some(names), disk, to) => Place::Fresh { names, disk, to },
            (None, None, None, None) => Place::Usual,
        };
        let settings = self.settings;
        if settings.drop_caches
            && !(matches!(settings.place, Place::Folder { .. })
                && settings.caches.contains(&CacheState::Cold))
        {
            return Err(said(
                "--drop-caches is for --here with --cold: fresh file systems are cold by themselves",
            ));
        }
        Ok(settings)
    }
}

fn text(word: &OsStr) -> Result<String, Usage> {
    word.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Usage(format!("{} is no text", quote_word(word.as_encoded_bytes()))))
}

fn names(word: &OsStr) -> Result<Vec<String>, Usage> {
    let text = text(word)?;
    Ok(text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn number<N: FromStr + Copy + PartialOrd + std::fmt::Display>(
    option: &str,
    word: &OsStr,
    least: N,
    most: N,
) -> Result<N, Usage> {
    match word.to_str().and_then(|text| text.parse::<N>().ok()) {
        Some(number) if number >= least && number <= most => Ok(number),
        _ => Err(Usage(format!(
            "invalid {option} {}: give a number from {least} to {most}",
            quote_word(word.as_encoded_bytes())
        ))),
    }
}

const ALL: &[Group] = &[Group::Methods, Group::Jobs, Group::Sizes, Group::Depths];

const SERIES: &[(&str, &[Group])] = &[
    ("methods", &[Group::Methods]),
    ("jobs", &[Group::Jobs]),
    ("io-sizes", &[Group::Sizes]),
    ("depths", &[Group::Depths]),
    ("all", ALL),
    ("none", &[]),
];

/// Returns the names of all scenarios.
pub(in crate::applet) fn scenarios() -> Vec<&'static str> {
    haul_bench::SCENARIOS.iter().map(|scenario| scenario.name).collect()
}

fn series(word: &OsStr) -> Result<Vec<Group>, Usage> {
    let mut groups: Vec<Group> = Vec::new();
    for name in text(word)?.split(',') {
        groups.extend_from_slice(choose("--series", OsStr::new(name), SERIES)?);
    }
    Ok(groups)
}

/// Reads `NAME=COMMAND`.
fn tool(word: &OsStr) -> Result<Tool, Usage> {
    let text = text(word)?;
    let wrong = |why: &str| Usage(format!("invalid --tool {}: {why}", quote_word(text.as_bytes())));
    let Some((name, command)) = text.split_once('=') else {
        return Err(wrong("give a name, '=' and a command, as in new='cp {source} {target}'"));
    };
    if name.is_empty() || name.contains(|letter: char| letter.is_control() || letter == ',') {
        return Err(wrong(
            "the name in front of '=' is made of letters that can be shown, without commas",
        ));
    }
    let template = Template::parse(command).map_err(|error| wrong(&error.to_string()))?;
    Ok(Tool::new(name, template))
}
