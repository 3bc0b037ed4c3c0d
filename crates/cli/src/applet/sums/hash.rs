//! Hashing one operand: opening it, waiting for its turn, choosing between one core and all.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use haul_io::digest::{Algorithm, Keying, hash_tree, is_worth_a_tree};
use haul_io::residency::{Asked, cached_bytes};
use haul_io::stream::Source;
use haul_io::sum::{Turn, hash_file};
use haul_io::{Cache, DataPolicy, quirk};
use haul_sys::fs::{Kind, Stat, fstat, fstatfs, is_rotational};
use haul_sys::{CallError, Errno};

/// What is computed of a file.
#[derive(Clone, Debug)]
pub(super) enum Method {
    /// A digest of so many bytes.
    Of(&'static Algorithm, usize),
    /// BLAKE3 from this byte of its output on, so many bytes.
    Blake3 { keying: Arc<Keying>, seek: u64, bytes: usize },
}

impl Method {
    pub(super) fn of(algorithm: &'static Algorithm, bytes: usize) -> Method {
        if algorithm.name == "blake3" {
            return Method::Blake3 { keying: Arc::new(Keying::None), seek: 0, bytes };
        }
        Method::Of(algorithm, bytes)
    }
}

/// What came of a file.
#[derive(Clone, Debug)]
pub(super) struct Hashed {
    pub(super) digest: Vec<u8>,
    pub(super) file_bytes: u64,
    pub(super) not_direct: Option<CallError>,
}

/// What all hashing of a run shares.
pub(super) struct Hashing {
    policy: DataPolicy,
    /// How many workers there may be, if the user says that.
    jobs: Option<usize>,
    /// One file at a time has all cores.
    all_cores: Mutex<()>,
    spins: Mutex<HashMap<u64, bool>>,
}

/// Below this a file is read before a disk could be asked for anything else.
const DISK_BYTES: u64 = 64 << 10;

impl Hashing {
    pub(super) fn new(cache: Cache, jobs: Option<usize>) -> Hashing {
        Hashing {
            policy: DataPolicy { cache, ..DataPolicy::of_run() },
            jobs,
            all_cores: Mutex::new(()),
            spins: Mutex::new(HashMap::new()),
        }
    }

    /// Returns how many workers there may be.
    pub(super) fn workers(&self) -> usize {
        self.jobs.unwrap_or_else(haul_sys::process::processors)
    }

    /// Hashes the file of this name; `-` is standard input.
    pub(super) fn of_name(
        &self,
        name: &[u8],
        method: &Method,
        turn: &Turn<'_>,
    ) -> Result<Hashed, Errno> {
        if name == b"-" {
            turn.wait();
            let stdin = std::io::stdin();
            let fd = stdin.as_fd().try_clone_to_owned().map_err(|error| errno(&error))?;
            let stat = fstat(&fd).map_err(|error| error.errno)?;
            return self.of_file(Source::Shared(Arc::new(fd)), &stat, method);
        }
        let path = OsStr::from_bytes(name);
        // What is no file may give each byte once, and may be named twice.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            turn.wait();
        }
        let fd = File::open(path).map(OwnedFd::from).map_err(|error| errno(&error))?;
        let stat = fstat(&fd).map_err(|error| error.errno)?;
        let alone = self.wants_alone(&fd, &stat).then(|| turn.disk(stat.dev));
        let alone = alone.as_ref().map(|disk| disk.lock());
        let hashed = self.of_file(Source::Own(Arc::new(fd)), &stat, method);
        drop(alone);
        hashed
    }

    /// Returns whether a file has to be read from a rotating disk.
    fn wants_alone(&self, fd: &OwnedFd, stat: &Stat) -> bool {
        if stat.kind() != Kind::Regular || stat.size < DISK_BYTES || self.workers() < 2 {
            return false;
        }
        let spins = {
            let mut known = self.spins.lock();
            *known.entry(stat.dev).or_insert_with(|| is_rotational(stat.dev))
        };
        if !spins {
            return false;
        }
        let Ok(file_system) = fstatfs(fd) else { return true };
        let asked = Asked { fd: fd.as_fd(), quirk: quirk::of_magic(file_system.magic) };
        // What is in memory is read from there.
        cached_bytes(asked, 0, stat.size).is_none_or(|cached| cached < stat.size / 2)
    }

    fn of_file(&self, file: Source, stat: &Stat, method: &Method) -> Result<Hashed, Errno> {
        match method {
            Method::Of(algorithm, bytes) => {
                let mut digest = algorithm.start_with(*bytes).ok_or(Errno::INVAL)?;
                let hashed = hash_file(file, stat, &self.policy, &mut digest)
                    .map_err(|error| error.errno)?;
                Ok(Hashed {
                    digest: digest.finish(),
                    file_bytes: hashed.bytes,
                    not_direct: hashed.not_direct,
                })
            }
            Method::Blake3 { keying, seek, bytes } => {
                let mut digest = vec![0; *bytes];
                if let Some(mut reader) = self.tree(&file, stat, keying)? {
                    reader.set_position(*seek);
                    reader.fill(&mut digest);
                    return Ok(Hashed { digest, file_bytes: stat.size, not_direct: None });
                }
                let mut hasher = keying.hasher();
                let hashed = hash_file(file, stat, &self.policy, &mut hasher)
                    .map_err(|error| error.errno)?;
                let mut reader = hasher.finalize_xof();
                reader.set_position(*seek);
                reader.fill(&mut digest);
                Ok(Hashed { digest, file_bytes: hashed.bytes, not_direct: hashed.not_direct })
            }
        }
    }

    /// Hashes a large file on all cores, where it may be read in any order.
    fn tree(
        &self,
        file: &Source,
        stat: &Stat,
        keying: &Keying,
    ) -> Result<Option<haul_io::digest::OutputReader>, Errno> {
        if stat.kind() != Kind::Regular || !is_worth_a_tree(stat.size) {
            return Ok(None);
        }
        let workers = NonZero::new(self.workers()).filter(|workers| workers.get() > 1);
        let (Source::Own(fd), Some(workers)) = (file, workers) else { return Ok(None) };
        // Holds the bytes in the ledger until they were read. What is refused is read, and counted, in order.
        let put = match self.policy.cache {
            Cache::Auto => self.policy.ledger.put(stat.size, 0),
            Cache::Keep | Cache::Drop | Cache::Direct | Cache::Restore => None,
        };
        if put.is_none() && self.policy.cache != Cache::Keep {
            return Ok(None);
        }
        let _alone = self.all_cores.lock();
        hash_tree(fd.as_fd(), stat.size, keying, workers).map_err(|error| error.errno)
    }
}

/// Returns the number of an error of the standard library, which has one for every failed call.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
