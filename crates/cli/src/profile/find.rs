//! Finds and reads the profile that `haul tune` wrote for two file systems.
//!
//! A profile is advice about speed and nothing else. So whatever is wrong with one (it cannot be
//! read, is invalid, is of another haul, kernel or machine), the copy is made as without it,
//! with one warning. Without a folder of profiles nothing is searched.
//!
//! The name of a profile says what it is for. One for the devices of source and target wins over
//! one for their file systems on any device, also if it cannot be used: the other one would be
//! about other hardware, without a message.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use haul_bench::{PROFILE_VERSION, Storage, kernel_series, profile_file_name, storage_of};
use haul_io::{MethodId, Preference};
use haul_manifest::is_shown;
use serde::Deserialize;

use super::wanted::Wanted;
use crate::escape::quote;
use crate::file_error::describe;
use crate::sizes::plural;
use crate::trusted_file::{self, Found};

/// The most of a profile that is read: `haul tune` writes two thousand bytes.
const PROFILE_BYTES_MAX: u64 = 64 << 10;

/// The most jobs that are taken from a profile; more may be asked for on the command line.
const JOBS_MAX: usize = 256;

/// A method that only an explicit option selects: a source that shrinks under a mapping ends
/// the process.
const NEVER_PREFERRED: &str = "mmap-write";

/// Why a profile is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Reason {
    /// The user named it.
    #[default]
    Named,
    /// It is for the devices of source and target.
    Devices,
    /// It is for their file systems on any device.
    FileSystems,
}

/// The advice of one profile.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    /// Where it is from.
    path: PathBuf,
    /// Why it is used.
    reason: Reason,
    /// When it was measured.
    measured: String,
    /// What to try first for which size.
    preferences: Vec<Preference>,
    /// The jobs for files of at least so many bytes, by rising size.
    jobs: Vec<(u64, Option<usize>)>,
}

/// The folder of profiles: `haul/profiles` below `$XDG_CONFIG_HOME`, or `~/.config` where that is
/// not set, or relative, which the XDG Base Directory Specification says to ignore.
pub(crate) fn folder() -> Option<PathBuf> {
    folder_in(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
}

fn folder_in(config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute(config).or_else(|| Some(absolute(home)?.join(".config")))?;
    Some(config.join("haul/profiles"))
}

/// Finds and reads the profile for a copy from one place to another; `Ok(None)` where there is
/// none, and why it cannot be used where there is one.
pub(crate) fn find(
    wanted: &Wanted,
    source: &Path,
    target: &Path,
) -> Result<Option<Profile>, String> {
    let candidates = match wanted {
        Wanted::None => return Ok(None),
        Wanted::File(path) => vec![(path.clone(), Reason::Named)],
        Wanted::Auto => paths_for(source, target)?,
    };
    for (path, reason) in candidates {
        let shown = quote(path.as_os_str().as_encoded_bytes());
        let refusal = |why: &str| format!("the profile {shown} {why}");
        let text = match text_of(&path, reason) {
            Ok(Found::Text(text)) => text,
            Ok(Found::Untrusted(why)) => return Err(refusal(&format!("is not used: {why}"))),
            Err(error) if error.kind() == ErrorKind::NotFound && *wanted == Wanted::Auto => {
                continue;
            }
            Err(error) => return Err(refusal(&format!("cannot be read: {}", describe(&error)))),
        };
        let profile = parse(&text).map_err(|why| refusal(&why))?;
        return Ok(Some(Profile { path, reason, ..profile }));
    }
    Ok(None)
}

/// Returns the storage of a path, or of its nearest ancestor that exists; `None` if it is unknown.
fn storage(path: &Path) -> Option<Storage> {
    storage_of(existing(path)?).ok().flatten()
}

/// Returns the paths of the profiles for two places, the one that wins first.
fn paths_for(source: &Path, target: &Path) -> Result<Vec<(PathBuf, Reason)>, String> {
    let Some(folder) = folder() else { return Ok(Vec::new()) };
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        // HOME may be that of another user (su, sudo), whose folder is not readable.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let shown = quote(folder.as_os_str().as_encoded_bytes());
            return Err(format!("the profiles in {shown} cannot be read: {}", describe(&error)));
        }
        _ => return Ok(Vec::new()),
    }
    // An operand that does not exist has no file system; the copy reports it.
    let (Some(source), Some(target)) = (storage(source), storage(target)) else {
        return Ok(Vec::new());
    };
    let any = [source.on_any_device(), target.on_any_device()];
    Ok(vec![
        (folder.join(profile_file_name(&source, &target)), Reason::Devices),
        (folder.join(profile_file_name(&any[0], &any[1])), Reason::FileSystems),
    ])
}

