//! Power cuts: a command is killed before one of the calls that change the disk, and at the same moment
//! the disk loses all data that was not flushed.

use std::io::Write as _;

use super::case::{Case, Whereabouts, case};
use super::faults::{Extent, calls, clean, is_chosen, rerun, said};
use super::scene::Scene;
use super::verdict::{Ending, objection};
use crate::support::Outcome;
use crate::support::image::{Image, KINDS};
use crate::support::scratch::Scratch;
use crate::support::strace::{CHANGING, Strace, is_usable};

/// Calls that flush files.
const FLUSHING: [&str; 3] = ["fdatasync", "fsync", "syncfs"];

/// Cuts the power during a case of the table, on each file system.
pub(super) fn cut(name: &str) -> Outcome {
    for kind in KINDS {
        let shown = format!("{name}, power cuts on {kind}");
        if !is_chosen(name) || !is_usable()? {
            return Ok(());
        }
        let case = case(name).ok_or_else(|| format!("there is no case {name:?}"))?;
        let scratch = Scratch::new()?;
        let Some(image) = Image::new(&scratch, kind)? else { continue };
        let case = Case { target: Whereabouts::Across, ..*case };
        let (cuts, wrong) = cuts(&scratch, &image, &case)?;
        // The tally of `cargo xtask sweep` reads this line.
        writeln!(
            std::io::stdout(),
            "swept {shown}: {cuts} injections, {} violations",
            wrong.len()
        )?;
        assert!(cuts > 3, "{shown}: only {cuts} cuts");
        assert!(wrong.is_empty(), "{shown}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
    Ok(())
}

fn cuts(scratch: &Scratch, image: &Image, case: &Case) -> Outcome<(usize, Vec<String>)> {
    let scene =
        Scene::new(Scratch::below(scratch.path())?, Some(Scratch::below(&image.mount)?), case)?;
    scene.reset()?;
    let strace = Strace::new(scene.scratch.at("log"));
    strace.wrap(scene.call()).succeed()?;
    let mut cuts = 0;
    let mut wrong = Vec::new();
    for (call, occurrences) in calls(&strace.lines()?) {
        if !CHANGING.contains(&call.as_str()) && !FLUSHING.contains(&call.as_str()) {
            continue;
        }
        for occurrence in Extent::asked().choose(&occurrences, true) {
            scene.reset()?;
            image.sync()?;
            let what = format!("{call}:signal=KILL:when={occurrence}");
            let strace = Strace::new(scene.scratch.at("log")).trace(&call).inject(&what);
            let done = strace.wrap(scene.call()).run()?;
            image.cut()?;
            cuts += 1;
            let mut found = objection(&scene, case, &done, Ending::Killed);
            if found.is_none() {
                found = rerun(&scene, case)?;
            }
            wrong.extend(found.map(|found| format!("{what}: {found}\n  said {}", said(&done))));
        }
    }
    // And after the run has reported success.
    scene.reset()?;
    image.sync()?;
    let done = scene.call().succeed()?;
    image.cut()?;
    let found = objection(&scene, case, &done, Ending::Again).or(clean(&scene, case)?);
    wrong.extend(found.map(|found| format!("at the end: {found}")));
    Ok((cuts + 1, wrong))
}
