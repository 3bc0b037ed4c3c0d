//! Power cuts: a command whose writes dm-log-writes records, and what the disk has at each flush.
//!
//! After exit 0 the disk must have the whole result at each later flush; before it, a law says what must hold. The
//! states are mounted as snapshots, so that the recovery of the file system changes none of them.

use super::bench::{Bench, DIR};
use super::halves::{Halves, SECTORS};
use super::law::Law;
use super::log::{Event, Log};
use super::mapper::{Mapped, need};
use crate::error::{Context, Error, Result};
use crate::vm::guest::checks::Keeps;
use crate::vm::guest::judge;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// The disk that is written, its log, its state after a cut, and what a mount changes of that.
const WRITTEN: &str = "/dev/vdb";
const LOG: &str = "/dev/vdc";
const REPLAYED: &str = "/dev/vdd";
const CHANGES: &str = "/dev/vde";

/// States before the command's end that are looked at, at equal distances.
const STATES_MAX: usize = 8;

/// Flaws after which no more states are looked at.
const FLAWS_MAX: usize = 3;

/// Marks in the log.
const BEGUN: &str = "begun";
const PROMISED: &str = "promised";

/// One command.
pub(in crate::vm::guest) struct Cut {
    pub(super) name: &'static str,
    /// By GNU's tools, on the disk before it begins.
    set_up: &'static [&'static str],
    /// By haul, after that: what the result is compared with.
    reference: Option<&'static str>,
    line: &'static str,
    /// What must hold at each flush before the command has ended.
    during: Law,
    after: After,
}

/// What must hold at each flush after exit 0.
enum After {
    /// Two names are equal.
    Equal(&'static str, &'static str, Keeps),
    /// Two names are equal when the same command has run again, at each flush before its end as well.
    Again(&'static str, &'static str),
    /// Two names differ at one flush at least, because nothing was promised: it shows that these checks can fail.
    Differs(&'static str, &'static str),
}

pub(super) const CUTS: &[Cut] = &[
    Cut {
        name: "power cut: cp --durable",
        set_up: &[],
        reference: None,
        line: "cp -aT --durable kept/tree far/out",
        during: Law::Mounts,
        after: After::Equal("kept/tree", "far/out", Keeps::All),
    },
    Cut {
        name: "power cut: cp --atomic --durable",
        set_up: &[],
        reference: None,
        line: "cp -aT --atomic --durable kept/tree far/out",
        during: Law::Whole { tree: "kept/tree", folder: "far/out" },
        after: After::Equal("kept/tree", "far/out", Keeps::All),
    },
    Cut {
        name: "power cut: mv",
        set_up: &["cp -a kept/tree near/in"],
        reference: None,
        line: "mv near/in far/out",
        during: Law::Somewhere { tree: "kept/tree", folders: &["near/in", "far/out"] },
        after: After::Equal("kept/tree", "far/out", Keeps::All),
    },
    Cut {
        name: "power cut: write --atomic --fsync",
        set_up: &["cp kept/tree/a/odd far/f"],
        reference: None,
        line: "read kept/tree/a/large | write --atomic --fsync far/f",
        during: Law::OneOf(&[("far/f", "kept/tree/a/odd"), ("far/f", "kept/tree/a/large")]),
        after: After::Equal("kept/tree/a/large", "far/f", Keeps::Contents),
    },
    Cut {
        name: "power cut: gzip --durable",
        set_up: &["cp -a kept/tree/a/large kept/work/f", "cp -a kept/tree/a/large far/f"],
        reference: Some("gzip kept/work/f"),
        line: "gzip --durable far/f",
        during: Law::OneOf(&[("far/f", "kept/tree/a/large"), ("far/f.gz", "kept/work/f.gz")]),
        after: After::Equal("kept/work/f.gz", "far/f.gz", Keeps::Contents),
    },
    Cut {
        name: "power cut: cp --resume",
        set_up: &[],
        reference: None,
        line: "cp -aT --resume kept/tree far/out",
        during: Law::Mounts,
        after: After::Again("kept/tree", "far/out"),
    },
    Cut {
        name: "power cut: cp, which promises nothing",
        set_up: &[],
        reference: None,
        line: "cp -aT kept/tree far/out",
        during: Law::Mounts,
        after: After::Differs("kept/tree", "far/out"),
    },
];

/// What the disk does after the command: more flushes, and no change of the result.
const LATER: &[&str] = &["cp kept/tree/a/odd far/later", "sync far/later"];

impl Cut {
    /// Records the command, and returns what is wrong at the flushes of the record.
    pub(super) fn perform(&self, bench: Bench<'_>) -> Result<Vec<String>> {
        ["dm-log-writes", "dm-snapshot"].iter().try_for_each(|module| need(module))?;
        self.record(bench)?;
        let found = self.replay(bench);
        bench.tidy()?;
        match self.after {
            After::Differs(..) if found.as_ref().is_ok_and(Vec::is_empty) => {
                Ok(vec!["no power cut has lost anything".to_owned()])
            }
            After::Differs(..) => found.map(|_| Vec::new()),
            After::Equal(..) | After::Again(..) => found,
        }
    }

