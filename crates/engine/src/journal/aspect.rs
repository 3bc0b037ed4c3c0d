//! What a run is, aspect by aspect: the header spells them out, and two of them tell what differs.

/// Something that decides what ends up in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// Whether directories are copied.
    Recursion,
    /// Which symbolic links are followed.
    Dereference,
    /// Whether data are copied, or links made.
    Make,
    /// What becomes of FIFOs and devices.
    Specials,
    /// Which attributes are preserved.
    Preserve,
    /// What becomes of files that exist.
    Existing,
    /// Whether the user is asked.
    Consent,
    /// Whether backups are made.
    Backup,
    /// Whether the directories above a source are made.
    Parents,
    /// What is removed to make place.
    Force,
    /// What becomes of links in the target.
    TargetLinks,
    /// Whether other file systems are entered.
    Borders,
    /// How holes are made.
    Sparse,
    /// Whether blocks are shared.
    Reflink,
    /// What is hashed and verified.
    Hashing,
    /// The mask for the bits of new files.
    Umask,
    /// Whether the user is root.
    Privileged,
    /// What the target operand means.
    Form,
    /// The operands, spelled in another way.
    Operands,
}

/// All that the header has a line for, in the order of its lines.
pub(super) const SPELLED: [Aspect; 18] = [
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

/// In what two runs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Differences(u32);

impl Differences {
    pub(super) fn insert(&mut self, aspect: Aspect) {
        self.0 |= 1 << aspect as u32;
    }

    /// Tells whether they differ in this.
    #[must_use]
    pub const fn contains(self, aspect: Aspect) -> bool {
        self.0 & 1 << aspect as u32 != 0
    }

    /// Tells whether they do not differ in anything.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the aspects in which they differ.
    pub fn aspects(self) -> impl Iterator<Item = Aspect> {
        SPELLED.into_iter().chain([Aspect::Operands]).filter(move |aspect| self.contains(*aspect))
    }
}
