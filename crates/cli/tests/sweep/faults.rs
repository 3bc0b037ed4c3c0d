//! Fault injection: the calls that fail and their errnos, one run for each.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

use super::case::{Case, Promise, Rerun, Whereabouts, case};
use super::scene::{Fingerprint, Scene, fingerprint};
use super::verdict::{Ending, objection, unknown_names};
use crate::mv::Two;
use crate::support::Outcome;
use crate::support::run::{Call, Done, haul};
use crate::support::scratch::Scratch;
use crate::support::strace::{Line, SPARED, Strace, is_usable, may_change};

/// Errnos that any call on files may return.
const USUAL: [&str; 6] = ["EIO", "ENOSPC", "EACCES", "ENOMEM", "EINTR", "EAGAIN"];

/// Errnos specific to calls whose names begin with the prefix.
const PARTICULAR: &[(&str, &[&str])] = &[
    ("open", &["EMFILE", "ENFILE", "ELOOP", "ENOENT", "EEXIST", "EROFS", "EDQUOT", "ESTALE"]),
    ("write", &["EDQUOT", "EFBIG"]),
    ("pwrite", &["EDQUOT", "EFBIG"]),
    ("sendfile", &["EDQUOT", "EINVAL", "ENOSYS"]),
    ("splice", &["EDQUOT", "EINVAL", "ENOSYS", "EPERM"]),
    ("copy_file_range", &["EXDEV", "EINVAL", "ENOSYS", "EOPNOTSUPP", "EDQUOT", "EPERM"]),
    ("fallocate", &["EOPNOTSUPP", "EDQUOT", "EFBIG"]),
    ("ftruncate", &["EFBIG", "EPERM"]),
    ("lseek", &["EINVAL", "ENXIO"]),
    ("mkdir", &["EEXIST", "EDQUOT", "EROFS", "EMLINK"]),
    ("link", &["EMLINK", "EXDEV", "EPERM", "EEXIST"]),
    ("symlink", &["EEXIST", "EDQUOT"]),
    ("rename", &["EXDEV", "EBUSY", "EEXIST", "EINVAL"]),
    ("unlink", &["EBUSY", "EPERM", "ENOENT", "EROFS"]),
    ("getdents", &["ENOENT"]),
    ("fsync", &["EDQUOT", "EROFS"]),
    ("fdatasync", &["EDQUOT", "EROFS"]),
    ("fch", &["EPERM", "EROFS"]),
    ("utimensat", &["EPERM", "EROFS"]),
    ("ioctl", &["EOPNOTSUPP", "EXDEV", "EINVAL"]),
];

/// Further calls without injection. `brk` never fails with an errno: it returns the end of the heap, and
/// the C library would take an errno for an address.
const SPARED_TOO: [&str; 4] = ["rt_sigreturn", "madvise", "sched_yield", "brk"];

/// The extent of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A bounded part, for CI: the first, second, middle and last occurrence of each call. Left out is what shows
    /// the same as another run: a call that needs no space fails for lack of it, and a process is killed before
    /// a call that changes nothing, which leaves what it leaves if it is killed before the next one.
    Quick,
    /// Every errno at every occurrence.
    Full,
}

impl Extent {
    pub(crate) fn asked() -> Extent {
        let is_full = std::env::var_os("HAUL_SWEEP").is_some_and(|value| value == "full");
        if is_full { Extent::Full } else { Extent::Quick }
    }

    /// Chooses some of the occurrences of a call.
    pub(crate) fn choose(self, occurrences: &[usize], is_first_errno: bool) -> Vec<usize> {
        match (self, is_first_errno) {
            (Extent::Full, _) => occurrences.to_vec(),
            (Extent::Quick, true) if occurrences.len() <= 4 => occurrences.to_vec(),
            (Extent::Quick, true) => occurrences
                .iter()
                .take(2)
                .chain(occurrences.get(occurrences.len() / 2))
                .chain(occurrences.last())
                .copied()
                .collect(),
            (Extent::Quick, false) => occurrences.last().copied().into_iter().collect(),
        }
    }
}

/// The fault of one call.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    pub(super) call: String,
    pub(super) what: String,
    pub(super) ending: Ending,
}

/// The calls of a run, by name, with their numbers.
pub(super) type Calls = BTreeMap<String, Vec<usize>>;

/// Returns the calls of which a run makes another number than one whose sweep shows the others.
pub(super) fn beyond(calls: Calls, shown: &Calls) -> Calls {
    let is_another =
        |(call, at): &(String, Vec<usize>)| shown.get(call).map(Vec::len) != Some(at.len());
    calls.into_iter().filter(is_another).collect()
}

