//! Paths for people: built from the chain of nodes, and only when there is something to say.

use std::ffi::CStr;

use super::node::Node;

/// Which of the two trees a path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
}

/// Returns the path of an entry of a directory, as a person would type it.
pub(crate) fn of_entry(node: &Node, name: &CStr, side: Side) -> Vec<u8> {
    let mut names: Vec<&[u8]> = vec![name.to_bytes()];
    let mut at = Some(node);
    while let Some(node) = at {
        names.push(match side {
            Side::Source => node.source_name.to_bytes(),
            Side::Target => node.target_name().to_bytes(),
        });
        at = node.parent.as_deref();
    }
    names.reverse();
    join(&names)
}

/// Returns the path of a directory itself.
pub(crate) fn of_node(node: &Node, side: Side) -> Vec<u8> {
    let own = match side {
        Side::Source => node.source_name.as_c_str(),
        Side::Target => node.target_name(),
    };
    match node.parent.as_deref() {
        Some(parent) => of_entry(parent, own, side),
        None => own.to_bytes().to_vec(),
    }
}

/// Joins names with one slash between them, whatever slashes they end in; empty ones vanish.
pub(crate) fn join(names: &[&[u8]]) -> Vec<u8> {
    let mut path = Vec::with_capacity(names.iter().map(|name| name.len() + 1).sum());
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slash_joins_names() {
        assert_eq!(join(&[b"", b"a", b"b"]), b"a/b");
        assert_eq!(join(&[b"a/", b"b"]), b"a/b");
        assert_eq!(join(&[b"/", b"b"]), b"/b");
        assert_eq!(join(&[b"", b"b"]), b"b");
    }
}
