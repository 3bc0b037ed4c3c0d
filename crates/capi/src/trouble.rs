//! What goes wrong with an archive, as items: the words of the engine where it has one for it.

use haul_archive::extract::{self, Action};
use haul_archive::{create, format::ReadError};
use haul_engine::error::{Errno, What};
use haul_io::DataError;
use haul_sys::{CallError, errno_text};

use crate::report::{Item, ItemKind};

/// One failure or warning, without its paths.
#[derive(Debug)]
pub(crate) struct Trouble {
    kind: ItemKind,
    /// Permanent word for the action.
    word: &'static str,
    sentence: String,
    errno: Option<Errno>,
}

impl Trouble {
    /// Returns the failure of a call.
    pub(crate) fn of_call(what: What, error: CallError) -> Trouble {
        Trouble { errno: Some(error.errno), ..Trouble::of(what) }
    }

    /// Returns a failure without a call.
    pub(crate) fn of(what: What) -> Trouble {
        Trouble::new(what.code(), what.to_string())
    }

    /// Returns a failure that only archives have.
    pub(crate) fn new(word: &'static str, sentence: impl Into<String>) -> Trouble {
        Trouble { kind: ItemKind::Failure, word, sentence: sentence.into(), errno: None }
    }

    /// Returns the failure of reading or writing an archive.
    pub(crate) fn of_io(what: What, error: &std::io::Error) -> Trouble {
        match Errno::from_io_error(error) {
            Some(errno) => Trouble { errno: Some(errno), ..Trouble::of(what) },
            None => Trouble::new(what.code(), format!("{what}: {error}")),
        }
    }

    /// Returns why an archive cannot be read on.
    pub(crate) fn of_read(error: &ReadError) -> Trouble {
        match error {
            ReadError::Source(haul_archive::source::SourceError::Call(error)) => {
                Trouble::of_call(What::Read, *error)
            }
            ReadError::Source(error) => Trouble::new("BadArchive", error.to_string()),
            ReadError::UnexpectedEnd => {
                Trouble::new("BadArchive", "the archive ends within a member")
            }
            ReadError::TooManyAttributes => {
                Trouble::new("BadArchive", "its attributes take too much memory")
            }
        }
    }

    /// Returns what happened to a file that is archived, if the caller should know.
    pub(crate) fn of_creation(event: &create::Event) -> Option<Trouble> {
        use create::Event;
        Some(match event {
            Event::Stat(error) => Trouble::of_call(What::Stat, *error),
            Event::Open(error) => Trouble::of_call(What::OpenSource, *error),
            Event::Readlink(error) => Trouble::of_call(What::ReadLink, *error),
            Event::ReadDirectory(error) => Trouble::of_call(What::ReadDirectory, *error),
            Event::Read(_, _, error) => Trouble::of_call(What::Read, *error),
            Event::Attributes(error) => Trouble::of_call(What::Xattr, *error).warning(),
            Event::SetAside(_) => Trouble::of(What::SetAside).warning(),
            Event::Removed => Trouble { errno: Some(Errno::NOENT), ..Trouble::of(What::Stat) },
            Event::Changed => Trouble::of(What::MayHaveChanged).warning(),
            Event::Shrank(_) => Trouble::of(What::Changed),
            Event::Socket => Trouble::of(What::SkippedKind).warning(),
            Event::UnknownKind => Trouble::of(What::UnknownKind),
            Event::Unwritable(_) | Event::AttributesTooLarge | Event::HolesTooLarge => {
                Trouble::new("Unwritable", "the format of the archive cannot express it")
            }
            // The archive, which may be in the tree, and what only options ask about.
            Event::IsArchive
            | Event::IsOutput
            | Event::Tagged(..)
            | Event::Unchanged
            | Event::MissingLinks => return None,
        })
    }

    /// Returns what happened to a member that is extracted, if the caller should know.
    pub(crate) fn of_extraction(event: &extract::Event) -> Option<Trouble> {
        use extract::Event;
        Some(match event {
            Event::Failed(action, error) => Trouble::of_call(what(action), *error),
            Event::NotSet(action, error) => Trouble::of_call(what(action), *error).warning(),
            Event::Incomplete(DataError::Call(error)) => Trouble::of_call(What::CopyBytes, *error),
            Event::Incomplete(error) => {
                Trouble::new(What::CopyBytes.code(), format!("{}: {error}", What::CopyBytes))
            }
            Event::LeadsOut => Trouble::new("LeadsOut", "it would be outside the target"),
            Event::Device => Trouble::of(What::SkippedKind),
            Event::Exchanged => Trouble::of(What::Replaced),
            Event::Continued => {
                Trouble::new("RefusedMember", "it continues a member of another archive")
            }
            Event::Unprivileged(_) => Trouble::of(What::Permissions).warning(),
            Event::Skipped
            | Event::Newer
            | Event::Kept
            | Event::UnknownType(_)
            | Event::OddTime(_) => return None,
        })
    }

    /// Makes the failure a warning.
    pub(crate) fn warning(self) -> Trouble {
        Trouble { kind: ItemKind::Warning, ..self }
    }

    pub(crate) const fn is_failure(&self) -> bool {
        matches!(self.kind, ItemKind::Failure)
    }

    /// Returns the item about these paths, of which one may be empty.
    pub(crate) fn item(self, source: &[u8], target: &[u8]) -> Item {
        let shown = [source, target].map(String::from_utf8_lossy);
        let shown: Vec<_> = shown.iter().filter(|path| !path.is_empty()).map(|it| &**it).collect();
        let mut message = format!("{}: {}", shown.join(" -> "), self.sentence);
        if let Some(errno) = self.errno {
            message = format!("{message}: {}", errno_text(errno));
        }
        let number = self.errno.map_or(0, |errno| errno.raw_os_error());
        Item::new((self.kind, number), self.word, (source, target), message)
    }
}

/// Returns the engine's word for what was being done to a member.
const fn what(action: &Action) -> What {
    match action {
        Action::Open | Action::Publish => What::CreateFile,
        Action::MakeDirectory => What::CreateDirectory,
        Action::FollowLink => What::OpenDirectory,
        Action::MakeSymlink(_) => What::CreateSymlink,
        Action::MakeLink(_) => What::CreateHardLink,
        Action::MakeNode => What::CreateSpecial,
        Action::MakeFifo => What::CreateFifo,
        Action::Unlink | Action::GiveBack(_) => What::Remove,
        Action::Stat => What::StatTarget,
        Action::Owner(..) => What::Ownership,
        Action::Mode(_) => What::Permissions,
        Action::Times => What::Times,
        Action::Close => What::Close,
        Action::Sync => What::Sync,
        Action::Attribute(_) | Action::Acl | Action::Context => What::Xattr,
        Action::Hash => What::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_the_paths_the_sentence_and_the_reason() {
        let trouble = Trouble::of_io(What::Write, &Errno::NOSPC.into());
        let item = trouble.item(b"tree", b"tree.tar");
        let text = "tree -> tree.tar: cannot write the target: No space left on device";
        assert_eq!(item.message.to_str(), Ok(text));
        assert_eq!((item.error_number, item.action.to_str()), (28, Ok("Write")));
        let item = Trouble::of_read(&ReadError::UnexpectedEnd).item(b"a.tar", b"");
        assert_eq!(item.message.to_str(), Ok("a.tar: the archive ends within a member"));
    }
}
