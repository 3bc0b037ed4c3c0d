//! `cargo xtask dist source`: a Debian source package, with all crates in it, which builds without a network.
//!
//! The upstream tarball is the last commit with a folder `vendor`. Crates that only other systems or tests need are
//! stubs there: cargo reads the manifest of every crate that Cargo.lock names, but compiles none of these.

use super::stage::{clear, put, set_times, sorted};
use super::version::Version;
use super::{deb, dependencies};
use crate::command::{cargo, command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What is done with the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    /// It is built in a fresh folder.
    Build,
}

/// Makes cargo find the crates.
const CONFIG: &str = "\
\n[source.crates-io]\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = \"vendor\"\n";

const RULES: &str = include_str!("../../../packaging/debian/rules");
const README: &str = include_str!("../../../packaging/debian/README.source");

/// Runs `cargo xtask dist source` with what follows it.
pub(super) fn main(words: &[String]) -> Result<()> {
    let then = match words {
        [] => Then::Nothing,
        [word] if word == "--build" => Then::Build,
        _ => return Err(Error::new("cargo xtask dist source [--build]".to_owned())),
    };
    if which("dpkg-source").is_none() {
        return Err(Error::new("there is no dpkg-source")
            .hint("apt-get install dpkg-dev debhelper lintian xz-utils"));
    }
    let workspace = Workspace::find()?;
    let version = Version::find(&workspace)?;
    let folder = workspace.target.join("dist/source");
    let package = make(&workspace, &version, &folder)?;
    check(&package)?;
    if then == Then::Build {
        build(&package, &version, &folder.join("build"))?;
    }
    println!("{}", package.display());
    Ok(())
}

/// Makes the package in a folder, and returns the path of its description.
fn make(workspace: &Workspace, version: &Version, folder: &Path) -> Result<PathBuf> {
    clear(folder)?;
    let name = format!("haul-{}", version.number);
    let tree = folder.join(&name);
    fs::create_dir_all(&tree).context("create", tree.display())?;
    let commit = folder.join("commit.tar");
    output(
        command("git")
            .args(["archive", "HEAD", "--output"])
            .arg(&commit)
            .current_dir(&workspace.root),
    )?;
    output(command("tar").arg("--extract").arg("--file").arg(&commit).current_dir(&tree))?;
    fs::remove_file(&commit).context("remove", commit.display())?;
    let crates = vendor(&tree)?;
    set_times(&tree, version)?;
    output(
        command("tar")
            .args(["--create", "--sort=name", "--numeric-owner", "--owner=0", "--group=0"])
            .args(["--use-compress-program=xz -6", "--file"])
            .arg(format!("haul_{}.orig.tar.xz", version.number))
            .arg(&name)
            .current_dir(folder),
    )?;
    let debian = tree.join("debian");
    put(&debian.join("control"), control().as_bytes(), 0o644)?;
    put(&debian.join("changelog"), deb::changelog(version)?.as_bytes(), 0o644)?;
    put(&debian.join("copyright"), copyright(&crates).as_bytes(), 0o644)?;
    put(&debian.join("rules"), RULES.as_bytes(), 0o755)?;
    put(&debian.join("README.source"), README.as_bytes(), 0o644)?;
    put(&debian.join("source/format"), b"3.0 (quilt)\n", 0o644)?;
    put(&debian.join("source/lintian-overrides"), SOURCE_OVERRIDES.as_bytes(), 0o644)?;
    put(
        &debian.join("haul.lintian-overrides"),
        deb::overrides(deb::Linked::Dynamically).as_bytes(),
        0o644,
    )?;
    output(command("dpkg-source").arg("--build").arg(&name).current_dir(folder))?;
    Ok(folder.join(format!("haul_{}-1.dsc", version.number)))
}

/// Puts all crates into the tree, with those that this build does not need as stubs, and returns the others.
fn vendor(tree: &Path) -> Result<Vec<dependencies::Dependency>> {
    output(
        cargo(&["vendor", "--quiet", "--locked", "--versioned-dirs", "vendor"]).current_dir(tree),
    )?;
    let config = tree.join(".cargo/config.toml");
    let own = fs::read_to_string(&config).context("read", config.display())?;
    put(&config, format!("{own}{CONFIG}").as_bytes(), 0o644)?;
    let host = output(command("rustc").args(["--print", "host-tuple"]))?;
    let needed = dependencies::built(tree, host.trim())?;
    for folder in sorted(&tree.join("vendor"))? {
        if needed.iter().all(|of| of.folder != folder) {
            stub(&folder)?;
        }
    }
    Ok(needed)
}

/// Leaves nothing of a crate but its manifest and what cargo wants beside it.
fn stub(folder: &Path) -> Result<()> {
    let sums = folder.join(".cargo-checksum.json");
    let text = fs::read_to_string(&sums).context("read", sums.display())?;
    let mut json: serde_json::Value =
        serde_json::from_str(&text).context("read", sums.display())?;
    if let Some(files) = json.get_mut("files") {
        *files = serde_json::json!({});
    }
    for path in sorted(folder)? {
        let is_folder = path.symlink_metadata().context("read", path.display())?.is_dir();
        if is_folder {
            clear(&path)?;
        } else if path.file_name().is_none_or(|name| name != "Cargo.toml") {
            fs::remove_file(&path).context("remove", path.display())?;
        }
    }
    put(&sums, json.to_string().as_bytes(), 0o644)?;
    put(&folder.join("src/lib.rs"), b"", 0o644)
}

