//! Makes all packages of all targets.

use super::build::build;
use super::options::Options;
use super::pack::pack;
use super::version::Version;
use super::{checks, image, install, library, reproduce, source};
use crate::command::{command, output};
use crate::error::{Context, Result};
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs `cargo xtask dist` with its arguments.
pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    match arguments {
        [word] if word == "library" => return library::library().map(|()| ExitCode::SUCCESS),
        [word] if word == "wheel" => return library::wheel().map(|()| ExitCode::SUCCESS),
        [word, rest @ ..] if word == "source" => {
            return source::main(rest).map(|()| ExitCode::SUCCESS);
        }
        [word, binary, folder] if word == "stage" => {
            return source::stage(binary, folder).map(|()| ExitCode::SUCCESS);
        }
        _ => {}
    }
    let options = Options::parse(arguments)?;
    let workspace = Workspace::find()?;
    let version = Version::find(&workspace)?;
    if options.reproduces {
        reproduce::demand_committed(&workspace)?;
    }
    let out = workspace.target.join("dist/packages");
    fs::create_dir_all(&out).context("create", out.display())?;
    let mut packages = Vec::new();
    for target in &options.targets {
        let binary = build(&workspace.root, &workspace.target, target, &version)?;
        packages.extend(pack(&workspace, &binary, target, &version, &out)?);
    }
    checks::check(&workspace.root, &packages)?;
    let sums = sums(&out, &packages)?;
    if options.installs {
        for target in &options.targets {
            install::check(&workspace, target, &version, &out)?;
            image::check(&workspace, target, &version, &out)?;
        }
    }
    if options.reproduces {
        for target in &options.targets {
            reproduce::check(&workspace, target, &version, &out)?;
        }
    }
    print!("{sums}");
    println!("the packages are in {}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the sums of the packages beside them, and returns them.
fn sums(out: &Path, packages: &[PathBuf]) -> Result<String> {
    let names = packages.iter().filter_map(|path| path.file_name());
    let sums = output(command("sha256sum").arg("--").args(names).current_dir(out))?;
    super::stage::put(&out.join("SHA256SUMS"), sums.as_bytes(), 0o644)?;
    Ok(sums)
}
