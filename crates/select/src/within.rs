//! The selection as it is in one directory of a walk.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, Stat, split_at_last_slash, statat, statat_follow};

use crate::builder::{Purpose, Selection, clean};
use crate::listed::{Listed, Reach, Standing};
use crate::merge::{self, Merge, MergeFlaw, is_merge_file};
use crate::pattern::Anchor;
use crate::query::Query;
use crate::rule::Rule;

/// What becomes of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// It is selected, perhaps by a rule.
    Selected(Option<&'a Rule>),
    /// It is a directory that is not selected itself, and contains names that are listed.
    Above,
    /// It is not selected.
    Excluded(Cause<'a>),
}

impl Choice<'_> {
    /// Returns whether a walk leaves the entry out.
    #[must_use]
    pub const fn is_excluded(&self) -> bool {
        matches!(self, Choice::Excluded(_))
    }

    /// Returns whether a rule leaves the entry out: neither a list nor a limit.
    #[must_use]
    pub const fn is_excluded_by_rule(&self) -> bool {
        matches!(self, Choice::Excluded(Cause::Rule(_)))
    }
}

/// Reason for which an entry is not selected.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// A rule excludes it.
    Rule(&'a Rule),
    /// It is a merge file, which stays so that the next run has the same rules.
    MergeFile,
    /// It is not listed.
    Unlisted,
    /// Its size is outside of the limits.
    Size,
    /// Its modification time is outside of the limits.
    Time,
}

/// A directory of a walk, with the rules that apply in it.
#[derive(Clone, Debug)]
pub struct Within {
    selection: Arc<Selection>,
    /// Absolute path of the directory that names are relative to, a slash, the path below it, and a slash if
    /// that is not empty.
    text: Box<[u8]>,
    /// Length of the first of these.
    base: usize,
    merges: Arc<[Merge]>,
    reach: Option<Reach>,
    /// Whether the directories above the tree were asked for merge files.
    is_in_tree: bool,
}

/// Name of an operand, as rules see it.
enum Named<'a> {
    /// The last component of its path.
    Name(&'a [u8]),
    /// Nothing: its path ends in a slash or a dot, so its entries have no name in front of theirs.
    Contents,
}

fn named(path: &[u8]) -> Named<'_> {
    match split_at_last_slash(path) {
        (_, b"" | b"." | b"..") => Named::Contents,
        (_, name) => Named::Name(name),
    }
}

impl Within {
    /// Returns the selection for the operands of a command.
    #[must_use]
    pub fn operands(selection: &Arc<Selection>) -> Within {
        Within::based(selection, &clean(&selection.context.here, b""))
    }

    fn based(selection: &Arc<Selection>, directory: &[u8]) -> Within {
        Within {
            selection: Arc::clone(selection),
            text: [directory, b"/"].concat().into(),
            base: directory.len(),
            merges: selection.merges.iter().cloned().map(Merge::new).collect(),
            reach: None,
            is_in_tree: false,
        }
    }

