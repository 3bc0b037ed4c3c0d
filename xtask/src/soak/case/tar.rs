//! `tar -c | tar -x` in every format and with every filter, by haul, and by haul and GNU tar in turn.

use super::{Places, Script, shape};
use crate::soak::earlier::Earlier;
use crate::soak::promise::Promise;
use crate::soak::stage::{Cell, Prepared};
use crate::soak::step::{By, Call, Step};
use crate::soak::tree;
use haul_manifest::Numbers;
use haul_manifest::{Aspect, Aspects, Item, ItemKind, RawText};
use std::path::PathBuf;

const FORMATS: [&str; 7] = [
    "--format=gnu",
    "--format=posix",
    "--format=posix",
    "--format=pax",
    "--format=ustar",
    "--format=oldgnu",
    "--format=v7",
];

const FILTERS: [&[&str]; 7] = [&[], &[], &[], &["-z"], &["-J"], &["-j"], &["--zstd"]];

const CREATE: [&[&str]; 6] = [
    &["-S"],
    &["-h"],
    &["--hard-dereference"],
    &["-b1"],
    &["--sort=name"],
    &["--sparse-version=0.1"],
];

/// What happens to names that exist: GNU tar takes one of these at a time.
const POLICIES: [&[&str]; 8] = [
    &[],
    &[],
    &["-k"],
    &["--overwrite"],
    &["--keep-newer-files"],
    &["--skip-old-files"],
    &["--unlink-first"],
    &["--no-overwrite-dir"],
];

const EXTRACT: [&[&str]; 4] = [&["-m"], &["--no-same-permissions"], &["--no-same-owner"], &["-S"]];

/// The longest text of a link in a header without extensions.
const LINK_TEXT_MAX: usize = 99;

const OWN: [&[&str]; 4] = [&["--jobs=1"], &["--jobs=4"], &["--cache=drop"], &["--cache=direct"]];

const ATTRIBUTES: [&str; 3] = ["--xattrs", "--xattrs-include=*", "--acls"];

/// Removes further names of FIFOs: haul archives them as links, GNU tar as other FIFOs.
fn without_linked_fifos(mut items: Vec<Item>) -> Vec<Item> {
    let is_fifo = |item: &Item| item.kind == ItemKind::Fifo;
    let paths = tree::paths(&items);
    let fifos: Vec<RawText> =
        items.iter().zip(paths).filter(|(item, _)| is_fifo(item)).map(|(_, path)| path).collect();
    items.retain(|item| !matches!(&item.kind, ItemKind::HardLink(first) if fifos.contains(first)));
    items
}

/// Removes FIFOs, sockets and devices, and their further names.
fn without_specials(items: &mut Vec<Item>) {
    let is_special = |item: &Item| {
        !matches!(
            item.kind,
            ItemKind::Directory
                | ItemKind::Regular(_)
                | ItemKind::Symlink(_)
                | ItemKind::HardLink(_)
        )
    };
    let paths = tree::paths(items);
    let specials: Vec<RawText> = items
        .iter()
        .zip(paths)
        .filter(|(item, _)| is_special(item))
        .map(|(_, path)| path)
        .collect();
    let leads_to_one =
        |item: &Item| matches!(&item.kind, ItemKind::HardLink(first) if specials.contains(first));
    items.retain(|item| !is_special(item) && !leads_to_one(item));
}

/// Takes from the trees what GNU tar treats in another way with these options.
fn simplify(items: &mut Vec<Item>, before: &mut Vec<Item>, changes: &[&&[&str]], policy: &[&str]) {
    // Bits of a file that exists are none of the archive, and GNU tar's options differ in them.
    before.iter_mut().for_each(|item| item.mode &= 0o777);
    if changes.iter().any(|option| **option == ["-h"]) {
        // haul archives a FIFO to which a link leads as a link, with its own attributes. GNU tar archives
        // another FIFO, with those of the link.
        without_specials(items);
    }
    if policy == ["--unlink-first"] {
        // A directory that is made again inherits the bit, and GNU tar takes the mode for that of the archive.
        let is_directory = |item: &&mut Item| item.kind == ItemKind::Directory;
        items.iter_mut().filter(is_directory).for_each(|item| item.mode &= 0o777);
    }
    if policy == ["--overwrite"] {
        // Members that are written through one link end in an order that the archive decides.
        let is_link =
            |item: &Item| matches!(item.kind, ItemKind::HardLink(_) | ItemKind::Symlink(_));
        before.retain(|item| !is_link(item));
    }
}

