//! `cargo xtask tar-corpora`: reads the archives that other programs' tests use.
//!
//! They are those of Go's `archive/tar`, of CPython's `tarfile` and of libarchive, fetched with apt from
//! one release of Debian, so that the table of what haul refuses in them stays true. `crates/cli/tests/
//! tar_corpora.rs` lists and extracts each with GNU tar and with haul.

use crate::apt::Apt;
use crate::command::{cargo, command, run};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use crate::workspace::Workspace;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The variable that tells the test where they are.
pub(crate) const VARIABLE: &str = "HAUL_TAR_CORPORA";

const RELEASE: &str = "bookworm";

/// A binary package, the folder of archives in it, and the name of the folder here.
const PACKAGES: &[(&str, &str, &str)] = &[
    ("golang-1.19-src", "./usr/share/go-1.19/src/archive/tar/testdata", "go"),
    ("libpython3.11-testsuite", "./usr/lib/python3.11/test", "python"),
];

/// The endings of archives in these folders, without those of formats that GNU tar or haul cannot read.
const ENDINGS: &[&str] = &[
    ".tar",
    ".ustar",
    ".tgz",
    ".tar.gz",
    ".tbz",
    ".tar.bz2",
    ".txz",
    ".tar.xz",
    ".tlz",
    ".tar.lzma",
    ".tar.zst",
    ".tar.Z",
    ".pax.Z",
];

/// Written when all archives are there.
const DONE: &str = "complete";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    if let Some(other) = arguments.first() {
        return Err(Error::new(format!("tar-corpora takes no argument, and not {other:?}")));
    }
    interrupt::install()?;
    let workspace = Workspace::find()?;
    let dir = provide(&workspace)?;
    let words = ["test", "-p", "haul", "--test", "all", "--", "tar_corpora::", "--nocapture"];
    run(cargo(&words).env(VARIABLE, dir))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder of all archives if they are there already.
pub(crate) fn present(workspace: &Workspace) -> Option<PathBuf> {
    Some(workspace.target.join("tar-corpora")).filter(|dir| dir.join(DONE).exists())
}

/// Returns the folder of all archives; fetches them if necessary.
pub(crate) fn provide(workspace: &Workspace) -> Result<PathBuf> {
    let dir = workspace.target.join("tar-corpora");
    fs::create_dir_all(&dir).context("create", dir.display())?;
    let lock = File::open(&dir).context("open", dir.display())?;
    lock.lock().context("lock", dir.display())?;
    if dir.join(DONE).exists() {
        return Ok(dir);
    }
    println!("fetching archives of other programs' tests into {}", dir.display());
    fetch(&dir)?;
    for (package, folder, name) in PACKAGES {
        let file = downloaded(&dir, package, ".deb")?;
        let unpacked = unpack(&dir, &["dpkg-deb --fsys-tarfile \"$0\"", "-"], &file, folder)?;
        for path in files(&unpacked.join(folder))?.iter().filter(|path| is_archive(path)) {
            add(&dir.join(name), path, &fs::read(path).context("read", path.display())?)?;
        }
        fs::remove_dir_all(&unpacked).context("remove", unpacked.display())?;
    }
    let file = downloaded(&dir, "libarchive", ".orig.tar.xz")?;
    let unpacked = unpack(&dir, &["cat \"$0\"", "-J"], &file, "*/test/*.uu")?;
    add_encoded(&dir.join("libarchive"), &unpacked)?;
    fs::remove_dir_all(&unpacked).context("remove", unpacked.display())?;
    fs::write(dir.join(DONE), "").context("write", DONE)?;
    Ok(dir)
}

/// Downloads the packages, with a state of apt of their own, from the mirror that the machine uses.
fn fetch(dir: &Path) -> Result<()> {
    let apt = Apt::update(dir, RELEASE, &["deb", "deb-src"], "as root: `apt-get update`")?;
    for (package, _, _) in PACKAGES {
        apt.run(&["download", package])?;
    }
    apt.run(&["source", "--download-only", "libarchive"])
}

fn downloaded(dir: &Path, package: &str, ending: &str) -> Result<PathBuf> {
    let prefix = format!("{package}_");
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(ending)
    };
    let found = files(dir)?.into_iter().find(is_it);
    found.ok_or_else(|| Error::new(format!("apt downloaded no {package}")))
}

/// Unpacks the entries of a pattern from what a shell command writes into a new folder.
fn unpack(dir: &Path, [source, option]: &[&str; 2], file: &Path, pattern: &str) -> Result<PathBuf> {
    let unpacked = dir.join("unpacked");
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked).context("remove", unpacked.display())?;
    }
    fs::create_dir(&unpacked).context("create", unpacked.display())?;
    let option = option.trim_start_matches('-');
    let script =
        format!("{source} | tar -C \"$1\" -x{option}f - --no-same-owner --wildcards \"$2\"");
    run(command("sh").args(["-c", &script]).arg(file).arg(&unpacked).arg(pattern))?;
    Ok(unpacked)
}

/// Decodes the archives of libarchive's tests, which are text.
fn add_encoded(target: &Path, unpacked: &Path) -> Result<()> {
    let mut waiting = vec![unpacked.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(files(&path)?);
        } else if is_archive(&path.with_extension("")) {
            let text = fs::read(&path).context("read", path.display())?;
            let bytes = decoded(&text)
                .ok_or_else(|| Error::new(format!("{} is not uuencoded", path.display())))?;
            add(target, &path.with_extension(""), &bytes)?;
        }
    }
    Ok(())
}

/// Writes an archive. `compress` is a format that haul does not read, and gzip does.
fn add(target: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(target).context("create", target.display())?;
    let place = target.join(path.file_name().unwrap_or_default());
    fs::write(&place, bytes).context("write", place.display())?;
    if place.extension().is_some_and(|extension| extension == "Z") {
        run(command("gzip").args(["-df"]).arg(&place))?;
    }
    Ok(())
}

fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).context("read the folder", dir.display())?;
    entries.map(|entry| Ok(entry.context("read the folder", dir.display())?.path())).collect()
}

/// Decodes uuencoded text; `None` if it is not.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut lines =
        text.split(|byte| *byte == b'\n').skip_while(|line| !line.starts_with(b"begin "));
    lines.next()?;
    let mut bytes = Vec::new();
    for line in lines {
        let value = |at: usize| line.get(at).map_or(0, |byte| byte.wrapping_sub(b' ') & 0x3f);
        let count = usize::from(value(0));
        if line.is_empty() {
            return None;
        }
        if count == 0 {
            return Some(bytes);
        }
        let start = bytes.len();
        for group in 0..count.div_ceil(3) {
            let [a, b, c, d] = [1, 2, 3, 4].map(|at| u32::from(value(group * 4 + at)));
            let [_, all @ ..] = (a << 18 | b << 12 | c << 6 | d).to_be_bytes();
            bytes.extend(all);
        }
        bytes.truncate(start + count);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded() {
        let text = b"remark\nbegin 644 f\n#0V%T\n$0V%T<P``\n`\nend\n";
        assert_eq!(decoded(text).as_deref(), Some(&b"CatCats"[..]));
        assert_eq!(decoded(b"begin 644 f\n#0V%T\n"), None);
        assert_eq!(decoded(b"nothing"), None);
    }
}