    /// Returns what becomes of an operand, by its path as it was given, relative to `directory`. `follow` says
    /// whether it is followed if it is a symbolic link. Makes one call; an operand that cannot be described is
    /// selected, so that the caller meets the error.
    #[must_use]
    pub fn choose_operand(&self, directory: impl AsFd, path: &CStr, follow: Follow) -> Choice<'_> {
        let Named::Name(name) = named(path.to_bytes()) else { return Choice::Selected(None) };
        let (above, _) = split_at_last_slash(path.to_bytes());
        let base = clean(&self.selection.context.here, above);
        let text = [&base, &b"/"[..], name, b"/"].concat();
        let looked = self.look(directory, path, None, follow);
        if looked.stat.is_none() {
            return Choice::Selected(None);
        }
        self.judge((&text, base.len()), &looked, Standing::Listed)
    }

    /// Returns what becomes of an entry of the directory, which is open as `directory`. `kind` is its kind if
    /// that is known; `follow` says whether it is followed if it is a symbolic link. Makes a call if the kind
    /// is not known or if sizes or times are limited; an entry that cannot be described is selected, so that
    /// the caller meets the error.
    #[must_use]
    pub fn choose(
        &self,
        directory: impl AsFd,
        name: &CStr,
        kind: Option<Kind>,
        follow: Follow,
    ) -> Choice<'_> {
        let bytes = trimmed(name.to_bytes());
        let (standing, reach) = match (&self.selection.listed, &self.reach) {
            (Some(listed), Some(reach)) => {
                let (standing, reach) = listed.find(reach, bytes);
                (standing, Some((listed, reach)))
            }
            _ => (Standing::Listed, None),
        };
        if standing == Standing::Unlisted {
            return Choice::Excluded(Cause::Unlisted);
        }
        if self.keeps(bytes) {
            return Choice::Excluded(Cause::MergeFile);
        }
        let text = [&*self.text, bytes, b"/"].concat();
        let looked = self.look(directory, name, kind, follow);
        let choice = self.judge((&text, self.base), &looked, standing);
        if let (Choice::Excluded(Cause::Rule(_)), Some((listed, reach))) = (&choice, reach) {
            listed.meet_all(&reach);
        }
        choice
    }

    /// Returns whether a name is that of a merge file that has to stay.
    fn keeps(&self, name: &[u8]) -> bool {
        self.selection.context.purpose.keeps_merge_files() && is_merge_file(&self.merges, name)
    }

    /// Returns the selection in a directory below this one, which is open as `directory`. Reads its merge
    /// files; fails if one of them cannot be read or has a rule that is refused.
    pub fn enter(&self, name: &CStr, directory: impl AsFd) -> Result<Within, MergeFlaw> {
        let name = trimmed(name.to_bytes());
        let reach = match (&self.selection.listed, &self.reach) {
            (Some(listed), Some(reach)) => Some(listed.find(reach, name).1),
            _ => None,
        };
        let text = [&*self.text, name, b"/"].concat().into();
        Within { text, reach, ..self.clone() }.begun(directory)
    }

    /// Returns the selection in an operand, which is open as `directory`. Fails as
    /// [`enter`](Within::enter) does.
    pub fn enter_operand(&self, path: &CStr, directory: impl AsFd) -> Result<Within, MergeFlaw> {
        let path = path.to_bytes();
        let here = &self.selection.context.here;
        let reach = self.selection.listed.as_ref().map(Listed::root);
        let within = match named(path) {
            Named::Contents => Within::based(&self.selection, &clean(here, path)),
            Named::Name(name) => {
                let base = clean(here, split_at_last_slash(path).0);
                let text = [&base, &b"/"[..], name, b"/"].concat().into();
                Within { text, ..Within::based(&self.selection, &base) }
            }
        };
        Within { reach, ..within }.begun(directory)
    }

    /// Returns the selection in a directory above an operand, of which only the operand is wanted: the whole
    /// path of the operand is then its name.
    #[must_use]
    pub fn lead(&self, path: &CStr) -> Within {
        let path = path.to_bytes();
        let start =
            if path.starts_with(b"/") { Within::based(&self.selection, b"") } else { self.clone() };
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let mut text = start.text.to_vec();
        parts.for_each(|part| text.extend([part, b"/"].concat()));
        Within { text: text.into(), ..start }
    }

    /// Records that what is listed below a directory in this one, or below an operand, is not missing: the caller has
    /// reported why it does not enter that.
    pub fn meet_below(&self, name: &CStr) {
        match (&self.selection.listed, &self.reach) {
            (Some(listed), Some(reach)) => {
                listed.meet_all(&listed.find(reach, trimmed(name.to_bytes())).1);
            }
            _ => self.selection.meet_all(),
        }
    }

    /// Records that what is listed below this directory is not missing: the caller has reported why it does not
    /// know all names here.
    pub fn meet_all(&self) {
        match (&self.selection.listed, &self.reach) {
            (Some(listed), Some(reach)) => listed.meet_all(reach),
            _ => self.selection.meet_all(),
        }
    }

    /// Returns whether the directory itself is selected, and does not only contain listed names.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        self.reach.as_ref().is_none_or(Reach::is_whole)
    }

    /// Reads the merge files of the directory, and of those above the tree if this is its first one.
    fn begun(mut self, directory: impl AsFd) -> Result<Within, MergeFlaw> {
        if !self.merges.is_empty() {
            let context = &self.selection.context;
            let mut merges = self.merges.to_vec();
            let end = self.text.len() - 1;
            if !self.is_in_tree {
                merge::read_above(context, &mut merges, &self.text[..end])?;
            }
            let path = if end > self.base { &self.text[self.base + 1..end] } else { &[][..] };
            merge::read_all(context, &mut merges, Anchor::Below(path), directory.as_fd())?;
            self.merges = merges.into();
        }
        self.is_in_tree = true;
        Ok(self)
    }

    /// Describes an entry as far as the selection needs that.
    fn look(
        &self,
        directory: impl AsFd,
        name: &CStr,
        kind: Option<Kind>,
        follow: Follow,
    ) -> Looked {
        let is_needed = match kind {
            None => true,
            Some(Kind::Directory) => false,
            Some(Kind::Symlink) if follow == Follow::Yes => true,
            Some(_) => self.selection.has_limits(),
        };
        if !is_needed {
            return Looked { is_directory: kind == Some(Kind::Directory), stat: None };
        }
        let stat = match follow {
            // A link that leads nowhere is an entry all the same.
            Follow::Yes => statat_follow(&directory, name).or_else(|_| statat(&directory, name)),
            Follow::No => statat(&directory, name),
        };
        let stat = stat.ok();
        Looked { is_directory: stat.is_some_and(|stat| stat.kind() == Kind::Directory), stat }
    }

    fn judge(
        &self,
        (text, base): (&[u8], usize),
        looked: &Looked,
        standing: Standing,
    ) -> Choice<'_> {
        let query = Query { text, base, is_directory: looked.is_directory };
        if standing == Standing::Above && !looked.is_directory {
            return Choice::Excluded(Cause::Unlisted);
        }
        let merged = |number| merge::find(&self.merges, number, &query);
        let rule = self.selection.rules.find(&query, &merged);
        if let Some(rule) = rule.filter(|rule| !rule.includes()) {
            return Choice::Excluded(Cause::Rule(rule));
        }
        if standing == Standing::Above {
            return Choice::Above;
        }
        let limits = &self.selection.limits;
        // Who removes large files has not asked for links and devices.
        let only_files = self.selection.context.purpose == Purpose::Remove;
        match looked.stat.as_ref().filter(|_| !looked.is_directory) {
            Some(stat) if !limits.hold_size(stat, only_files) => Choice::Excluded(Cause::Size),
            Some(stat) if !limits.hold_time(stat) => Choice::Excluded(Cause::Time),
            _ => Choice::Selected(rule),
        }
    }
}

/// What is known of an entry.
struct Looked {
    is_directory: bool,
    stat: Option<Stat>,
}

/// Returns a name without slashes behind it.
fn trimmed(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    &name[..end]
}
