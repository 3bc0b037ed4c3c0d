//! Manual pages, in the macros of man(7).

use super::{Block, Shown, Topic};

/// The month and day that the pages state: that of the last change of their form.
const DATE: &str = "2026-11-23";

/// Returns haul-NAME(1).
pub(crate) fn of_command(topic: &Topic) -> String {
    let mut text = title(&format!("HAUL-{}", topic.name.to_uppercase()));
    let name = format!("haul-{}", topic.name);
    text.push_str(&format!(".SH NAME\n{} \\- {}\n", escaped(&name), escaped(topic.summary)));
    let (mut has_options, mut is_behind) = (false, false);
    for block in &topic.page.blocks {
        match block {
            Block::Text(words) if !is_behind => {
                let (usage, told) = parted(words);
                text.push_str(".SH SYNOPSIS\n.nf\n");
                for line in usage {
                    // The pages are those of haul's commands, whatever links there are.
                    let line = if topic.drop_in { format!("haul {line}") } else { line.to_owned() };
                    text.push_str(&format!("{}\n", line_of(&line)));
                }
                text.push_str(".fi\n.SH DESCRIPTION\n");
                paragraphs(&mut text, &told);
                is_behind = true;
            }
            Block::Text(words) if words.trim().is_empty() => {}
            Block::Text(words) => {
                text.push_str(".SH NOTES\n");
                paragraphs(&mut text, words);
            }
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
            Block::Exit(words) => {
                text.push_str(".SH EXIT STATUS\n");
                paragraphs(&mut text, words);
            }
        }
    }
    text.push_str(".SH SEE ALSO\n.BR haul (1)\n");
    text
}

/// Returns haul(1), which lists the commands.
pub(crate) fn of_haul(topics: &[Topic]) -> String {
    let mut text = title("HAUL");
    text.push_str(
        ".SH NAME\nhaul \\- copy, move, delete and stream file data as fast as the storage allows\n\
         .SH SYNOPSIS\n.nf\nhaul COMMAND [OPTION]... [ARGUMENT]...\nhaul help COMMAND\n.fi\n\
         .SH DESCRIPTION\nEach command has a page of its own. A link to haul that has a command's\n\
         name is that command; see\n.BR haul\\-install\\-links (1).\n.SH COMMANDS\n",
    );
    for topic in topics {
        text.push_str(&format!(
            ".TP\n.BR haul\\-{} (1)\n{}\n",
            escaped(topic.name),
            line_of(topic.summary)
        ));
    }
    text.push_str(
        ".SH EXIT STATUS\nThat of the command; 2 if there is none of this name.\n.SH SEE ALSO\n",
    );
    let pages: Vec<String> =
        topics.iter().map(|topic| format!(".BR haul\\-{} (1)", escaped(topic.name))).collect();
    text.push_str(&pages.join(" ,\n").replace(") ,", "),"));
    text.push('\n');
    text
}

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
