//! Compares what haul did with what GNU's tools did from the same state, and names the differences.
//!
//! The functions are pure, but for the comparison of trees, which `haul-manifest` does.

use super::accepted;
use super::stage::{Cell, FILE_SYSTEMS, Stage};
use super::step::{After, By, Step};
use crate::flaw::{Flaw, HANG};
use crate::trial::{Status, Trial};
use haul_manifest::{Aspects, CompareOptions, Finding, RootAttributes, Timestamp, What, compare};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};

/// Messages of each side that a report has.
const MESSAGES_SHOWN: usize = 8;

/// What is said of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The round may continue with the next step.
    Same,
    /// The cells differ for a reason that is known, so the round ends.
    Accepted,
    Wrong(Vec<Flaw>),
}

/// Returns the exit status of a pipeline: that of the last program that failed.
///
/// A program that SIGPIPE ended says nothing: the next one has closed the pipe, and is looked at itself.
pub(crate) fn pipeline_status(trials: &[Trial]) -> Status {
    let pipe = Status::Killed(Signal::PIPE.as_raw());
    let counts = |status: &Status| !status.is_success() && *status != pipe;
    trials.iter().map(|trial| trial.status).rfind(counts).unwrap_or(Status::Exited(0))
}

/// Returns the messages of all programs of a pipeline.
pub(crate) fn messages(trials: &[Trial]) -> String {
    let said: String = trials.iter().map(|trial| trial.stderr.as_str()).collect();
    // Absolute paths differ in the name of the cell.
    Cell::ALL.iter().fold(said, |said, cell| said.replace(&format!("/{}/", cell.name()), "/CELL/"))
}

/// Returns how a step ended in a cell, in lines for a report.
pub(crate) fn ended(who: &str, trials: &[Trial]) -> Vec<String> {
    let mut lines = vec![format!("{who} ended with {:?}", pipeline_status(trials))];
    let said = messages(trials);
    lines.extend(said.lines().take(MESSAGES_SHOWN).map(|line| format!("{who} said: {line}")));
    lines
}

/// Returns what no command of a pipeline may do, whatever it is asked for.
pub(crate) fn unsound(trials: &[Trial]) -> Vec<Flaw> {
    trials.iter().flat_map(Flaw::unsound).collect()
}

/// Returns what haul may not do in its cell, where GNU's programs of a pipeline are not judged. That haul runs longer
/// than the limit says nothing where GNU's tools do: the step waits for a FIFO, or has too much to do.
fn unsound_of_haul(step: &Step, haul: &[Trial], gnu: &[Trial]) -> Vec<Flaw> {
    let of_haul = step.calls.iter().zip(haul).filter(|(call, _)| call.by == By::Haul);
    let mut flaws: Vec<Flaw> = of_haul.flat_map(|(_, trial)| Flaw::unsound(trial)).collect();
    if gnu.iter().any(|trial| trial.status == Status::TimedOut) {
        flaws.retain(|flaw| flaw.class != HANG);
    }
    flaws
}

/// Judges the exit statuses of both cells; `None` if they are the same.
pub(crate) fn statuses(case: &str, step: &Step, haul: &[Trial], gnu: &[Trial]) -> Option<Verdict> {
    let (ours, theirs) = (pipeline_status(haul), pipeline_status(gnu));
    // A hang of GNU's tool (it opens FIFOs) leaves nothing to compare with, and so does a crash (GNU tar -h of a
    // directory that leads to itself).
    let pipe = Status::Killed(Signal::PIPE.as_raw());
    let has_no_result =
        |it: &Trial| matches!(it.status, Status::TimedOut | Status::Killed(_)) && it.status != pipe;
    if gnu.iter().any(has_no_result) {
        return Some(Verdict::Accepted);
    }
    let (haul_says, gnu_says) = (messages(haul), messages(gnu));
    if !ours.is_success() && accepted::stricter(case, step, &haul_says, &gnu_says)
        || !theirs.is_success() && accepted::looser(case, step, &haul_says, &gnu_says)
    {
        return Some(Verdict::Accepted);
    }
    if ours == theirs {
        return None;
    }
    let class =
        if theirs.is_success() { "fails where GNU does not" } else { "another exit status" };
    Some(Verdict::Wrong(vec![Flaw::new(class, Vec::new())]))
}

