//! A mount, from its beginning to its end.
//!
//! Ended in any way, nothing stays mounted: dropping unmounts, also while a panic unwinds, and where
//! `fusermount3` is to be had it watches over us and unmounts when we are killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config as Options, MountOption, SessionACL};
use rustix::mount::UnmountFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::judge::Judge;
use crate::nodes::Nodes;
use crate::server::{Front, processors};
use crate::{Config, Operation, Seen};

/// How long an unmount may take: what is still under way there ends within a few delays.
const UNMOUNT_TIME: Duration = Duration::from_secs(10);

/// A directory that is shown, slow and faulty, at another place.
#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
    judge: Arc<Judge>,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// Shows `source` at the empty directory `point`. Needs `/dev/fuse`, and root or `fusermount3`.
    ///
    /// # Errors
    ///
    /// If the source cannot be opened, or nothing can be mounted here.
    pub fn new(source: &Path, point: &Path, config: &Config) -> io::Result<Mounted> {
        allow_descriptors()?;
        let point = point.canonicalize()?;
        let nodes = Nodes::new(source)?;
        let judge = Arc::new(Judge::new(config));
        let front = Front::new(nodes, Arc::clone(&judge), config)?;
        let session = fuser::spawn_mount(front, &point, &options())?;
        Ok(Mounted { point, judge, session: Some(session) })
    }

    /// Returns where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Returns what is known of one kind of request so far.
    #[must_use]
    pub fn seen(&self, operation: Operation) -> Seen {
        self.judge.seen(operation)
    }

    /// Unmounts. Waits until that is done.
    ///
    /// # Errors
    ///
    /// If it is still mounted after ten seconds.
    pub fn unmount(mut self) -> io::Result<()> {
        self.end()
    }

    /// Waits until somebody else has unmounted it.
    ///
    /// # Errors
    ///
    /// If the server failed.
    pub fn wait(&mut self) -> io::Result<()> {
        self.session.take().map_or(Ok(()), BackgroundSession::join)
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        // fusermount3 unmounts only what nobody serves any more, and the threads serve on until the
        // last descriptor in there is closed, which may be somebody else's. So root unmounts by
        // itself; for anybody else, dropping the session asks fusermount3 to.
        if rustix::process::geteuid().is_root() {
            rustix::mount::unmount(&self.point, UnmountFlags::DETACH)?;
        }
        drop(session);
        let until = Instant::now() + UNMOUNT_TIME;
        while is_mounted(&self.point)? {
            if Instant::now() > until {
                return Err(io::Error::from(io::ErrorKind::ResourceBusy));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Whoever wants to know calls `unmount`.
        let _ended = self.end();
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.mount_options = vec![
        MountOption::FSName("faultfs".to_owned()),
        MountOption::Subtype("faultfs".to_owned()),
        MountOption::DefaultPermissions,
    ];
    // They take requests in; those that take their time are answered by others.
    options.n_threads = Some(processors() + 1);
    if rustix::process::geteuid().is_root() {
        options.acl = SessionACL::All;
        options.mount_options.extend([MountOption::Dev, MountOption::Suid]);
        if has_helper() {
            options.mount_options.push(MountOption::AutoUnmount);
        }
    }
    options
}

fn has_helper() -> bool {
    ["/bin", "/usr/bin", "/usr/local/bin"]
        .iter()
        .any(|dir| Path::new(dir).join("fusermount3").exists())
}

/// Each node holds a descriptor, so as many are allowed as may be.
fn allow_descriptors() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// Tells whether something is mounted at a path, without touching it.
fn is_mounted(point: &Path) -> io::Result<bool> {
    use std::os::unix::ffi::OsStrExt as _;
    let table = std::fs::read("/proc/self/mountinfo")?;
    let wanted = point.as_os_str().as_bytes();
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .any(|shown| shown == wanted))
}
