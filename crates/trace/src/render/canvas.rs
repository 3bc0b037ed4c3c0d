//! An SVG picture with the few elements of histograms, and its colours.
//!
//! The rules have no custom properties, because programs that convert SVG to other formats do not know them. A
//! program that ignores the rules for dark screens draws the light picture.

use std::fmt::Write as _;

use super::escape::xml;

/// Width of a picture.
pub(super) const WIDTH: f64 = 880.0;

/// Distance from the edges.
pub(super) const MARGIN: f64 = 20.0;

/// Colours and letters. Contrast with the paper is above 4.5 to 1 for text and 3 to 1 for bars.
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1b1f24}\
.title{font-size:15px;font-weight:600}.head{font-size:14px;font-weight:600}\
.call{font-weight:600}.soft{fill:#5b6570}.end{text-anchor:end}.mid{text-anchor:middle}\
.paper{fill:#fff}.axis{stroke:#5b6570}.grid{stroke:#dfe3e8}.a{fill:#1f6feb}.b{fill:#b35900}\
.edge{stroke:#fff;stroke-width:.5}.on{fill:#fff;pointer-events:none}\
@media(prefers-color-scheme:dark){text{fill:#e8ecf1}.soft{fill:#9aa6b2}.paper{fill:#14181d}\
.axis{stroke:#9aa6b2}.grid{stroke:#303841}.a{fill:#6cb0ff}.b{fill:#ffab57}.edge{stroke:#14181d}.on{fill:#14181d}}";

/// A picture that is being drawn from top to bottom.
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    pub(super) const fn new() -> Canvas {
        Canvas { body: String::new() }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _written = writeln!(self.body, "{element}");
    }

    /// Draws text whose base line begins, ends or has its middle at a point, as the class says.
    pub(super) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = xml(text);
        self.add(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(super) fn bar(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let width = width.max(1.0);
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    /// Draws a bar that has a hint, which browsers show beside the pointer.
    pub(super) fn framed(
        &mut self,
        (class, hint): (&str, &str),
        (x, y): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let hint = xml(hint);
        self.add(format_args!(
            r#"<rect class="{class} edge" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{hint}</title></rect>"#
        ));
    }

    /// Returns the picture. The title is for screen readers and for hints of browsers.
    pub(super) fn finish(self, height: f64, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
             width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n\
             <style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            xml(title),
            self.body
        )
    }
}
