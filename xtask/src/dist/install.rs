//! Installs packages in fresh roots and tries them there.
//!
//! A root is a minimal Debian, bootstrapped once and copied for each package. Needs root and a network
//! at the first time.

use super::stage::clear;
use super::target::Target;
use super::version::Version;
use crate::command::{command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// Release of Debian that the roots hold.
const RELEASE: &str = "bookworm";

/// What a new user does first: copies a tree, reads the manual, completes an option, looks at the
/// metrics, uses the links, makes a tarball. Each line has to succeed.
const TRIAL: &str = r#"set -eu
haul --version
mkdir -p /tmp/from/deep && echo content > /tmp/from/deep/file && ln -s deep /tmp/from/link
haul cp -a --metrics=/tmp/cp.prom --job=trial /tmp/from /tmp/to
grep -q '^haul_run_success{command="cp",haul_job="trial"} 1$' /tmp/cp.prom
test "$(cat /tmp/to/deep/file)" = content && test -L /tmp/to/link
haul compare /tmp/from /tmp/to
PATH=/usr/lib/haul/bin:$PATH
cp --version | grep -q haul
tar -C /tmp -czf /tmp/from.tar.gz from && gzip -t /tmp/from.tar.gz
rm -r /tmp/to && test ! -e /tmp/to
man haul-cp | grep -q -- --resume
man haul | grep -q 'cp'
test "$(bash -c '. /usr/share/bash-completion/completions/haul
  COMP_WORDS=(haul cp --resu) COMP_CWORD=2 COMP_LINE="haul cp --resu" COMP_POINT=14
  "$(complete -p haul | sed "s/.*-F \([^ ]*\).*/\1/")" haul --resu cp
  echo "${COMPREPLY[*]}"')" = --resume
"#;

/// Installs the packages of a target in fresh roots, and tries each. Blocks for minutes.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    version: &Version,
    out: &Path,
) -> Result<()> {
    if !target.is_here() {
        println!("{}: not installed, for its base system does not run here", target.machine);
        return Ok(());
    }
    let base = base(workspace, target)?;
    let number = &version.number;
    let deb = out.join(format!("haul_{number}-1_{}.deb", target.deb));
    let rpm = out.join(format!("haul-{number}-1.{}.rpm", target.machine));
    let tarball = out.join(format!("haul-{number}-{}.tar.gz", target.machine));
    in_root(&base, "deb", |root| {
        let inside = root.join("tmp/haul.deb");
        fs::copy(&deb, &inside).context("copy", deb.display())?;
        output(chroot(root).args(["dpkg", "-i", "/tmp/haul.deb"])).map(|_| ())
    })?;
    in_root(&base, "rpm", |root| {
        let of_root = format!("--root={}", root.display());
        output(command("rpm").args([&of_root, "--initdb"]))?;
        output(command("rpm").args([&of_root, "--install", "--nosignature"]).arg(&rpm)).map(|_| ())
    })?;
    in_root(&base, "tar.gz", |root| {
        output(
            command("tar")
                .args(["--extract", "--strip-components=1", "--file"])
                .arg(&tarball)
                .arg("--directory")
                .arg(root.join("usr")),
        )
        .map(|_| ())
    })
}

/// Bootstraps the base system, once.
fn base(workspace: &Workspace, target: &Target) -> Result<PathBuf> {
    let base = workspace.target.join("dist/base").join(target.machine);
    if base.join("bin/sh").exists() {
        return Ok(base);
    }
    if which("debootstrap").is_none() {
        return Err(Error::new("there is no debootstrap").hint("apt-get install debootstrap"));
    }
    // A base that is not finished has another name.
    let begun = base.with_extension("begun");
    clear(&begun)?;
    fs::create_dir_all(&begun).context("create", begun.display())?;
    run(command("debootstrap")
        .args(["--variant=minbase", "--include=man-db,bash"])
        .arg(format!("--arch={}", target.deb))
        .arg(RELEASE)
        .arg(&begun))?;
    fs::rename(&begun, &base).context("rename", begun.display())?;
    Ok(base)
}

/// Copies the base, installs by `installs`, tries the installed haul, and removes the copy.
fn in_root(base: &Path, kind: &str, installs: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let root = base.with_extension(kind);
    clear(&root)?;
    output(command("cp").arg("-a").arg(base).arg(&root))?;
    installs(&root)?;
    output(chroot(&root).args(["sh", "-c", TRIAL])).map_err(|error| {
        error.hint(format!("the {kind} package is installed in {}", root.display()))
    })?;
    println!("the {kind} package was installed in a fresh root, and works there");
    fs::remove_dir_all(&root).context("remove", root.display())
}

/// Makes a command that runs in the root, with /proc, in a mount namespace that ends with it.
pub(super) fn chroot(root: &Path) -> std::process::Command {
    let mut chroot = command("unshare");
    chroot
        .args(["--mount", "sh", "-c"])
        .arg(r#"mount -t proc proc "$0/proc" && exec chroot "$0" "$@""#)
        .arg(root)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/root")
        .env("TERM", "dumb")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    chroot
}
