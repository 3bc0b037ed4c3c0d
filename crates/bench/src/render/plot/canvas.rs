//! An SVG canvas with the few elements of plots.

use std::fmt::Write as _;

/// The width of every plot. Narrow, so that text is readable on a phone; a wide screen shows plots
/// side by side.
pub(super) const WIDTH: f64 = 420.0;

/// The size of letters, in the same unit.
pub(super) const LETTER: f64 = 12.0;

/// Average width of a letter in the widest of common fonts.
const LETTER_WIDTH: f64 = 7.3;

/// The same in bold.
const BOLD_WIDTH: f64 = 8.2;

/// The colours of a page: custom properties, light and then dark. Contrast with the background is
/// above 4.5 to 1 for text and above 3 to 1 for marks.
pub(in crate::render) fn palette() -> String {
    let list = |of: fn(&Colour) -> &str| -> String {
        COLOURS.iter().map(|colour| format!("--{}:{};", colour.0, of(colour))).collect()
    };
    let (light, dark) = (list(|colour| colour.1), list(|colour| colour.2));
    format!(
        ":root{{color-scheme:light dark;{light}}}\
         @media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )
}

/// A colour: its name, its value on light and on dark screens.
type Colour = (&'static str, &'static str, &'static str);

const COLOURS: [Colour; 10] = [
    ("paper", "#fff", "#14181d"),
    ("panel", "#f6f7f9", "#1c2229"),
    ("ink", "#1b1f24", "#e8ecf1"),
    ("muted", "#5b6570", "#9aa6b2"),
    ("grid", "#dfe3e8", "#303841"),
    ("mark", "#1f6feb", "#6cb0ff"),
    ("soft", "#1f6feb33", "#6cb0ff3d"),
    ("other", "#b35900", "#ffab57"),
    ("base", "#6e7781", "#9aa6b2"),
    ("bad", "#b42318", "#ff8178"),
];

/// Returns the rules of a plot in a file of its own. They have the colours themselves, because
/// programs that convert SVG to other formats do not know custom properties; a program that ignores
/// the rules for dark screens draws the light plot.
fn own_rules() -> String {
    let rules = format!(".paper{{fill:var(--paper)}}{RULES}");
    let with = |of: fn(&Colour) -> &str| {
        COLOURS.iter().fold(rules.clone(), |rules, colour| {
            rules.replace(&format!("var(--{})", colour.0), of(colour))
        })
    };
    let (light, dark) = (with(|colour| colour.1), with(|colour| colour.2));
    format!("{light}@media(prefers-color-scheme:dark){{{dark}}}")
}

/// The rules of the classes that plots use.
pub(in crate::render) const RULES: &str = "\
.plot text{font:12px system-ui,sans-serif;fill:var(--ink)}.plot .soft{fill:var(--muted)}\
.plot .head{font-weight:600}.plot .end{text-anchor:end}.plot .mid{text-anchor:middle}\
.plot line,.plot polyline,.plot path{fill:none;stroke:var(--grid);stroke-width:1}\
.plot .axis{stroke:var(--muted)}.plot .one{stroke:var(--muted);stroke-dasharray:3 3}\
.plot .line{stroke:var(--mark);stroke-width:2}.plot .line.b{stroke:var(--other)}\
.plot .line.c{stroke:var(--base)}.plot .box{fill:var(--soft);stroke:var(--mark)}\
.plot .bar{fill:var(--soft);stroke:var(--mark)}.plot .dot{fill:var(--mark)}\
.plot .dot.b{fill:var(--other)}.plot .dot.c{fill:var(--base)}.plot .dot.thin{opacity:.55}\
.plot .base.box,.plot .base.bar{fill:none;stroke:var(--base)}.plot .base.dot{fill:var(--base)}\
.plot .base.line{stroke:var(--base)}";

/// Destination of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a page that has the colours and rules.
    Page,
    /// In a file of its own, which includes them.
    File,
}

/// A plot that is being drawn.
pub(super) struct Canvas {
    height: f64,
    title: String,
    body: String,
}

impl Canvas {
    /// Starts a plot. The title is for screen readers.
    pub(super) fn new(height: f64, title: &str) -> Canvas {
        Canvas { height, title: title.to_owned(), body: String::new() }
    }

    fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escape(text);
        self.add(&format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    /// Writes what a place on the horizontal axis stands for, below it, and within the plot.
    pub(super) fn tick(&mut self, (x, y): (f64, f64), text: &str) {
        let half = text.chars().count() as f64 * LETTER_WIDTH / 2.0;
        self.text((x.min(WIDTH - 2.0 - half), y), "soft mid", text);
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(&format!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let width = width.max(0.5);
        self.add(&format!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    /// Draws a dot with a tooltip of its value.
    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, hint: &str) {
        let hint = escape(hint);
        self.add(&format!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"><title>{hint}</title></circle>"#
        ));
    }

    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut list = String::new();
        for (x, y) in points {
            // Writing to a string cannot fail.
            let _written = write!(list, "{x:.1},{y:.1} ");
        }
        self.add(&format!(r#"<polyline class="{class}" points="{}"/>"#, list.trim_end()));
    }

    /// Returns the SVG. In a file of its own the title is above the plot.
    pub(super) fn finish(self, place: Place) -> String {
        let (mut height, title) = (self.height, escape(&self.title));
        let body = match place {
            Place::Page => self.body,
            Place::File => {
                let lines = wrapped(&self.title);
                let top = lines.len() as f64 * TITLE_LINE + TITLE_GAP;
                height += top;
                let mut head = Canvas::new(0.0, "");
                for (index, line) in lines.iter().enumerate() {
                    head.text((EDGE, (index + 1) as f64 * TITLE_LINE), "head", line);
                }
                format!(
                    "<style>{}</style>\n\
                     <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}\
                     <g transform=\"translate(0,{top:.0})\">\n{}</g>\n",
                    own_rules(),
                    head.body,
                    self.body
                )
            }
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\">\n<title>{title}</title>\n{body}</svg>\n"
        )
    }
}

/// Distance of the title from the left edge, height of its lines, and space below it.
const EDGE: f64 = 8.0;
const TITLE_LINE: f64 = 17.0;
const TITLE_GAP: f64 = 10.0;

/// Breaks a title into lines that fit the plot.
fn wrapped(title: &str) -> Vec<String> {
    let room = ((WIDTH - 2.0 * EDGE) / BOLD_WIDTH) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in title.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the width of the longest word at the left of a plot, within bounds.
pub(super) fn margin_for<'a>(words: impl Iterator<Item = &'a str>) -> f64 {
    let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
    (longest as f64 * LETTER_WIDTH + 10.0).clamp(40.0, WIDTH * 0.4)
}

/// Cuts a word that does not fit into a margin.
pub(super) fn fit(word: &str, margin: f64) -> String {
    let room = ((margin - 8.0) / LETTER_WIDTH).max(2.0) as usize;
    if word.chars().count() <= room {
        return word.to_owned();
    }
    let kept: String = word.chars().take(room.saturating_sub(1)).collect();
    kept + "…"
}

/// Escapes the special characters of XML, and omits invalid ones.
pub(in crate::render) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            hidden if !haul_manifest::is_shown(hidden) => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_tick_stays_within_the_plot() {
        let mut canvas = Canvas::new(100.0, "title");
        canvas.tick((100.0, 10.0), "1.00 s");
        canvas.tick((WIDTH - 5.0, 10.0), "2.00 s");
        assert!(canvas.body.contains(r#"x="100.0" y="10.0">1.00 s"#), "{}", canvas.body);
        assert!(canvas.body.contains(r#"x="396.1" y="10.0">2.00 s"#), "{}", canvas.body);
    }
}
