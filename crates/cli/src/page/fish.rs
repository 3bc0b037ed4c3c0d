//! Completions for fish: a line for each command and each option.

use super::{Argument, Shown, Topic, own_words};

/// Returns the script.
pub(crate) fn fish(topics: &[Topic]) -> String {
    let mut text = String::from("# fish completion of haul.\ncomplete -c haul -f\n");
    for topic in topics {
        text.push_str(&format!(
            "complete -c haul -n __fish_use_subcommand -a {} -d {}\n",
            topic.name,
            quoted(topic.summary)
        ));
    }
    for word in own_words() {
        match word.strip_prefix("--") {
            Some(long) => {
                text.push_str(&format!("complete -c haul -n __fish_use_subcommand -l {long}\n"));
            }
            None => {
                text.push_str(&format!("complete -c haul -n __fish_use_subcommand -a {word}\n"));
            }
        }
    }
    let names: Vec<&str> = topics.iter().map(|topic| topic.name).collect();
    text.push_str(&format!(
        "complete -c haul -n '__fish_seen_subcommand_from help' -a '{}'\n",
        names.join(" ")
    ));
    for topic in topics {
        // The first word decides: a later one may be the name of a file.
        let when = format!(
            "complete -c haul -n 'test (count (commandline -opc)) -gt 1; and test (commandline -opc)[2] = {}'",
            topic.name
        );
        for option in topic.page.visible() {
            text.push_str(&format!("{when}{}\n", names_of(option)));
        }
        for (key, argument) in &topic.page.keys {
            let words = match argument {
                Argument::Words(words) | Argument::List(words) => words.as_slice(),
                _ => &[""],
            };
            let words: Vec<String> = words.iter().map(|word| format!("{key}={word}")).collect();
            text.push_str(&format!("{when} -a '{}'\n", words.join(" ")));
        }
        text.push_str(&format!("{when}{}\n", value(&topic.page.operand)));
    }
    text
}

fn names_of(option: &Shown) -> String {
    // A letter may be one that fish expands: `-?` of tar.
    let letters = option.letters().map(|letter| format!(" -s {}", quoted(&letter.to_string())));
    let mut text: String = letters.collect();
    if !option.long.is_empty() {
        text.push_str(&format!(" -l {}", option.long));
    }
    if option.is_required() {
        text.push_str(" -r");
    }
    if option.argument != Argument::None {
        text.push_str(&value(&option.argument));
    }
    format!("{text} -d {}", quoted(&option.words()))
}

/// Returns the words that say what an argument can be.
fn value(argument: &Argument) -> String {
    match argument {
        Argument::None | Argument::Free => " -f".to_owned(),
        Argument::Files => " -F".to_owned(),
        Argument::Directories => " -f -a '(__fish_complete_directories)'".to_owned(),
        Argument::Command => " -f -a '(__fish_complete_command)'".to_owned(),
        Argument::Words(words) | Argument::List(words) => format!(" -f -a '{}'", words.join(" ")),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
