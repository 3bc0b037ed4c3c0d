//! The directory of `--one-top-level`.

use std::ffi::OsStr;

use haul_archive::filter::TABLE;
use haul_archive::safe_name::has_parent;

/// Returns the directory of `--one-top-level`: as given, or the archive's name without its endings.
pub(super) fn top_level(given: &OsStr, archive: &OsStr) -> Result<Vec<u8>, String> {
    let bytes = given.as_encoded_bytes();
    if has_parent(bytes) || bytes.starts_with(b"/") {
        return Err("--one-top-level needs a name below the target directory; give that one with \
                    --directory"
            .to_owned());
    }
    if !given.is_empty() {
        return Ok(bytes.to_vec());
    }
    let name = archive.as_encoded_bytes();
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let endings = TABLE.iter().flat_map(|(_, _, endings)| endings.iter());
    let packed = endings.into_iter().find_map(|ending| {
        let stem = name.strip_suffix(ending.as_bytes())?.strip_suffix(b".")?;
        // An ending such as `tgz` stands for both.
        Some((stem, ending.starts_with('t')))
    });
    let base = match packed {
        Some((stem, true)) => Some(stem),
        Some((stem, false)) => Some(stem.strip_suffix(b".tar").unwrap_or(stem)),
        None => name.strip_suffix(b".tar"),
    };
    match base.filter(|base| !base.is_empty()) {
        Some(base) => Ok(base.to_vec()),
        None => Err("Cannot deduce top-level directory name; please set it explicitly with \
                     --one-top-level=DIR"
            .to_owned()),
    }
}
