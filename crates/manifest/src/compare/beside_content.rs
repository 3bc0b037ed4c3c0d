//! What two entries have beside their content: extended attributes, flags, the text of a link, blocks.

use std::os::fd::AsFd as _;

use super::attributes::{allocates_more, judge_blocks, judge_xattrs};
use super::difference::What;
use super::walk::{Both, Flow, Walk};
use super::{Aspect, Side};
use crate::failure::{Action, During as _};
use crate::flags;
use crate::node::{Node, Place};
use crate::scan::read_link;
use crate::segments::data_segments;
use crate::text::RawText;

impl Walk<'_> {
    pub(super) fn xattrs(&mut self, nodes: &Both<Node>) -> Flow {
        let aspects = self.options.aspects;
        if !aspects.contains(Aspect::Xattrs) && !aspects.contains(Aspect::Acl) {
            return Flow::Continue(());
        }
        let (operands, path) = (&self.operands, &self.path);
        let whole = |root: &RawText| {
            let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
            Some([root.0.as_slice(), slash, path].concat())
        };
        let a = self.xattrs.read(&nodes.a, || whole(&operands.a));
        let b = self.xattrs.read(&nodes.b, || whole(&operands.b));
        let Some(lists) = self.both(a, b)? else { return Flow::Continue(()) };
        for what in judge_xattrs(self.options, &lists.a, &lists.b) {
            self.differ_in_stored(nodes, what)?;
        }
        Flow::Continue(())
    }

    pub(super) fn flags(&mut self, places: Both<Place<'_>>, nodes: &Both<Node>) -> Flow {
        if !self.options.aspects.contains(Aspect::Flags) {
            return Flow::Continue(());
        }
        let a = flags::read(&nodes.a, places.a, |file| self.outside.project(file));
        let b = flags::read(&nodes.b, places.b, |file| self.outside.project(file));
        let Some(Both { a, b }) = self.both(a, b)? else { return Flow::Continue(()) };
        if a.project != b.project {
            self.differ_in_stored(nodes, What::Project { a: a.project, b: b.project })?;
        }
        let (a, b) = (a.letters, b.letters);
        if a == b { Flow::Continue(()) } else { self.differ_in_stored(nodes, What::Flags { a, b }) }
    }

    pub(super) fn link_text(&mut self, nodes: &Both<Node>) -> Flow {
        if !self.options.aspects.contains(Aspect::LinkText) {
            return Flow::Continue(());
        }
        let Some(texts) = self.both(read_link(&nodes.a), read_link(&nodes.b))? else {
            return Flow::Continue(());
        };
        if texts.a == texts.b {
            return Flow::Continue(());
        }
        self.differ(What::LinkText { a: texts.a, b: texts.b })
    }

    pub(super) fn blocks(&mut self, places: Both<Place<'_>>, nodes: &Both<Node>) -> Flow {
        let (a, b) = (&nodes.a.attributes, &nodes.b.attributes);
        if !allocates_more(self.options, a, b) {
            return Flow::Continue(());
        }
        let segments = nodes
            .a
            .open(places.a)
            .and_then(|fd| data_segments(fd.as_fd(), a.size).during(Action::FindData));
        match segments {
            Ok(segments) => match judge_blocks(self.options, a, &segments, b) {
                Some(what) => self.differ_in_stored(nodes, what),
                None => Flow::Continue(()),
            },
            Err(failed) => self.fail(Side::A, failed),
        }
    }
}
