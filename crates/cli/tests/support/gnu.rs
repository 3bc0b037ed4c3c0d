//! GNU's own cp, to compare haul's with.

use std::path::PathBuf;

use super::run::Call;
use super::{Outcome, ignored, which};

/// GNU cp, and whether its version allows comparing messages.
pub(crate) struct Gnu {
    path: PathBuf,
    /// Whether it is new enough (9.5) to have the same messages and `-n` as haul.
    pub(crate) is_reference: bool,
}

/// Finds GNU cp: at `HAUL_GNU_CP`, or on PATH. Without one the test is ignored.
pub(crate) fn find() -> Outcome<Option<Gnu>> {
    let named = std::env::var_os("HAUL_GNU_CP").map(PathBuf::from);
    let Some(path) = named.or_else(|| which("cp")) else {
        ignored("GNU cp")?;
        return Ok(None);
    };
    let version = Call::of(&path).word("--version").run()?.text();
    let first = version.lines().next().unwrap_or_default();
    let number = first.strip_prefix("cp (GNU coreutils) ").and_then(|text| {
        let (major, minor) = text.split_once('.')?;
        let minor = minor.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    let Some(number) = number else {
        ignored("GNU cp (what is on PATH is another one)")?;
        return Ok(None);
    };
    let is_reference = number >= (9, 5);
    if !is_reference {
        ignored("GNU cp 9.5 or later in HAUL_GNU_CP, to compare messages and exit codes with")?;
    }
    Ok(Some(Gnu { path, is_reference }))
}

impl Gnu {
    /// Finds another of GNU's tools beside cp; without it the test is ignored.
    pub(crate) fn sibling(&self, name: &str) -> Outcome<Option<PathBuf>> {
        let path = self.path.with_file_name(name);
        if !path.is_file() {
            ignored(&format!("GNU {name} beside GNU cp"))?;
            return Ok(None);
        }
        Ok(Some(path))
    }

    /// Starts a command line. Messages begin with the name of the program, so it is started as `cp`.
    pub(crate) fn cp(&self) -> Call {
        Call::of("bash").words(["-c", "exec -a cp \"$0\" \"$@\""]).word(&self.path)
    }
}

/// Returns what `haul NAME` said as the program NAME would say it: the line about `--help` names the
/// call.
pub(crate) fn as_program(said: &str, name: &str) -> String {
    said.replace(&format!("Try 'haul {name} --help'"), &format!("Try '{name} --help'"))
}
