//! The licences that crates may have: those in the binary, and those that only build or test it.

use crate::command::{cargo, output};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use serde_json::Value;

/// Licences that the project accepts. An expression of choices is accepted if one choice is.
const ACCEPTED: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// Returns whether an SPDX expression permits what the project needs.
pub(crate) fn is_accepted(expression: &str) -> bool {
    let bare = expression.replace(['(', ')'], "");
    // "A AND B OR C" does not occur without parentheses; every part of an AND has to be accepted.
    bare.split(" AND ").all(|part| part.split(" OR ").any(|one| ACCEPTED.contains(&one.trim())))
}

/// Returns the licence of a package in the answer of `cargo metadata`.
pub(crate) fn of_package(package: &Value) -> String {
    let text = package.get("license").and_then(Value::as_str).unwrap_or_default();
    // Crates from before 2018 separate a choice by a slash.
    text.replace('/', " OR ").replace("  OR  ", " OR ")
}

/// Fails if a crate of Cargo.lock that is needed on Linux has a licence that is not accepted; prints each.
/// Asks no network.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    const LINUX: &str = "x86_64-unknown-linux-gnu";
    let words =
        ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", LINUX];
    let text = output(cargo(&words).current_dir(&workspace.root))?;
    let json: Value =
        serde_json::from_str(&text).context("read", "the output of `cargo metadata`")?;
    match refused(&json).as_slice() {
        [] => Ok(()),
        refused => {
            refused.iter().for_each(|line| println!("{line}"));
            Err(Error::new(format!("{} licences that are not accepted", refused.len())))
        }
    }
}

/// Returns a line for each package whose licence is not accepted.
fn refused(metadata: &Value) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    let refused = |package: &Value| {
        let licence = of_package(package);
        let of = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        let line = format!("{} {} has the licence {licence:?}", of("name"), of("version"));
        (!is_accepted(&licence)).then_some(line)
    };
    packages.into_iter().flatten().filter_map(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_choice_and_every_part_has_to_be_accepted() {
        for yes in ["MIT", "MIT OR GPL-3.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "Zlib"] {
            assert!(is_accepted(yes), "{yes}");
        }
        for no in ["", "GPL-3.0", "MIT AND GPL-2.0-only", "(MIT OR Zlib) AND OpenSSL"] {
            assert!(!is_accepted(no), "{no}");
        }
    }

    #[test]
    fn each_package_needs_a_licence() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "a", "version": "1", "license": "MIT/Apache-2.0" },
            { "name": "b", "version": "2", "license": "GPL-3.0-only" },
            { "name": "c", "version": "3", "license": null },
        ]});
        let expected =
            ["b 2 has the licence \"GPL-3.0-only\"", "c 3 has the licence \"\""].map(String::from);
        assert_eq!(refused(&metadata), expected);
    }
}
