//! The Debian package, made by dpkg-deb: <https://www.debian.org/doc/debian-policy/>.

use super::stage::{Packing, clear, compress, put, set_times, sorted};
use super::target::Target;
use super::version::Version;
use crate::command::{command, output};
use crate::error::{Context, Result};
use std::path::{Path, PathBuf};

pub(super) const DESCRIPTION: &str = "\
Description: fast copying, moving, deleting and streaming of files
 haul has the command lines of cp, mv, rm, dd, cat, tee, split, tar, gzip
 and the digest tools, with a parallel engine behind them. It can keep the
 page cache free of what it copies, resume, verify and repair copies, and
 explain what it does.
 .
 The folder /usr/lib/haul/bin has links with the names of those tools. Put
 it first in PATH to use haul by these names; the system's own tools stay
 as they are.
";

/// Warnings of lintian that are intended, with the reason before each.
const OVERRIDES: &str = "\
# The package is built from a release, not uploaded to Debian; there is no bug to close.
haul: initial-upload-closes-no-bugs
# The page of each command is haul-NAME(1); the links are for a PATH entry.
haul: no-manual-page
# The notice of LICENSE-MIT names its authors, but no year.
haul: copyright-without-copyright-notice
# There is no address for questions yet.
haul: bogus-mail-host
haul: bogus-mail-host-in-debian-changelog
# The libraries are Rust crates, which are linked into the binary.
haul: embedded-library
";

/// The same for a static program.
const STATIC_OVERRIDES: &str = "\
# One file that runs on every distribution, and in a rescue system.
haul: statically-linked-binary [usr/bin/haul]
# A static binary at any address needs no library.
haul: shared-library-lacks-prerequisites [usr/bin/haul]
";

/// How the program of a package is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    Statically,
    Dynamically,
}

/// Returns the warnings of lintian that are intended.
pub(super) fn overrides(linked: Linked) -> String {
    match linked {
        Linked::Statically => format!("{STATIC_OVERRIDES}{OVERRIDES}"),
        Linked::Dynamically => OVERRIDES.to_owned(),
    }
}

/// Debian has the text of the Apache License in one place.
pub(super) const COPYRIGHT: &str = concat!(
    "haul may be used under the MIT licence or the Apache License 2.0, as its user chooses. The\n\
     licences of the libraries in it are in licences.txt.gz, and a bill of materials in\n\
     haul.cdx.json. The Apache License is in /usr/share/common-licenses/Apache-2.0; this is the\n\
     MIT licence:\n\n",
    include_str!("../../../LICENSE-MIT"),
);

/// Packs the staged files and returns the package's path.
pub(super) fn make(packing: &Packing<'_>) -> Result<PathBuf> {
    let Packing { stage, out, target, version } = *packing;
    let tree = stage.with_extension("deb");
    clear(&tree)?;
    output(command("cp").arg("-a").arg(stage).arg(&tree))?;
    let overridden = overrides(Linked::Statically);
    put(&tree.join("usr/share/lintian/overrides/haul"), overridden.as_bytes(), 0o644)?;
    put(&tree.join("usr/share/doc/haul/copyright"), COPYRIGHT.as_bytes(), 0o644)?;
    let changes = tree.join("usr/share/doc/haul/changelog.Debian");
    put(&changes, changelog(version)?.as_bytes(), 0o644)?;
    compress(&changes)?;
    let size = kibibytes(&tree)?;
    put(&tree.join("DEBIAN/control"), control(target, version, size).as_bytes(), 0o644)?;
    put(&tree.join("DEBIAN/md5sums"), md5sums(&tree)?.as_bytes(), 0o644)?;
    set_times(&tree, version)?;
    let path = out.join(format!("haul_{}-1_{}.deb", version.number, target.deb));
    output(
        command("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"])
            .arg(&tree)
            .arg(&path)
            .env("SOURCE_DATE_EPOCH", version.time.to_string()),
    )?;
    Ok(path)
}

fn control(target: &Target, version: &Version, kibibytes: u64) -> String {
    format!(
        "Package: haul\n\
         Version: {}-1\n\
         Architecture: {}\n\
         Maintainer: haul maintainers <haul@localhost.localdomain>\n\
         Installed-Size: {kibibytes}\n\
         Section: utils\n\
         Priority: optional\n\
         {DESCRIPTION}",
        version.number, target.deb,
    )
}

pub(super) fn changelog(version: &Version) -> Result<String> {
    let time = format!("--date=@{}", version.time);
    let date = output(command("date").args(["--utc", "-R", &time]).env("LC_ALL", "C"))?;
    Ok(format!(
        "haul ({}-1) unstable; urgency=medium\n\n  * Release; changelog.gz has the changes.\n\n \
         -- haul maintainers <haul@localhost.localdomain>  {date}",
        version.number,
    ))
}

/// Sums the sizes of all files, each rounded up to 1 KiB, as Policy 5.6.20 asks.
fn kibibytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for path in sorted(folder)? {
        let meta = path.symlink_metadata().context("read", path.display())?;
        sum += if meta.is_dir() { 1 + kibibytes(&path)? } else { meta.len().div_ceil(1024) };
    }
    Ok(sum)
}

/// Lists the MD5 sums of all regular files, by which `dpkg --verify` checks the installed ones.
fn md5sums(tree: &Path) -> Result<String> {
    let script = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum --";
    output(command("sh").args(["-c", script]).current_dir(tree))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::target::TARGETS;

    #[test]
    fn every_field_of_the_control_file_has_its_line() {
        let version = Version { number: "1.2.3".into(), time: 0 };
        let text = control(&TARGETS[1], &version, 42);
        for line in ["Version: 1.2.3-1", "Architecture: arm64", "Installed-Size: 42"] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        // A paragraph that is not indented would begin another field.
        let description = text.split_once("Description:").unwrap().1;
        assert!(description.lines().skip(1).all(|line| line.starts_with(' ')));
        assert!(changelog(&version).unwrap().ends_with("Thu, 01 Jan 1970 00:00:00 +0000\n"));
    }
}
