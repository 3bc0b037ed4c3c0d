//! Completions for bash: one function, for `haul` and for links with the names of commands.

use super::{Argument, Topic, own_words};

/// Returns the script.
pub(crate) fn bash(topics: &[Topic]) -> String {
    let names = names(topics);
    let (mut options, mut values, mut operands) = (String::new(), String::new(), String::new());
    for topic in topics {
        let name = topic.name;
        let mut words = Vec::new();
        for option in topic.page.visible() {
            words.extend(option.letters().map(|letter| format!("-{letter}")));
            if !option.long.is_empty() {
                let ending = if option.argument == Argument::None { "" } else { "=" };
                words.push(format!("--{}{ending}", option.long));
            }
            let mut keys = Vec::new();
            if option.argument != Argument::None && !option.long.is_empty() {
                keys.push(format!("'{name} --{}='", option.long));
            }
            // The value of an option that need not have one is never the next word.
            if option.is_required() {
                keys.extend(option.letters().map(|letter| format!("'{name} -{letter}'")));
                if !option.long.is_empty() {
                    keys.push(format!("'{name} --{}'", option.long));
                }
            }
            if !keys.is_empty() {
                values.push_str(&format!(
                    "    {}) {} ;;\n",
                    keys.join("|"),
                    assign(&option.argument)
                ));
            }
        }
        for (key, argument) in &topic.page.keys {
            values.push_str(&format!("    '{name} {key}=') {} ;;\n", assign(argument)));
        }
        options.push_str(&format!("    {name}) words='{}' ;;\n", words.join(" ")));
        let operand = assign(&topic.page.operand);
        let keys: String = topic.page.keys.iter().map(|(key, _)| format!("{key}= ")).collect();
        let keys = if keys.is_empty() { operand } else { format!("kind=words words='{keys}'") };
        operands.push_str(&format!("    {name}) {keys} ;;\n"));
    }
    let own = own_words().join(" ");
    TEMPLATE
        .replace("@NAMES@", &names)
        .replace("@OWN@", &own)
        .replace("@OPTIONS@", &options)
        .replace("@VALUES@", &values)
        .replace("@OPERANDS@", &operands)
}

fn names(topics: &[Topic]) -> String {
    topics.iter().map(|topic| topic.name).collect::<Vec<_>>().join(" ")
}

/// Returns the assignments that say what an argument can be.
fn assign(argument: &Argument) -> String {
    match argument {
        Argument::None | Argument::Free => "kind=free".to_owned(),
        Argument::Files => "kind=files".to_owned(),
        Argument::Directories => "kind=directories".to_owned(),
        Argument::Command => "kind=commands".to_owned(),
        Argument::Words(words) => format!("kind=words words='{}'", words.join(" ")),
        Argument::List(words) => format!("kind=list words='{}'", words.join(" ")),
    }
}

const TEMPLATE: &str = r#"# bash completion of haul. For a link to haul with a command's name: complete -F _haul cp
_haul() {
    local cur=${COMP_WORDS[COMP_CWORD]} before='' prefix='' kind=free words=''
    local applet=${COMP_WORDS[0]##*/} names='@NAMES@'
    COMPREPLY=()
    if [[ $applet == haul ]]; then
        if (( COMP_CWORD == 1 )); then
            mapfile -t COMPREPLY < <(compgen -W "$names @OWN@" -- "$cur")
            return
        fi
        applet=${COMP_WORDS[1]}
        if [[ $applet == help ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
            return
        fi
    fi
    if (( COMP_CWORD > 0 )); then before=${COMP_WORDS[COMP_CWORD-1]}; fi
    # The option or operand whose value is completed; readline splits words at '='.
    if [[ $cur == = ]]; then
        before+='=' cur=''
    elif [[ $before == = ]] && (( COMP_CWORD > 1 )); then
        before=${COMP_WORDS[COMP_CWORD-2]}=
    elif [[ $cur == *=* ]]; then
        before=${cur%%=*}= prefix=${cur%%=*}= cur=${cur#*=}
    fi
    case "$applet $before" in
@VALUES@    *)
        if [[ $cur == -* ]]; then
            kind=words
            case $applet in
@OPTIONS@            esac
        else
            case $applet in
@OPERANDS@            esac
        fi ;;
    esac
    case $kind in
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    commands) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    list)
        if [[ $cur == *,* ]]; then prefix+=${cur%,*}, cur=${cur##*,}; fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    esac
    if [[ -n $prefix ]]; then COMPREPLY=("${COMPREPLY[@]/#/$prefix}"); fi
    if (( ${#COMPREPLY[@]} == 1 )) && [[ ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _haul haul
"#;
