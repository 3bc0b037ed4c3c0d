//! Completions, as the shells themselves compute them, and manual pages, as mandoc and man read them.

use std::fs;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, ignored};

/// Returns what bash proposes for the last of these words, with the words as readline splits them.
fn bash(scratch: &Scratch, words: &[&str]) -> Outcome<Vec<String>> {
    let script = scratch.at("completions.bash");
    if !script.exists() {
        let text = Call::of(haul()).words(["completions", "bash"]).succeed()?.text();
        fs::write(&script, text)?;
    }
    let program = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(( $# - 1 ))\n\
                   $(complete -p haul | grep -o '_[a-z]*') haul; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut call = Call::of("bash").words(["--norc", "-c", program]).word(&script);
    call = call.words(words).in_dir(scratch.at("here"));
    let text = call.succeed()?.text();
    Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn furnished() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.at("here/directory"))?;
    fs::write(scratch.at("here/a file"), "")?;
    Ok(scratch)
}

#[test]
fn bash_completes_commands_options_values_and_files() -> Outcome {
    if !has("bash")? {
        return Ok(());
    }
    let scratch = furnished()?;
    let methods = Call::of(haul()).words(["cp", "--list-methods"]).succeed()?.text();
    let methods: Vec<&str> =
        methods.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut all = vec!["auto"];
    all.extend(&methods);
    let cases: &[(&[&str], &[&str])] = &[
        (&["haul", "gu"], &["gunzip"]),
        (&["haul", "help", "ver"], &["verify"]),
        (&["haul", "cp", "--no-cl"], &["--no-clobber"]),
        (&["haul", "cp", "--cach"], &["--cache="]),
        (&["haul", "cp", "--cache", "=", "d"], &["drop", "direct"]),
        (&["haul", "cp", "--cache", "dr"], &["drop"]),
        (&["haul", "cp", "--cache=dr"], &["--cache=drop"]),
        (&["haul", "cp", "--method", "="], &all),
        (&["haul", "cp", "--verify", "=", "sha2"], &["sha256", "sha224"]),
        (&["haul", "cp", "--preserve", "=", "mode,own"], &["mode,ownership"]),
        // The value of an option that need not have one is never the next word.
        (&["haul", "cp", "--reflink", "a"], &["a file"]),
        (&["haul", "cp", "--io-size", "="], &[]),
        (&["haul", "cp", "-t", ""], &["directory"]),
        (&["haul", "cp", "a"], &["a file"]),
        (&["haul", "clean", ""], &["directory"]),
        (&["haul", "dd", "if", "=", "a"], &["a file"]),
        (&["haul", "dd", "conv", "=", "sparse,not"], &["sparse,notrunc"]),
        (&["haul", "dd", "stat"], &["status="]),
        (&["haul", "completions", "z"], &["zsh"]),
        // Behind a link that has a command's name.
        (&["/usr/lib/haul/bin/rm", "--interactive", "=", "on"], &["once"]),
    ];
    for (words, expected) in cases {
        let mut found = bash(&scratch, words)?;
        let mut expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{words:?}");
    }
    Ok(())
}

#[cfg(feature = "bench")]
#[test]
fn bash_completes_scenarios() -> Outcome {
    if !has("bash")? {
        return Ok(());
    }
    let scratch = furnished()?;
    assert_eq!(bash(&scratch, &["haul", "bench", "hu"])?, ["huge"]);
    assert_eq!(bash(&scratch, &["haul", "tune", "--scenario", "=", "hu"])?, ["huge"]);
    Ok(())
}

#[test]
fn zsh_and_fish_read_their_completions() -> Outcome {
    let scratch = furnished()?;
    for (shell, options) in [("zsh", ["-f", "-n"]), ("fish", ["-N", "-n"])] {
        let text = Call::of(haul()).words(["completions", shell]).succeed()?.text();
        assert!(text.contains("copy files and trees"), "{shell}");
        if !has(shell)? {
            continue;
        }
        let script = scratch.write(&format!("completions.{shell}"), text)?;
        let done = Call::of(shell).words(options).word(script).succeed()?;
        assert_eq!(done.errors(), "", "{shell}");
    }
    if has("fish")? {
        let line = "haul completions fish | source; complete -C 'haul cp --cache=d'";
        let folder = haul().parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let line = format!("set -x PATH {folder} $PATH; {line}");
        let found = Call::of("fish").words(["-N", "-c", &line]).succeed()?.text();
        assert!(found.contains("--cache=drop") && found.contains("--cache=direct"), "{found}");
    }
    Ok(())
}

/// Types the beginning of a line and a tab into zsh on a terminal, and prints what the line then is, and what else is
/// on the screen.
const ZSH: &str = r#"
zmodload zsh/zpty || exit 2
zpty z zsh -f -i
zpty -w z "unsetopt zle_bracketed_paste; PS1= LISTMAX=100000 path=($1 \$path); stty -echo; cd ${(q)2}"
zpty -w z "autoload -U compinit; compinit -u -d $3/dump; source $3/completions.zsh; print READY-\$((1 + 1))"
zpty -r z seen '*READY-2*' || exit 3
for line in "${@:4}"; do
    zpty -w -n z "$line"$'\t'$'\C-a'"print -r -- 'FOUND-'\$((1 + 1)): "$'\C-e'" ; print END-\$((1 + 1))"$'\n'
    zpty -r z seen '*FOUND-2:*END-2*' || exit 4
    print -r -- "${(qqqq)seen}"
done
zpty -d z
"#;

/// Returns, for each line, all that zsh writes on its terminal when the line is completed.
fn zsh(scratch: &Scratch, lines: &[String]) -> Outcome<Vec<String>> {
    let text = Call::of(haul()).words(["completions", "zsh"]).succeed()?.text();
    scratch.write("completions.zsh", text)?;
    let program = haul();
    let folder = program.parent().ok_or("no folder")?;
    let call =
        Call::of("zsh").words(["-f", "-c", ZSH, "zsh"]).word(folder).word(scratch.at("here"));
    let call = call.word(scratch.path()).words(lines).env("TERM", "dumb");
    Ok(call.succeed()?.text().lines().map(str::to_owned).collect())
}

#[test]
fn zsh_completes_on_a_terminal() -> Outcome {
    if !has("zsh")? {
        return Ok(());
    }
    let scratch = furnished()?;
    let cases = [
        ("haul gun", "haul gunzip"),
        // The sign behind an option, and a slash, go when another word follows.
        ("haul cp --cach", "haul cp --cache"),
        ("haul cp --cache=dr", "haul cp --cache=drop"),
        ("haul cp --preserve=mode,own", "haul cp --preserve=mode,ownership"),
        ("haul cp a", "haul cp a file"),
        ("haul cp -t di", "haul cp -t directory"),
        ("haul dd if=a", "haul dd if=a file"),
        ("haul dd conv=notr", "haul dd conv=notrunc"),
        ("haul dd stat", "haul dd status="),
        ("haul dd status=prog", "haul dd status=progress"),
    ];
    let lines: Vec<String> = cases.iter().map(|(line, _)| (*line).to_owned()).collect();
    for (seen, (line, completed)) in zsh(&scratch, &lines)?.iter().zip(cases) {
        assert!(seen.contains(&format!("FOUND-2: {completed}")), "{line}: {seen}");
    }
    let names = Call::of(haul()).words(["manual", "--list"]).succeed()?.text();
    let lines: Vec<String> = names.lines().map(|name| format!("haul {name} -")).collect();
    let seen = zsh(&scratch, &lines)?;
    assert_eq!(seen.len(), lines.len());
    for (seen, line) in seen.iter().zip(&lines) {
        for error in ["_arguments", "_haul:", "compadd:", "bad ", "not found"] {
            assert!(!seen.contains(error), "{line}: {seen}");
        }
    }
    Ok(())
}

#[test]
fn an_unknown_shell_or_command_is_refused() -> Outcome {
    for words in [&["completions", "tcsh"][..], &["completions"], &["manual", "cpp"]] {
        let done = Call::of(haul()).words(words).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert!(done.stdout.is_empty() && done.errors().lines().count() == 2, "{}", done.errors());
    }
    Ok(())
}

#[test]
fn the_page_of_haul_tells_how_to_use_it_in_place_of_others() -> Outcome {
    let page = Call::of(haul()).word("manual").succeed()?.text();
    for part in [
        "\nPATH=/usr/lib/haul/bin:$PATH\n",
        ".SH ENVIRONMENT\n",
        "\n.I /etc/haul.toml\n",
        "HAUL_OPTIONS",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(Call::of(haul()).words(["manual", "haul"]).succeed()?.text(), page);
    Ok(())
}

/// Returns the names of all commands, of which there are pages, and that haul(1) refers to.
fn pages() -> Outcome<Vec<String>> {
    let page = Call::of(haul()).word("manual").succeed()?.text();
    let list = Call::of(haul()).words(["manual", "--list"]).succeed()?.text();
    let names: Vec<_> = list.lines().map(str::to_owned).collect();
    for name in &names {
        let entry = format!(".BR haul\\-{} (1)", name.replace('-', "\\-"));
        assert!(page.lines().any(|line| line == entry), "{entry}");
    }
    Ok(names)
}

#[test]
fn manual_pages_are_clean() -> Outcome {
    let names = pages()?;
    assert!(names.len() > 20, "{names:?}");
    let (mandoc, man) = (has("mandoc")?, has("man")?);
    for name in names.iter().map(Some).chain([None]) {
        let page = Call::of(haul()).word("manual").words(name).succeed()?.stdout;
        if mandoc {
            let lint = Call::of("mandoc").words(["-T", "lint", "-W", "warning"]);
            let lint = lint.input(page.clone()).run()?;
            assert_eq!(lint.text(), "", "{name:?}");
        }
        if man {
            let shown = Call::of("man").words(["--warnings", "-l", "-"]).env("MANWIDTH", "80");
            let shown = shown.env("MANPAGER", "cat").input(page).run()?;
            if shown.code() != Some(0) {
                // Some containers have a man that only says that pages are left out.
                ignored("a man that formats pages")?;
                continue;
            }
            assert_eq!(shown.errors(), "", "{name:?}");
            assert!(shown.text().contains("NAME"), "{name:?}: {}", shown.text());
        }
    }
    Ok(())
}

#[test]
fn a_manual_page_has_all_parts_of_help() -> Outcome {
    let page = Call::of(haul()).words(["manual", "cp"]).succeed()?.text();
    for part in [
        ".SH NAME\nhaul\\-cp \\- copy files and trees",
        "\nhaul cp [OPTION]... SOURCE... DIRECTORY\n",
        ".TP\n.B \\-\\-cache=WHAT\n",
        ".SH HAUL'S OWN OPTIONS\n",
        ".SH EXIT STATUS\nThe exit status is 0",
        ".SH EXAMPLES\n.TP\n.B haul cp \\-a photos /mnt/backup\n",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Whatever text is between the options of --help: a section has one heading.
    assert_eq!(page.matches(".SH NOTES\n").count(), 1);
    Ok(())
}
