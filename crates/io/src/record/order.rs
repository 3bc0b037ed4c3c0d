//! What is to be done with the records of a stream: plain data.

/// The largest number that GNU's dd counts to.
pub const LARGEST: u64 = i64::MAX as u64;

/// A set of things that may happen to records on their way, or to the files at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Conv(u32);

impl Conv {
    /// From EBCDIC to ASCII.
    pub const ASCII: Conv = Conv(1);
    /// From ASCII to EBCDIC.
    pub const EBCDIC: Conv = Conv(1 << 1);
    /// From ASCII to IBM's EBCDIC.
    pub const IBM: Conv = Conv(1 << 2);
    /// Lines become records of fixed length.
    pub const BLOCK: Conv = Conv(1 << 3);
    /// Records of fixed length become lines.
    pub const UNBLOCK: Conv = Conv(1 << 4);
    /// Letters become small.
    pub const LCASE: Conv = Conv(1 << 5);
    /// Letters become large.
    pub const UCASE: Conv = Conv(1 << 6);
    /// The bytes of each pair change places.
    pub const SWAB: Conv = Conv(1 << 7);
    /// A record that cannot be read is passed by.
    pub const NOERROR: Conv = Conv(1 << 8);
    /// The output is not cut to where writing begins.
    pub const NOTRUNC: Conv = Conv(1 << 9);
    /// Records are padded to their full size.
    pub const SYNC: Conv = Conv(1 << 10);
    /// Input and output are blocked by themselves.
    pub const TWO_BUFFERS: Conv = Conv(1 << 11);
    /// The output has to be there.
    pub const NOCREAT: Conv = Conv(1 << 12);
    /// The output must not be there.
    pub const EXCL: Conv = Conv(1 << 13);
    /// The data is durable at the end.
    pub const FDATASYNC: Conv = Conv(1 << 14);
    /// Data and attributes are durable at the end.
    pub const FSYNC: Conv = Conv(1 << 15);
    /// Blocks of zeros are sought over.
    pub const SPARSE: Conv = Conv(1 << 16);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Conv) -> Conv {
        Conv(self.0 | other.0)
    }

    /// This set less another.
    #[must_use]
    pub const fn without(self, other: Conv) -> Conv {
        Conv(self.0 & !other.0)
    }

    /// Tells whether any of the others is in it.
    #[must_use]
    pub const fn any(self, others: Conv) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns how many of the others are in it.
    #[must_use]
    pub const fn count(self, of: Conv) -> u32 {
        (self.0 & of.0).count_ones()
    }
}

/// Records and bytes beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Amount {
    /// Whole records.
    pub records: u64,
    /// Bytes behind them.
    pub bytes: u64,
}

impl Amount {
    /// As much as there is.
    pub const ALL: Amount = Amount { records: LARGEST, bytes: 0 };

    /// Tells whether it is no byte at all.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self.records == 0 && self.bytes == 0
    }

    /// Returns all in bytes, `None` if that is more than a file can have.
    #[must_use]
    pub fn total(self, block: u64) -> Option<u64> {
        let total = self.records.checked_mul(block)?.checked_add(self.bytes)?;
        (total <= LARGEST).then_some(total)
    }

    /// Returns how large a record is asked for when some have been read, `None` when no more is.
    #[must_use]
    pub fn wanted(self, done: u64, block: u64) -> Option<u64> {
        if done >= self.records.saturating_add(u64::from(self.bytes > 0)) {
            None
        } else if done >= self.records {
            Some(self.bytes)
        } else {
            Some(block)
        }
    }
}

/// Whose open files the two ends are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Both were opened for this run.
    Us,
    /// One at least was inherited, and its position with it.
    Others,
}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Bytes of a record that is read.
    pub ibs: u64,
    /// Bytes of one that is written.
    pub obs: u64,
    /// Bytes of a record of [`Conv::BLOCK`] and [`Conv::UNBLOCK`].
    pub cbs: u64,
    /// What of the input is passed by.
    pub skip: Amount,
    /// What of the output is passed by.
    pub seek: Amount,
    /// How much is read.
    pub count: Amount,
    /// What happens to it.
    pub conv: Conv,
    /// Whether a record is read until it is whole.
    pub is_full: bool,
    /// Whether the input is read past the page cache.
    pub reads_direct: bool,
    /// Whether the output is written past the page cache.
    pub writes_direct: bool,
    /// Whether neither side's flags concern how bytes are moved.
    pub is_plain: bool,
    /// Whether a partial read is worth a word.
    pub warns: bool,
    /// Whose the two ends are.
    pub owner: Owner,
}
