//! Completions for zsh, in the words of its `_arguments`.

use super::{Argument, Shown, Topic, own_words};

/// Returns the script.
pub(crate) fn zsh(topics: &[Topic]) -> String {
    let mut text = String::from("#compdef haul\n# zsh completion of haul.\n");
    topics.iter().for_each(|topic| operands(&mut text, topic));
    text.push_str("_haul() {\n");
    text.push_str("    local -a commands\n    commands=(\n");
    for topic in topics {
        text.push_str(&format!(
            "        {}\n",
            quoted(&format!("{}:{}", topic.name, topic.summary))
        ));
    }
    for word in own_words() {
        text.push_str(&format!("        {}\n", quoted(word)));
    }
    text.push_str(
        "    )\n    if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n        \
         _describe command commands\n        return\n    fi\n    \
         shift words\n    (( CURRENT-- ))\n    case $words[1] in\n",
    );
    for topic in topics {
        text.push_str(&format!("    {})\n        _arguments -s", topic.name));
        for option in topic.page.visible() {
            for spec in specs(option) {
                text.push_str(&format!(" \\\n            {}", quoted(&spec)));
            }
        }
        let operand = match topic.page.keys.as_slice() {
            [] => action(&topic.page.operand),
            _ => operand_function(topic),
        };
        let operand = format!("*:operand:{operand}");
        text.push_str(&format!(" \\\n            {}\n        ;;\n", quoted(&operand)));
    }
    text.push_str("    esac\n}\n");
    // In a folder of $fpath the file is the function's body; sourced, it names the function.
    text.push_str(
        "if [[ $funcstack[1] == _haul ]]; then\n    _haul \"$@\"\nelse\n    compdef _haul haul\nfi\n",
    );
    text
}

fn operand_function(topic: &Topic) -> String {
    format!("_haul_{}_operand", topic.name)
}

/// Adds the function that completes operands of the form KEY=VALUE, which `_arguments` does not know.
fn operands(text: &mut String, topic: &Topic) {
    if topic.page.keys.is_empty() {
        return;
    }
    text.push_str(&format!("{}() {{\n", operand_function(topic)));
    let mut names = String::new();
    for (key, argument) in &topic.page.keys {
        let action = match argument {
            Argument::None | Argument::Free => "_message value".to_owned(),
            Argument::Words(words) => format!("compadd -- {}", words.join(" ")),
            Argument::Files | Argument::Directories | Argument::Command | Argument::List(_) => {
                action(argument)
            }
        };
        text.push_str(&format!("    if compset -P '{key}='; then {action}; return; fi\n"));
        names.push_str(&format!(" {key}="));
    }
    text.push_str(&format!("    compadd -S '' --{names}\n}}\n"));
}

/// Returns the specification of each name of an option.
fn specs(option: &Shown) -> Vec<String> {
    let told = option.words().replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    let told = told.replace(':', "\\:");
    let value = match (option.takes_name(), option.is_required()) {
        (None, _) => String::new(),
        (Some(name), true) => format!(":{name}:{}", action(&option.argument)),
        (Some(name), false) => format!("::{name}:{}", action(&option.argument)),
    };
    let name_only = |required: &str| {
        if !value.is_empty() && option.is_required() { required.to_owned() } else { String::new() }
    };
    let mut specs: Vec<String> = option
        .letters()
        .map(|letter| {
            let value = if option.is_required() { value.as_str() } else { "" };
            format!("*-{letter}{}[{told}]{value}", name_only("+"))
        })
        .collect();
    if !option.long.is_empty() {
        let sign = match (value.is_empty(), option.is_required()) {
            (true, _) => "",
            (false, true) => "=",
            (false, false) => "=-",
        };
        specs.push(format!("*--{}{sign}[{told}]{value}", option.long));
    }
    specs
}

fn action(argument: &Argument) -> String {
    match argument {
        Argument::None | Argument::Free => " ".to_owned(),
        Argument::Files => "_files".to_owned(),
        Argument::Directories => "_files -/".to_owned(),
        Argument::Command => "_normal".to_owned(),
        Argument::Words(words) => format!("({})", words.join(" ")),
        Argument::List(words) => format!("_values -s , value {}", words.join(" ")),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
