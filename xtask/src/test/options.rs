//! The arguments of `cargo xtask test`.

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) extent: Extent,
    /// Arguments for `cargo test`, before and after its `--`.
    pub(crate) cargo: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    /// Without GNU's suite.
    Quick,
}

impl Options {
    /// Removes this command's own option; everything else is passed to cargo, which checks it.
    pub(crate) fn parse(arguments: &[String]) -> Self {
        let split = arguments.iter().position(|a| a == "--").unwrap_or(arguments.len());
        let (ours, harness) = arguments.split_at(split);
        let (quick, selection): (Vec<_>, Vec<_>) = ours.iter().partition(|a| *a == "--quick");
        let names_packages = |a: &&String| {
            ["-p", "--package", "--workspace"].iter().any(|option| a.starts_with(option))
        };
        let mut cargo = vec!["test".to_owned(), "--no-fail-fast".to_owned()];
        if !selection.iter().any(names_packages) {
            cargo.push("--workspace".into());
        }
        cargo.extend(selection.into_iter().cloned());
        // A passing test's `ignored:` line would otherwise never be shown.
        cargo.extend(["--".into(), "--show-output".into()]);
        cargo.extend(harness.iter().skip(1).cloned());
        let extent = if quick.is_empty() { Extent::Full } else { Extent::Quick };
        Self { extent, cargo }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Extent, String) {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&words);
        (options.extent, options.cargo.join(" "))
    }

    #[test]
    fn the_rest_goes_to_cargo() {
        let plain = "test --no-fail-fast --workspace -- --show-output";
        assert_eq!(parse(""), (Extent::Full, plain.into()));
        assert_eq!(parse("--quick"), (Extent::Quick, plain.into()));
        let (extent, line) = parse("-p haul-io --quick errno -- --exact --quick");
        assert_eq!(extent, Extent::Quick);
        assert_eq!(line, "test --no-fail-fast -p haul-io errno -- --show-output --exact --quick");
    }
}
