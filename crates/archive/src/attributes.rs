//! Extended attributes, access-control lists and contexts: which ones are archived and restored.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use haul_io::attributes::{ACCESS_LIST, CONTEXT, DEFAULT_LIST};
use haul_sys::fs::{
    Pinned, fgetxattr, flistxattr, getxattr_handle, lgetxattr_at, listxattr_handle, llistxattr_at,
};
use haul_sys::{CallError, Errno, Result};

use crate::acl::{self, Ids};
use crate::format::Member;
use crate::pattern::{Matching, Pattern};

/// Which attributes are wanted beside those that every member has.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// Extended attributes, if they are wanted.
    pub xattrs: Option<Masks>,
    /// Whether access-control lists are wanted.
    pub acls: bool,
    /// Whether contexts of SELinux are wanted.
    pub contexts: bool,
    /// Whether lists name users and groups by their numbers.
    pub numeric: bool,
}

/// Patterns of names of extended attributes.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// Why a name is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To archive the attribute: all are wanted unless patterns say otherwise.
    Archive,
    /// To restore it: without patterns only those of users.
    Restore,
}

fn mask(text: &[u8]) -> Pattern {
    let how = Matching {
        wildcards: true,
        anchored: true,
        match_slash: true,
        ignore_case: false,
        recursion: false,
    };
    Pattern::new(text, how)
}

impl Masks {
    /// Adds a pattern of wanted names.
    pub fn include(&mut self, pattern: &[u8]) {
        self.include.push(mask(pattern));
    }

    /// Adds a pattern of names that are left out.
    pub fn exclude(&mut self, pattern: &[u8]) {
        self.exclude.push(mask(pattern));
    }

    /// Returns whether the attribute of this name is wanted.
    #[must_use]
    pub fn wants(&self, name: &[u8], direction: Direction) -> bool {
        let is_in = |masks: &[Pattern]| masks.iter().any(|mask| mask.matches(name));
        let included = match (self.include.is_empty(), direction) {
            (false, _) => is_in(&self.include),
            (true, Direction::Archive) => true,
            (true, Direction::Restore) => name.starts_with(b"user."),
        };
        included && !is_in(&self.exclude)
    }
}

impl Attributes {
    /// Returns whether none is wanted.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.xattrs.is_none() && !self.acls && !self.contexts
    }

    /// Removes from a member what is not restored.
    pub(crate) fn keep_wanted(&self, member: &mut Member) {
        match &self.xattrs {
            Some(masks) => {
                member.xattrs.retain(|(name, _)| masks.wants(name, Direction::Restore));
            }
            None => member.xattrs = Vec::new(),
        }
        if !self.acls {
            member.acls = Default::default();
        }
        if !self.contexts {
            member.context = None;
        }
    }

    /// Reads what is wanted of a file.
    pub(crate) fn read(&self, from: From<'_>) -> Result<Found> {
        let mut found = Found::default();
        if self.is_none() {
            return Ok(found);
        }
        if self.acls && !from.is_link() {
            self.read_acls(from, &mut found)?;
        }
        if self.contexts
            && let Some(mut context) = from.value(CONTEXT)?
        {
            while context.last() == Some(&0) {
                context.pop();
            }
            found.context = Some(context);
        }
        if let Some(masks) = &self.xattrs {
            for name in from.names()? {
                if masks.wants(name.to_bytes(), Direction::Archive)
                    && let Some(value) = from.value(&name)?
                {
                    found.xattrs.push((name.into_bytes(), value));
                }
            }
        }
        Ok(found)
    }

    fn read_acls(&self, from: From<'_>, found: &mut Found) -> Result<()> {
        let ids = if self.numeric { Ids::Numbered } else { Ids::Named };
        let lists = [from.value(ACCESS_LIST)?, from.value(DEFAULT_LIST)?];
        // Permission bits alone need no list, unless a default comes with them.
        if lists.iter().all(Option::is_none) {
            return Ok(());
        }
        let [access, default] = lists;
        let access = access.unwrap_or_else(|| acl::from_mode(from.mode()));
        found.acls[0] = acl::to_text(&access, ids);
        found.acls[1] = default.and_then(|default| acl::to_text(&default, ids));
        Ok(())
    }
}

/// The attributes of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) acls: [Option<Vec<u8>>; 2],
    pub(crate) context: Option<Vec<u8>>,
}

/// Where attributes are read.
#[derive(Clone, Copy)]
pub(crate) enum From<'f> {
    /// Of an open file with these permission bits.
    File(&'f OwnedFd, u32),
    /// Of a file that cannot be opened for reading, and is no symbolic link, with these permission bits.
    Handle(Pinned<'f>, u32),
    /// Of a symbolic link.
    Link(&'f OwnedFd, &'f CStr),
}

impl From<'_> {
    const fn is_link(self) -> bool {
        matches!(self, From::Link(..))
    }

    const fn mode(self) -> u32 {
        match self {
            From::File(_, mode) | From::Handle(_, mode) => mode,
            From::Link(..) => 0,
        }
    }

    fn names(self) -> Result<Vec<CString>> {
        let names = match self {
            From::File(file, _) => flistxattr(file.as_fd()),
            From::Handle(file, _) => listxattr_handle(file),
            From::Link(directory, name) => llistxattr_at(directory.as_fd(), name),
        };
        absent(names).map(Option::unwrap_or_default)
    }

    fn value(self, attribute: &CStr) -> Result<Option<Vec<u8>>> {
        absent(match self {
            From::File(file, _) => fgetxattr(file.as_fd(), attribute),
            From::Handle(file, _) => getxattr_handle(file, attribute),
            From::Link(directory, name) => lgetxattr_at(directory.as_fd(), name, attribute),
        })
    }
}

fn absent<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(CallError { errno: Errno::NODATA | Errno::NOTSUP, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_names() {
        let mut masks = Masks::default();
        assert!(masks.wants(b"trusted.a", Direction::Archive));
        assert!(!masks.wants(b"trusted.a", Direction::Restore));
        assert!(masks.wants(b"user.a", Direction::Restore));
        masks.exclude(b"user.b*");
        assert!(!masks.wants(b"user.bc", Direction::Archive));
        masks.include(b"trusted*");
        assert!(masks.wants(b"trusted.a/b", Direction::Restore));
        assert!(!masks.wants(b"user.a", Direction::Archive));
    }
}
