//! The root of a copy: the directory that stands for the list of operands.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use haul_sys::fs::fstat;

use crate::copy::node::{CopyDirectory, Handles, Origin, Route};
use crate::copy::run::Run;
use crate::data::request::ModePolicy;
use crate::data::selected::{Protection, of_operands};
use crate::metadata::DirectoryAttributes;
use crate::metadata::owners::Exchangeable;
use crate::names::by_identity::identity;
use crate::peers::state::Foreign;
use crate::sync::extraneous::TargetWay;
use crate::sync::shared::Synchronized;

/// Returns the directory that stands for the list of operands.
pub(crate) fn root_directory(
    run: &Run<'_>,
    handles: &Handles,
    base: &CStr,
    foreign: Foreign,
) -> CopyDirectory {
    // `fstat` of an open directory works. If it fails nevertheless, the zero device makes the
    // first file look up its file systems.
    let (source, target) = (&handles.source, &handles.target);
    let target_stat = fstat(target);
    let source_dev = fstat(source).map_or(0, |stat| stat.dev);
    let target_id = target_stat.as_ref().map_or((0, 0), identity);
    CopyDirectory {
        source_name: CString::default(),
        target_name: Some(base.to_owned()),
        source_id: (0, 0),
        target_id,
        route: Route::default(),
        root_dev: 0,
        through_link: false,
        target_through_link: false,
        inherits_acl: run.policy.preserve.mode == ModePolicy::Keep,
        pair: run.pairs.of(source_dev, source.as_fd(), target_id.0, target.as_fd()),
        position: 0,
        lists_operands: true,
        attributes: DirectoryAttributes::nothing(),
        origin: Origin::Found,
        new_owner: None,
        exchangeable: target_stat.map_or(Exchangeable::Yes, |stat| run.owners.exchangeable(&stat)),
        ignores_case: OnceLock::new(),
        listed: OnceLock::new(),
        is_lacking: AtomicBool::new(false),
        foreign,
        within: of_operands(run.policy.selection.as_ref()),
        target_way: TargetWay::UNKNOWN,
        protected: Protection::of_operands(
            run.synchronized.as_ref().and_then(Synchronized::protected),
        ),
    }
}
