//! A mount and its lifetime.
//!
//! The mount never outlives the process: dropping it unmounts, also while a panic unwinds, and if
//! `fusermount3` is available it unmounts when the process is killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config as Options, MountOption, SessionACL};
use rustix::mount::UnmountFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::injector::Injector;
use crate::nodes::Nodes;
use crate::server::{Frontend, processors};
use crate::{Config, Operation, RequestStats};

/// Maximum duration of an unmount: requests in flight end within a few delays.
const UNMOUNT_TIME: Duration = Duration::from_secs(10);

/// A directory mounted at another place, with delays and faults.
#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
    injector: Arc<Injector>,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// Mounts `source` at the empty directory `point`. Needs `/dev/fuse`, and root or
    /// `fusermount3`.
    ///
    /// # Errors
    ///
    /// If the source cannot be opened, or the mount fails.
    pub fn new(source: &Path, point: &Path, config: &Config) -> io::Result<Mounted> {
        allow_descriptors()?;
        let point = point.canonicalize()?;
        let nodes = Nodes::new(source)?;
        let injector = Arc::new(Injector::new(config));
        let frontend = Frontend::new(nodes, Arc::clone(&injector), config)?;
        let session = fuser::spawn_mount(frontend, &point, &options())?;
        Ok(Mounted { point, injector, session: Some(session) })
    }

    /// Returns the mount point.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Returns the statistics of one kind of request.
    #[must_use]
    pub fn seen(&self, operation: Operation) -> RequestStats {
        self.injector.seen(operation)
    }

    /// Unmounts, and waits until that is done.
    ///
    /// # Errors
    ///
    /// If it is still mounted after ten seconds.
    pub fn unmount(mut self) -> io::Result<()> {
        self.end()
    }

    /// Waits until another process has unmounted it.
    ///
    /// # Errors
    ///
    /// If the server failed.
    pub fn wait(&mut self) -> io::Result<()> {
        self.session.take().map_or(Ok(()), BackgroundSession::join)
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        // fusermount3 unmounts only a file system without a server, and the threads serve requests
        // until the last descriptor in it is closed, which may belong to another process. So root
        // unmounts directly; for other users, dropping the session calls fusermount3.
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
        // A caller that needs the result calls `unmount`.
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
    // These threads receive requests; other threads answer delayed ones.
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

/// Raises the limit on descriptors, because each node holds one.
fn allow_descriptors() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// Returns whether a file system is mounted at a path, without accessing it.
fn is_mounted(point: &Path) -> io::Result<bool> {
    use std::os::unix::ffi::OsStrExt as _;
    let table = std::fs::read("/proc/self/mountinfo")?;
    let wanted = point.as_os_str().as_bytes();
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .any(|shown| shown == wanted))
}