fn control() -> String {
    format!(
        "Source: haul\n\
         Section: utils\n\
         Priority: optional\n\
         Maintainer: haul maintainers <haul@localhost.localdomain>\n\
         Build-Depends: debhelper-compat (= 13)\n\
         Standards-Version: 4.6.2\n\
         Rules-Requires-Root: no\n\
         \n\
         Package: haul\n\
         Architecture: any\n\
         Depends: ${{shlibs:Depends}}, ${{misc:Depends}}\n\
         {}",
        deb::DESCRIPTION
    )
}

/// Lists the licences of the crates that the tarball has, beside haul's own.
fn copyright(crates: &[dependencies::Dependency]) -> String {
    let mut text = format!("{}\nThe crates in vendor/ have these licences:\n\n", deb::COPYRIGHT);
    for of in crates {
        // Writing to a string does not fail.
        let _written = writeln!(text, "{} {}: {}", of.name, of.version, of.licence);
    }
    text
}

/// What lintian says of the source and is intended, with the reason before each.
const SOURCE_OVERRIDES: &str = "\
# There is no address for questions yet.
haul source: bogus-mail-host
# Its source is beside it: machines without clang for eBPF use what was compiled before.
haul source: source-is-missing [crates/trace/bpf/trace.o]
";

/// Builds the package as a user does, in a fresh folder. Blocks for minutes.
fn build(package: &Path, version: &Version, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context("create", folder.display())?;
    let tree = format!("haul-{}", version.number);
    output(command("dpkg-source").arg("--extract").arg(package).arg(&tree).current_dir(folder))?;
    run(command("dpkg-buildpackage").args(["-us", "-uc"]).current_dir(folder.join(&tree)))?;
    // The list of changes has the maintainer's address as well, and cannot say that there is none yet.
    let is_package = |path: &PathBuf| path.extension().is_some_and(|it| it == "deb");
    let packages: Vec<_> = sorted(folder)?.into_iter().filter(is_package).collect();
    if packages.is_empty() {
        return Err(Error::new("dpkg-buildpackage has left no package"));
    }
    packages.iter().try_for_each(|package| check(package))
}

/// Checks a package, if the check is installed; a warning is an error.
fn check(package: &Path) -> Result<()> {
    let name = package.file_name().unwrap_or_default().display();
    if which("lintian").is_none() {
        println!("{name}: not checked, for there is no lintian");
        return Ok(());
    }
    output(command("lintian").arg("--fail-on=error,warning").arg(package))?;
    println!("{name}: lintian finds nothing");
    Ok(())
}

/// Runs `cargo xtask dist stage BINARY FOLDER`, for the rules of the package: all files of a package, as they will be installed.
pub(super) fn stage(binary: &str, folder: &str) -> Result<()> {
    let workspace = Workspace::find()?;
    let version = Version::find(&workspace)?;
    let host = output(command("rustc").args(["--print", "host-tuple"]))?;
    let crates = dependencies::find(&workspace.root, host.trim())?;
    let binary = Path::new(binary).canonicalize().context("find", binary)?;
    let parts = super::stage::Parts {
        root: &workspace.root,
        binary: &binary,
        runs_here: &binary,
        version: &version,
        dependencies: &crates,
    };
    super::stage::fill(Path::new(folder), &parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_keeps_the_manifest_and_the_sum_of_its_package() {
        let folder = std::env::temp_dir().join(format!("xtask-stub-{}", std::process::id()));
        put(&folder.join("Cargo.toml"), b"[package]", 0o644).unwrap();
        put(&folder.join("src/deep/code.rs"), b"code", 0o644).unwrap();
        put(&folder.join("LICENSE"), b"text", 0o644).unwrap();
        let sums = br#"{"files":{"LICENSE":"12"},"package":"ab"}"#;
        put(&folder.join(".cargo-checksum.json"), sums, 0o644).unwrap();
        stub(&folder).unwrap();
        let left: Vec<_> = sorted(&folder).unwrap();
        let names: Vec<_> = left.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, [".cargo-checksum.json", "Cargo.toml", "src"]);
        assert_eq!(fs::read(folder.join("src/lib.rs")).unwrap(), b"");
        let sums = fs::read_to_string(&left[0]).unwrap();
        assert_eq!(sums, r#"{"files":{},"package":"ab"}"#);
        clear(&folder).unwrap();
    }

    #[test]
    fn the_control_file_has_a_source_and_a_package() {
        let text = control();
        let paragraphs: Vec<_> = text.split("\n\n").collect();
        assert_eq!(paragraphs.len(), 2);
        assert!(paragraphs[0].starts_with("Source: haul\n"));
        assert!(paragraphs[1].contains("\nDepends: ${shlibs:Depends}"));
    }
}
