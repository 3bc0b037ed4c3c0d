//! `/sys/dev/block/*/stat` — what a block device has done, as in iostat(1):
//! <https://docs.kernel.org/block/stat.html>, <https://docs.kernel.org/admin-guide/iostats.html>

use crate::fs::pseudo::{link_name, text};

/// The unit of the kernel's counters, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// More than the line of counters has.
const LINE_BYTES: usize = 1024;

/// A block device whose counters can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    numbers: (u32, u32),
    name: String,
}

/// Counters of a device since it was made, or of a part of that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounters {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Milliseconds during which at least one request was in flight.
    pub busy_ms: u64,
    /// Milliseconds that requests spent in the queue and at the device, added up.
    pub queue_ms: u64,
}

impl BlockDevice {
    /// Finds a device, or a partition, by its numbers; `None` if it has no counters.
    #[must_use]
    pub fn new(major: u32, minor: u32) -> Option<BlockDevice> {
        let link = link_name(&format!("/sys/dev/block/{major}:{minor}"));
        let name = link.unwrap_or_else(|| format!("{major}:{minor}"));
        let device = BlockDevice { numbers: (major, minor), name };
        device.counters().map(|_| device)
    }

    /// Returns the kernel's name, such as `sda1` or `dm-0`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counters; `None` if the device was removed. Does not block.
    #[must_use]
    pub fn counters(&self) -> Option<BlockCounters> {
        let (major, minor) = self.numbers;
        parse(&text(&format!("/sys/dev/block/{major}:{minor}/stat"), LINE_BYTES)?)
    }
}

impl BlockCounters {
    /// Returns what was counted after an earlier moment.
    #[must_use]
    pub fn since(&self, before: &BlockCounters) -> BlockCounters {
        BlockCounters {
            reads: self.reads.saturating_sub(before.reads),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            writes: self.writes.saturating_sub(before.writes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(before.queue_ms),
        }
    }
}

fn parse(line: &str) -> Option<BlockCounters> {
    let mut fields = [0; 11];
    let mut words = line.split_ascii_whitespace();
    for field in &mut fields {
        *field = words.next()?.parse().ok()?;
    }
    Some(BlockCounters {
        reads: fields[0],
        read_bytes: fields[2].saturating_mul(SECTOR_BYTES),
        writes: fields[4],
        written_bytes: fields[6].saturating_mul(SECTOR_BYTES),
        busy_ms: fields[9],
        queue_ms: fields[10],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_counters_is_read() {
        // A kernel of today appends counters of discards and flushes.
        let line = "    2    1   16    3    5    4   24    6    0   70   80    0    0 0 0 9 9\n";
        let counters = parse(line).unwrap();
        let expected = BlockCounters {
            reads: 2,
            read_bytes: 16 * 512,
            writes: 5,
            written_bytes: 24 * 512,
            busy_ms: 70,
            queue_ms: 80,
        };
        assert_eq!(counters, expected);
        assert_eq!(counters.since(&expected), BlockCounters::default());
        assert_eq!(parse("1 2 3"), None);
    }

    #[test]
    fn what_is_no_device_has_no_counters() {
        // Major number 0 is for file systems without a device.
        assert_eq!(BlockDevice::new(0, 1), None);
    }
}
