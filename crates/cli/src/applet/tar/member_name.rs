//! The names under which a member is selected, shown and extracted.

use std::borrow::Cow;

use haul_archive::format::{Member, MemberKind};
use haul_archive::safe_name::{safe_name, strip_components};
use haul_archive::transform::NameOf;

use super::session::Session;
use super::settings::Settings;

/// A member's names after all changes.
pub(super) struct Changed {
    /// Without a dangerous beginning and without slashes at the end.
    pub(super) name: Vec<u8>,
    /// The target of a hard link likewise, and that of a symbolic link as `--transform` changed it.
    pub(super) link: Vec<u8>,
}

/// Returns the name by which a member is selected: as in the archive, without slashes at its end.
pub(super) fn stored_name(name: &[u8]) -> &[u8] {
    let mut text = name;
    while let [rest @ .., b'/'] = text
        && !rest.is_empty()
    {
        text = rest;
    }
    text
}

impl Changed {
    /// Changes a member's names as `--transform` says, and removes dangerous beginnings, which is told.
    pub(super) fn of(session: &Session, member: &Member, settings: &Settings) -> Changed {
        let transform = &settings.extraction.transform;
        let stored = stored_name(&member.name);
        let name = match member.kind {
            MemberKind::VolumeLabel => stored.into(),
            _ => transform.apply(stored, NameOf::Member),
        };
        let link = match member.kind {
            MemberKind::HardLink => transform.apply(&member.link, NameOf::HardLink),
            MemberKind::Symlink => transform.apply(&member.link, NameOf::Symlink),
            _ => Cow::default(),
        };
        if settings.extraction.absolute_names {
            return Changed { name: name.into_owned(), link: link.into_owned() };
        }
        let safe = safe_name(&name);
        session.removed(safe.removed, false);
        let name = safe.rest.to_vec();
        if member.kind != MemberKind::HardLink {
            return Changed { name, link: link.into_owned() };
        }
        let safe = safe_name(&link);
        session.removed(safe.removed, true);
        Changed { name, link: safe.rest.to_vec() }
    }

    /// Returns the name without the directories that `--strip-components` removes, and within the
    /// directory of `--one-top-level`; `None` if nothing is left.
    pub(super) fn extracted(&self, settings: &Settings, top: Option<&[u8]>) -> Option<Vec<u8>> {
        let name = strip_components(&self.name, settings.extraction.strip)?;
        let Some(top) = top else { return Some(name.to_vec()) };
        let mut plain = name;
        while let Some(rest) = plain.strip_prefix(b"./") {
            plain = rest;
        }
        let is_below =
            plain.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        Some(match plain {
            _ if is_below => plain.to_vec(),
            b"." => top.to_vec(),
            _ => [top, b"/", plain].concat(),
        })
    }

    /// Returns the target of a hard link after the same changes.
    pub(super) fn extracted_link(&self, settings: &Settings, top: Option<&[u8]>) -> Vec<u8> {
        let link = Changed { name: self.link.clone(), link: Vec::new() };
        link.extracted(settings, top).unwrap_or_default()
    }

    /// Gives a member the names that listings show.
    pub(super) fn prepare_to_show(&self, member: &mut Member, settings: &Settings) {
        let top = settings.extraction.top.as_deref();
        member.link = match member.kind {
            MemberKind::HardLink => self.extracted_link(settings, top),
            _ => self.link.clone(),
        };
        if settings.extraction.shows_transformed {
            // Nothing may be left of it.
            let name = self.extracted(settings, top).unwrap_or_default();
            let is_directory = member.name.ends_with(b"/");
            member.name = if is_directory { [&name[..], b"/"].concat() } else { name };
        }
    }
}
