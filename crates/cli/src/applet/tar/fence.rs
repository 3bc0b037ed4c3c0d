//! Extraction behind a fence of the kernel: nothing can be written outside the target directories,
//! whatever an archive, or a mistake of haul's own, makes of a name.
//!
//! This is a second guard. Names are resolved beneath the target directory without it, and where the
//! kernel has no landlock there is only that first guard.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use haul_sys::fs::OFlags;
use haul_sys::process::restrict_writes;

use super::settings::Settings;

/// Restricts this thread, and all that it starts from now on, to the directories that members are
/// extracted into; with `-O` to none. With `-P` names may lead anywhere, and the programs of
/// `--checkpoint-action` may write anywhere, so there is no fence. The directory of the file of `--metrics`
/// is within it.
///
/// Programs that were started before, as that of `-I`, are not restricted.
pub(super) fn raise(settings: &Settings) {
    if settings.extraction.absolute_names || settings.checkpoints.reach_out() {
        return;
    }
    let mut directories = Vec::new();
    if !settings.extraction.to_stdout {
        for directory in settings.names.used_directories() {
            // One that does not exist is told when a member needs it; until then it may be made.
            let Some(file) = handle(&settings.names.path(directory)) else { return };
            directories.push(file);
        }
    }
    if let Some(metrics) = &settings.own.metrics.file {
        // They get their name when all else is done.
        let parent = Path::new(metrics).parent().filter(|parent| !parent.as_os_str().is_empty());
        let Some(file) = handle(parent.unwrap_or(Path::new("."))) else { return };
        directories.push(file);
    }
    // A kernel without it, or a filter of calls, leaves the first guard.
    let _unrestricted = restrict_writes(&directories);
}

fn handle(directory: &Path) -> Option<File> {
    let how = (OFlags::PATH | OFlags::DIRECTORY).bits().cast_signed();
    File::options().read(true).custom_flags(how).open(directory).ok()
}
