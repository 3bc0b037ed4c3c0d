//! An SVG canvas with the few elements of plots.

use std::fmt::Write as _;

/// The width of every plot. Narrow, so that text is readable on a phone; a wide screen shows plots
/// side by side.
pub(super) const WIDTH: f64 = 420.0;

/// The size of letters, in the same unit.
pub(super) const LETTER: f64 = 12.0;

/// Average width of a letter in common fonts.
const LETTER_WIDTH: f64 = 6.7;

/// The colours, light and then dark, as custom properties. Contrast with the background is above
/// 4.5 to 1 for text and above 3 to 1 for marks.
pub(in crate::render) const PALETTE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--panel:#f6f7f9;--ink:#1b1f24;--muted:#5b6570;\
--grid:#dfe3e8;--mark:#1f6feb;--soft:#1f6feb33;--other:#b35900;--base:#6e7781;--bad:#b42318;\
--good:#1a7f37}\
@media(prefers-color-scheme:dark){:root{--paper:#14181d;--panel:#1c2229;--ink:#e8ecf1;\
--muted:#9aa6b2;--grid:#303841;--mark:#6cb0ff;--soft:#6cb0ff3d;--other:#ffab57;--base:#9aa6b2;\
--bad:#ff8178;--good:#5fd07e}}";

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

    /// Returns the SVG.
    pub(super) fn finish(self, place: Place) -> String {
        let style = match place {
            Place::Page => String::new(),
            Place::File => {
                format!("<style>{PALETTE}svg{{background:var(--paper)}}{RULES}</style>\n")
            }
        };
        let (height, title, body) = (self.height, escape(&self.title), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\">\n<title>{title}</title>\n{style}{body}</svg>\n"
        )
    }
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
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}
