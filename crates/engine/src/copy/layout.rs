//! Striping of the files that a run makes, which they get before their bytes.

use std::os::fd::AsFd;

use super::item::Item;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::metadata::striping;

/// Returns the striping that the target of an entry is to get, if not the default of its directory. If it
/// cannot be read, reports that, and the file gets the default.
pub(super) fn wanted(run: &Run<'_>, entry: &Entry<'_>, item: &Item) -> Option<Vec<u8>> {
    let source = item.source.as_ref().map(AsFd::as_fd);
    striping::of_copy(run.policy.striping, source, item.stat.size).unwrap_or_else(|error| {
        entry.fail_lacking(run, &item.stat, What::Striping, error.errno);
        None
    })
}

/// Gives a new and empty file its striping. A failure is reported, and the file gets the default.
pub(super) fn give(
    run: &Run<'_>,
    entry: &Entry<'_>,
    item: &Item,
    file: impl AsFd,
    layout: Option<&[u8]>,
) {
    if let Some(layout) = layout
        && let Err(error) = striping::set(file.as_fd(), layout)
    {
        entry.fail_lacking(run, &item.stat, What::Striping, error.errno);
        // Lustre refuses to write to a file without any striping. If this fails, too, so do the writes, with
        // a message.
        let _default = striping::set_default(file.as_fd());
    }
}