/// Compares all trees of the two cells. Times since `begun` are those of the two runs, so they differ.
pub(crate) fn trees(stage: &Stage, begun: Timestamp, aspects: Aspects) -> Vec<Flaw> {
    // The roots are those of file systems: other rounds have changed their times.
    let options =
        CompareOptions { root_attributes: RootAttributes::Ignore, ..CompareOptions::new(aspects) };
    let mut flaws: Vec<Flaw> = Vec::new();
    for name in FILE_SYSTEMS {
        let dir = |cell| stage.path(cell, Path::new(name));
        for finding in compare(&dir(Cell::Gnu), &dir(Cell::Haul), &options).findings {
            let Some(class) = class_of(&finding, begun) else { continue };
            let line = format!("{name}/{finding} (A is GNU's)");
            match flaws.iter_mut().find(|flaw| flaw.class == class) {
                Some(flaw) => flaw.details.push(line),
                None => flaws.push(Flaw::new(class, vec![line])),
            }
        }
    }
    flaws
}

/// Returns the class of a finding; `None` for a difference of times that both runs have set.
fn class_of(finding: &Finding, begun: Timestamp) -> Option<String> {
    match finding {
        Finding::Difference(difference) => match &difference.what {
            // Hidden files have a judge of their own.
            What::OnlyInB { .. } if is_hidden(last_part(difference.path.as_bytes())) => None,
            What::Mtime { a, b } if *a >= begun && *b >= begun => None,
            what => Some(format!("other result: {}", what.label())),
        },
        Finding::Failure { .. } => Some("result cannot be read".to_owned()),
    }
}

/// Returns the hidden files that are left in haul's cell.
fn hidden_files(stage: &Stage) -> Vec<Flaw> {
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> =
        FILE_SYSTEMS.iter().map(|name| stage.path(Cell::Haul, Path::new(name))).collect();
    while let Some(dir) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            if is_hidden(entry.file_name().as_encoded_bytes()) {
                found.push(entry.path().display().to_string());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    if found.is_empty() { Vec::new() } else { vec![Flaw::new("hidden files stay", found)] }
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".haul-")
}

