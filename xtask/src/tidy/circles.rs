//! Modules of a crate that import each other in a circle.
//!
//! In a circle no module can be read, tested or moved alone. A parent and its children are exempt:
//! a parent re-exports what its children define, and they share its items.

use super::code::{Token, tokens};
use super::{Check, Finding, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) const CHECK: Check = Check {
    name: "circles",
    run,
    refused: &[
        ("crates/io/src/a.rs", "//! A.\nuse crate::b::{C, D};\n"),
        ("crates/io/src/b.rs", "//! B.\nfn f() { super::c::g() }\n"),
        ("crates/io/src/c/mod.rs", "//! C.\nuse super::a;\n"),
    ],
};

/// Modules by name (`a/b`), each with the modules that it imports.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

fn run(tree: &Tree) -> Vec<Finding> {
    graphs(tree).iter().flat_map(|(root, graph)| circles(root, graph, "modules")).collect()
}

/// Returns the graph of each crate, by its folder.
pub(super) fn graphs(tree: &Tree) -> BTreeMap<String, Graph> {
    let mut sources: BTreeMap<String, BTreeMap<String, &str>> = BTreeMap::new();
    for (path, text) in tree.rust() {
        if let Some((root, module)) = module_of(path) {
            sources.entry(root.to_owned()).or_default().insert(module, text);
        }
    }
    sources.into_iter().map(|(root, modules)| (root, graph(&modules))).collect()
}

/// Splits the path of a source file into the crate's root and the module.
fn module_of(path: &str) -> Option<(&str, String)> {
    let at =
        path.find("/src/").filter(|_| path.starts_with("crates/") || path.starts_with("xtask/"))?;
    let (root, file) = (&path[..at], &path[at + "/src/".len()..]);
    let module = file.strip_suffix(".rs")?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    let is_root = matches!(module, "lib" | "main" | "mod");
    let is_test = module.split('/').any(|part| part == "tests");
    (!is_root && !is_test).then(|| (root, module.to_owned()))
}

fn graph(modules: &BTreeMap<String, &str>) -> Graph {
    let mut graph = Graph::new();
    for (module, text) in modules {
        let imports = imports(&tokens(text), module);
        let known = imports.iter().filter_map(|path| {
            (1..=path.len())
                .rev()
                .map(|end| path[..end].join("/"))
                .find(|name| modules.contains_key(name))
        });
        let others = known.filter(|other| !is_family(module, other));
        graph.insert(module.clone(), others.collect());
    }
    graph
}

/// Returns whether two modules are the same, or one contains the other.
fn is_family(one: &str, two: &str) -> bool {
    let contains = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    contains(one, two) || contains(two, one)
}

/// Returns the paths that a module names, from the root of its crate, without those of its tests.
fn imports<'a>(tokens: &[Token<'a>], module: &'a str) -> Vec<Vec<&'a str>> {
    const TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    let end = words.windows(TESTS.len()).position(|window| window == TESTS).unwrap_or(words.len());
    let words = &words[..end];
    let mut paths = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_start = matches!(words[at], "crate" | "super" | "self")
            && words.get(at + 1) == Some(&"::")
            && (at == 0 || words[at - 1] != "::");
        at = if is_start { path(words, at, &[], &mut paths) } else { at + 1 };
    }
    paths.into_iter().filter_map(|path| from_root(&path, module)).collect()
}

/// Reads a path, or a tree of paths in braces; returns where it ends.
fn path<'a>(
    words: &[&'a str],
    from: usize,
    before: &[&'a str],
    paths: &mut Vec<Vec<&'a str>>,
) -> usize {
    let mut path: Vec<&str> = before.to_vec();
    let mut at = from;
    while let Some(word) = words.get(at) {
        if *word == "{" {
            at += 1;
            while at < words.len() && words[at] != "}" {
                let next = self::path(words, at, &path, paths);
                at = if next == at { at + 1 } else { next };
            }
            return at + 1;
        }
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        path.push(word);
        at += 1;
        if words.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    if path.len() > before.len() {
        paths.push(path);
    }
    at
}

/// Resolves `crate`, `super` and `self` at the start of a path.
fn from_root<'a>(path: &[&'a str], module: &'a str) -> Option<Vec<&'a str>> {
    let mut at: Vec<&str> = module.split('/').collect();
    let mut rest = path;
    match rest.split_first()? {
        (&"crate", others) => return Some(others.to_vec()),
        (&"self", others) => rest = others,
        (&"super", _) => {}
        _ => return None,
    }
    while let Some((&"super", others)) = rest.split_first() {
        at.pop()?;
        rest = others;
    }
    at.extend(rest.iter().filter(|part| **part != "self"));
    Some(at)
}

/// Reports each module, or room, that reaches itself, once for each shortest circle.
pub(super) fn circles(root: &str, graph: &Graph, what: &str) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for module in graph.keys() {
        let Some(circle) = shortest_circle(graph, module) else { continue };
        let mut members = circle.clone();
        members.sort_unstable();
        if reported.insert(members) {
            let shown = format!("the {what} import each other: {}", circle.join(" -> "));
            let path = format!("{root}/src/{module}");
            findings.push(Finding::file(&path, format!("{shown}: move what both need below both")));
        }
    }
    findings
}

fn shortest_circle<'g>(graph: &'g Graph, module: &'g str) -> Option<Vec<&'g str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([module]);
    while let Some(at) = waiting.pop_front() {
        for next in graph.get(at)? {
            if next == module {
                let mut circle = vec![at];
                while circle.last() != Some(&module) {
                    circle.push(came_from.get(circle.last()?)?);
                }
                circle.reverse();
                return Some(circle);
            }
            if !came_from.contains_key(next.as_str()) {
                came_from.insert(next, at);
                waiting.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        run(&Tree::literal(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_named_once_with_its_members() {
        let files = [
            ("crates/io/src/a.rs", "use crate::b;"),
            ("crates/io/src/b.rs", "use super::{c::{D, e}, f};"),
            ("crates/io/src/c.rs", "fn g() { crate::a::h() }"),
        ];
        let found = shown(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a -> b -> c"), "{found:?}");
    }

    #[test]
    fn parents_children_tests_and_comments_make_no_circle() {
        let files = [
            ("crates/io/src/a.rs", "mod b; pub use self::b::C; // crate::d"),
            ("crates/io/src/a/b.rs", "use super::E;"),
            ("crates/io/src/d.rs", "use crate::a;\n#[cfg(test)]\nmod tests { use crate::f; }"),
            ("crates/io/src/f.rs", "use crate::d;"),
        ];
        assert_eq!(shown(&files), [""; 0]);
    }

    #[test]
    fn crates_are_apart() {
        let files =
            [("crates/io/src/a.rs", "use crate::b;"), ("crates/sys/src/b.rs", "use crate::a;")];
        assert_eq!(shown(&files), [""; 0]);
    }
}
