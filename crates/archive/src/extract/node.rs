//! FIFOs and devices, which are made and never opened.

use haul_sys::fs::{Kind, mknodat};

use super::attributes::Attributes;
use super::event::Action;
use super::extractor::{Extractor, Then};
use crate::format::{Member, MemberKind};

impl Extractor {
    /// Makes a FIFO or a device with the attributes of a member.
    pub(super) fn node(&mut self, member: &Member, name: &[u8]) {
        let (kind, action) = match member.kind {
            MemberKind::Fifo => (Kind::Fifo, Action::MakeFifo),
            MemberKind::CharDevice => (Kind::CharDevice, Action::MakeNode),
            _ => (Kind::BlockDevice, Action::MakeNode),
        };
        let Some(place) = self.place(name, action.clone()) else { return };
        let owner = self.owner(member);
        let attributes = self.shared.attributes(member, owner);
        let mode = if owner.is_some() { attributes.mode & 0o700 } else { attributes.mode };
        let device = crate::device::number(member.device);
        loop {
            let make = || mknodat(&*place.parent, &place.leaf, kind, mode, device);
            let error = match self.shared.taking_space(&*place.parent, make) {
                Ok(()) => break,
                Err(error) => error,
            };
            match self.recover(name, &place, member, error) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(name, action, error),
            }
        }
        let attributes = Attributes { made: Some(mode), ..attributes };
        self.settle_link(name, member, (&place, kind), attributes);
    }
}