/// Lists the injections for a run whose calls are known.
pub(super) fn injections(calls: &Calls, extent: Extent) -> Vec<Injection> {
    let mut list = Vec::new();
    for (call, occurrences) in calls {
        let particular = PARTICULAR.iter().filter(|(prefix, _)| call.starts_with(prefix));
        let errnos = USUAL.iter().chain(particular.flat_map(|(_, errnos)| errnos.iter()));
        let is_covered = extent == Extent::Quick && !may_change(call);
        for (index, errno) in errnos.enumerate() {
            // The same line of the program handles most of the usual ones.
            let is_usual = (2..USUAL.len()).contains(&index) || (*errno == "ENOSPC" && is_covered);
            if extent == Extent::Quick && is_usual {
                continue;
            }
            let chosen = extent.choose(occurrences, index == 0);
            for (at, occurrence) in chosen.iter().enumerate() {
                for sticky in ["", "+"] {
                    let is_between = at > 0 && at + 1 < chosen.len();
                    if extent == Extent::Quick && sticky == "+" && (index > 1 || is_between) {
                        continue;
                    }
                    // An interrupted call is repeated, as by GNU dd and the standard library's messages;
                    // no machine sends a signal at each call for ever. And a read of an empty pipe
                    // waits without a limit.
                    let is_waited_for = *errno == "EINTR" || (*errno == "EAGAIN" && call == "read");
                    if is_waited_for && sticky == "+" {
                        continue;
                    }
                    list.push(Injection {
                        call: call.clone(),
                        what: format!("{call}:error={errno}:when={occurrence}{sticky}"),
                        ending: match (call.as_str(), sticky) {
                            ("write", "+") => Ending::Mute,
                            _ => Ending::Failed,
                        },
                    });
                }
            }
        }
        let killed = if is_covered { Vec::new() } else { extent.choose(occurrences, true) };
        for occurrence in killed {
            list.push(Injection {
                call: call.clone(),
                what: format!("{call}:signal=KILL:when={occurrence}"),
                ending: Ending::Killed,
            });
        }
    }
    list
}

/// Lists the calls of a command after it has begun its work, with their numbers; the earlier calls of the
/// loader and the runtime are not tested. strace counts by thread, so the N-th call of another thread is
/// omitted if the first thread's N-th call was the loader's.
pub(super) fn calls(lines: &[Line]) -> Calls {
    let mut counts = BTreeMap::new();
    let mut loaders: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = Calls::new();
    let mut begun = false;
    for line in lines {
        let occurrence = counts.entry((line.pid, line.name.clone())).or_insert(0_usize);
        *occurrence += 1;
        begun |= line.text.contains("AT_FDCWD, \".\"")
            || ["\"s\"", "\"t\""]
                .iter()
                .any(|operand| line.text.contains(operand) && !line.name.starts_with("exec"));
        let name = line.name.as_str();
        let is_spared = SPARED.contains(&name) || SPARED_TOO.contains(&name);
        let is_known = !is_spared && !name.starts_with("syscall_");
        let by_loader = loaders.entry(line.name.clone()).or_default();
        if !begun {
            *by_loader = *occurrence;
        } else if is_known && *occurrence > *by_loader {
            let occurrences = calls.entry(line.name.clone()).or_default();
            if !occurrences.contains(occurrence) {
                occurrences.push(*occurrence);
            }
        }
    }
    calls
}

/// Returns whether a case is selected: all are, unless the user named some.
pub(super) fn is_chosen(name: &str) -> bool {
    let chosen = std::env::var("HAUL_SWEEP_CASES").unwrap_or_default();
    chosen.is_empty() || chosen.split(';').any(|one| one == name)
}

