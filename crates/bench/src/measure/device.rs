//! Activity of the block device, as in iostat:
//! <https://docs.kernel.org/block/stat.html>, <https://docs.kernel.org/admin-guide/iostats.html>

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The unit of the kernel's counters, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// A longer run is sampled, but not kept in full: ten minutes of tenths of seconds.
const SAMPLES_MAX: usize = 6_000;

/// A block device whose counters can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    stat: PathBuf,
}

/// The counters of a device, since it was made.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    busy_ms: u64,
    queue_ms: u64,
}

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

impl Device {
    /// Finds a device by its numbers; `None` if it has no counters.
    pub(crate) fn new(major: u32, minor: u32) -> Option<Device> {
        let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
        let device = Device { stat };
        device.counters().map(|_| device)
    }

    fn counters(&self) -> Option<Counters> {
        let text = fs::read_to_string(&self.stat).ok()?;
        let fields: Vec<u64> =
            text.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
        let field = |index: usize| fields.get(index).copied();
        Some(Counters {
            reads: field(0)?,
            read_bytes: field(2)? * SECTOR_BYTES,
            writes: field(4)?,
            written_bytes: field(6)? * SECTOR_BYTES,
            busy_ms: field(9)?,
            queue_ms: field(10)?,
        })
    }
}

/// Measurement of a device.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    start: Option<(Instant, Counters)>,
    last: Option<(Instant, Counters)>,
    samples: Vec<Sample>,
}

impl Recording {
    /// Starts a measurement with the current counters.
    pub(crate) fn begin(&mut self, device: Option<&Device>) {
        self.start = device.and_then(Device::counters).map(|counters| (Instant::now(), counters));
        self.last = self.start;
    }

    /// Takes a sample.
    pub(crate) fn look(&mut self, device: Option<&Device>) {
        let (Some((start, _)), Some((then, before)), Some(now)) =
            (self.start, self.last, device.and_then(Device::counters))
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
    pub(crate) fn finish(mut self, device: Option<&Device>) -> (Option<DeviceUse>, Vec<Sample>) {
        self.look(device);
        let now = device.and_then(Device::counters);
        let used = self.start.zip(now).map(|((_, before), now)| since(before, now));
        (used, self.samples)
    }
}

fn since(before: Counters, now: Counters) -> DeviceUse {
    let seconds = |before: u64, now: u64| now.saturating_sub(before) as f64 / 1e3;
    DeviceUse {
        reads: now.reads.saturating_sub(before.reads),
        read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
        writes: now.writes.saturating_sub(before.writes),
        written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
        busy_s: seconds(before.busy_ms, now.busy_ms),
        queue_s: seconds(before.queue_ms, now.queue_ms),
    }
}