/// Returns what is wrong after a step that has been run in both cells.
pub(crate) fn step(
    case: &str,
    step: &Step,
    (haul, gnu): (&[Trial], &[Trial]),
    stage: &Stage,
    begun: Timestamp,
) -> Verdict {
    let mut flaws = unsound_of_haul(step, haul, gnu);
    if pipeline_status(haul).is_success() {
        // The journal of a complete run stays on purpose.
        if !step.calls.iter().any(|call| call.has(&["--resume"])) {
            flaws.extend(hidden_files(stage));
        }
        for promise in &step.promises {
            let broken = promise.broken(stage);
            if !broken.is_empty() {
                flaws.push(Flaw::new("a promise is broken", broken));
            }
        }
    }
    if step.after != After::Promises {
        match (statuses(case, step, haul, gnu), step.after) {
            (Some(Verdict::Wrong(more)), _) => flaws.extend(more),
            (Some(verdict), _) if flaws.is_empty() => return verdict,
            (None, After::Compare(aspects)) => flaws.extend(trees(stage, begun, aspects)),
            _ => {}
        }
    }
    match flaws {
        flaws if !flaws.is_empty() => Verdict::Wrong(flaws),
        _ if step.after == After::Promises => Verdict::Accepted,
        _ => Verdict::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::step::Call;
    use haul_manifest::Difference;
    use std::time::Duration;

    fn trial(status: Status, stderr: &str) -> Trial {
        Trial { status, stderr: stderr.to_owned(), max_rss_bytes: 1 << 20, cpu: Duration::ZERO }
    }

    #[test]
    fn the_last_failure_counts_and_a_broken_pipe_does_not() {
        let of = |statuses: &[Status]| {
            let trials: Vec<_> = statuses.iter().map(|status| trial(*status, "")).collect();
            pipeline_status(&trials)
        };
        use Status::{Exited, Killed};
        assert_eq!(of(&[Exited(0), Exited(0)]), Exited(0));
        assert_eq!(of(&[Killed(13), Exited(2)]), Exited(2));
        assert_eq!(of(&[Exited(1), Exited(0)]), Exited(1));
        assert_eq!(of(&[Killed(9), Exited(0)]), Killed(9));
    }

    #[test]
    fn only_what_haul_alone_does_is_unsound() {
        let step = Step::new(vec![Call::new("tar").by(By::Gnu), Call::new("tar")]);
        let fat = || Trial { max_rss_bytes: u64::MAX, ..trial(Status::Exited(0), "") };
        let (ok, late) = (|| trial(Status::Exited(0), ""), || trial(Status::TimedOut, ""));
        let classes = |haul: [Trial; 2], gnu: [Trial; 2]| -> Vec<String> {
            let flaws = unsound_of_haul(&step, &haul, &gnu);
            flaws.into_iter().map(|flaw| flaw.class).collect()
        };
        assert_eq!(classes([fat(), ok()], [ok(), ok()]), [""; 0]);
        assert_eq!(classes([ok(), fat()], [late(), ok()]), ["memory"]);
        assert_eq!(classes([late(), late()], [ok(), ok()]), [HANG]);
        assert_eq!(classes([late(), late()], [late(), late()]), [""; 0]);
    }

    #[test]
    fn statuses_that_differ_are_wrong_without_a_reason() {
        let step = Step::new(Vec::new());
        let judged = |ours: Trial, theirs: Trial| statuses("cp", &step, &[ours], &[theirs]);
        let ok = || trial(Status::Exited(0), "");
        let failed = |says: &str| trial(Status::Exited(1), says);
        assert_eq!(judged(ok(), ok()), None);
        assert_eq!(judged(failed("cp: a"), failed("cp: b")), None);
        assert!(matches!(judged(failed("cp: a"), ok()), Some(Verdict::Wrong(_))));
        assert!(matches!(judged(ok(), failed("cp: a")), Some(Verdict::Wrong(_))));
        let reason = "cp: --x cannot be combined with --y";
        assert_eq!(judged(failed(reason), ok()), Some(Verdict::Accepted));
        assert_eq!(judged(failed(reason), failed("cp: a")), Some(Verdict::Accepted));
        assert_eq!(judged(ok(), trial(Status::TimedOut, "")), Some(Verdict::Accepted));
        let crashed = [trial(Status::Killed(11), ""), failed("tar: Unexpected EOF in archive")];
        let judged = statuses("tar", &step, &[ok(), ok()], &crashed);
        assert_eq!(judged, Some(Verdict::Accepted));
    }

    #[test]
    fn messages_name_no_cell() {
        let of =
            |cell: &str| messages(&[trial(Status::Exited(1), &format!("cp: '/x/{cell}/ext4/f'"))]);
        assert_eq!(of("haul"), of("gnu"));
        assert_ne!(of("haul"), of("other"));
    }

    #[test]
    fn only_times_of_the_run_itself_may_differ() {
        let at = |seconds| Timestamp { seconds, nanoseconds: 0 };
        let differing = |a, b| {
            let what = What::Mtime { a: at(a), b: at(b) };
            class_of(&Finding::Difference(Difference { path: "f".into(), what }), at(100))
        };
        assert_eq!(differing(100, 101), None);
        assert_eq!(differing(99, 101).as_deref(), Some("other result: mtime"));
        assert_eq!(differing(101, 99).as_deref(), Some("other result: mtime"));
    }
}