/// Returns the nearest existing ancestor: the target usually does not exist yet.
fn existing(path: &Path) -> Option<&Path> {
    // The last of a relative path's ancestors is empty, and means where we are.
    let place = |path: &'_ Path| path.as_os_str().is_empty() || path.exists();
    let found = path.ancestors().find(|path| place(path))?;
    Some(if found.as_os_str().is_empty() { Path::new(".") } else { found })
}

fn text_of(path: &Path, reason: Reason) -> std::io::Result<Found> {
    if reason != Reason::Named {
        return trusted_file::read(path, PROFILE_BYTES_MAX);
    }
    // Looked at before it is opened: a FIFO in its place would hang every copy.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(PROFILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(Found::Text(text))
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[derive(Deserialize)]
struct Body {
    haul: String,
    kernel: String,
    cores: usize,
    measured: String,
    #[serde(default)]
    choice: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    file_bytes: u64,
    method: Option<String>,
    #[serde(default)]
    method_order: Vec<String>,
    jobs: Option<usize>,
}

/// Reads a profile, or returns why it cannot be used.
fn parse(text: &str) -> Result<Profile, String> {
    let broken = |error: toml::de::Error| format!("is invalid: {}", error.message());
    let head: Head = toml::from_str(text).map_err(broken)?;
    if head.version != PROFILE_VERSION {
        return Err(format!("has version {}, not {PROFILE_VERSION}; {AGAIN}", head.version));
    }
    let body: Body = toml::from_str(text).map_err(broken)?;
    stale(&body)?;
    let mut choices = body.choice;
    choices.sort_by_key(|choice| choice.file_bytes);
    let mut profile = Profile {
        measured: body.measured.chars().filter(|c| is_shown(*c)).collect(),
        ..Profile::default()
    };
    let mut before: Option<u64> = None;
    for choice in &choices {
        // Between two sizes that were measured the border is in the middle, as ratios go.
        let from_bytes = before.map_or(0, |smaller| middle(smaller, choice.file_bytes));
        before = Some(choice.file_bytes);
        profile.preferences.push(Preference { from_bytes, methods: methods(choice)? });
        let jobs = choice.jobs.map(|jobs| jobs.clamp(1, JOBS_MAX));
        profile.jobs.push((from_bytes, jobs));
    }
    Ok(profile)
}

const AGAIN: &str = "'haul tune' makes a new one";

/// Fails with the reason if the measurement no longer applies.
fn stale(body: &Body) -> Result<(), String> {
    let here = haul_sys::process::processors();
    let now = kernel_series(&haul_bench::Environment::kernel_now());
    let then = kernel_series(&body.kernel);
    let own = env!("CARGO_PKG_VERSION");
    if body.haul != own {
        return Err(format!("is of haul {}, and this is {own}; {AGAIN}", plain(&body.haul)));
    }
    if then != now {
        return Err(format!("is of kernel {}, and this is {now}; {AGAIN}", plain(&then)));
    }
    if body.cores != here {
        return Err(format!("is of {} processors, and here are {here}; {AGAIN}", body.cores));
    }
    Ok(())
}

fn plain(text: &str) -> String {
    text.chars().filter(|letter| is_shown(*letter)).take(80).collect()
}

/// Returns the geometric mean of two sizes.
fn middle(smaller: u64, larger: u64) -> u64 {
    let product = u128::from(smaller.max(1)) * u128::from(larger.max(1));
    u64::try_from(product.isqrt()).unwrap_or(u64::MAX)
}

/// Returns the methods that a choice prefers: none where nothing was shown to be
/// better than what haul does by itself.
fn methods(choice: &Choice) -> Result<Vec<MethodId>, String> {
    let Some(first) = &choice.method else { return Ok(Vec::new()) };
    let mut methods = Vec::new();
    for name in std::iter::once(first).chain(&choice.method_order) {
        let Some(method) = MethodId::of_name(name) else {
            return Err(format!("names the method {}, which there is not", quote(name.as_bytes())));
        };
        if name != NEVER_PREFERRED && !methods.contains(&method) {
            methods.push(method);
        }
    }
    Ok(methods)
}

impl Profile {
    /// Returns the methods to try first, by size.
    pub(crate) fn preferences(&self) -> &[Preference] {
        &self.preferences
    }

    /// Returns the number of jobs for files of this size, if another than usual is better; for a
    /// tree, whose files are mostly small, of the smallest.
    pub(crate) fn jobs(&self, file_bytes: u64) -> Option<usize> {
        let of_size = self.jobs.iter().rev().find(|(from_bytes, _)| *from_bytes <= file_bytes);
        of_size.and_then(|(_, jobs)| *jobs)
    }

    /// Returns the line for `--debug` and `--explain`.
    pub(crate) fn line(&self) -> String {
        let mut text = format!(
            "profile: {} of {}",
            quote(self.path.as_os_str().as_encoded_bytes()),
            self.measured
        );
        text += match self.reason {
            Reason::Named => "",
            Reason::Devices => ", for these devices",
            Reason::FileSystems => ", for these file systems on any device",
        };
        let mut says_something = false;
        for (preference, (_, jobs)) in self.preferences.iter().zip(&self.jobs) {
            let from = crate::sizes::bytes(preference.from_bytes);
            if let Some(method) = preference.methods.first() {
                text += &format!("; from {from} on {} first", method.name());
                says_something = true;
            }
            if let Some(jobs) = jobs {
                text += &format!("; from {from} on {}", plural(*jobs as u64, "job", "jobs"));
                says_something = true;
            }
        }
        if !says_something {
            text += "; nothing was shown to be better than the defaults";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(choices: &str) -> String {
        let kernel = haul_bench::Environment::kernel_now();
        let cores = haul_sys::process::processors();
        let own = env!("CARGO_PKG_VERSION");
        format!(
            "version = 2\ncores = {cores}\nhaul = \"{own}\"\nkernel = \"{kernel}\"\n\
             measured = \"today\"\nsurprise = 1\n{choices}"
        )
    }

    #[test]
    fn borders_are_in_the_middle_and_unknown_keys_do_not_matter() {
        let text = text(
            "[[choice]]\nfile_bytes = 1048576\nmethod = \"splice\"\n\
             method_order = [\"splice\", \"mmap-write\", \"read-write\"]\n\
             [choice.verified_from]\nrounds = 5\n\
             [[choice]]\nfile_bytes = 1024\njobs = 2\n",
        );
        let profile = parse(&text).unwrap();
        assert_eq!(
            profile.preferences,
            [
                Preference { from_bytes: 0, methods: vec![] },
                Preference {
                    from_bytes: 32 << 10,
                    methods: vec![MethodId::Splice, MethodId::ReadWrite]
                },
            ]
        );
        assert_eq!((profile.jobs(0), profile.jobs(1 << 20)), (Some(2), None));
        assert!(profile.line().contains("from 32.0 KiB on splice first"), "{}", profile.line());
    }

    #[test]
    fn what_is_broken_or_stale_says_why() {
        let good = text("");
        assert!(parse(&good).is_ok());
        for (wrong, why) in [
            ("nonsense".to_owned(), "is invalid"),
            (good.replace("version = 2", "version = 1"), "version 1"),
            (good.replace("version = 2\n", ""), "is invalid"),
            (good.replace("haul = \"", "haul = \"9"), "of haul 9"),
            (good.replace("kernel = \"Linux ", "kernel = \"Linux 2"), "of kernel"),
            (good.replace("cores = ", "cores = 77"), "processors"),
            (text("[[choice]]\nfile_bytes = 1\nmethod = \"magic\"\n"), "magic"),
            (text("[[choice]]\nfile_bytes = -1\n"), "is invalid"),
        ] {
            let refused = parse(&wrong).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn the_folder_is_below_an_absolute_path_or_nowhere() {
        let folder = |config: &str, home: &str| {
            let given = |text: &str| Some(OsString::from(text)).filter(|text| !text.is_empty());
            folder_in(given(config), given(home))
        };
        assert_eq!(folder("/c", "/h"), Some("/c/haul/profiles".into()));
        assert_eq!(folder("", "/h"), Some("/h/.config/haul/profiles".into()));
        assert_eq!(folder("relative", "/h"), Some("/h/.config/haul/profiles".into()));
        assert_eq!(folder("relative", "relative"), None);
        assert_eq!(folder("", ""), None);
    }
}
