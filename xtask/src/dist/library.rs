//! `cargo xtask dist library`: libhaul for programs in C, as a tarball of one folder.
//! `cargo xtask dist wheel`: the module and the program for Python.
//!
//! Both are for the machine's own C library, because a program that loads a library has one already.

use super::stage::{clear, put, set_times};
use super::version::Version;
use crate::command::{cargo, command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Name of the library that programs load, with the number of the interface: as `crates/capi/build.rs` says.
const SONAME: &str = "libhaul.so.0";

/// Files of the crate, and where they are installed.
const FILES: [(&str, &str); 2] =
    [("include/haul.h", "include/haul.h"), ("man/libhaul.3", "share/man/man3/libhaul.3")];

/// Compiles the program of the manual with what pkg-config says, and copies a file with it.
const TRIAL: &str = r#"set -eu
export PKG_CONFIG_PATH="$1/lib/pkgconfig" LD_LIBRARY_PATH="$1/lib"
mkdir "$2" && cd "$2"
sed -n '/^\.EX$/,/^\.EE$/p' "$1/share/man/man3/libhaul.3" | grep -v '^\.E[XE]$' | sed 's/\\en/\\n/' > manual.c
cc -o shared manual.c $(pkg-config --cflags --libs haul)
cc -o static manual.c $(pkg-config --cflags haul) "$1/lib/libhaul.a" -lpthread -ldl -lm
rm manual.c
./shared shared one && cmp shared one
LD_LIBRARY_PATH= ./static static two && cmp static two
"#;

/// Makes the library, tries it, and packs it. Blocks for minutes.
pub(super) fn library() -> Result<()> {
    let workspace = Workspace::find()?;
    let version = Version::find(&workspace)?;
    let built = build(&workspace)?;
    let name = format!("libhaul-{}-{}", version.number, std::env::consts::ARCH);
    let stage = workspace.target.join("dist/library").join(&name);
    clear(&stage)?;
    fill(&stage, &built, &workspace.root.join("crates/capi"), &version)?;
    set_times(&stage, &version)?;
    let trial = stage.with_extension("trial");
    clear(&trial)?;
    for program in ["cc", "pkg-config"] {
        if which(program).is_none() {
            return Err(Error::new(format!("there is no {program} to try the library with"))
                .hint("apt-get install gcc pkg-config"));
        }
    }
    output(command("sh").args(["-c", TRIAL, "trial"]).args([&stage, &trial]))?;
    clear(&trial)?;
    let packages = workspace.target.join("dist/packages");
    fs::create_dir_all(&packages).context("create", packages.display())?;
    let package = packages.join(format!("{name}.tar.gz"));
    let folder = stage.parent().ok_or_else(|| Error::new("a stage needs a folder"))?;
    output(
        command("tar")
            .args(["--create", "--sort=name", "--format=ustar", "--numeric-owner"])
            .args(["--owner=0", "--group=0", "--use-compress-program=gzip -9n", "--directory"])
            .arg(folder)
            .arg("--file")
            .arg(&package)
            .arg(&name),
    )?;
    println!("{}", package.display());
    Ok(())
}

/// Makes the wheel, and tries it in a fresh environment. Blocks for minutes.
pub(super) fn wheel() -> Result<()> {
    let workspace = Workspace::find()?;
    let version = Version::find(&workspace)?;
    let built = build(&workspace)?;
    run(cargo(&["build", "--profile=dist", "--locked", "--package=haul"])
        .current_dir(&workspace.root))?;
    let program = workspace.target.join("dist/haul");
    let packages = workspace.target.join("dist/packages");
    fs::create_dir_all(&packages).context("create", packages.display())?;
    let crate_folder = workspace.root.join("crates/capi");
    let wheel = output(
        command("python3")
            .arg(crate_folder.join("python/wheel.py"))
            .args([&built.join("libhaul_capi.so"), &program])
            .args([&version.number, &version.time.to_string()])
            .arg(&packages),
    )?;
    let trial = workspace.target.join("dist/wheel");
    clear(&trial)?;
    let python = trial.join("bin/python");
    output(command("python3").args(["-m", "venv"]).arg(&trial))?;
    output(
        command(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"])
            .arg(wheel.trim()),
    )?;
    output(command(&python).arg(crate_folder.join("tests/python.py")))?;
    output(command(trial.join("bin/haul")).arg("--version"))?;
    print!("{wheel}");
    Ok(())
}

/// Builds libhaul, and returns the folder with it.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    run(cargo(&["rustc", "--profile=library", "--locked", "--package=haul-capi", "--lib"])
        .args(["--crate-type=cdylib", "--crate-type=staticlib"])
        .current_dir(&workspace.root))?;
    Ok(workspace.target.join("library"))
}

/// Puts all files where they will be below a prefix.
fn fill(stage: &Path, built: &Path, of: &Path, version: &Version) -> Result<()> {
    let read = |path: PathBuf| fs::read(&path).context("read", path.display());
    let shared = format!("lib/{SONAME}");
    put(&stage.join(&shared), &read(built.join("libhaul_capi.so"))?, 0o755)?;
    put(&stage.join("lib/libhaul.a"), &read(built.join("libhaul_capi.a"))?, 0o644)?;
    symlink(SONAME, stage.join("lib/libhaul.so")).context("create", "libhaul.so")?;
    for (from, to) in FILES {
        put(&stage.join(to), &read(of.join(from))?, 0o644)?;
    }
    let config = String::from_utf8_lossy(&read(of.join("haul.pc.in"))?)
        .replace("@VERSION@", &version.number);
    put(&stage.join("lib/pkgconfig/haul.pc"), config.as_bytes(), 0o644)
}