/// Leaves out of the comparison what GNU tar does in another way with these options.
fn compared(mut step: Step, keeps_attributes: bool) -> Step {
    let extract = &step.calls[1];
    let keeps_owner = !extract.has(&["--no-same-owner"]);
    let masks_modes = extract.has(&["--no-same-permissions"]) && keeps_attributes;
    let overwrites = extract.has(&["--overwrite"]);
    let mut left = Vec::new();
    if !keeps_owner || overwrites || masks_modes {
        // haul sets bits that run a program as its owner only together with that owner; GNU tar loses
        // those of a file that it overwrites with the same mode, and takes bits from ACLs past the umask.
        left.push(Aspect::Mode);
    }
    if !keeps_owner {
        // Without an owner to set, GNU tar leaves a new file the list that it has from its directory.
        left.push(Aspect::Acl);
    }
    if overwrites && keeps_attributes {
        // GNU tar makes a file that has attributes anew in the place of an existing one.
        left.extend([Aspect::Xattrs, Aspect::Acl, Aspect::Mtime]);
    }
    for aspect in left {
        step = step.without(aspect);
    }
    step
}

pub(super) fn draw(numbers: &mut Numbers, places: &Places) -> Script {
    let shape = shape(numbers);
    let format = *numbers.pick(&FORMATS);
    let mut items = without_linked_fifos(tree::draw(numbers, &shape));
    if !["--format=gnu", "--format=posix", "--format=pax", "--format=oldgnu"].contains(&format) {
        // GNU tar says that it leaves such a link out, and archives it with another text.
        let is_long = |text: &RawText| text.as_bytes().len() > LINK_TEXT_MAX;
        items.retain(|item| !matches!(&item.kind, ItemKind::Symlink(text) if is_long(text)));
        items.retain(|item| !matches!(item.kind, ItemKind::HardLink(_)));
    }
    let earlier = match Earlier::draw(numbers) {
        // `-C` needs a directory.
        Earlier::Absent => Earlier::Empty,
        other => other,
    };
    let mut before = earlier.items(numbers, &items).unwrap_or_default();
    let (near, far) = (format!("{}/src", places.near), format!("{}/dst", places.far));
    let filter = *numbers.pick(&FILTERS);
    let keeps_attributes = numbers.chance(50);
    let mut create = Call::new("tar").args([format, "-cf", "-"]).args(filter);
    let mut extract = Call::new("tar").args(["-xpf", "-"]).args(filter);
    if keeps_attributes {
        create = create.args(ATTRIBUTES);
        extract = extract.args(ATTRIBUTES);
    }
    let changes = numbers.some(10, &CREATE);
    let is_plain = changes.iter().all(|option| **option == ["-b1"] || **option == ["-S"]);
    create = create.args(changes.iter().copied().copied().flatten());
    let policy = *numbers.pick(&POLICIES);
    simplify(&mut items, &mut before, &changes, policy);
    let others = numbers.some(8, &EXTRACT);
    let takes_all = policy.is_empty() && others.is_empty();
    extract = extract.args(policy).args(others.into_iter().copied().flatten());
    create = create.own(numbers.some(15, &OWN).into_iter().copied().flatten());
    extract = extract.own(numbers.some(15, &OWN).into_iter().copied().flatten());
    if !["--overwrite", "--unlink-first"].iter().any(|word| policy.contains(word)) {
        extract = extract.own(*numbers.pick(&[&[][..], &[], &[], &["--atomic"], &["--durable"]]));
    }
    let (writer, reader) =
        *numbers.pick(&[(By::Haul, By::Haul), (By::Haul, By::Gnu), (By::Gnu, By::Haul)]);
    let create = create.by(writer).args(["-C", &near, "."]);
    let extract = extract.by(reader).args(["-C", &far]);
    let mut step = compared(Step::new(vec![create, extract]), keeps_attributes);
    if earlier.is_fresh() && takes_all && is_plain && format.contains('p') && keeps_attributes {
        let from = (Cell::Original, PathBuf::from(&near));
        // Sockets are not archived, and such a tree is not equal.
        let has_sockets = items.iter().any(|item| item.kind == ItemKind::Socket);
        if !has_sockets {
            let aspects = Aspects::preserved();
            step = step.promise(Promise::Copied { from, to: far.clone().into(), aspects });
        }
    }
    let again = numbers.chance(50);
    let steps = if again { vec![step.clone(), step] } else { vec![step] };
    Script { prepared: vec![Prepared::tree(&near, items), Prepared::tree(&far, before)], steps }
}
