//! The log of dm-log-writes: all writes to a disk in the order in which it has them, and its replay.
//!
//! A write is in the log before the flush that follows its completion, so that the entries up to a flush are what a disk
//! has if the power goes at that moment (Documentation/admin-guide/device-mapper/log-writes.rst).

use crate::error::{Context, Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The first number of a log (`WRITE_LOG_MAGIC` in drivers/md/dm-log-writes.c).
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;

/// Flags of an entry.
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// Bytes of an entry before the data of a mark.
const HEADER_BYTES: usize = 32;

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// What an entry of the log means for a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A write that the disk may still lose, or a discard.
    Volatile,
    /// The disk has everything up to here.
    Stored,
    Mark(String),
}

/// A log that is read and replayed entry by entry.
pub(super) struct Log {
    file: File,
    sector_bytes: u64,
    entries: u64,
    done: u64,
    /// Where the next entry begins.
    offset: u64,
}

impl Log {
    pub(super) fn open(path: &str) -> Result<Self> {
        let file = File::open(path).context("open", path)?;
        let mut head = [0; HEADER_BYTES];
        file.read_exact_at(&mut head, 0).context("read", path)?;
        if (word(&head, 0), word(&head, 8)) != (MAGIC, VERSION) {
            return Err(Error::new(format!("there is no log of writes in {path}")));
        }
        let (entries, sector_bytes) = (word(&head, 16), word(&head, 24) & u64::from(u32::MAX));
        Ok(Self { file, sector_bytes, entries, done: 0, offset: sector_bytes })
    }

    /// Returns the next entry, `None` behind the last one, and applies it to a disk if there is one.
    pub(super) fn next(&mut self, disk: Option<&File>) -> Result<Option<Event>> {
        if self.done == self.entries {
            return Ok(None);
        }
        let mut sector = vec![0; self.sector_bytes as usize];
        self.file.read_exact_at(&mut sector, self.offset).context("read", "the log")?;
        let entry = Entry::read(&sector);
        self.done += 1;
        self.offset += self.sector_bytes;
        if entry.flags & (DISCARD | MARK) == 0 {
            let bytes = entry.sectors * self.sector_bytes;
            if let Some(disk) = disk {
                self.copy(disk, entry.sector * self.sector_bytes, bytes)?;
            }
            self.offset += bytes;
        }
        Ok(Some(entry.event(&sector)))
    }

    /// Copies bytes at the log's offset to a place of the disk.
    fn copy(&self, disk: &File, to: u64, bytes: u64) -> Result<()> {
        let mut buffer = vec![0; bytes.min(COPY_BYTES) as usize];
        let mut done = 0;
        while done < bytes {
            let part = &mut buffer[..(bytes - done).min(COPY_BYTES) as usize];
            self.file.read_exact_at(part, self.offset + done).context("read", "the log")?;
            disk.write_all_at(part, to + done).context("write", "the disk")?;
            done += part.len() as u64;
        }
        Ok(())
    }
}

/// The head of an entry.
struct Entry {
    sector: u64,
    sectors: u64,
    flags: u64,
    data_bytes: u64,
}

impl Entry {
    fn read(sector: &[u8]) -> Self {
        let [at, sectors, flags, data_bytes] = [0, 8, 16, 24].map(|offset| word(sector, offset));
        Self { sector: at, sectors, flags, data_bytes }
    }

    fn event(&self, sector: &[u8]) -> Event {
        if self.flags & MARK != 0 {
            let end = HEADER_BYTES + self.data_bytes as usize;
            let text = String::from_utf8_lossy(&sector[HEADER_BYTES..end]);
            return Event::Mark(text.trim_end_matches('\0').to_owned());
        }
        if self.flags & (FLUSH | FUA) != 0 { Event::Stored } else { Event::Volatile }
    }
}

fn word(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(words: [u64; 4], data: &[u8]) -> Vec<u8> {
        let mut sector: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        sector.extend(data);
        sector.resize(512, 0);
        sector
    }

    #[test]
    fn a_log_is_replayed_entry_by_entry() {
        let dir = std::env::temp_dir().join(format!("xtask-log-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (log, disk) = (dir.join("log"), dir.join("disk"));
        let bytes: Vec<u8> = [
            // The number of entries, and the size of a sector in 32 bits.
            sector([MAGIC, VERSION, 4, 512], b""),
            sector([3, 1, 0, 0], b""),
            vec![7; 512],
            sector([0, 8, DISCARD, 0], b""),
            sector([0, 0, MARK, 3], b"end"),
            sector([1, 1, FLUSH | FUA, 0], b""),
            vec![9; 512],
        ]
        .concat();
        std::fs::write(&log, bytes).unwrap();
        let mut log = Log::open(log.to_str().unwrap()).unwrap();
        let made = File::create(&disk).unwrap();
        let mut events = Vec::new();
        while let Some(event) = log.next(Some(&made)).unwrap() {
            events.push(event);
        }
        let mark = Event::Mark("end".into());
        assert_eq!(events, [Event::Volatile, Event::Volatile, mark, Event::Stored]);
        let found = std::fs::read(&disk).unwrap();
        assert!(found[512..1024].iter().all(|byte| *byte == 9));
        assert!(found[1536..].iter().all(|byte| *byte == 7) && found.len() == 2048);
        assert!(Log::open(disk.to_str().unwrap()).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
