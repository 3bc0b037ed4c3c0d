//! The files of a run: the operands, and with `-r` what is below those that are directories.
//!
//! A directory's names are read at once, before the first of its files is done, because the outputs
//! are made in the same directory. Names found in a tree are opened relative to their directory, and
//! links are not followed. Of a deep tree only the innermost directories stay open; an outer one is
//! opened again from its child, and must be the same.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, OsString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, fstat, open_directory, statat, statat_follow};
use haul_sys::{Call, CallError, Errno};
use haul_tree::{Identity, for_each_name, identity, verified};

use super::conflicts::groups;
use super::input::Named;
use super::settings::Settings;

/// One thing to be done.
#[derive(Debug)]
pub(super) enum Item {
    Stdin,
    Named(Named),
    /// Files that are done one after the other, see `conflicts.rs`.
    Chain(Vec<Named>),
    /// A name that cannot be used, and why.
    Failed(Vec<u8>, String),
}

/// Directories that stay open.
const OPEN_MAX: usize = 64;

/// A name in a directory, and what it is, if the directory tells.
type Entry = (CString, Option<Kind>);

/// A directory whose names are being returned.
struct Level {
    /// `None` while directories far below it are read.
    directory: Option<Arc<OwnedFd>>,
    identity: Identity,
    shown: Vec<u8>,
    names: VecDeque<Vec<Entry>>,
}

/// Returns one file after the other.
pub(super) struct Walk<'a> {
    operands: VecDeque<OsString>,
    levels: Vec<Level>,
    settings: &'a Settings,
    follow: Follow,
}

impl<'a> Walk<'a> {
    pub(super) fn new(operands: &[OsString], settings: &'a Settings, follow: Follow) -> Walk<'a> {
        Walk { operands: operands.iter().cloned().collect(), levels: Vec::new(), settings, follow }
    }

    fn enter(&mut self, named: &Named, follow: Follow) -> haul_sys::Result<()> {
        let directory = open_directory(&*named.directory, &named.name, follow)?;
        let mut names: Vec<Entry> = Vec::new();
        for_each_name(&directory, |entry| {
            names.push((entry.name.to_owned(), entry.kind));
            ControlFlow::Continue(())
        })?;
        let bytes: Vec<&[u8]> = names.iter().map(|(name, _)| name.to_bytes()).collect();
        let names = groups(self.settings, &bytes)
            .iter()
            .map(|group| group.iter().filter_map(|place| names.get(*place).cloned()).collect())
            .collect();
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
        if !self.settings.recursive.is_on() {
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

impl Iterator for Walk<'_> {
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
            let (Some(directory), Some(group)) = (level.directory.clone(), level.names.pop_front())
            else {
                if let Some(failed) = self.leave() {
                    return Some(failed);
                }
                continue;
            };
            let shown = level.shown.clone();
            let named = |name: CString| {
                let slash: &[u8] = if shown.last() == Some(&b'/') { b"" } else { b"/" };
                let shown = [shown.as_slice(), slash, name.to_bytes()].concat();
                Named { directory: Arc::clone(&directory), name, shown }
            };
            // Directories are entered one after the other, when the chain is done with.
            let (chain, alone) = if group.len() > 1 {
                group.into_iter().partition(|(name, kind)| !is_directory(&directory, name, *kind))
            } else {
                (Vec::new(), group)
            };
            for entry in alone.iter().skip(1).rev() {
                level.names.push_front(vec![entry.clone()]);
            }
            if !chain.is_empty() {
                if let Some(entry) = alone.first() {
                    level.names.push_front(vec![entry.clone()]);
                }
                return Some(Item::Chain(chain.into_iter().map(|(name, _)| named(name)).collect()));
            }
            // Links in a tree are left alone, or read as `-f` and `-c` have it, but not entered.
            if let Some((name, kind)) = alone.into_iter().next()
                && let Some(item) = self.item(named(name), kind, Follow::No)
            {
                return Some(item);
            }
        }
    }
}

/// Tells whether a name in a directory is that of a directory. A link is none.
fn is_directory(directory: &OwnedFd, name: &CStr, kind: Option<Kind>) -> bool {
    let found = || statat(directory, name).ok().map(|stat| stat.kind());
    kind.or_else(found) == Some(Kind::Directory)
}
