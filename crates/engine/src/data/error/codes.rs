//! Permanent words for failures, for programs that read reports.
//!
//! Scripts and `--retry` compare them, so a word stays when a variant is renamed.

use super::What;

/// Defines the word of each variant of [`What`]; the match ensures that a new variant gets one.
macro_rules! codes {
    ($($variant:ident $(($($field:tt)*))? $({$($named:tt)*})? = $word:literal,)+) => {
        impl What {
            /// Returns the permanent word of the action, which does not depend on its figures.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(What::$variant $(($($field)*))? $({$($named)*})? => $word,)+
                }
            }
        }

        /// All words.
        #[cfg(test)]
        const WORDS: &[&str] = &[$($word),+];
    };
}

codes! {
    Stat = "Stat",
    StatTarget = "StatTarget",
    OmittedDirectory = "OmittedDirectory",
    OpenSource = "OpenSource",
    ReadDirectory = "ReadDirectory",
    Rules = "Rules",
    Replaced = "Replaced",
    CreateFile = "CreateFile",
    DanglingTarget = "DanglingTarget",
    Read = "Read",
    Write = "Write",
    CopyBytes = "CopyBytes",
    Clone = "Clone",
    Extend = "Extend",
    Changed = "Changed",
    KeptBeside = "KeptBeside",
    CutShort = "CutShort",
    CopiedAgain = "CopiedAgain",
    AttributesChanged = "AttributesChanged",
    MayHaveChanged = "MayHaveChanged",
    Close = "Close",
    Sync = "Sync",
    SyncNames = "SyncNames",
    MethodUnfit(..) = "MethodUnfit",
    MethodRefused(..) = "MethodRefused",
    SourceNotDirect = "SourceNotDirect",
    TargetNotDirect = "TargetNotDirect",
    SameFile = "SameFile",
    OverDirectory = "OverDirectory",
    OverNonDirectory = "OverNonDirectory",
    JustCreated = "JustCreated",
    SharesJustCreated = "SharesJustCreated",
    ThroughJustCreated = "ThroughJustCreated",
    LinkAmongProcesses = "LinkAmongProcesses",
    NotReplacing = "NotReplacing",
    Remove = "Remove",
    CreateDirectory = "CreateDirectory",
    OpenDirectory = "OpenDirectory",
    CreateSymlink = "CreateSymlink",
    LinkToSource = "LinkToSource",
    CreateHardLink = "CreateHardLink",
    CreateFifo = "CreateFifo",
    CreateSpecial = "CreateSpecial",
    ReadLink = "ReadLink",
    IntoItself = "IntoItself",
    Cycle = "Cycle",
    UnknownKind = "UnknownKind",
    SkippedKind = "SkippedKind",
    SourceEmpty = "SourceEmpty",
    HoldsSource = "HoldsSource",
    BasisMissing = "BasisMissing",
    LinkedTarget = "LinkedTarget",
    SharedTarget = "SharedTarget",
    Ownership = "Ownership",
    Permissions = "Permissions",
    Times = "Times",
    Xattr = "Xattr",
    Flags = "Flags",
    Pinned = "Pinned",
    NotPinned = "NotPinned",
    Striping = "Striping",
    NotStriped = "NotStriped",
    TargetDirectory = "TargetDirectory",
    TargetOperand = "TargetOperand",
    ParentsNeedDirectory = "ParentsNeedDirectory",
    GivenTwice = "GivenTwice",
    DirectoryGivenTwice = "DirectoryGivenTwice",
    RelativeLink = "RelativeLink",
    Backup = "Backup",
    BackupDestroysSource = "BackupDestroysSource",
    RestoreBackup = "RestoreBackup",
    NotADirectory = "NotADirectory",
    ReadBack = "ReadBack",
    Differs { .. } = "Differs",
    Repaired(..) = "Repaired",
    ProvedFromCache = "ProvedFromCache",
    NotProved = "NotProved",
    NewOwner = "NewOwner",
    Resources = "Resources",
    JournalOpen = "JournalOpen",
    JournalRefused(..) = "JournalRefused",
    JournalWrite = "JournalWrite",
    JournalKept = "JournalKept",
    JournalRemove = "JournalRemove",
    Dots = "Dots",
    Root = "Root",
    OtherDevice = "OtherDevice",
    MountPoint = "MountPoint",
    MountKept = "MountKept",
    StatParent = "StatParent",
    Exchange = "Exchange",
    Overwrite = "Overwrite",
    Move = "Move",
    RemoveTarget = "RemoveTarget",
    TargetChanged = "TargetChanged",
    UnfinishedCopy = "Leftover",
    InUse = "InUse",
    Note = "Note",
    Interrupted = "Interrupted",
    SetAside = "SetAside",
}

#[cfg(test)]
mod tests {
    use super::WORDS;

    /// The words of the first version. A word that is missing breaks scripts and older lists.
    const PERMANENT: &str = "\
        Stat StatTarget OmittedDirectory OpenSource ReadDirectory Replaced CreateFile \
        DanglingTarget Read Write CopyBytes Clone Extend Changed CopiedAgain \
        AttributesChanged MayHaveChanged Close Sync SyncNames MethodUnfit MethodRefused \
        SourceNotDirect TargetNotDirect SameFile OverDirectory OverNonDirectory JustCreated \
        ThroughJustCreated NotReplacing Remove CreateDirectory OpenDirectory CreateSymlink \
        LinkToSource CreateHardLink CreateFifo CreateSpecial ReadLink IntoItself Cycle \
        UnknownKind Ownership Permissions Times Xattr TargetDirectory TargetOperand \
        ParentsNeedDirectory GivenTwice DirectoryGivenTwice RelativeLink Backup \
        BackupDestroysSource RestoreBackup NotADirectory ReadBack Differs Repaired \
        ProvedFromCache NotProved NewOwner Resources JournalOpen JournalRefused \
        JournalWrite JournalKept JournalRemove Dots Root OtherDevice MountPoint StatParent \
        Exchange Overwrite Move RemoveTarget Leftover InUse Note Interrupted";

    #[test]
    fn no_word_is_used_twice_and_none_is_lost() {
        let mut words = WORDS.to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), WORDS.len());
        for word in PERMANENT.split_whitespace() {
            assert!(words.contains(&word), "{word}");
        }
    }
}
