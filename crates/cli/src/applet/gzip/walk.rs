//! The files of a run: the operands, and with `-r` what is below those that are directories.
//!
//! A directory's names are read at once, before the first of its files is done, because the outputs
//! are made in the same directory. Names found in a tree are opened relative to their directory, and
//! links are not followed. Of a deep tree only the innermost directories stay open; an outer one is
//! opened again from its child, and must be the same.

use std::collections::VecDeque;
use std::ffi::{CString, OsString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, fstat, open_directory, statat, statat_follow};
use haul_sys::{Call, CallError, Errno};
use haul_tree::{Identity, for_each_name, identity, verified};

use super::input::Named;
use super::settings::Switch;

/// One thing to be done.
#[derive(Debug)]
pub(super) enum Item {
    Stdin,
    Named(Named),
    /// A name that cannot be used, and why.
    Failed(Vec<u8>, String),
}

/// Directories that stay open.
const OPEN_MAX: usize = 64;

/// A directory whose names are being returned.
struct Level {
    /// `None` while directories far below it are read.
    directory: Option<Arc<OwnedFd>>,
    identity: Identity,
    shown: Vec<u8>,
    names: VecDeque<(CString, Option<Kind>)>,
}

/// Returns one file after the other.
pub(super) struct Walk {
    operands: VecDeque<OsString>,
    levels: Vec<Level>,
    recursive: Switch,
    follow: Follow,
}

impl Walk {
    pub(super) fn new(operands: &[OsString], recursive: Switch, follow: Follow) -> Walk {
        Walk { operands: operands.iter().cloned().collect(), levels: Vec::new(), recursive, follow }
    }

    fn enter(&mut self, named: &Named, follow: Follow) -> haul_sys::Result<()> {
        let directory = open_directory(&*named.directory, &named.name, follow)?;
        let mut names = VecDeque::new();
        for_each_name(&directory, |name, kind| {
            names.push_back((name.to_owned(), kind));
            ControlFlow::Continue(())
        })?;
        let identity = identity(&fstat(&directory)?);
        let (directory, shown) = (Some(Arc::new(directory)), named.shown.clone());
        self.levels.push(Level { directory, identity, shown, names });
        let outer = self.levels.len().checked_sub(OPEN_MAX + 1);
        if let Some(level) = outer.and_then(|outer| self.levels.get_mut(outer)) {
            level.directory = None;
        }
        Ok(())
    }

    /// Leaves the innermost directory. Returns a failure if the one around it cannot be opened again.
    fn leave(&mut self) -> Option<Item> {
        let inner = self.levels.pop()?;
        let outer = self.levels.last_mut().filter(|outer| outer.directory.is_none())?;
        let opened = inner
            .directory
            .ok_or(CallError::new(Call::Openat, Errno::STALE))
            .and_then(|inner| open_directory(&*inner, c"..", Follow::No))
            .and_then(|opened| verified(opened, outer.identity));
        match opened {
            Ok(opened) => {
                outer.directory = Some(Arc::new(opened));
                None
            }
            Err(error) => {
                let shown = outer.shown.clone();
                // Those around it are closed, too, and there is no way to them.
                self.levels.clear();
                Some(Item::Failed(shown, error.text()))
            }
        }
    }

    fn item(&mut self, named: Named, kind: Option<Kind>, follow: Follow) -> Option<Item> {
        if !self.recursive.is_on() {
            return Some(Item::Named(named));
        }
        let kind = kind.filter(|kind| *kind != Kind::Symlink).or_else(|| {
            let stat = match follow {
                Follow::Yes => statat_follow(&*named.directory, &named.name),
                Follow::No => statat(&*named.directory, &named.name),
            };
            // What is wrong is found, and said, where the file is opened.
            stat.ok().map(|stat| stat.kind())
        });
        if kind != Some(Kind::Directory) {
            return Some(Item::Named(named));
        }
        match self.enter(&named, follow) {
            Ok(()) => None,
            Err(error) => Some(Item::Failed(named.shown, error.text())),
        }
    }

    fn operand(&mut self, word: &OsString) -> Option<Item> {
        if word == "-" {
            return Some(Item::Stdin);
        }
        match Named::operand(word) {
            Ok(named) => self.item(named, None, self.follow),
            Err(error) => Some(Item::Failed(word.as_bytes().to_vec(), error.text())),
        }
    }
}

impl Iterator for Walk {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let Some(level) = self.levels.last_mut() else {
                let word = self.operands.pop_front()?;
                match self.operand(&word) {
                    None => continue,
                    item => return item,
                }
            };
            let (Some(directory), Some((name, kind))) =
                (level.directory.clone(), level.names.pop_front())
            else {
                if let Some(failed) = self.leave() {
                    return Some(failed);
                }
                continue;
            };
            let mut shown = level.shown.clone();
            if shown.last() != Some(&b'/') {
                shown.push(b'/');
            }
            shown.extend_from_slice(name.to_bytes());
            let named = Named { directory, name, shown };
            // Links in a tree are left alone, or read as `-f` and `-c` have it, but not entered.
            if let Some(item) = self.item(named, kind, Follow::No) {
                return Some(item);
            }
        }
    }
}
