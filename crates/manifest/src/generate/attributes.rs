//! Extended attributes of lengths at which tools are known to fail.

use super::content;
use super::item::{Body, Item, ItemKind};
use super::numbers::number_at;
use crate::xattrs::Xattr;

/// Lengths around the sizes of the buffers that tools read values into: empty, one byte, 256 bytes,
/// a block, 64 KiB (`XATTR_SIZE_MAX`).
const LENGTHS: [u64; 14] =
    [0, 1, 255, 256, 257, 1000, 3000, 4000, 4095, 4096, 4097, 16_384, 65_535, 65_536];

/// Returns a file and a directory with one attribute of each length up to `size`, and a file with
/// `names` short ones.
pub(super) fn attributes(size: u64, names: u64, seed: u64) -> impl Iterator<Item = Item> {
    let lengths = LENGTHS.into_iter().filter(move |length| *length <= size);
    let single = lengths.flat_map(move |length| {
        let value = || vec![xattr("user.haul.value".to_owned(), length, seed)];
        let file = ItemKind::Regular(Body::dense(1, seed));
        let file = Item { xattrs: value(), ..Item::new(1, format!("file-{length}"), file) };
        let name = format!("directory-{length}");
        [file, Item { xattrs: value(), ..Item::new(1, name, ItemKind::Directory) }]
    });
    let mut many = Item::new(1, "many", ItemKind::Regular(Body::default()));
    many.xattrs = (0..names)
        .map(|number| xattr(format!("user.haul.{number:04}"), 8, number_at(seed, number)))
        .collect();
    single.chain([many])
}

fn xattr(name: String, length: u64, seed: u64) -> Xattr {
    let mut value = vec![0; length as usize];
    content::fill(seed ^ length, 0, &mut value);
    Xattr { name: name.into(), value: value.into() }
}
