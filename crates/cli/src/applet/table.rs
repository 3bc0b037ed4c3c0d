//! The table of applets: a new one is a folder and a row here.

use super::entry::Applet;
#[cfg(feature = "trace")]
use super::trace;
#[cfg(feature = "bench")]
use super::{bench, tune};
use super::{
    cache, cat, clean, compare, completions, cp, dd, doctor, gzip, install_links, manual, mv, read,
    rm, spare, split, sums, sync, tar, tee, verify, write,
};

/// All applets, in the order in which the overview shows them.
pub(super) static APPLETS: &[Applet] = &[
    cp::APPLET,
    mv::APPLET,
    sync::APPLET,
    rm::APPLET,
    cat::APPLET,
    dd::APPLET,
    read::APPLET,
    write::APPLET,
    tee::APPLET,
    split::APPLET,
    gzip::GZIP,
    gzip::GUNZIP,
    gzip::ZCAT,
    tar::APPLET,
    sums::MD5SUM,
    sums::SHA1SUM,
    sums::SHA224SUM,
    sums::SHA256SUM,
    sums::SHA384SUM,
    sums::SHA512SUM,
    sums::B2SUM,
    sums::CKSUM,
    sums::B3SUM,
    sums::XXHSUM,
    sums::SUM,
    sums::HASH,
    compare::APPLET,
    verify::APPLET,
    spare::APPLET,
    cache::APPLET,
    #[cfg(feature = "trace")]
    trace::APPLET,
    #[cfg(feature = "bench")]
    bench::APPLET,
    #[cfg(feature = "bench")]
    tune::APPLET,
    clean::APPLET,
    doctor::APPLET,
    install_links::APPLET,
    completions::APPLET,
    manual::APPLET,
];

/// Names of the applets that need a cargo feature, and the feature.
const OPTIONAL: &[(&str, &str)] = &[("trace", "trace"), ("bench", "bench"), ("tune", "bench")];

