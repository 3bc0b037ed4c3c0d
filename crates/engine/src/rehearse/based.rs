//! What a rehearsal asks of a synchronisation alone: links that are followed or skipped, directories that are left out,
//! entries that another directory has already.

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat};
use haul_tree::Operand;

use super::foresee::Foreseen;
use super::place::Place;
use super::run::State;
use super::told::Intent;
use crate::data::error::What;
use crate::data::request::{BasisUse, Changes};
use crate::decide::{Reason, Source, Taken, follows};
use crate::names::by_identity::identity;
use crate::sync::basis::{Basis, Fit, Search, Wanted};
use crate::sync::links::{self, Treatment};
use crate::sync::pruned::has_entries;

impl State<'_> {
    /// Returns what becomes of an entry that may be a link.
    pub(super) fn treatment(&self, place: Place<'_>, operand: &Operand) -> Treatment {
        if follows(place.role(operand), self.policy) == Follow::Yes {
            return Treatment::Follow;
        }
        let Some(synchronized) = self.synchronized else { return Treatment::Copy };
        let path = || synchronized.path_of(&place.path_of_target(operand));
        links::treatment(place.source_of(operand), synchronized.rules, path)
    }

    /// Returns whether a directory is left out because nothing would be in it but directories.
    pub(super) fn is_pruned(&self, place: Place<'_>, operand: &Operand, source: &Stat) -> bool {
        let prunes = self.synchronized.is_some_and(|of| of.rules.prunes_empty);
        let follow = || self.treatment(place, operand).follow();
        prunes
            && source.kind() == Kind::Directory
            && !operand.target.to_bytes().ends_with(b"/")
            && operand.rest.is_none()
            && !has_entries(place.source_of(operand), (&place.within, place.listing()), follow())
    }

    /// Looks for an entry that fits in other directories, as the copy would.
    pub(super) fn look_elsewhere(
        &mut self,
        place: Place<'_>,
        operand: &Operand,
        source: &Source<'_>,
        taken: Option<&mut Taken>,
    ) -> Result<(), (What, Option<Errno>)> {
        self.basis = None;
        let Some(synchronized) = self.synchronized else { return Ok(()) };
        let wanted = Wanted {
            shown: &place.path_of_target(operand),
            source: place.source_of(operand),
            stat: source.stat,
            follow: self.treatment(place, operand).follow(),
        };
        let search = synchronized.search(source.stat, taken.as_deref());
        if search == Search::Nothing {
            return Ok(());
        }
        let basis = synchronized.find_basis(wanted, self.policy);
        let basis = basis.map_err(|(what, errno)| (what, Some(errno)))?;
        self.basis = match taken {
            Some(taken) if search == Search::Exact => {
                let fits = |basis: &Basis| {
                    basis.fit == Fit::Exact
                        && !basis.stat.same_file(&taken.link)
                        && synchronized.gives(basis, source.stat, self.policy)
                };
                let basis = basis.filter(fits);
                taken.is_in_basis = basis.is_some();
                basis
            }
            _ => basis,
        };
        Ok(())
    }

    /// Returns what the copy would do with an entry that another directory has, in place of making it.
    pub(super) fn based(&mut self, entry: &Foreseen<'_>, intent: Intent) -> Intent {
        let (Some(basis), Some(synchronized)) = (self.basis.take(), self.synchronized) else {
            return intent;
        };
        let source = entry.source;
        if intent == Intent::Link {
            let twin = self.based.get(&identity(source.stat)).copied();
            if twin == Some(identity(&basis.stat)) {
                self.changes = Some(basis.changes);
            }
            return intent;
        }
        if !matches!(intent, Intent::Create | Intent::Replace) {
            return intent;
        }
        self.changes = Some(basis.changes);
        match synchronized.purpose() {
            Some(BasisUse::Link)
                if basis.fit == Fit::Exact
                    && !source.is_directory()
                    && synchronized.gives(&basis, source.stat, self.policy) =>
            {
                self.based.insert(identity(source.stat), identity(&basis.stat));
                Intent::Link
            }
            Some(BasisUse::Compare) if basis.fit == Fit::Exact && !source.is_directory() => {
                self.changes = Some(Changes::default());
                Intent::Skip(Reason::Same)
            }
            _ => intent,
        }
    }
}
