//! Aspects of a run: the header spells each aspect, and comparing two headers shows which ones
//! differ.

/// Property of a run that determines the contents of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// Whether the run copies directories.
    Recursion,
    /// Which symbolic links the run follows.
    Dereference,
    /// Whether the run copies data or makes links.
    Make,
    /// How the run treats FIFOs and devices.
    Specials,
    /// Which attributes the run preserves.
    Preserve,
    /// How the run treats existing files.
    Existing,
    /// Whether the run asks the user.
    Consent,
    /// Whether the run makes backups.
    Backup,
    /// Whether the run makes the directories above a source.
    Parents,
    /// What the run removes to free a name.
    Force,
    /// How the run treats symbolic links in the target.
    TargetLinks,
    /// Whether the run enters other file systems.
    Borders,
    /// How the run makes holes.
    Sparse,
    /// Whether the run shares blocks.
    Reflink,
    /// What the run hashes and verifies.
    Hashing,
    /// Mask for the permission bits of new files.
    Umask,
    /// Whether the user is root.
    Privileged,
    /// Meaning of the target operand.
    Form,
    /// Spelling of the operands.
    Operands,
}

/// Aspects that have a line in the header, in the order of the lines.
pub(crate) const SPELLED: [Aspect; 18] = [
    Aspect::Recursion,
    Aspect::Dereference,
    Aspect::Make,
    Aspect::Specials,
    Aspect::Preserve,
    Aspect::Existing,
    Aspect::Consent,
    Aspect::Backup,
    Aspect::Parents,
    Aspect::Force,
    Aspect::TargetLinks,
    Aspect::Borders,
    Aspect::Sparse,
    Aspect::Reflink,
    Aspect::Hashing,
    Aspect::Umask,
    Aspect::Privileged,
    Aspect::Form,
];

/// Set of the aspects in which two runs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Differences(u32);

impl Differences {
    pub(crate) fn insert(&mut self, aspect: Aspect) {
        self.0 |= 1 << aspect as u32;
    }

    /// Returns whether the runs differ in this aspect.
    #[must_use]
    pub const fn contains(self, aspect: Aspect) -> bool {
        self.0 & 1 << aspect as u32 != 0
    }

    /// Returns whether the runs differ in no aspect.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the aspects in which the runs differ.
    pub fn aspects(self) -> impl Iterator<Item = Aspect> {
        SPELLED.into_iter().chain([Aspect::Operands]).filter(move |aspect| self.contains(*aspect))
    }
}
