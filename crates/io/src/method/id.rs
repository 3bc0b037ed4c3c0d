//! The names of the methods: what policies, reports and messages call them by.

use super::{Info, LADDER, Method};

/// A method, by the position of its line in [`LADDER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MethodId {
    /// `reflink`: shares the source's blocks.
    Reflink,
    /// `copy-range`: the kernel, or the server behind it, copies.
    CopyRange,
    /// `ring`: direct I/O with many requests in flight.
    Ring,
    /// `direct`: direct I/O, one request at a time.
    Direct,
    /// `uncached`: through the page cache, which forgets the bytes.
    Uncached,
    /// `splice`: pages go through a pipe.
    Splice,
    /// `sendfile`: pages go within the kernel.
    Sendfile,
    /// `mmap-write`: maps the source and writes from there.
    MmapWrite,
    /// `read-write`: through a buffer.
    ReadWrite,
}

impl MethodId {
    /// Number of methods.
    pub const COUNT: usize = MethodId::ALL.len();

    /// All methods, in the order of the ladder.
    pub const ALL: [MethodId; 9] = [
        MethodId::Reflink,
        MethodId::CopyRange,
        MethodId::Ring,
        MethodId::Direct,
        MethodId::Uncached,
        MethodId::Splice,
        MethodId::Sendfile,
        MethodId::MmapWrite,
        MethodId::ReadWrite,
    ];

    /// Returns the position in the ladder, below [`MethodId::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the method at a position in the ladder.
    pub(crate) fn at(index: usize) -> Option<MethodId> {
        MethodId::ALL.get(index).copied()
    }

    /// Returns the method that options and reports call by this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<MethodId> {
        MethodId::ALL.into_iter().find(|id| id.name() == name)
    }

    /// Returns the name that options and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns what is documented of the method.
    #[must_use]
    pub fn info(self) -> &'static Info {
        self.method().info()
    }

    /// Returns the method itself.
    pub(crate) fn method(self) -> &'static dyn Method {
        // The table has a line for each variant: its length is COUNT.
        let [.., last] = LADDER;
        LADDER.get(self.index()).copied().unwrap_or(*last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_line_of_the_ladder() {
        for (index, id) in MethodId::ALL.into_iter().enumerate() {
            assert_eq!((id.index(), MethodId::at(index)), (index, Some(id)));
            assert_eq!(MethodId::of_name(id.name()), Some(id));
            assert!(std::ptr::eq(id.info(), LADDER[index].info()));
            let words: String = format!("{id:?}").to_lowercase();
            assert_eq!(id.name().replace('-', ""), words, "the table's order is not the enum's");
        }
    }
}