/// Sweeps a case of the table.
pub(super) fn sweep(name: &str) -> Outcome {
    if !is_chosen(name) || !is_usable()? {
        return Ok(());
    }
    let Some((scene, mut calls)) = undisturbed(name)? else { return Ok(()) };
    let case = &scene.case;
    if let Some(base) = case.beyond.filter(|_| Extent::asked() == Extent::Quick) {
        let Some((_, shown)) = undisturbed(base)? else { return Ok(()) };
        calls = beyond(calls, &shown);
    }
    let before = (fingerprint(&scene.pristine())?, fingerprint(&scene.bystander())?);
    let mut injected = 0;
    let mut wrong = Vec::new();
    for injection in injections(&calls, Extent::asked()) {
        let (was_injected, objection) = inject(&scene, case, &injection, &before)?;
        injected += usize::from(was_injected);
        wrong.extend(objection);
    }
    // The tally of `cargo xtask sweep` reads this line.
    writeln!(std::io::stdout(), "swept {name}: {injected} injections, {} violations", wrong.len())?;
    assert!(injected > case.beyond.map_or(20, |_| 10), "{name}: only {injected} faults");
    assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Runs a case of the table with no fault, and returns its scene and its calls; `None`, and the test ignored, if there
/// is no second file system.
fn undisturbed(name: &str) -> Outcome<Option<(Scene, Calls)>> {
    let case = case(name).ok_or_else(|| format!("there is no case {name:?}"))?;
    let (here, far) = match case.target {
        Whereabouts::Beside => (Scratch::new()?, None),
        Whereabouts::Across => {
            let Some(two) = Two::new()? else { return Ok(None) };
            (two.here, Some(two.there))
        }
    };
    let scene = Scene::new(here, far, case)?;
    scene.reset()?;
    let strace = Strace::new(scene.scratch.at("log"));
    let done = strace.wrap(scene.call()).succeed()?;
    if let Some(wrong) = objection(&scene, case, &done, Ending::Undisturbed) {
        return Err(format!("{name}, undisturbed: {wrong}").into());
    }
    let calls = calls(&strace.lines()?);
    Ok(Some((scene, calls)))
}

/// Makes one run with one injection, and returns what is wrong with it.
fn inject(
    scene: &Scene,
    case: &Case,
    injection: &Injection,
    before: &(Fingerprint, Fingerprint),
) -> Outcome<(bool, Option<String>)> {
    scene.reset()?;
    let strace =
        Strace::new(scene.scratch.at("log")).trace(&injection.call).inject(&injection.what);
    let done = strace.wrap(scene.call()).run()?;
    let was_injected = match injection.ending {
        Ending::Killed => done.code() != Some(0),
        Ending::Failed | Ending::Mute | Ending::Undisturbed | Ending::Cleaned | Ending::Again => {
            strace.has_injected()?
        }
    };
    let mut wrong = objection(scene, case, &done, injection.ending);
    if wrong.is_none() && injection.ending == Ending::Killed {
        wrong = rerun(scene, case)?;
    }
    if wrong.is_none() && before.1 != fingerprint(&scene.bystander())? {
        wrong = Some("what has nothing to do with it was changed".to_owned());
    }
    if before.0 != fingerprint(&scene.pristine())? {
        return Err(format!("{}: the source was changed: {done:?}", injection.what).into());
    }
    let told = wrong.map(|wrong| format!("{}: {wrong}\n  said {}", injection.what, said(&done)));
    Ok((was_injected, told))
}

/// Runs the command again, which completes the work.
pub(super) fn rerun(scene: &Scene, case: &Case) -> Outcome<Option<String>> {
    if case.rerun == Rerun::MeansSomethingElse {
        return Ok(None);
    }
    // Entries that are removed or moved already cannot be removed or moved again.
    let was_done = match case.promise {
        Promise::Gone => fs::symlink_metadata(scene.target()).is_err(),
        Promise::Moved => fs::symlink_metadata(scene.source()).is_err(),
        Promise::NeverLooksComplete | Promise::OldOrNew => false,
    };
    let done = scene.call().run()?;
    if was_done {
        let wrong = if done.code() == Some(1) { clean(scene, case)? } else { Some(said(&done)) };
        return Ok(wrong.map(|wrong| format!("a second run: {wrong}")));
    }
    if done.code() != Some(0) {
        return Ok(Some(format!("a second run failed: {}", said(&done))));
    }
    let wrong = objection(scene, case, &done, Ending::Again).or(clean(scene, case)?);
    Ok(wrong.map(|wrong| format!("a second run: {wrong}")))
}

/// Checks that `haul clean` removes the hidden files of a killed run, and names the source again that a move was
/// about to remove.
pub(super) fn clean(scene: &Scene, case: &Case) -> Outcome<Option<String>> {
    let call = Call::of(haul()).words(["clean", "--older-than=0"]).word(scene.target_folder());
    let sources = (case.promise == Promise::Moved).then(|| scene.scratch.path());
    call.words(sources).succeed()?;
    Ok(unknown_names(scene, case, Ending::Cleaned))
}

pub(super) fn said(done: &Done) -> String {
    done.errors().lines().take(4).collect::<Vec<_>>().join(" / ")
}
