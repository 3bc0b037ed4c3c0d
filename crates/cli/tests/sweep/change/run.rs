//! Stepping through a command: the moments and the changes, one run for each.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use haul_faultfs::{Clock, Config, Mounted};

use super::alter::{Alteration, Change, changes};
use super::case::{Case, case};
use super::stage::{Places, Stage};
use super::verdict::Run;
use crate::mv::Two;
use crate::support::scratch::Scratch;
use crate::support::stepper::{self, Stepped};
use crate::support::{Outcome, ignored};
use crate::sweep::faults::{Extent, is_chosen};

/// Calls that touch neither tree, after which a stop would show nothing new.
const DULL: [libc::c_long; 20] = [
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_clock_gettime,
    libc::SYS_getrusage,
    libc::SYS_sched_getaffinity,
    libc::SYS_prctl,
    libc::SYS_close,
];

/// Number of moments for each change in the bounded sweep, and from a server: the clock is the difference, the calls
/// are those that are stepped through without one.
const FEW: usize = 5;
const FEW_FROM_A_SERVER: usize = 2;

/// The result of stepping through a command.
struct Swept {
    changes: usize,
    wrong: Vec<String>,
}

/// Steps through a case of the table.
pub(super) fn sweep(name: &str) -> Outcome {
    let shown = format!("{name}, changed meanwhile");
    if !is_chosen(&shown) {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    let case = named(name)?;
    judge(&shown, step_through(&Stage::new(two, case, None), &changes(case), FEW, None)?)
}

/// The same with the source on a server with another clock.
pub(super) fn sweep_by(name: &str, clock: Clock) -> Outcome {
    let shown = format!("{name}, changed meanwhile, from a server with a clock: {clock:?}");
    if !is_chosen(&shown) {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return ignored("root and /dev/fuse");
    }
    let Two { here: local, there } = two;
    for name in ["below", "server"] {
        std::fs::create_dir(local.at(name))?;
    }
    // Nothing is cached, so that each check asks the server.
    let config = Config { clock, remembered: Duration::ZERO, ..Config::default() };
    let mounted = Mounted::new(&local.at("below"), &local.at("server"), &config)?;
    let here = Scratch::below(mounted.path())?;
    let case = named(name)?;
    let mut changes = changes(case);
    if clock == Clock::ChangeIsModification {
        // Not a restored time: only reading everything again would detect it.
        changes.retain(|change| change.how != Alteration::TouchBack);
    }
    // It is removed before the mount that it is on.
    let stage = Stage::new(Two { here, there }, case, None);
    let swept = step_through(&stage, &changes, FEW_FROM_A_SERVER, None)?;
    drop(stage);
    mounted.unmount()?;
    judge(&shown, swept)
}

fn named(name: &str) -> Outcome<&'static Case> {
    Ok(case(name).ok_or_else(|| format!("there is no case {name:?}"))?)
}

