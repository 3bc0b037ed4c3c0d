//! What is reported of a transfer when it is over: bytes, method, and why it was done so.

use std::sync::atomic::Ordering;

use super::Transfer;
use super::trial::Trial;
use crate::cache::residency::Residency;
use crate::method::job::{Change, FileJob};
use crate::method::moved::{Detection, Moved, NotDirect};
use crate::method::policy::{Cache, Choice, Tell};
use crate::method::report::{Refusal, Report, SideReport, Why};
use crate::method::sides::{Way, Which};
use crate::method::{Fit, MethodId, Zeros};
use crate::system::segment::Map;

impl Transfer {
    /// Returns how many bytes from the first one on have arrived without a gap, once all workers have
    /// come back.
    #[must_use]
    pub fn arrived(&self, job: &FileJob<'_>) -> u64 {
        let draws = self.draws.lock();
        match (draws.failure, draws.first_gap()) {
            (None, _) => self.moved.load(Ordering::Relaxed),
            (Some(_), Some(gap)) => gap - job.wanted().start,
            (Some(_), None) => 0,
        }
    }

    pub(super) fn moved(&self, job: &FileJob<'_>) -> Moved {
        let method = self.method();
        let detection = match (method, self.shape.map, self.shape.zeros) {
            // Blocks are shared, holes included.
            (MethodId::Reflink, ..) => Detection::Unknown,
            (_, Map::Dense, Zeros::Write) => Detection::No,
            (_, Map::Dense, Zeros::Skip) => Detection::Zeros,
            (_, Map::Ask, Zeros::Write) => Detection::Holes,
            (_, Map::Ask, Zeros::Skip) => Detection::HolesAndZeros,
        };
        let residency = self.told.as_ref().map(|told| Residency {
            before: told.before,
            after: job.cached(),
            files: told.files,
        });
        let bytes = self.moved.load(Ordering::Relaxed);
        let written_bytes = match method {
            MethodId::Reflink => 0,
            _ => bytes.saturating_sub(self.left_out.load(Ordering::Relaxed)),
        };
        Moved {
            bytes,
            written_bytes,
            method: Some(method),
            detection,
            change: Change::None,
            residency,
            not_direct: self.not_direct(job, method),
            report: self.report(job, method, residency),
        }
    }

    /// Returns why direct I/O was not possible although the policy promises it, once for two file systems.
    fn not_direct(&self, job: &FileJob<'_>, method: MethodId) -> Option<NotDirect> {
        if job.policy.cache != Cache::Direct || method == MethodId::Reflink || job.bytes() == 0 {
            return None;
        }
        let sides = &self.keeper.sides;
        let of = |which| {
            let lost = sides.way(which) != Way::Direct;
            sides.error(which).filter(|_| lost).map(|cause| NotDirect { which, cause })
        };
        of(Which::Target)
            .or_else(|| of(Which::Source))
            .filter(|_| job.pair.is_news_that_not_direct())
    }

    fn report(
        &self,
        job: &FileJob<'_>,
        method: MethodId,
        residency: Option<Residency>,
    ) -> Option<Box<Report>> {
        let told = self.told.as_ref().filter(|_| job.policy.tell == Tell::Everything)?;
        let notes = told.notes.lock();
        let want = self.want(job, self.portion(job, &job.wanted()));
        let mut refused: Vec<Refusal> = Vec::new();
        let prefers = !job.policy.preferred(job.stat.size).is_empty();
        for other in MethodId::ALL.into_iter().take_while(|other| *other != method) {
            let noted = notes.iter().find(|refusal| refusal.method == other);
            let why = match (noted, other.method().fits(job.pair, &want)) {
                (Some(refusal), _) => refusal.why,
                (None, Fit::No(why)) => Why::Unfit(why),
                (None, Fit::Unwise(why)) => Why::Unwise(why),
                (None, Fit::Yes) if job.policy.choice != Choice::Auto => Why::NotAsked,
                (None, Fit::Yes) if prefers && !job.pair.is_refused(other) => Why::NotPreferred,
                (None, Fit::Yes) => Why::RefusedBefore,
            };
            refused.push(Refusal { method: other, why });
        }
        let side = |which| SideReport {
            way: self.keeper.sides.way(which),
            error: self.keeper.sides.error(which),
        };
        Some(Box::new(Report {
            refused,
            ranges: told.ranges.load(Ordering::Relaxed),
            time: told.started.elapsed(),
            compared: self.draws.lock().trial.as_ref().and_then(Trial::result),
            source: side(Which::Source),
            target: side(Which::Target),
            residency: residency.unwrap_or_default(),
        }))
    }
}
