//! The source trees of GNU coreutils, gzip and tar, fetched with apt and built once below `target`.
//!
//! It comes from a newer Debian than most machines have, because the reference is GNU's current
//! behaviour. apt uses a separate state folder for that, with the mirror that the machine already uses,
//! so that the machine's own sources do not change.

use crate::apt::Apt;
use crate::command::{command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::workspace::{Workspace, closed_to_others};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The Debian release whose packages are the reference.
const RELEASE: &str = "trixie";

/// Programs that building the tree and running its tests need.
const PACKAGES: &[&str] = &[
    "gcc",
    "make",
    "perl",
    "python3",
    "xz-utils",
    "strace",
    "gdb",
    "acl",
    "attr",
    "e2fsprogs",
    "libacl1-dev",
    "libattr1-dev",
    "libcap-dev",
    "libselinux1-dev",
];

/// The last file that the build makes of those that the runner needs.
const BUILT: &str = "src/getlimits";

/// Written after `make`, because a file of the tree does not show that the build is complete.
const DONE: &str = "haul-built";

/// Returns the folder of GNU's own programs, to compare haul with; builds them if necessary.
pub(crate) fn programs(workspace: &Workspace) -> Result<PathBuf> {
    Ok(provide(workspace)?.join("src"))
}

/// Returns the folder of GNU's own programs if they are built already.
pub(crate) fn present(workspace: &Workspace) -> Option<PathBuf> {
    let tree = match std::env::var_os("COREUTILS_BUILD") {
        Some(named) => Some(PathBuf::from(named)),
        None => source_tree(&workspace.target.join("gnu"), "coreutils").ok().flatten(),
    };
    tree.filter(|tree| tree.join(DONE).exists()).map(|tree| tree.join("src"))
}

/// Returns the built tree in a place that other users can reach: root runs some of the tests as
/// another user.
pub(super) fn provide_for_all(workspace: &Workspace) -> Result<PathBuf> {
    let tree = provide(workspace)?;
    match closed_to_others(&tree).filter(|_| geteuid().is_root()) {
        Some(closed) => Err(Error::new(format!("other users may not search {}", closed.display()))
            .hint("set CARGO_TARGET_DIR or COREUTILS_BUILD to a place that they can reach")),
        None => Ok(tree),
    }
}

/// Returns the built tree that `COREUTILS_BUILD` names, or builds one if necessary.
pub(super) fn provide(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("COREUTILS_BUILD") {
        let tree = PathBuf::from(named);
        if !tree.join(BUILT).exists() {
            return Err(Error::new(format!("{} is no built coreutils tree", tree.display()))
                .hint("correct COREUTILS_BUILD, or unset it to have one built"));
        }
        return Ok(tree);
    }
    provide_in(&workspace.target.join("gnu"), "coreutils")
}

/// Returns the built tree of gzip; builds it if necessary.
pub(super) fn provide_gzip(workspace: &Workspace) -> Result<PathBuf> {
    provide_in(&workspace.target.join("gnu-gzip/source"), "gzip")
}

/// Returns the built tree of tar, with the programs that its tests use; builds it if necessary.
pub(crate) fn provide_tar(workspace: &Workspace) -> Result<PathBuf> {
    let tree = provide_in(&workspace.target.join("gnu-tar/source"), "tar")?;
    let tests = tree.join("tests");
    let parts = ["atconfig", "atlocal", "genfile", "checkseekhole", "ckmtime"];
    if !parts.iter().all(|part| tests.join(part).exists()) {
        run(command("make").arg("--quiet").current_dir(&tests).args(parts))?;
    }
    Ok(tree)
}

/// Returns the built tree of a package in a folder, or builds it there.
fn provide_in(dir: &Path, package: &str) -> Result<PathBuf> {
    fs::create_dir_all(dir).context("create", dir.display())?;
    let lock = File::open(dir).context("open", dir.display())?;
    lock.lock().context("lock", dir.display())?;
    if let Some(tree) = source_tree(dir, package)?.filter(|tree| tree.join(DONE).exists()) {
        return Ok(tree);
    }
    provide_packages()?;
    println!("building GNU {package} in {}, once; this takes some minutes", dir.display());
    fetch(dir, package)?;
    build(dir, package)
}

/// The folder `PACKAGE-*` there, if it has been unpacked.
fn source_tree(dir: &Path, package: &str) -> Result<Option<PathBuf>> {
    let prefix = format!("{package}-");
    let starts = |path: &PathBuf| {
        path.is_dir() && path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix))
    };
    Ok(files(dir)?.into_iter().find(starts))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).context("read the folder", dir.display())?;
    entries.map(|entry| Ok(entry.context("read the folder", dir.display())?.path())).collect()
}

fn provide_packages() -> Result<()> {
    if which("dpkg-query").is_none() {
        return Err(Error::new("this is not Debian, where the source comes from")
            .hint("build GNU coreutils yourself and set COREUTILS_BUILD to its tree"));
    }
    let is_missing = |package: &&&str| {
        let mut query = command("dpkg-query");
        let status = output(query.args(["-W", "-f", "${db:Status-Status}", package]));
        status.map_or(true, |status| status != "installed")
    };
    let missing: Vec<_> = PACKAGES.iter().filter(is_missing).copied().collect();
    if missing.is_empty() { Ok(()) } else { crate::tools::install(&missing) }
}

/// Downloads the source package into the folder, unless it is there.
fn fetch(dir: &Path, package: &str) -> Result<()> {
    if tarball(dir)?.is_some() {
        return Ok(());
    }
    let hint = "as root: `apt-get update`; or set COREUTILS_BUILD to a built tree";
    let apt = Apt::update(dir, RELEASE, &["deb-src"], hint)?;
    apt.run(&["source", "--download-only", package])
}

/// The upstream source that has been downloaded, if it has.
fn tarball(dir: &Path) -> Result<Option<PathBuf>> {
    let is_it =
        |path: &PathBuf| path.to_string_lossy().contains(".orig.tar.") && !is_signature(path);
    Ok(files(dir)?.into_iter().find(is_it))
}

fn is_signature(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "asc")
}

fn build(dir: &Path, package: &str) -> Result<PathBuf> {
    let no_source = || {
        Error::new(format!("no {package} source in {}", dir.display()))
            .hint("remove that folder and try again")
    };
    // The files of a killed build are in an unknown state.
    if let Some(left) = source_tree(dir, package)? {
        fs::remove_dir_all(&left).context("remove", left.display())?;
    }
    let tarball = tarball(dir)?.ok_or_else(no_source)?;
    run(command("tar").current_dir(dir).args(["--no-same-owner", "-xf"]).arg(tarball))?;
    let tree = source_tree(dir, package)?.ok_or_else(no_source)?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let configure = tree.join("configure");
    run(command(configure)
        .current_dir(&tree)
        .args(["--disable-nls", "--quiet"])
        .env("FORCE_UNSAFE_CONFIGURE", "1"))?;
    run(command("make").current_dir(&tree).args(["--quiet", &format!("-j{jobs}")]))?;
    fs::write(tree.join(DONE), "").context("write", tree.join(DONE).display())?;
    Ok(tree)
}
