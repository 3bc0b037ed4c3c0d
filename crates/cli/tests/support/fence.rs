//! A fence by landlock: a program behind it may write below some folders and nowhere else.
//!
//! A landlock domain applies to a thread and the processes that it starts, so a restricted thread starts
//! each program, while the test that checks the result is not restricted.

use std::path::PathBuf;
use std::process::{Child, Command};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
};

/// The required version of landlock: from the third on it also restricts truncation.
const VERSION: ABI = ABI::V3;

/// Runs all tests behind the fence, with write access only below the folders that tests make.
const WANTED: &str = "HAUL_TEST_FENCE";

/// Commands that cannot run behind a fence: mounts and namespaces are forbidden behind it, and the kernel
/// checks every directory up to the root at each call, which takes too long in a tree 20,000 deep.
const OUTSIDE: [&str; 6] = ["unshare", "mount", "umount", "bench", "tune", "--nofile=20"];

fn restrict(writable: &[PathBuf]) -> Result<RulesetStatus, Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(VERSION)))?;
    for path in writable {
        // Rights to the contents of a directory cannot be granted for a file.
        let all = AccessFs::from_all(VERSION);
        let access = if path.is_dir() { all } else { AccessFs::from_file(VERSION) };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, access))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Starts a program behind a fence.
pub(crate) fn start(command: &mut Command, writable: &[PathBuf]) -> Result<Child, String> {
    on_a_thread(|| match restrict(writable).map_err(|error| error.to_string())? {
        RulesetStatus::FullyEnforced => command.spawn().map_err(|error| error.to_string()),
        status => Err(format!("landlock is {status:?}")),
    })?
}

/// Returns whether the kernel supports it.
pub(crate) fn is_possible() -> bool {
    on_a_thread(|| restrict(&[]).is_ok_and(|status| status == RulesetStatus::FullyEnforced))
        .unwrap_or(false)
}

pub(super) fn on_a_thread<T: Send>(call: impl FnOnce() -> T + Send) -> Result<T, String> {
    let ended = std::thread::scope(|scope| scope.spawn(call).join());
    ended.map_err(|_| "the restricted thread panicked".to_owned())
}

/// Returns the folders that this command may write, if all tests run behind the fence.
pub(crate) fn writable(
    words: &[std::ffi::OsString],
    dir: Option<&PathBuf>,
) -> Option<Vec<PathBuf>> {
    std::env::var_os(WANTED)?;
    if words.iter().any(|word| OUTSIDE.iter().any(|outside| word == outside)) {
        return None;
    }
    let mut places = vec![PathBuf::from(env!("CARGO_TARGET_TMPDIR")), std::env::temp_dir()];
    places.extend(["/dev".into(), "/proc".into()]);
    places.extend(dir.cloned());
    let list = std::env::var("HAUL_TEST_FS").unwrap_or_default();
    places.extend(list.split(':').filter_map(|one| Some(one.split_once('=')?.1.into())));
    Some(places)
}
