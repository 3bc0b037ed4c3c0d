//! Compares the attributes of one pair of entries, which the caller has read.

use super::difference::What;
use super::{Aspect, Aspects, CompareOptions};
use crate::node::Attributes;
use crate::segments::Segment;
use crate::text::RawText;
use crate::values::Kind;
use crate::xattrs::Xattr;

/// Returns the differences in the statx(2) attributes of two entries of one kind.
pub(super) fn judge_attributes(aspects: Aspects, a: &Attributes, b: &Attributes) -> Vec<What> {
    let is_device = matches!(a.kind, Kind::BlockDevice | Kind::CharDevice);
    let is_symlink = a.kind == Kind::Symlink;
    let candidates = [
        (Aspect::Rdev, is_device && a.rdev != b.rdev, What::Rdev { a: a.rdev, b: b.rdev }),
        (Aspect::Mode, !is_symlink && a.mode != b.mode, What::Mode { a: a.mode, b: b.mode }),
        (Aspect::Owner, a.uid != b.uid, What::Owner { a: a.uid, b: b.uid }),
        (Aspect::Group, a.gid != b.gid, What::Group { a: a.gid, b: b.gid }),
        (Aspect::Mtime, a.mtime != b.mtime, What::Mtime { a: a.mtime, b: b.mtime }),
    ];
    let counts = |(aspect, differs, what)| (aspects.contains(aspect) && differs).then_some(what);
    candidates.into_iter().filter_map(counts).collect()
}

/// Returns the differences between two lists of extended attributes, each sorted by name.
pub(super) fn judge_xattrs(options: &CompareOptions, a: &[Xattr], b: &[Xattr]) -> Vec<What> {
    let find = |list: &[Xattr], name: &RawText| {
        let index = list.binary_search_by(|xattr| xattr.name.cmp(name)).ok()?;
        list.get(index).map(|xattr| xattr.value.clone())
    };
    let mut names: Vec<&RawText> = a.iter().chain(b).map(|xattr| &xattr.name).collect();
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let (in_a, in_b) = (find(a, name), find(b, name));
        if in_a == in_b || !counts(options, name) {
            continue;
        }
        let name = name.clone();
        found.push(if is_acl(&name) {
            What::Acl { name, a: in_a, b: in_b }
        } else {
            What::Xattr { name, a: in_a, b: in_b }
        });
    }
    found
}

fn counts(options: &CompareOptions, name: &RawText) -> bool {
    let aspect = if is_acl(name) { Aspect::Acl } else { Aspect::Xattrs };
    let ignored = &options.ignored_xattr_prefixes;
    options.aspects.contains(aspect)
        && !is_second_form_of_acl(name)
        && !ignored.iter().any(|prefix| name.0.starts_with(prefix.as_bytes()))
}

/// Returns whether an extended attribute is an ACL: those of POSIX (acl(5)) and of NFSv4.
fn is_acl(name: &RawText) -> bool {
    matches!(
        name.as_bytes(),
        b"system.posix_acl_access" | b"system.posix_acl_default" | b"system.nfs4_acl"
    )
}

/// Returns whether an extended attribute is XFS's own form of an ACL, which XFS lists for root in
/// addition to the general form (`fs/xfs/xfs_xattr.c`, seen on 6.18). Only the general form is
/// compared, because otherwise every ACL would be reported twice, and a copy from XFS to another
/// file system would never be equal.
fn is_second_form_of_acl(name: &RawText) -> bool {
    matches!(name.as_bytes(), b"trusted.SGI_ACL_FILE" | b"trusted.SGI_ACL_DEFAULT")
}

/// Returns whether B allocates so much more than A that A's data segments must be examined.
pub(super) fn allocates_more(options: &CompareOptions, a: &Attributes, b: &Attributes) -> bool {
    options.aspects.contains(Aspect::Blocks) && exceeds(options, a.blocks.saturating_mul(512), 1, b)
}

/// Compares B's allocation with A's data. A compressed or inlined A may have less allocated than
/// its data needs, and its copy must not be reported for that.
pub(super) fn judge_blocks(
    options: &CompareOptions,
    a: &Attributes,
    data: &[Segment],
    b: &Attributes,
) -> Option<What> {
    let data_bytes = data.iter().map(|segment| segment.length).sum::<u64>();
    let needed = a.blocks.saturating_mul(512).max(data_bytes);
    let segments = data.len().max(1) as u64;
    exceeds(options, needed, segments, b).then_some(What::Blocks { a: a.blocks, b: b.blocks })
}

fn exceeds(options: &CompareOptions, needed: u64, segments: u64, b: &Attributes) -> bool {
    let rounding = segments.saturating_mul(b.block_bytes.max(512));
    let allowed = needed.saturating_add(rounding).saturating_add(options.block_slack_bytes);
    b.blocks.saturating_mul(512) > allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattr(name: &str, value: &str) -> Xattr {
        Xattr { name: name.into(), value: value.into() }
    }

    #[test]
    fn xattrs_are_matched_by_name_and_distinguished_from_acls() {
        let a = [xattr("system.posix_acl_access", "1"), xattr("user.a", "1"), xattr("user.c", "1")];
        let b = [xattr("user.a", "2"), xattr("user.b", "1"), xattr("user.c", "1")];
        let labels = |options: &CompareOptions| -> Vec<String> {
            judge_xattrs(options, &a, &b).iter().map(ToString::to_string).collect()
        };
        let all = CompareOptions::new(Aspects::all());
        assert_eq!(
            labels(&all),
            [
                "ACL system.posix_acl_access only in A",
                "extended attribute user.a differs (1 bytes)",
                "extended attribute user.b only in B",
            ]
        );
        let acl_only = CompareOptions::new(Aspects::none().with(Aspect::Acl));
        assert_eq!(labels(&acl_only), ["ACL system.posix_acl_access only in A"]);
        let ignoring = CompareOptions { ignored_xattr_prefixes: vec!["user.".into()], ..acl_only };
        assert_eq!(labels(&ignoring), ["ACL system.posix_acl_access only in A"]);
    }
}