/// Prints the result, and fails the test if anything is wrong.
fn judge(shown: &str, swept: Option<Swept>) -> Outcome {
    let Some(Swept { changes, wrong }) = swept else { return Ok(()) };
    // The tally of `cargo xtask sweep` reads this line.
    writeln!(std::io::stdout(), "swept {shown}: {changes} injections, {} violations", wrong.len())?;
    assert!(changes > 10, "{shown}: only {changes} changes");
    assert!(wrong.is_empty(), "{shown}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Steps through a command with a list of changes, at `few` moments each in the bounded sweep, or until something is
/// wrong that contains `sought`; `None`, and the test ignored, if that is not possible.
fn step_through(
    stage: &Stage,
    changes: &[Change],
    few: usize,
    sought: Option<&str>,
) -> Outcome<Option<Swept>> {
    if !stepper::is_usable()? {
        return Ok(None);
    }
    stage.reset()?;
    let learned = stage.run(&mut |_| Ok(()))?;
    assert_eq!((learned.done.code(), learned.hung), (Some(0), false), "{:?}", learned.done);
    let moments = moments(&learned);
    assert!(moments.len() > 4, "only {} moments", moments.len());
    let mut swept = Swept { changes: 0, wrong: Vec::new() };
    for (index, change) in changes.iter().enumerate() {
        for moment in chosen(&moments, index, few) {
            if let Some(found) = run_with(stage, *change, moment)? {
                swept.changes += 1;
                let is_sought = found.as_ref().zip(sought).is_some_and(|(f, s)| f.contains(s));
                swept.wrong.extend(found);
                if is_sought {
                    return Ok(Some(swept));
                }
            }
        }
    }
    Ok(Some(swept))
}

fn is_dull(number: u64) -> bool {
    DULL.iter().any(|dull| u64::try_from(*dull) == Ok(number))
}

/// Returns whether a process can hold a lease after this call. A program that changes the file then waits.
fn may_hold_lease(number: u64) -> bool {
    u64::try_from(libc::SYS_fcntl) == Ok(number)
}

/// Returns whether a removal comes next, without a call before it that could check the entry. A rename to a last
/// name before it sets the time of change, so it hides a file that was rewritten and got its old times back.
fn precedes_removal(stepped: &Stepped, moment: usize, how: Alteration) -> bool {
    let is = |number: u64, call: libc::c_long| u64::try_from(call) == Ok(number);
    let mut rest = stepped.calls.iter().skip(moment);
    // In a debug build, the standard library queries a descriptor's flags before it closes it.
    let next = rest.find(|number| !is_dull(**number) && !is(**number, libc::SYS_fcntl));
    next.is_some_and(|number| {
        is(*number, libc::SYS_unlinkat)
            || how == Alteration::TouchBack && is(*number, libc::SYS_renameat2)
    })
}

/// Returns the moments of a run at which a change may have an effect, as numbers of returned calls.
fn moments(learned: &Stepped) -> Vec<usize> {
    let calls = learned.calls.iter().enumerate().skip(learned.begun.saturating_sub(1));
    let counts = |number: u64| !is_dull(number) && !may_hold_lease(number);
    calls.filter(|(_, number)| counts(**number)).map(|(at, _)| at + 1).collect()
}

/// Chooses all moments, or some evenly spread ones, different for each change.
fn chosen(moments: &[usize], index: usize, few: usize) -> Vec<usize> {
    if Extent::asked() == Extent::Full {
        return moments.to_vec();
    }
    let step = moments.len().div_ceil(few);
    moments.iter().skip(index % step).step_by(step).copied().collect()
}

/// Makes one run with one change. `None` if the change could not be made at that moment.
fn run_with(stage: &Stage, change: Change, moment: usize) -> Outcome<Option<Option<String>>> {
    stage.reset()?;
    let before = stage.places()?;
    let mut changed: Option<Places> = None;
    let stepped = stage.run(&mut |stop| {
        // The run may make one call more or less than the one that the moment is of.
        let is_moment = stop.returned == moment && !may_hold_lease(stop.call);
        if is_moment && change.make(stage)? {
            changed = Some(stage.places()?);
        }
        Ok(())
    })?;
    let Some(changed) = changed else { return Ok(None) };
    let after = stage.places()?;
    let run = Run {
        case: &stage.case,
        change,
        before: &before,
        changed: &changed,
        after: &after,
        // Its own calls: a run that waits for a server or a flush may make one call more than another.
        is_inseparable: precedes_removal(&stepped, moment, change.how),
        done: &stepped.done,
        hung: stepped.hung,
    };
    let around = stepped.calls.get(moment - 1..).unwrap_or_default();
    let around = around.get(..around.len().min(5)).unwrap_or_default();
    Ok(Some(run.objection().map(|wrong| {
        let said = stepped.done.errors();
        let Change { how, victim } = change;
        format!("{how:?} of {victim:?} after call {moment} (of {around:?}): {wrong}; said {said:?}")
    })))
}

/// Asserts that the checks detect a shell command line that is wrong on purpose.
pub(super) fn demand_found(name: &str, impostor: &'static str, sign: &str) -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let case = named(name)?;
    let stage = Stage::new(two, case, Some(impostor));
    let mut changes = changes(case);
    // cp waits for a writer if a file that it has described is a FIFO when it opens it.
    changes.retain(|change| change.how != Alteration::BecomesFifo);
    let Some(swept) = step_through(&stage, &changes, FEW, Some(sign))? else { return Ok(()) };
    let is_found = swept.wrong.iter().any(|wrong| wrong.contains(sign));
    assert!(is_found, "{impostor}: {} changes, {:?}", swept.changes, swept.wrong);
    Ok(())
}
