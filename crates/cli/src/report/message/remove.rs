//! Messages for failures of a removal, in GNU rm's words.

use haul_engine::error::{Failure, What};
use haul_sys::Errno;

use crate::escape::{quote, quote_if_needed};
use crate::file_error::not_given_back;

/// Returns the lines for a failure, without the program's name.
pub(super) fn of_removal(failure: &Failure) -> Vec<String> {
    let path = quote(&failure.source);
    let reason = failure.errno.map(haul_sys::errno_text);
    let with_reason = |text: String| match &reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text,
    };
    match failure.what {
        What::ReadDirectory => {
            vec![with_reason(format!("traversal failed: {}", quote_if_needed(&failure.source)))]
        }
        What::Rules => {
            vec![with_reason(format!(
                "cannot use the merge file in {path}; nothing in it is removed"
            ))]
        }
        What::Dots => {
            vec![format!("refusing to remove '.' or '..' directory: skipping {path}")]
        }
        What::Root => {
            let same = if failure.source == b"/" { "" } else { " (same as '/')" };
            vec![
                format!("it is dangerous to operate recursively on {path}{same}"),
                "use --no-preserve-root to override this failsafe".to_owned(),
            ]
        }
        What::OtherDevice => vec![format!("skipping {path}, since it's on a different device")],
        What::MountPoint => vec![
            format!("skipping {path}, since it's on a different device"),
            "and --preserve-root=all is in effect".to_owned(),
        ],
        What::MountKept => vec![format!(
            "cannot remove {path}: it is a mount point; unmount it, or empty it as GNU rm does with \
             --preserve-root"
        )],
        What::HoldsSource => vec![format!("not removing {path}: the source is in it")],
        What::StatParent => {
            let mut parent = failure.source.clone();
            parent.extend_from_slice(b"/..");
            vec![format!("failed to stat {}: skipping {path}", quote(&parent))]
        }
        What::KeptBeside => vec![format!(
            "{path} was replaced while it was moved, and {}: it stays as {}",
            not_given_back(failure.errno.unwrap_or(Errno::EXIST)),
            quote(&failure.target)
        )],
        What::Changed => vec![format!("{path} changed while it was moved; it stays")],
        _ => vec![with_reason(format!("cannot remove {path}"))],
    }
}
