//! The distributions' own checks of packages, where they are installed.
//!
//! What they say and is intended is listed with its reason: for lintian in the package
//! (`deb.rs`), for rpmlint in `rpmlint.toml`.

use crate::command::{command, output, which};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Checks packages; a warning is an error. Says which check is not installed.
pub(super) fn check(root: &Path, packages: &[PathBuf]) -> Result<()> {
    let config = format!("--config={}", root.join("xtask/src/dist/rpmlint.toml").display());
    let checks: [(&str, &str, &[&str]); 2] = [
        ("deb", "lintian", &["--fail-on=error,warning"]),
        // Errors and warnings that no filter names make its exit status 64.
        ("rpm", "rpmlint", &["--strict", &config]),
    ];
    for package in packages {
        let kind = package.extension().unwrap_or_default();
        let Some((_, program, words)) = checks.iter().find(|(of, ..)| kind == *of) else {
            continue;
        };
        let name = package.file_name().unwrap_or_default().display();
        if which(program).is_none() {
            println!("{name}: not checked, for there is no {program}");
            continue;
        }
        output(command(program).args(*words).arg(package))?;
        println!("{name}: {program} finds nothing");
    }
    Ok(())
}
