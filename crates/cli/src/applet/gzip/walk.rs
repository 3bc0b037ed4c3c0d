//! The files of a run: the operands, and with `-r` what is below those that are directories.
//!
//! A directory's names are read at once, before the first of its files is done, because the outputs
//! are made in the same directory. Names found in a tree are opened relative to their directory, and
//! links are not followed.

use std::collections::VecDeque;
use std::ffi::{CString, OsString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, open_directory, statat, statat_follow};
use haul_tree::for_each_name;

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

/// A directory whose names are being returned.
struct Level {
    directory: Arc<OwnedFd>,
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
        let (directory, shown) = (Arc::new(directory), named.shown.clone());
        self.levels.push(Level { directory, shown, names });
        Ok(())
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
            let Some((name, kind)) = level.names.pop_front() else {
                self.levels.pop();
                continue;
            };
            let mut shown = level.shown.clone();
            if shown.last() != Some(&b'/') {
                shown.push(b'/');
            }
            shown.extend_from_slice(name.to_bytes());
            let named = Named { directory: Arc::clone(&level.directory), name, shown };
            // Links in a tree are left alone, or read as `-f` and `-c` have it, but not entered.
            if let Some(item) = self.item(named, kind, Follow::No) {
                return Some(item);
            }
        }
    }
}
