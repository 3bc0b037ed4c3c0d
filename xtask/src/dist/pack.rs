//! Packs one binary in every form.

use super::stage::{Packing, Parts, fill, put};
use super::target::Target;
use super::version::Version;
use super::{deb, dependencies, rpm, tarball};
use crate::command::which;
use crate::error::{Error, Result};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// Makes the packages of one target from its binary, and returns their paths.
pub(super) fn pack(
    workspace: &Workspace,
    binary: &Path,
    target: &Target,
    version: &Version,
    out: &Path,
) -> Result<Vec<PathBuf>> {
    let stage = workspace.target.join("dist/stage").join(target.machine);
    let dependencies = dependencies::find(&workspace.root, target.triple)?;
    let emulated = stage.with_extension("haul");
    let runs_here = if target.is_here() {
        binary
    } else {
        emulate(binary, target, &emulated)?;
        &emulated
    };
    let parts =
        Parts { root: &workspace.root, binary, runs_here, version, dependencies: &dependencies };
    fill(&stage, &parts)?;
    let packing = Packing { stage: &stage, out, target, version };
    Ok(vec![tarball::make(&packing)?, deb::make(&packing)?, rpm::make(&packing)?])
}

/// Writes a script that runs the binary of another kind of machine.
fn emulate(binary: &Path, target: &Target, script: &Path) -> Result<()> {
    if which(target.emulator).is_none() {
        return Err(Error::new(format!("there is no {}", target.emulator))
            .hint("apt-get install qemu-user-static: haul itself prints its manuals"));
    }
    let text = format!("#!/bin/sh\nexec {} '{}' \"$@\"\n", target.emulator, binary.display());
    put(script, text.as_bytes(), 0o755)
}
