//! Builds everything a second time, in another folder, and compares.

use super::build::build;
use super::pack::pack;
use super::stage::clear;
use super::target::Target;
use super::version::Version;
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// Fails if there are changes that the second build, from a clone, would not have.
pub(super) fn demand_committed(workspace: &Workspace) -> Result<()> {
    let status = ["status", "--porcelain"];
    let changed = output(command("git").args(status).current_dir(&workspace.root))?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(Error::new(format!("there are changes: {}", first.trim()))
            .hint("commit all before --reproduce, which builds a clone")),
    }
}

/// Fails if the packages of a target differ when they are built from a clone in another folder.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    version: &Version,
    first: &Path,
) -> Result<()> {
    let clone = workspace.target.join("dist/second/clone");
    clear(&clone)?;
    output(command("git").args(["clone", "--quiet"]).arg(&workspace.root).arg(&clone))?;
    let again = Workspace {
        root: clone.clone(),
        target: clone.join("target"),
        metadata: workspace.metadata.clone(),
    };
    let binary = build(&again.root, &again.target, target, version)?;
    let out = clone.join("packages");
    fs::create_dir_all(&out).context("create", out.display())?;
    for package in pack(&again, &binary, target, version, &out)? {
        let name = package.file_name().unwrap_or_default();
        let read = |path: &Path| fs::read(path).context("read", path.display());
        if read(&package)? != read(&first.join(name))? {
            return Err(Error::new(format!("two builds of {} differ", name.display()))
                .hint("diffoscope shows where; were the sources changed meanwhile?"));
        }
        println!("{}: the same bytes from another folder", name.display());
    }
    Ok(())
}
