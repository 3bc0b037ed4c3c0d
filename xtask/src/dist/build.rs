//! Builds the static binary of a target.

use super::linker;
use super::target::{Pie, Target};
use super::version::Version;
use crate::command::{cargo, command, output, run, which};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Builds the binary of the workspace at `root` into the cargo target folder `folder`, and returns its
/// path. Blocks for minutes.
pub(super) fn build(
    root: &Path,
    folder: &Path,
    target: &Target,
    version: &Version,
) -> Result<PathBuf> {
    has_target(target)?;
    if which(target.compiler).is_none() {
        return Err(Error::new(format!("there is no {}", target.compiler))
            .hint(format!("apt-get install {}", target.package)));
    }
    let upper = target.triple.to_uppercase().replace('-', "_");
    let lower = target.triple.replace('-', "_");
    let maps = maps(root);
    let c_maps: Vec<_> = maps.iter().map(|map| format!("-ffile-prefix-map={map}")).collect();
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.extend(maps.iter().map(|map| format!("--remap-path-prefix={map}")));
    let mut linker = PathBuf::from("rust-lld");
    if target.pie == Pie::Script {
        linker = linker::script(&folder.join("dist").join(target.machine))?;
        flags.push("-Crelocation-model=pic".to_owned());
    }
    run(cargo(&["build", "--profile=dist", "--locked", "--package=haul", "--target"])
        .arg(target.triple)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env(format!("CARGO_TARGET_{upper}_LINKER"), linker)
        .env(format!("CC_{lower}"), target.compiler)
        // musl has none of the checked functions that glibc's headers would call.
        .env(format!("CFLAGS_{lower}"), format!("-U_FORTIFY_SOURCE {}", c_maps.join(" ")))
        .env("SOURCE_DATE_EPOCH", version.time.to_string()))?;
    Ok(folder.join(target.triple).join("dist/haul"))
}

/// Names for the folders whose paths would otherwise get into the binary: the repository and cargo's.
fn maps(root: &Path) -> Vec<String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut maps = vec![format!("{}=/haul", root.display())];
    maps.extend(home.map(|home| format!("{}=/cargo", home.display())));
    maps
}

/// Adds Rust's standard library for the target, if rustup does not have it.
fn has_target(target: &Target) -> Result<()> {
    let installed = output(command("rustup").args(["target", "list", "--installed"]))?;
    if installed.lines().any(|line| line == target.triple) {
        return Ok(());
    }
    run(command("rustup").args(["target", "add", target.triple]))
}
