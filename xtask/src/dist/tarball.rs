//! The tarball: the files of the package below one folder, for people without a package manager.

use super::stage::Packing;
use crate::command::{command, output};
use crate::error::Result;
use std::path::PathBuf;

/// Packs the staged files and returns the tarball's path.
pub(super) fn make(packing: &Packing<'_>) -> Result<PathBuf> {
    let Packing { stage, out, target, version } = *packing;
    let name = format!("haul-{}-{}", version.number, target.machine);
    let path = out.join(format!("{name}.tar.gz"));
    // Of all members, only symbolic links must stay as they are: their targets are no names here.
    let transform = format!("--transform=s,^\\./usr,{name},S");
    output(
        command("tar")
            .args(["--create", "--sort=name", "--format=ustar", "--numeric-owner"])
            .args(["--owner=0", "--group=0", &transform])
            .arg(format!("--mtime=@{}", version.time))
            .args(["--use-compress-program=gzip -9n", "--directory"])
            .arg(stage)
            .arg("--file")
            .arg(&path)
            .arg("./usr"),
    )?;
    Ok(path)
}
