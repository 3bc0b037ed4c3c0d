//! The RPM, made by rpmbuild: <https://rpm-software-management.github.io/rpm/manual/spec.html>.

use super::stage::{Packing, clear, put};
use super::version::Version;
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Packs the staged files and returns the package's path.
pub(super) fn make(packing: &Packing<'_>) -> Result<PathBuf> {
    let Packing { stage, out, target, version } = *packing;
    let top = stage.with_extension("rpm");
    clear(&top)?;
    let time = format!("--date=@{}", version.time);
    let date = output(command("date").args(["--utc", "+%a %b %d %Y", &time]).env("LC_ALL", "C"))?;
    let spec = top.join("haul.spec");
    put(&spec, spec_of(stage, version, date.trim()).as_bytes(), 0o644)?;
    output(
        command("rpmbuild")
            .arg("-bb")
            .arg(format!("--target={}-linux", target.machine))
            .arg(format!("--define=_topdir {}", top.display()))
            .arg(&spec)
            .env("SOURCE_DATE_EPOCH", version.time.to_string()),
    )
    .map_err(|error| error.hint("apt-get install rpm"))?;
    let name = format!("haul-{}-1.{}.rpm", version.number, target.machine);
    let made = top.join("RPMS").join(target.machine).join(&name);
    let path = out.join(name);
    fs::copy(&made, &path).context("copy", made.display())?;
    if path.metadata().is_ok_and(|meta| meta.len() == 0) {
        return Err(Error::new("rpmbuild made an empty package"));
    }
    Ok(path)
}

/// Returns the spec. Its macros switch off what rpmbuild would do to a finished binary, and everything
/// that depends on the time or the name of the machine.
fn spec_of(stage: &Path, version: &Version, date: &str) -> String {
    format!(
        "%global debug_package %{{nil}}\n\
         %global __os_install_post %{{nil}}\n\
         %global _buildhost localhost\n\
         %global use_source_date_epoch_as_buildtime 1\n\
         %global clamp_mtime_to_source_date_epoch 1\n\
         %global source_date_epoch_from_changelog 0\n\
         %global _binary_payload w19.zstdio\n\
         %global _build_id_links none\n\
         Name: haul\n\
         Version: {}\n\
         Release: 1\n\
         Summary: Fast copying, moving, deleting and streaming of files\n\
         License: MIT OR Apache-2.0\n\
         Packager: haul maintainers <haul@localhost.localdomain>\n\
         Group: System/Base\n\
         AutoReqProv: no\n\n\
         %description\n\
         haul has the command lines of cp, mv, rm, dd, cat, tee, split, tar, gzip and\n\
         the digest tools, with a parallel engine behind them. It can keep the page\n\
         cache free of what it copies, resume, verify and repair copies, and explain\n\
         what it does. The folder /usr/lib/haul/bin has links with the names of those\n\
         tools, for a PATH entry; the system's own tools stay as they are.\n\n\
         %install\n\
         mkdir -p %{{buildroot}}\n\
         cp -a {stage}/usr %{{buildroot}}/usr\n\
         mkdir -p %{{buildroot}}/usr/share/zsh/site-functions\n\
         mv %{{buildroot}}/usr/share/zsh/vendor-completions/_haul \
         %{{buildroot}}/usr/share/zsh/site-functions/_haul\n\
         rmdir %{{buildroot}}/usr/share/zsh/vendor-completions\n\n\
         %files\n\
         %defattr(-,root,root,-)\n\
         /usr/bin/haul\n\
         /usr/lib/haul\n\
         %doc /usr/share/doc/haul\n\
         /usr/share/man/man1/haul*\n\
         /usr/share/bash-completion/completions/haul\n\
         /usr/share/zsh/site-functions/_haul\n\
         /usr/share/fish/vendor_completions.d/haul.fish\n\n\
         %changelog\n\
         * {date} haul maintainers <haul@localhost.localdomain> - {}-1\n\
         - Release; CHANGELOG.md has the changes.\n",
        version.number,
        version.number,
        stage = stage.display(),
    )
}
