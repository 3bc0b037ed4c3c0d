//! Time by kernel stack: as folded stacks, which other programs read, and as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::canvas::{Canvas, MARGIN, WIDTH};
use super::quantity::time;
use crate::report::{Report, StackTime, to_float};

/// The frame at the end of a stack on which threads had no processor.
const WAITS: &str = "[waits]";

/// The frame below the command for time in the program itself.
const PROGRAM: &str = "[program]";

/// Height of a frame, and of its text above its lower edge.
const FRAME: f64 = 17.0;
const TEXT: f64 = 4.5;

/// Width below which a frame is not drawn, and below which it has no text.
const THIN: f64 = 0.5;
const LABELLED: f64 = 30.0;

/// Width of a letter, about.
const LETTER: f64 = 7.4;

/// Returns folded stacks: a line for each, with frames from the outermost to the innermost, separated by
/// semicolons, and its time in microseconds. The first frame is the command, the second the system call.
#[must_use]
pub fn folded(report: &Report) -> String {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &report.stacks {
        *sums.entry(frames(stack).join(";")).or_default() += stack.ns;
    }
    let mut text = String::new();
    for (frames, ns) in sums {
        // Writing to a String cannot fail.
        let _written = writeln!(text, "{frames} {}", ns.div_ceil(1000));
    }
    text
}

/// Returns all frames of a stack, in a form that has no separators in it.
fn frames(stack: &StackTime) -> Vec<String> {
    let clean = |text: &str| -> String {
        let is_separator = |letter: char| letter == ';' || letter.is_control();
        text.chars().map(|letter| if is_separator(letter) { '_' } else { letter }).collect()
    };
    let call = stack.call.as_deref().unwrap_or(PROGRAM);
    let mut frames = vec![clean(&stack.command), clean(call)];
    frames.extend(stack.functions.iter().map(|function| clean(function)));
    if stack.waits {
        frames.push(WAITS.to_owned());
    }
    frames
}

/// A frame with all that it calls.
#[derive(Default)]
struct Node {
    ns: u64,
    waits_ns: u64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, frames: &[String], stack: &StackTime) {
        self.ns += stack.ns;
        if stack.waits {
            self.waits_ns += stack.ns;
        }
        if let Some((first, rest)) = frames.split_first() {
            self.calls.entry(first.clone()).or_default().add(rest, stack);
        }
    }

    /// Returns the number of levels below this one that are wide enough to be drawn.
    fn depth(&self, least_ns: u64) -> usize {
        let below = self.calls.values().filter(|node| node.ns >= least_ns);
        below.map(|node| 1 + node.depth(least_ns)).max().unwrap_or(0)
    }
}

/// Returns an SVG picture: each frame is as wide as its time, and lies below the one that called it.
#[must_use]
pub fn flames(report: &Report) -> String {
    let mut canvas = Canvas::new();
    let mut root = Node::default();
    for stack in &report.stacks {
        root.add(&frames(stack), stack);
    }
    canvas.text((MARGIN, 32.0), "title", &report.title);
    let told = format!(
        "{} in all threads, of which {} waiting: by command, system call and kernel function",
        time(root.ns),
        time(root.waits_ns)
    );
    canvas.text((MARGIN, 50.0), "soft", &told);
    for (class, left, text) in
        [("a", MARGIN, "has a processor"), ("b", MARGIN + 140.0, "mostly waits")]
    {
        canvas.bar(class, (left, 60.0), (12.0, 12.0));
        canvas.text((left + 18.0, 70.0), "soft", text);
    }
    let scale = (WIDTH - 2.0 * MARGIN) / to_float(root.ns.max(1));
    let top = 84.0;
    draw(&mut canvas, (MARGIN, top), &root, scale);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time of half a point"
    )]
    let least_ns = (THIN / scale) as u64;
    let height = top + FRAME * to_float(root.depth(least_ns) as u64) + MARGIN;
    canvas.finish(height, &format!("Kernel stacks of {}", report.title))
}

/// Draws the frames that a frame calls, one beside the other.
fn draw(canvas: &mut Canvas, (left, top): (f64, f64), node: &Node, scale: f64) {
    let mut left = left;
    for (name, below) in &node.calls {
        let width = to_float(below.ns) * scale;
        if width >= THIN {
            let class = if below.waits_ns > below.ns / 2 { "b" } else { "a" };
            let hint = format!("{name}: {}", time(below.ns));
            canvas.framed((class, &hint), (left, top), (width, FRAME - 1.0));
            if width >= LABELLED {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a number of letters"
                )]
                let most = (width / LETTER) as usize;
                let label: String = name.chars().take(most).collect();
                canvas.text((left + 3.0, top + FRAME - TEXT), "on", &label);
            }
            draw(canvas, (left, top + FRAME), below, scale);
        }
        left += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, Observer};

    fn report() -> Report {
        let stack = |call: Option<&str>, functions: &[&str], waits, ns| StackTime {
            command: "cp; x".to_owned(),
            call: call.map(str::to_owned),
            functions: functions.iter().map(|name| (*name).to_owned()).collect(),
            waits,
            ns,
        };
        Report {
            title: "cp a b".to_owned(),
            observer: Observer::Ebpf,
            ending: Ending::Exited(0),
            wall_ns: 0,
            user_us: 0,
            system_us: 0,
            units: Vec::new(),
            files: Vec::new(),
            stacks: vec![
                stack(Some("write"), &["vfs_write", "copy"], false, 3_000_000),
                stack(Some("write"), &["vfs_write", "copy"], false, 1_000_000),
                stack(Some("write"), &["vfs_write", "schedule"], true, 2_000_000),
                stack(None, &[], false, 500_000),
            ],
            notices: Vec::new(),
        }
    }

    #[test]
    fn equal_stacks_are_one_line() {
        assert_eq!(
            folded(&report()),
            "cp_ x;[program] 500\ncp_ x;write;vfs_write;copy 4000\n\
             cp_ x;write;vfs_write;schedule;[waits] 2000\n"
        );
    }

    #[test]
    fn a_frame_is_as_wide_as_its_time() {
        let picture = flames(&report());
        // All of it, and the part of 4 of 6.5.
        for width in ["840.0", "516.9"] {
            assert!(picture.contains(&format!("width=\"{width}\"")), "{picture}");
        }
        assert!(picture.contains("<title>schedule: 2.00 ms</title>"), "{picture}");
        assert!(picture.contains("6.50 ms in all threads, of which 2.00 ms waiting"), "{picture}");
    }
}
