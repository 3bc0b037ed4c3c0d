//! Links: symbolic ones, some of them as placeholders until the end, and hard ones.

use haul_sys::fs::{
    Access, Create, Follow, Kind, OFlags, OpenHow, Wait, fstat, linkat, openat, statat, symlinkat,
    unlinkat,
};
use haul_sys::{CallError, Errno};

use super::event::{Action, Event};
use super::extractor::{Extractor, Placeholder, Then};
use super::place::Place;
use super::policy::{Existing, Names};
use super::shared::without_names;
use crate::format::Member;
use crate::safe_name::has_parent;

/// Bytes of the longest target of a symbolic link, and one (`PATH_MAX`).
const LINK_MAX_BYTES: usize = 4096;

/// The identity of no file: 0 is no inode number.
const NO_FILE: (u64, u64) = (0, 0);

impl Extractor {
    pub(super) fn symlink(&mut self, member: Box<Member>, name: &[u8]) {
        let target = member.link.clone();
        let action = || Action::MakeSymlink(target.clone());
        // A placeholder would keep it to the end.
        if member.link.len() >= LINK_MAX_BYTES {
            let error = CallError::new(haul_sys::Call::Symlinkat, Errno::NAMETOOLONG);
            return self.failed(name, action(), error);
        }
        let Some(place) = self.place(name, action()) else { return };
        let owner = self.owner(&member);
        let member = without_names(member);
        let leads_out = member.link.starts_with(b"/") || has_parent(&member.link);
        if leads_out && self.shared.policy.names == Names::Beneath {
            return self.placeholder(member, name, &place, owner);
        }
        let Ok(text) = std::ffi::CString::new(member.link.clone()) else {
            return self.failed(name, action(), invalid());
        };
        loop {
            let make = || symlinkat(&text, &*place.parent, &place.leaf);
            let error = match self.shared.taking_space(&*place.parent, make) {
                Ok(()) => break,
                Err(error) => error,
            };
            match self.recover(name, &place, &member, error) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(name, action(), error),
            }
        }
        let attributes = self.shared.attributes(&member, owner);
        self.settle_link(name, &member, (&place, Kind::Symlink), attributes);
    }

    /// Makes an empty file in place of a symbolic link that leads out of the target directory, so that
    /// no later member can go through it.
    pub(super) fn placeholder(
        &mut self,
        member: Box<Member>,
        name: &[u8],
        place: &Place,
        owner: Option<(u32, u32)>,
    ) {
        let how = OpenHow {
            access: Access::Write,
            create: Create::New(0),
            follow: Follow::No,
            wait: Wait::No,
            extra: OFlags::empty(),
        };
        let stat = loop {
            let open = || openat(&*place.parent, &place.leaf, how);
            let error = match self.shared.taking_space(&*place.parent, open).and_then(fstat) {
                Ok(stat) => break stat,
                Err(error) => error,
            };
            match self.recover(name, place, &member, error) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(name, Action::Open, error),
            }
        };
        let links = Vec::new();
        let dev_ino = (stat.dev, stat.ino);
        self.by_id.insert(dev_ino, self.placeholders.len());
        self.placeholders.push(Placeholder { name: name.to_vec(), dev_ino, member, owner, links });
    }

    pub(super) fn hard_link(&mut self, name: &[u8], link: &[u8]) {
        let action = || Action::MakeLink(link.to_vec());
        let leads_out = has_parent(link) || link.starts_with(b"/");
        if leads_out && self.shared.policy.names == Names::Beneath {
            return self.tell(name, &Event::LeadsOut);
        }
        self.wait_for_name(link);
        let Some(place) = self.place(name, action()) else { return };
        let target = match self.places.existing(link) {
            Ok(target) => target,
            Err(error) => return self.failed(name, action(), error),
        };
        if target.through_link || place.through_link {
            self.drain();
        }
        loop {
            let link =
                || linkat(&*target.parent, &target.leaf, &*place.parent, &place.leaf, Follow::No);
            let error = match self.shared.taking_space(&*place.parent, link) {
                Ok(()) => break,
                Err(error) => error,
            };
            let stats =
                (statat(&*target.parent, &target.leaf), statat(&*place.parent, &place.leaf));
            if error.errno == Errno::EXIST
                && matches!(&stats, (Ok(one), Ok(two)) if one.same_file(two))
            {
                break;
            }
            if error.errno != Errno::EXIST || stats.0.is_err() {
                return self.failed(name, action(), error);
            }
            match self.recover_link(name, &place) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(name, action(), error),
            }
        }
        // By identity: a placeholder can be reached by other spellings, links and earlier hard links.
        if !self.placeholders.is_empty()
            && let Ok(stat) = statat(&*place.parent, &place.leaf)
            && let Some(at) = self.by_id.get(&(stat.dev, stat.ino))
            && let Some(placeholder) = self.placeholders.get_mut(*at)
        {
            placeholder.links.push(name.to_vec());
        }
    }

    /// Forgets a placeholder whose last name is about to be removed: the next file may get its inode number.
    pub(super) fn forget_placeholder(&mut self, place: &Place) {
        if self.placeholders.is_empty() {
            return;
        }
        if let Ok(stat) = statat(&*place.parent, &place.leaf)
            && stat.nlink == 1
            && let Some(at) = self.by_id.remove(&(stat.dev, stat.ino))
            && let Some(placeholder) = self.placeholders.get_mut(at)
        {
            placeholder.dev_ino = NO_FILE;
        }
    }

    pub(super) fn recover_link(&mut self, name: &[u8], place: &Place) -> Then {
        match self.shared.policy.existing {
            Existing::Skip => {
                self.tell(name, &Event::Skipped);
                Then::Skip
            }
            Existing::Keep | Existing::UnlinkFirst => Then::Fail,
            _ => self.remove(place).map_or(Then::Fail, |()| Then::Retry),
        }
    }

    pub(super) fn replace_placeholder(&mut self, placeholder: &Placeholder) {
        let Placeholder { name, dev_ino, member, owner, links } = placeholder;
        let mut others = None;
        let mut is_there = |place: &Place, name: &Vec<u8>| {
            let stat = statat(&*place.parent, &place.leaf)?;
            let is_same = (stat.dev, stat.ino) == *dev_ino;
            if !is_same && *dev_ino != NO_FILE {
                others = Some(name.clone());
            }
            Ok(is_same && stat.size == 0)
        };
        let Ok(text) = std::ffi::CString::new(member.link.clone()) else { return };
        let mut first: Option<Place> = None;
        for name in std::iter::once(name).chain(links) {
            let found = self.places.existing(name);
            let is_there = |place| is_there(&place, name).map(|is| is.then_some(place));
            let place = match found.and_then(is_there) {
                Ok(Some(place)) => place,
                // A later member took the name.
                Ok(None) => continue,
                Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => continue,
                Err(error) => {
                    self.failed(name, Action::Stat, error);
                    continue;
                }
            };
            let link = || match &first {
                Some(other) => {
                    linkat(&*other.parent, &other.leaf, &*place.parent, &place.leaf, Follow::No)
                }
                None => symlinkat(&text, &*place.parent, &place.leaf),
            };
            let made = unlinkat(&*place.parent, &place.leaf)
                .and_then(|()| self.shared.taking_space(&*place.parent, link));
            if let Err(error) = made {
                self.failed(name, Action::MakeSymlink(member.link.clone()), error);
            } else if first.is_none() {
                let attributes = self.shared.attributes(member, *owner);
                self.settle_link(name, member, (&place, Kind::Symlink), attributes);
                first = Some(place);
            }
        }
        // No later member has taken all its names: on a file system without numbers of files that last, a name leads
        // to another file.
        if let (None, Some(name)) = (first, others) {
            self.tell_exchanged(&name);
        }
    }
}

fn invalid() -> CallError {
    CallError::new(haul_sys::Call::Symlinkat, Errno::INVAL)
}
