//! The intended differences from GNU: `xtask/gnu-expected.txt`.

use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::fs;

/// Reasons by test name.
pub(super) type Expected = BTreeMap<String, String>;

const FILE: &str = "xtask/gnu-expected.txt";

/// Reads the list.
pub(super) fn read(workspace: &Workspace) -> Result<Expected> {
    parse(&fs::read_to_string(workspace.root.join(FILE)).context("read", FILE)?)
}

/// A test's name, white space, and the reason; `#` begins a comment line.
fn parse(text: &str) -> Result<Expected> {
    let mut expected = Expected::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let (test, reason) = line.split_once(char::is_whitespace).ok_or_else(|| {
            Error::new(format!("{FILE}:{}: {line} is expected without a reason", index + 1))
                .hint("write the test's name, a space, and the reason for the difference")
        })?;
        expected.insert(test.into(), reason.trim().into());
    }
    Ok(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_reasons() {
        let expected = parse("# why\n\ncp/a.sh   shrinking files fail\n").unwrap();
        assert_eq!(expected["cp/a.sh"], "shrinking files fail");
        assert!(parse("cp/a.sh\n").unwrap_err().to_string().contains(":1: cp/a.sh"));
    }
}
