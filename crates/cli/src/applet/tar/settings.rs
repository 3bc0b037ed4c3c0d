//! What a command line of `tar` asks for, as plain data.

use std::ffi::OsString;

use haul_archive::attributes::Attributes;
use haul_archive::format::Zeros;
use haul_sys::process::Zone;

use super::checkpoint_options::Checkpoints;
use super::creation::Creation;
use super::extraction::Extraction;
use super::limits::Limits;
use super::names::Names;
use super::own::Own;
pub(super) use super::task::Compression;
use super::task::Mode;
use super::warning::Warnings;

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) file: OsString,
    pub(super) compression: Compression,
    pub(super) verbosity: u32,
    pub(super) shows_blocks: bool,
    pub(super) shows_full_time: bool,
    pub(super) shows_totals: bool,
    pub(super) zone: Zone,
    pub(super) numeric_owner: bool,
    pub(super) zeros: Zeros,
    pub(super) may_seek: bool,
    pub(super) occurrence: Option<u64>,
    pub(super) limits: Limits,
    pub(super) names: Names,
    pub(super) extraction: Extraction,
    pub(super) creation: Creation,
    pub(super) own: Own,
    pub(super) checkpoints: Checkpoints,
    pub(super) warnings: Warnings,
    /// Where what is shown goes, instead of standard output or error.
    pub(super) index_file: Option<OsString>,
    pub(super) shows_omitted: bool,
    /// Attributes that are archived or restored beside the usual ones.
    pub(super) attributes: Attributes,
}

/// The settings without an option. The task, the archive and how it is compressed follow from all words.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Create,
            file: OsString::new(),
            compression: Compression::Auto,
            verbosity: 0,
            shows_blocks: false,
            shows_full_time: false,
            shows_totals: false,
            zone: Zone::Local,
            numeric_owner: false,
            zeros: Zeros::End,
            may_seek: true,
            occurrence: None,
            limits: Limits::default(),
            names: Names::default(),
            extraction: Extraction::default(),
            creation: Creation::default(),
            own: Own::default(),
            checkpoints: Checkpoints::default(),
            warnings: Warnings::default(),
            index_file: None,
            shows_omitted: false,
            attributes: Attributes::default(),
        }
    }
}
