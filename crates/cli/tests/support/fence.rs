//! A fence by landlock: what runs behind it may write below some folders and nowhere else.
//!
//! A landlock domain is a thread's own and that of the processes that it starts, so each program is
//! started by a thread that is restricted, while the test that judges it is not.

use std::path::PathBuf;
use std::process::{Child, Command};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
};

/// What the kernel has to know: from the third version on it watches truncation as well.
const VERSION: ABI = ABI::V3;

/// Runs all tests behind the fence, with writing allowed below the places that tests make alone.
const WANTED: &str = "HAUL_TEST_FENCE";

/// What a fence cannot surround: mounts and namespaces are forbidden behind it, and the kernel looks at
/// every directory up to the root at each call, which in a tree 20,000 deep takes for ever.
const OUTSIDE: [&str; 6] = ["unshare", "mount", "umount", "bench", "tune", "--nofile=20"];

fn restrict(writable: &[PathBuf]) -> Result<RulesetStatus, Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(VERSION)))?;
    for path in writable {
        // Rights to what is in a directory cannot be given to a file.
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

/// Tells whether the kernel can do it.
pub(crate) fn is_possible() -> bool {
    on_a_thread(|| restrict(&[]).is_ok_and(|status| status == RulesetStatus::FullyEnforced))
        .unwrap_or(false)
}

pub(super) fn on_a_thread<T: Send>(call: impl FnOnce() -> T + Send) -> Result<T, String> {
    let ended = std::thread::scope(|scope| scope.spawn(call).join());
    ended.map_err(|_| "the restricted thread panicked".to_owned())
}

/// Returns where these words may write, if this is a run of all tests behind the fence.
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
