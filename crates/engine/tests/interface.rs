//! What programs in Rust name: a change of a line here breaks them.
//!
//! `interface.txt` lists what is public in the modules that requests, failures and reports are made of. The compiler warns of
//! `pub` where no other crate can reach it, so the sources say what is public. A change that adds lines adds them
//! there; one that alters or removes a line belongs in `CHANGELOG.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The modules, in the folder of the sources.
const MODULES: &[&str] = &[
    "lib.rs",
    "data/request.rs",
    "data/again.rs",
    "data/resources.rs",
    "data/synchronize.rs",
    "data/selected.rs",
    "data/error.rs",
    "data/monitor.rs",
    "remove/request.rs",
    "relocate/request.rs",
    "relocate/control.rs",
    "visit.rs",
];

/// Returns whether a line belongs to no declaration.
fn is_aside(line: &str) -> bool {
    line.is_empty() || line.starts_with("//") || line.starts_with("#[")
}

/// Lists the public declarations of a source: one a line, methods behind the type that they belong to.
fn declarations(source: &str) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let mut found = String::new();
    let mut around = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let begin = line.trim_start();
        let depth = line.len() - begin.len();
        if depth == 0 && !is_aside(line) {
            around.clear();
        }
        if depth == 0 && (line.starts_with("impl") || line.starts_with("setters!")) {
            around = line.trim_end_matches(['{', ' ', '(']).to_owned();
        }
        let is_member = !around.is_empty() && depth == 4 && !is_aside(begin);
        let is_public = begin.starts_with("pub ");
        let of_enum_or_trait = around.starts_with("pub enum") || around.starts_with("pub trait");
        let of_setters = around.starts_with("setters!");
        if !is_public && !(is_member && (of_enum_or_trait || of_setters) && begin != "}") {
            continue;
        }
        let mut whole = begin.to_owned();
        while !whole.ends_with(['{', ';', ',', '}']) {
            let Some(next) = lines.next() else { break };
            write!(whole, " {}", next.trim()).unwrap();
        }
        // Arguments have commas as well.
        while whole.matches('(').count() > whole.matches(')').count()
            || whole.matches('{').count() > whole.matches('}').count() + 1
        {
            let Some(next) = lines.next() else { break };
            write!(whole, " {}", next.trim()).unwrap();
        }
        let whole = whole.trim_end_matches(['{', ';', ',', ' ']);
        match depth {
            0 => writeln!(found, "{whole}").unwrap(),
            _ => writeln!(found, "    {around}: {whole}").unwrap(),
        }
        if depth == 0 {
            around = whole.to_owned();
        }
    }
    found
}

#[test]
fn the_interface_is_the_one_that_programs_were_compiled_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = String::new();
    for module in MODULES {
        let source = fs::read_to_string(root.join("src").join(module)).unwrap();
        writeln!(found, "{module}\n{}", declarations(&source)).unwrap();
    }
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface.txt");
    fs::write(&now, &found).unwrap();
    let known = fs::read_to_string(root.join("tests/interface.txt")).unwrap_or_default();
    let of = |line: &&str, text: &str| !text.lines().any(|other| other == *line);
    let added: Vec<_> = found.lines().filter(|line| of(line, &known)).collect();
    let lost: Vec<_> = known.lines().filter(|line| of(line, &found)).collect();
    assert!(
        found == known,
        "see the first lines of this test; {} is the list now.\nadded: {added:#?}\nlost: {lost:#?}",
        now.display()
    );
}

#[test]
fn declarations_have_their_types() {
    let source = "\
/// Says.
pub struct Policy {
    /// Field.
    pub mode: Mode,
    hidden: bool,
}

setters!(Policy {
    mode: Mode,
});

pub enum Mode {
    #[default]
    One,
    Two(
        u64,
    ),
}

impl Policy {
    pub fn new(
        mode: Mode,
    ) -> Policy {
        let x = 1;
    }

    pub(crate) fn own() {}
}

pub trait Monitor {
    fn failed(&self, failure: &Failure);
}

#[cfg(test)]
mod tests { pub fn no() {} }
";
    let expected = "\
pub struct Policy
    pub struct Policy: pub mode: Mode
    setters!(Policy: mode: Mode
pub enum Mode
    pub enum Mode: One
    pub enum Mode: Two( u64, )
    impl Policy: pub fn new( mode: Mode, ) -> Policy
pub trait Monitor
    pub trait Monitor: fn failed(&self, failure: &Failure)
";
    assert_eq!(declarations(source), expected);
}
