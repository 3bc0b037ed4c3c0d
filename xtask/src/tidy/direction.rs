//! The dependencies that each crate may have.
//!
//! The direction {mpi → cli, capi} → {archive, engine, bench, trace} → {codec, io, tree, select, manifest} → sys keeps policy out of the
//! system calls and printing out of the libraries, and keeps the oracle (manifest, bench) free of
//! the code that it judges.

use super::tree::METADATA;
use super::{Check, Finding, Tree};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    name: "direction",
    run,
    refused: &[(
        METADATA,
        r#"{"packages": [{"name": "haul-io", "dependencies": [{"name": "haul-engine"}]}]}"#,
    )],
};

/// What a crate of the workspace may use of the workspace.
struct Rule {
    name: &'static str,
    uses: &'static [&'static str],
    /// What its tests may use besides: the oracle, which shares no code with what it judges.
    tests_use: &'static [&'static str],
}

/// A rule may name only crates of earlier lines, so that there can be no cycle.
const RULES: &[Rule] = &[
    Rule { name: "haul-sys", uses: &[], tests_use: &[] },
    Rule { name: "haul-start", uses: &[], tests_use: &[] },
    Rule { name: "haul-manifest", uses: &[], tests_use: &[] },
    Rule { name: "haul-faultfs", uses: &[], tests_use: &["haul-sys", "haul-manifest"] },
    Rule { name: "haul-io", uses: &["haul-sys"], tests_use: &["haul-manifest"] },
    Rule { name: "haul-codec", uses: &[], tests_use: &[] },
    Rule { name: "haul-tree", uses: &["haul-sys"], tests_use: &["haul-manifest"] },
    Rule { name: "haul-select", uses: &["haul-sys"], tests_use: &[] },
    Rule { name: "haul-trace", uses: &["haul-sys", "haul-manifest"], tests_use: &[] },
    Rule {
        name: "haul-engine",
        uses: &["haul-sys", "haul-io", "haul-tree", "haul-select"],
        tests_use: &[],
    },
    Rule {
        name: "haul-archive",
        uses: &["haul-sys", "haul-io", "haul-codec", "haul-tree"],
        tests_use: &[],
    },
    Rule { name: "haul-bench", uses: &["haul-sys", "haul-manifest"], tests_use: &[] },
    Rule {
        name: "haul",
        uses: &[
            "haul-sys",
            "haul-start",
            "haul-manifest",
            "haul-io",
            "haul-tree",
            "haul-codec",
            "haul-trace",
            "haul-engine",
            "haul-archive",
            "haul-bench",
        ],
        tests_use: &["haul-faultfs"],
    },
    Rule {
        name: "haul-mpi",
        uses: &["haul-engine", "haul"],
        tests_use: &["haul-io", "haul-manifest", "haul-faultfs"],
    },
    // What haul-start does at the start is for programs, so no library may use it.
    Rule {
        name: "haul-capi",
        uses: &["haul-sys", "haul-manifest", "haul-io", "haul-engine", "haul-archive"],
        tests_use: &[],
    },
    // The judges of the soak and of the fuzzers: they must not use what they judge.
    Rule { name: "xtask", uses: &["haul-sys", "haul-manifest"], tests_use: &[] },
];

fn run(tree: &Tree) -> Vec<Finding> {
    let metadata = tree.text(METADATA).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let packages = metadata.as_ref().and_then(|json| json.get("packages")?.as_array());
    let packages = packages.map(Vec::as_slice).unwrap_or_default();
    let mut findings = Vec::new();
    for package in packages {
        let name = text(package, "name");
        match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) => judge(rule, package, &mut findings),
            None => findings.push(Finding::file(name, "has no line in the table of directions")),
        }
    }
    for rule in RULES {
        if !packages.iter().any(|package| text(package, "name") == rule.name) {
            findings.push(Finding::file(rule.name, "has a rule but is not in the workspace"));
        }
    }
    findings
}