    fn record(&self, bench: Bench<'_>) -> Result<()> {
        let table = format!("0 {SECTORS} log-writes {WRITTEN} {LOG}");
        let logged = Mapped::create("vm-logged", &table)?;
        let halves = Halves::of(&logged.path())?;
        let done = halves.format(bench).and_then(|()| {
            halves.with(bench, || {
                bench.gnu(self.set_up)?;
                self.reference.map_or(Ok(None), |line| bench.haul(line))?.map_or(Ok(()), fail)?;
                bench.gnu(&["sync"])?;
                logged.message(&["mark", BEGUN])?;
                bench.haul(self.line)?.map_or(Ok(()), fail)?;
                logged.message(&["mark", PROMISED])?;
                bench.gnu(LATER)
            })
        });
        halves.remove()?;
        logged.remove()?;
        done
    }

    fn replay(&self, bench: Bench<'_>) -> Result<Vec<String>> {
        let chosen = Chosen::of(&mut Log::open(LOG)?)?;
        let mut log = Log::open(LOG)?;
        let disk = OpenOptions::new().write(true).open(REPLAYED).context("open", REPLAYED)?;
        let (mut flush, mut stage) = (0, Stage::SetUp);
        let mut flaws = Vec::new();
        while let Some(event) = log.next(Some(&disk))? {
            stage = stage.after(&event);
            if event != Event::Stored || stage == Stage::SetUp {
                continue;
            }
            flush += 1;
            if stage == Stage::Promised || flush % chosen.stride == 0 {
                disk.sync_all().context("flush", REPLAYED)?;
                let flaw = self.state(bench, stage)?;
                flaws.extend(flaw.map(|it| format!("flush {flush} of {}: {it}", chosen.shown())));
                if flaws.len() == FLAWS_MAX {
                    break;
                }
            }
        }
        Ok(flaws)
    }

    /// Returns what is wrong with a state of the disk.
    fn state(&self, bench: Bench<'_>, stage: Stage) -> Result<Option<String>> {
        let table = format!("0 {SECTORS} snapshot {REPLAYED} {CHANGES} N 16");
        let state = Mapped::create("vm-state", &table)?;
        let halves = Halves::of(&state.path())?;
        let found = halves.with(bench, || self.look(bench, stage));
        halves.remove()?;
        state.remove()?;
        // A file system that cannot be mounted is what a user would find.
        Ok(found.unwrap_or_else(|cause| Some(cause.to_string())))
    }

    fn look(&self, bench: Bench<'_>, stage: Stage) -> Result<Option<String>> {
        let dir = Path::new(DIR);
        let equal = |original: &str, copy: &str, keeps: Keeps| {
            let flaws = judge::with_original(&dir.join(original), &dir.join(copy), keeps);
            (!flaws.is_empty()).then(|| flaws.join("; "))
        };
        match (&self.after, stage) {
            (After::Again(original, copy), _) => {
                let flaw = bench.haul(self.line)?;
                Ok(flaw.or_else(|| equal(original, copy, Keeps::Contents)))
            }
            (After::Equal(original, copy, keeps), Stage::Promised) => {
                Ok(equal(original, copy, *keeps))
            }
            (After::Differs(original, copy), Stage::Promised) => {
                Ok(equal(original, copy, Keeps::Contents))
            }
            _ => self.during.flaw(dir),
        }
    }
}

fn fail(flaw: String) -> Result<()> {
    Err(Error::new(flaw))
}

/// Where the record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SetUp,
    Running,
    /// The command has ended with 0.
    Promised,
}

impl Stage {
    fn after(self, event: &Event) -> Self {
        match event {
            Event::Mark(text) if text == BEGUN => Self::Running,
            Event::Mark(text) if text == PROMISED => Self::Promised,
            _ => self,
        }
    }
}

/// The states of a record that are looked at.
struct Chosen {
    running: usize,
    promised: usize,
    /// Every how many flushes of the running command.
    stride: usize,
}

impl Chosen {
    /// Counts the flushes of a log. A record without both marks and a flush behind them shows nothing.
    fn of(log: &mut Log) -> Result<Self> {
        let (mut stage, mut running, mut promised) = (Stage::SetUp, 0, 0);
        while let Some(event) = log.next(None::<&File>)? {
            stage = stage.after(&event);
            match (event, stage) {
                (Event::Stored, Stage::Running) => running += 1,
                (Event::Stored, Stage::Promised) => promised += 1,
                _ => {}
            }
        }
        if promised == 0 {
            return Err(Error::new("the log has no flush after the end of the command"));
        }
        Ok(Self { running, promised, stride: running.div_ceil(STATES_MAX).max(1) })
    }

    fn shown(&self) -> String {
        format!("{} and {} after exit 0", self.running, self.promised)
    }
}