/// Returns the cargo feature that would add the applet of this name to the build.
pub(super) fn missing_feature(name: &str) -> Option<&'static str> {
    let is_here = APPLETS.iter().any(|applet| applet.name == name);
    let (_, feature) = OPTIONAL.iter().find(|(optional, _)| !is_here && *optional == name)?;
    Some(feature)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::entry::{Run, topics};
    use super::*;
    use crate::defaults::CONFIG;
    use crate::getopt::{AsDefault, Origin, PARSED};
    use crate::page::{bash, fish, of_command, zsh};

    #[test]
    fn names_are_unique() {
        for (index, applet) in APPLETS.iter().enumerate() {
            let others = APPLETS.iter().skip(index + 1);
            assert!(others.clone().all(|other| other.name != applet.name), "{}", applet.name);
        }
    }

    #[test]
    fn an_optional_applet_is_in_the_table_or_names_its_feature() {
        for (name, has_feature) in [
            ("trace", cfg!(feature = "trace")),
            ("bench", cfg!(feature = "bench")),
            ("tune", cfg!(feature = "bench")),
        ] {
            let is_here = APPLETS.iter().any(|applet| applet.name == name);
            assert_eq!(is_here, has_feature, "{name}");
            assert_eq!(missing_feature(name).is_none(), has_feature, "{name}");
        }
        assert_eq!(missing_feature("cp"), None);
        assert_eq!(missing_feature("fly"), None);
    }

    #[test]
    fn help_fits_a_terminal_of_80_columns_and_tells_the_exit_status() {
        for topic in topics(APPLETS) {
            let (name, help) = (topic.name, topic.page.to_string());
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
            assert!(help.contains("exit status"), "{name}");
            assert!(topic.summary.chars().count() <= 80 - 16, "{name}: {}", topic.summary);
        }
    }

    #[test]
    fn a_short_page_fits_a_screen_and_has_its_options() {
        for topic in topics(APPLETS) {
            let (name, page) = (topic.name, &topic.page);
            let Some(text) = page.short(name) else { continue };
            assert!(text.lines().count() <= 24, "{name}:\n{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}:\n{text}");
            let options = text.lines().filter(|line| line.starts_with("  -")).count();
            assert_eq!(options, 8, "{name}:\n{text}");
        }
    }

    /// An example that its own program refuses would be worse than none.
    #[test]
    fn each_page_has_examples_of_commands_and_options_that_exist() {
        let topics = topics(APPLETS);
        let find = |name: &str| topics.iter().find(|topic| topic.name == name);
        for topic in &topics {
            let examples: Vec<_> = topic.page.all_examples().collect();
            let called = format!("haul {}", topic.name);
            assert!(examples.iter().any(|it| it.command.contains(&called)), "{called}");
            for command in examples.iter().flat_map(|it| it.command.split(['|', ';', '&', '\''])) {
                let mut words = command.trim_start_matches([' ', '(', '<']).split_whitespace();
                let Some(name) = words.by_ref().skip_while(|word| !word.ends_with("haul")).nth(1)
                else {
                    continue;
                };
                let Some(page) = find(name).map(|topic| &topic.page) else {
                    assert_eq!((topic.name, name), ("manual", ">"), "{command}");
                    continue;
                };
                for word in words.take_while(|word| *word != "--") {
                    let Some(long) = word.strip_prefix("--") else { continue };
                    let long = long.split('=').next().unwrap_or_default();
                    assert!(page.visible().any(|option| option.long == long), "{command}: {word}");
                }
            }
        }
    }

    /// Each of haul's own options decides whether it may be a default: a new one is refused, and this list
    /// asks its author for a reason.
    #[test]
    fn options_that_are_for_one_run_are_no_defaults() {
        let mut refused: Vec<&str> = topics(APPLETS)
            .iter()
            .filter(|topic| topic.page.all_options().any(|option| option.long == CONFIG))
            .flat_map(|topic| topic.page.all_options())
            .filter(|it| it.origin == Origin::Haul && it.as_default == AsDefault::Refused)
            .map(|option| option.long)
            .collect();
        refused.sort_unstable();
        refused.dedup();
        let about_the_program = ["config", "help", "no-config", "version"];
        let does_nothing_or_less = ["dry-run", "length", "list-methods", "offset", "retry-failed"];
        let names_a_file_that_is_written = ["errors", "job", "journal", "metrics", "sum-file"];
        let is_about_one_input = ["allow-empty", "from", "size"];
        // A command that does less than its operands say is a surprise; so is one that removes less.
        let selects = [
            "exclude",
            "exclude-from",
            "files-from",
            "filter",
            "from0",
            "include",
            "include-from",
            "max-size",
            "min-size",
            "newer-than",
            "older-than",
        ];
        let mut expected = [
            &about_the_program[..],
            &does_nothing_or_less,
            &names_a_file_that_is_written,
            &is_about_one_input,
            &selects,
        ]
        .concat();
        expected.sort_unstable();
        assert_eq!(refused, expected);
    }

    /// Every option that a parser was offered is on the page, in all completions and in the manual,
    /// unless its row has no text: another name of the option before it, or GNU's for tests.
    #[test]
    fn what_is_parsed_is_described_everywhere() {
        let topics = topics(APPLETS);
        let scripts = [bash(&topics), zsh(&topics), fish(&topics)];
        for (applet, topic) in APPLETS.iter().zip(&topics) {
            PARSED.with_borrow_mut(Vec::clear);
            // Refused before anything happens.
            let words = [OsString::from("--no-such-option-at-all")];
            let _status = match applet.run {
                Run::Words(run) => run(&words),
                Run::Table(run) => run(&words, APPLETS),
            };
            let parsed = PARSED.with_borrow(Vec::clone);
            assert!(!parsed.is_empty(), "{}", applet.name);
            let manual = of_command(topic).replace("\\-", "-");
            let help = topic.page.to_string();
            for (short, long, help_of) in parsed {
                if help_of.is_empty() {
                    continue;
                }
                let name = applet.name;
                let shown = topic.page.visible().any(|it| it.short == short && it.long == long);
                assert!(shown, "{name}: -{short} --{long}");
                for text in [&help, &manual] {
                    assert!(
                        long.is_empty() || text.contains(&format!("--{long}")),
                        "{name} {long}"
                    );
                    assert!(
                        short.chars().all(|it| text.contains(&format!("-{it}"))),
                        "{name} {short}"
                    );
                }
                assert!(
                    long.is_empty() || scripts[0].contains(&format!("--{long}")),
                    "{name} {long}"
                );
                assert!(
                    long.is_empty() || scripts[1].contains(&format!("*--{long}")),
                    "{name} {long}"
                );
                assert!(
                    long.is_empty() || scripts[2].contains(&format!(" -l {long} ")),
                    "{name} {long}"
                );
            }
        }
    }
}
