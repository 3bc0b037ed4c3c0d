//! Manual pages, in the macros of man(7).

use super::{Block, Example, Shown, Topic};

/// The month and day that the pages state: that of the last change of their form.
const DATE: &str = "2026-11-24";

/// Returns haul-NAME(1).
pub(crate) fn of_command(topic: &Topic) -> String {
    let mut text = title(&format!("HAUL-{}", topic.name.to_uppercase()));
    let name = format!("haul-{}", topic.name);
    text.push_str(&format!(".SH NAME\n{} \\- {}\n", escaped(&name), escaped(topic.summary)));
    let blocks = &topic.page.blocks;
    if let Some(Block::Text(words)) = blocks.first() {
        synopsis(&mut text, topic, words);
    }
    let mut has_options = false;
    for block in blocks {
        match block {
            Block::Heading(words) => {
                text.push_str(&format!(".SH {}\n", line_of(&words.to_uppercase())));
            }
            Block::Options(options) => {
                if !has_options {
                    text.push_str(".SH OPTIONS\n");
                }
                has_options = true;
                for option in options.iter().filter(|option| option.is_visible()) {
                    item(&mut text, option);
                }
            }
            Block::Text(_) | Block::Examples(_) | Block::Exit(_) => {}
        }
    }
    behind_options(&mut text, blocks);
    text.push_str(".SH SEE ALSO\n.BR haul (1)\n");
    text
}

/// Writes the usage lines, and what the command does.
fn synopsis(text: &mut String, topic: &Topic, words: &str) {
    let (usage, told) = parted(words);
    text.push_str(".SH SYNOPSIS\n.nf\n");
    for line in usage {
        // The pages are those of haul's commands, whatever links there are.
        let line = if topic.drop_in { format!("haul {line}") } else { line.to_owned() };
        text.push_str(&format!("{}\n", line_of(&line)));
    }
    text.push_str(".fi\n.SH DESCRIPTION\n");
    paragraphs(text, &told);
}

/// Writes the sections behind the options, in the order of man-pages(7).
fn behind_options(text: &mut String, blocks: &[Block]) {
    for block in blocks {
        if let Block::Exit(words) = block {
            text.push_str(".SH EXIT STATUS\n");
            paragraphs(text, words);
        }
    }
    let mut has_notes = false;
    for block in blocks.iter().skip(1) {
        let Block::Text(words) = block else { continue };
        if words.trim().is_empty() {
            continue;
        }
        text.push_str(if has_notes { ".PP\n" } else { ".SH NOTES\n" });
        has_notes = true;
        paragraphs(text, words);
    }
    for block in blocks {
        if let Block::Examples(examples) = block {
            text.push_str(".SH EXAMPLES\n");
            for Example { command, purpose } in examples {
                text.push_str(&format!(
                    ".TP\n.B {}\n{}\n",
                    escaped(command).replace('"', "\\(dq"),
                    line_of(purpose)
                ));
            }
        }
    }
}

/// Returns haul(1), which lists the commands and says what concerns all of them: `defaults` is
/// the text on default options.
pub(crate) fn of_haul(topics: &[Topic], defaults: &str) -> String {
    let mut text = title("HAUL");
    text.push_str(
        ".SH NAME\nhaul \\- copy, move, delete and stream file data as fast as the storage allows\n\
         .SH SYNOPSIS\n.nf\nhaul COMMAND [OPTION]... [ARGUMENT]...\nhaul help COMMAND\n.fi\n\
         .SH DESCRIPTION\nEach command has a page of its own.\n.SH COMMANDS\n",
    );
    for topic in topics {
        text.push_str(&format!(
            ".TP\n.BR haul\\-{} (1)\n{}\n",
            escaped(topic.name),
            line_of(topic.summary)
        ));
    }
    text.push_str(".SH IN PLACE OF OTHER PROGRAMS\n");
    paragraphs(&mut text, IN_PLACE);
    text.push_str(".SH EXIT STATUS\nThat of the command; 2 if there is none of this name.\n");
    text.push_str(".SH ENVIRONMENT\n");
    paragraphs(&mut text, defaults);
    text.push_str(FILES);
    text.push_str(".SH SEE ALSO\n");
    let pages: Vec<String> =
        topics.iter().map(|topic| format!(".BR haul\\-{} (1)", escaped(topic.name))).collect();
    text.push_str(&pages.join(" ,\n").replace(") ,", "),"));
    text.push('\n');
    text
}

/// How haul is used under the names of the programs that it replaces.
const IN_PLACE: &str = "\
A link to haul that has a command's name is that command. The packages have a folder of such links
for PATH, and leave the system's own programs as they are:

  PATH=/usr/lib/haul/bin:$PATH

in the file that your shell reads when it starts, such as ~/.profile, uses haul under these names
in that shell and what it starts; without the line, the system's programs are used again. Where
there is no package, 'haul install-links FOLDER' makes the links. For one command, an alias is
enough:

  alias cp='haul cp'

Do not divert the system's cp, mv or rm, nor put haul in their place: the scripts of packages rely
on them.
";

/// The files that haul reads.
const FILES: &str = ".SH FILES\n\
.TP\n.I /etc/haul.toml\nDefaults of this machine.\n\
.TP\n.I \\(ti/.config/haul/config.toml\nDefaults of the user.\n\
.TP\n.I \\(ti/.config/haul/profiles\nWhat 'haul tune' measured.\n\
.TP\n.I /usr/lib/haul/bin\nLinks, for PATH.\n";

fn title(name: &str) -> String {
    format!(
        ".TH {} 1 {DATE} \"haul {}\" \"User Commands\"\n",
        escaped(name),
        env!("CARGO_PKG_VERSION")
    )
}

/// Writes an option as a tagged paragraph.
fn item(text: &mut String, option: &Shown) {
    // Another name of the option before it has no words of its own.
    text.push_str(&format!(".TP\n.B {}\n", escaped(&option.names())));
    let words = option.words();
    text.push_str(&format!("{}\n", line_of(if words.is_empty() { "The same." } else { &words })));
}

/// Parts the usage lines from the words behind them.
fn parted(words: &str) -> (Vec<&str>, String) {
    let usage =
        |line: &'_ &str| line.starts_with("Usage: ") || line.trim_start().starts_with("or: ");
    let lines = words.lines().take_while(usage);
    let lines: Vec<&str> = lines
        .map(|line| line.trim_start_matches("Usage:").trim_start().trim_start_matches("or:").trim())
        .collect();
    let told: Vec<&str> = words.lines().skip(lines.len()).collect();
    (lines, told.join("\n"))
}

/// Writes paragraphs: lines that begin with a blank stand as they are, the others are filled.
fn paragraphs(text: &mut String, words: &str) {
    let (mut as_is, mut begins) = (false, false);
    for line in words.trim_matches('\n').lines() {
        if line.is_empty() {
            begins = true;
            continue;
        }
        let wants_as_is = line.starts_with(' ');
        if as_is && !wants_as_is {
            text.push_str(".fi\n.RE\n");
        }
        if begins && !(as_is && wants_as_is) {
            text.push_str(".PP\n");
        }
        if wants_as_is && !as_is {
            text.push_str(".RS 4\n.nf\n");
        }
        (as_is, begins) = (wants_as_is, false);
        text.push_str(&format!("{}\n", line_of(line.strip_prefix("  ").unwrap_or(line))));
    }
    if as_is {
        text.push_str(".fi\n.RE\n");
    }
}

/// Returns a line of text that is no request, whatever it begins with.
fn line_of(line: &str) -> String {
    let line = escaped(line);
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti").replace('^', "\\(ha")
}
