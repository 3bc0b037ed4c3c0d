//! Activity of the block device, as in iostat:
//! <https://docs.kernel.org/block/stat.html>, <https://docs.kernel.org/admin-guide/iostats.html>

use std::time::{Duration, Instant};

use haul_sys::fs::{BlockCounters, BlockDevice};
use serde::{Deserialize, Serialize};

/// A longer run is sampled, but not kept in full: ten minutes of tenths of seconds.
const SAMPLES_MAX: usize = 6_000;

/// Activity of a device during a run and its final sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Seconds during which at least one request was in flight.
    pub busy_s: f64,
    /// Seconds that requests spent in the queue and at the device, added up; divided by the run's
    /// length it is the mean queue depth.
    pub queue_s: f64,
}

/// Activity of a device within about a tenth of a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from the start of the run to the end of this sample.
    pub at_s: f64,
    /// Bytes read per second.
    pub read_rate: f64,
    /// Bytes written per second.
    pub write_rate: f64,
    /// Requests per second.
    pub request_rate: f64,
    /// Mean bytes of a request; 0 without requests.
    pub request_bytes: f64,
    /// Mean number of requests in queue and device.
    pub queue_depth: f64,
    /// Share of the time in which at least one request was in flight, 0 to 1.
    pub utilisation: f64,
}

/// Measurement of a device.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    start: Option<(Instant, BlockCounters)>,
    last: Option<(Instant, BlockCounters)>,
    samples: Vec<Sample>,
}

impl Recording {
    /// Starts a measurement with the current counters.
    pub(crate) fn begin(&mut self, device: Option<&BlockDevice>) {
        self.start =
            device.and_then(BlockDevice::counters).map(|counters| (Instant::now(), counters));
        self.last = self.start;
    }

    /// Returns whether a sample is due, or there is none yet to measure from.
    pub(crate) fn is_due(&self, every: Duration) -> bool {
        self.last.is_none_or(|(then, _)| then.elapsed() >= every)
    }

    /// Takes a sample.
    pub(crate) fn look(&mut self, device: Option<&BlockDevice>) {
        let (Some((start, _)), Some((then, before)), Some(now)) =
            (self.start, self.last, device.and_then(BlockDevice::counters))
        else {
            return;
        };
        let time = Instant::now();
        let seconds = time.duration_since(then).as_secs_f64();
        if seconds < 0.02 {
            return;
        }
        if self.samples.len() < SAMPLES_MAX {
            let used = since(before, now);
            let requests = used.reads + used.writes;
            let moved = (used.read_bytes + used.written_bytes) as f64;
            self.samples.push(Sample {
                at_s: time.duration_since(start).as_secs_f64(),
                read_rate: used.read_bytes as f64 / seconds,
                write_rate: used.written_bytes as f64 / seconds,
                request_rate: requests as f64 / seconds,
                request_bytes: if requests == 0 { 0.0 } else { moved / requests as f64 },
                queue_depth: used.queue_s / seconds,
                utilisation: (used.busy_s / seconds).min(1.0),
            });
        }
        self.last = Some((time, now));
    }

    /// Returns the activity of the device since the start, and the samples.
    pub(crate) fn finish(
        mut self,
        device: Option<&BlockDevice>,
    ) -> (Option<DeviceUse>, Vec<Sample>) {
        self.look(device);
        let now = device.and_then(BlockDevice::counters);
        let used = self.start.zip(now).map(|((_, before), now)| since(before, now));
        (used, self.samples)
    }
}

fn since(before: BlockCounters, now: BlockCounters) -> DeviceUse {
    let used = now.since(&before);
    DeviceUse {
        reads: used.reads,
        read_bytes: used.read_bytes,
        writes: used.writes,
        written_bytes: used.written_bytes,
        busy_s: used.busy_ms as f64 / 1e3,
        queue_s: used.queue_ms as f64 / 1e3,
    }
}
