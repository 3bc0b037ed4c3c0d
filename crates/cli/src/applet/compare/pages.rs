//! The page cache of a comparison: both files of a pair count in the ledger of the run.

use std::ffi::CStr;
use std::ops::{ControlFlow, Range};
use std::os::fd::BorrowedFd;

use haul_io::DataPolicy;
use haul_io::trail::SourceTrail;
use haul_manifest::{Finding, Outside, PageCache};
use haul_sys::Errno;

use super::selecting::Selecting;

/// The pages of the pair of files that is being read.
pub(super) struct Pages {
    policy: DataPolicy,
    trails: [SourceTrail; 2],
}

impl Pages {
    /// Keeps the page cache as a policy says.
    pub(super) fn new(policy: DataPolicy) -> Pages {
        Pages { policy, trails: Default::default() }
    }
}

impl PageCache for Pages {
    fn begin(&mut self, files: [BorrowedFd<'_>; 2]) {
        self.trails = files.map(|file| SourceTrail::new(file, &self.policy));
    }

    fn has_read(&mut self, files: [BorrowedFd<'_>; 2], range: Range<u64>) -> ControlFlow<()> {
        for (trail, file) in self.trails.iter_mut().zip(files) {
            trail.after_read(file, &range);
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, files: [BorrowedFd<'_>; 2]) {
        for (trail, file) in self.trails.iter_mut().zip(files) {
            trail.finish(file);
        }
        self.trails = Default::default();
    }
}

/// A comparison by this process alone.
pub(super) struct Alone<'a> {
    pub(super) report: &'a mut dyn FnMut(Finding),
    pub(super) pages: Pages,
    pub(super) selecting: Option<Selecting>,
}

impl Outside for Alone<'_> {
    fn report(&mut self, finding: Finding) -> ControlFlow<()> {
        (self.report)(finding);
        ControlFlow::Continue(())
    }

    fn enters(&mut self, path: &[u8], a: BorrowedFd<'_>) -> Result<(), Errno> {
        self.selecting.as_mut().map_or(Ok(()), |selecting| selecting.enter(path, a))
    }

    fn selects(
        &mut self,
        name: &CStr,
        a: Option<BorrowedFd<'_>>,
        b: Option<BorrowedFd<'_>>,
    ) -> bool {
        self.selecting.as_ref().is_none_or(|selecting| selecting.selects(name, [a, b]))
    }

    fn page_cache(&mut self) -> Option<&mut dyn PageCache> {
        Some(&mut self.pages)
    }

    fn project(&mut self, file: BorrowedFd<'_>) -> u32 {
        // A file system without projects has none to tell.
        haul_sys::fs::project(file).unwrap_or(0)
    }
}