fn text<'a>(json: &'a Value, key: &str) -> &'a str {
    json.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn judge(rule: &Rule, package: &Value, findings: &mut Vec<Finding>) {
    let dependencies = package.get("dependencies").and_then(Value::as_array);
    let dependencies = dependencies.map(Vec::as_slice).unwrap_or_default();
    // A permission that nothing needs would hide a new dependency.
    for allowed in rule.uses.iter().chain(rule.tests_use) {
        if !dependencies.iter().any(|dependency| text(dependency, "name") == *allowed) {
            let message = format!("does not depend on {allowed}: take it out of the rule");
            findings.push(Finding::file(rule.name, message));
        }
    }
    for dependency in dependencies {
        let used = text(dependency, "name");
        let is_ours = RULES.iter().any(|other| other.name == used);
        let in_tests = text(dependency, "kind") == "dev" && rule.tests_use.contains(&used);
        if is_ours && !rule.uses.contains(&used) && !in_tests {
            findings.push(Finding::file(rule.name, format!("must not depend on {used}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about `name` when it has one dependency, of a kind ("" is normal).
    fn about(name: &str, used: &str, kind: &str) -> usize {
        let json = serde_json::json!({ "packages": [
            { "name": name, "dependencies": [{ "name": used, "kind": kind }] }
        ]});
        let tree = Tree::literal(&[(METADATA, &json.to_string())]);
        run(&tree).iter().filter(|finding| finding.to_string().contains("must not")).count()
    }

    #[test]
    fn forbidden_directions_are_found() {
        for (name, used) in [
            ("haul-manifest", "haul-engine"),
            ("haul-manifest", "haul-io"),
            ("haul-bench", "haul-engine"),
            ("haul-bench", "haul-io"),
            ("haul-trace", "haul-engine"),
            ("haul-io", "haul-engine"),
            ("haul-tree", "haul-engine"),
            ("haul-tree", "haul-io"),
            ("haul-io", "haul-manifest"),
            ("haul-sys", "haul-io"),
            ("haul-engine", "haul"),
            ("haul", "xtask"),
            ("xtask", "haul-engine"),
            ("xtask", "haul-archive"),
        ] {
            assert_eq!(about(name, used, ""), 1, "{name} may use {used}");
        }
    }

    #[test]
    fn allowed_directions_are_not() {
        for (name, used) in [
            ("haul", "haul-engine"),
            ("haul-engine", "haul-io"),
            ("haul-engine", "haul-tree"),
            ("haul-engine", "haul-sys"),
            ("haul-bench", "haul-manifest"),
            ("haul-sys", "rustix"),
        ] {
            assert_eq!(about(name, used, ""), 0, "{name} may not use {used}");
        }
    }

    #[test]
    fn tests_may_use_the_oracle_but_the_oracle_never_what_it_judges() {
        assert_eq!(about("haul-mpi", "haul-manifest", "dev"), 0);
        assert_eq!(about("haul-mpi", "haul-manifest", ""), 1);
        assert_eq!(about("haul-manifest", "haul-engine", "dev"), 1);
    }

    #[test]
    fn a_permission_that_is_not_used_is_found() {
        let json = r#"{"packages": [{"name": "haul-io", "dependencies": []}]}"#;
        let findings = run(&Tree::literal(&[(METADATA, json)]));
        assert!(findings.iter().any(|it| it.to_string().contains("does not depend on haul-sys")));
    }

    #[test]
    fn unknown_and_missing_crates_are_found() {
        let tree =
            Tree::literal(&[(METADATA, r#"{"packages": [{"name": "new", "dependencies": []}]}"#)]);
        assert_eq!(run(&tree).len(), 1 + RULES.len());
        assert_eq!(run(&Tree::literal(&[])).len(), RULES.len());
    }

    #[test]
    fn rules_name_only_earlier_crates() {
        for (index, rule) in RULES.iter().enumerate() {
            for used in rule.uses.iter().chain(rule.tests_use) {
                assert!(RULES[..index].iter().any(|earlier| earlier.name == *used), "{used}");
            }
        }
    }
}
