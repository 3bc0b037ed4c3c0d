//! The files of a package, in the folder that they are packed from.

use super::dependencies::Dependency;
use super::target::Target;
use super::version::Version;
use super::{licences, sbom};
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Shells that get completions, and where their packages look for them.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/haul"),
    ("zsh", "usr/share/zsh/vendor-completions/_haul"),
    ("fish", "usr/share/fish/vendor_completions.d/haul.fish"),
];

/// What a package is made of.
pub(super) struct Parts<'a> {
    /// Root of the repository.
    pub(super) root: &'a Path,
    /// Binary that is packed.
    pub(super) binary: &'a Path,
    /// Binary of the same sources that runs here; it writes its manuals and completions.
    pub(super) runs_here: &'a Path,
    pub(super) version: &'a Version,
    pub(super) dependencies: &'a [Dependency],
}

/// What a package is packed from, and where it is put.
pub(super) struct Packing<'a> {
    /// Folder with the files as they will be installed.
    pub(super) stage: &'a Path,
    /// Folder of the packages.
    pub(super) out: &'a Path,
    pub(super) target: &'a Target,
    pub(super) version: &'a Version,
}

/// Makes the folder `stage` anew with all files as they will be installed.
pub(super) fn fill(stage: &Path, parts: &Parts<'_>) -> Result<()> {
    clear(stage)?;
    let binary = fs::read(parts.binary).context("read", parts.binary.display())?;
    put(&stage.join("usr/bin/haul"), &binary, 0o755)?;
    links(stage, parts.runs_here)?;
    manuals(stage, parts)?;
    for (shell, place) in SHELLS {
        let text = output(command(parts.runs_here).args(["completions", shell]))?;
        put(&stage.join(place), text.as_bytes(), 0o644)?;
    }
    documents(stage, parts)?;
    set_times(stage, parts.version)
}

/// Removes a folder that an earlier run has left, if there is one.
pub(super) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        answer => answer.context("remove", folder.display()),
    }
}

/// Puts the folder for a PATH entry: a link for each command that haul stands in for.
fn links(stage: &Path, haul: &Path) -> Result<()> {
    let folder = stage.join("usr/lib/haul/bin");
    fs::create_dir_all(&folder).context("create", folder.display())?;
    for applet in output(command(haul).arg("--list-applets"))?.lines() {
        let link = folder.join(applet);
        symlink("../../../bin/haul", &link).context("create", link.display())?;
    }
    Ok(())
}

/// Puts haul(1) and a page for each applet.
fn manuals(stage: &Path, parts: &Parts<'_>) -> Result<()> {
    let folder = stage.join("usr/share/man/man1");
    put(&folder.join("haul.1"), output(command(parts.runs_here).arg("manual"))?.as_bytes(), 0o644)?;
    for applet in output(command(parts.runs_here).args(["manual", "--list"]))?.lines() {
        let page = output(command(parts.runs_here).args(["manual", applet]))?;
        put(&folder.join(format!("haul-{applet}.1")), page.as_bytes(), 0o644)?;
    }
    for page in sorted(&folder)? {
        compress(&page)?;
    }
    Ok(())
}

fn documents(stage: &Path, parts: &Parts<'_>) -> Result<()> {
    let folder = stage.join("usr/share/doc/haul");
    let read = |name: &str| {
        let path = parts.root.join(name);
        fs::read_to_string(&path).context("read", path.display())
    };
    put(&folder.join("README.md"), read("README.md")?.as_bytes(), 0o644)?;
    put(&folder.join("changelog"), read("CHANGELOG.md")?.as_bytes(), 0o644)?;
    compress(&folder.join("changelog"))?;
    let own = [read("LICENSE-MIT")?, read("LICENSE-APACHE")?];
    let copyright = format!(
        "haul may be used under the MIT licence or the Apache License 2.0, as its user chooses. The\n\
         licences of the libraries in it are in licences.txt.gz, and a bill of materials in\n\
         haul.cdx.json.\n\n{}\n{}",
        own[0], own[1],
    );
    put(&folder.join("copyright"), copyright.as_bytes(), 0o644)?;
    put(&folder.join("licences.txt"), licences::text(parts.dependencies)?.as_bytes(), 0o644)?;
    compress(&folder.join("licences.txt"))?;
    let bill = sbom::bill(parts.version, parts.dependencies);
    put(&folder.join("haul.cdx.json"), bill.as_bytes(), 0o644)
}

/// Writes a file with its folders.
pub(super) fn put(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let folder = path.parent().ok_or_else(|| Error::new("a file needs a folder"))?;
    fs::create_dir_all(folder).context("create", folder.display())?;
    fs::write(path, content).context("write", path.display())?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).context("chmod", path.display())
}

/// Compresses a file as manuals are, without name and time.
pub(super) fn compress(path: &Path) -> Result<()> {
    output(command("gzip").args(["-9", "-n", "--"]).arg(path)).map(|_| ())
}

/// Gives every file, folder and link the time of the version, and folders the usual mode whatever the
/// umask is.
pub(super) fn set_times(stage: &Path, version: &Version) -> Result<()> {
    let mut waiting = vec![stage.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = path.symlink_metadata().context("read", path.display())?;
        if meta.is_dir() {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).context("chmod", path.display())?;
            waiting.extend(sorted(&path)?);
        }
        let time = format!("--date=@{}", version.time);
        output(command("touch").args(["--no-dereference", &time, "--"]).arg(&path))?;
    }
    Ok(())
}

/// Lists a folder in the order of names.
pub(super) fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).context("read", folder.display())?;
    let paths: std::result::Result<Vec<_>, _> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.context("read", folder.display())?;
    paths.sort();
    Ok(paths)
}
