//! Headers before that of a member: long names, extended headers, and global ones, which hold to the end.
//!
//! What is wrong with them is told of the member, once its own header has said where the next one begins. Only where
//! another reader may find a size in them that haul does not, the rest of the archive is lost.

use super::failure::Failure;
use super::header::{Block, field, text};
use super::next::Next;
use super::pax::{Extended, mentions, records};
use super::refusal::Refusal;

/// Keywords that say which members there are.
const OF_MEMBERS: [&[u8]; 4] = [b"path=", b"linkpath=", b"size=", b"GNU.sparse."];

/// Headers that were read and belong to the member that comes.
#[derive(Default)]
pub(super) struct Pending {
    /// Where the first of them begins.
    pub(super) start: Option<u64>,
    pub(super) name: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) extended: Option<Extended>,
    /// Why the member is refused, if one of them is.
    pub(super) refusal: Option<Refusal>,
}

impl Pending {
    /// Returns whether a member has to come.
    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none() && self.link.is_none() && self.extended.is_none()
    }

    /// Returns the name for a message about a member that is refused, of which this is a block.
    pub(super) fn shown_name(&self, block: &Block) -> Vec<u8> {
        let path = self.extended.as_ref().and_then(|extended| extended.path.clone());
        let name = path.or_else(|| self.name.clone());
        name.unwrap_or_else(|| text(block, field::NAME).to_vec())
    }

    /// Takes the name of the member from the data of a header, and what is behind them in their last block.
    pub(super) fn long_name(&mut self, text: Vec<u8>, rest: &[u8]) {
        let text = self.long_text(text, rest);
        demand_same(&mut self.refusal, &mut self.name, text);
    }

    /// Takes the target of its link.
    pub(super) fn long_link(&mut self, text: Vec<u8>, rest: &[u8]) {
        let text = self.long_text(text, rest);
        demand_same(&mut self.refusal, &mut self.link, text);
    }

    /// Returns a long name. It may end in a NUL, and has none before.
    fn long_text(&mut self, mut text: Vec<u8>, rest: &[u8]) -> Vec<u8> {
        // Some readers take all up to a NUL; one within it is another fault.
        if !text.contains(&0) && rest.first().is_some_and(|byte| *byte != 0) {
            self.refusal.get_or_insert(Refusal::LongNameSize);
        }
        while text.last() == Some(&0) {
            text.pop();
        }
        text
    }

    /// Takes the records of an extended header.
    pub(super) fn extended(&mut self, body: &[u8], globals: &Extended) -> Result<(), Failure> {
        let mut extended = globals.clone();
        extended.add(records(body));
        let refusal = extended.refusal;
        demand_same(&mut self.refusal, &mut self.extended, extended);
        // GNU tar counts from here.
        self.start = None;
        match refusal.or(self.refusal) {
            Some(refusal) if mentions(body, &[b"size="]) => Err(Failure::Lost(refusal)),
            _ => Ok(()),
        }
    }
}

/// Takes note of a header. A second one of its kind has to say the same: some readers believe the first one, some the
/// last.
fn demand_same<T: PartialEq>(refusal: &mut Option<Refusal>, place: &mut Option<T>, new: T) {
    if place.as_ref().is_some_and(|earlier| *earlier != new) {
        refusal.get_or_insert(Refusal::RepeatedHeader);
    }
    *place = Some(new);
}

/// Adds the records of a global header to those of the earlier ones, and what is told of them to `notes`.
pub(super) fn add_global(
    globals: &mut Extended,
    (name, body): (&[u8], &[u8]),
    notes: &mut Vec<Next>,
) -> Result<(), Failure> {
    let refusal = globals.add_global(records(body));
    // Told once, not for each member.
    notes.extend(globals.unknown.drain(..).map(Next::UnknownKeyword));
    notes.extend(globals.flaws.drain(..).map(|flaw| Next::Flawed(name.to_vec(), flaw)));
    match refusal {
        None => Ok(()),
        // All that it says of members is known.
        Some(refusal @ Refusal::GlobalMember) => Err(Failure::Refused(refusal)),
        Some(refusal) if mentions(body, &OF_MEMBERS) => Err(Failure::Lost(refusal)),
        Some(refusal) => Err(Failure::Refused(refusal)),
    }
}
