//! An entry of a copy: its names and descriptors on both sides, and its paths for messages.

use std::ffi::CStr;
use std::ops::Deref;
use std::sync::Arc;

use crate::copy::node::{Handles, Node};
use crate::copy::node::{Side, of_entry};
use crate::decide::Role;
use crate::journal::Place;

/// An entry with its names, for reports.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) node: &'a Arc<Node>,
    pub(crate) source: &'a CStr,
    pub(crate) target: &'a CStr,
    /// Rest of an operand's path below this entry, which then is a leading directory.
    pub(crate) rest: Option<&'a CStr>,
}

/// An entry of a directory that is open on both sides.
#[derive(Clone, Copy)]
pub(crate) struct OpenEntry<'a> {
    pub(crate) entry: Entry<'a>,
    /// Descriptors of the entry's directory.
    pub(crate) handles: &'a Handles,
}

impl<'a> Deref for OpenEntry<'a> {
    type Target = Entry<'a>;

    fn deref(&self) -> &Entry<'a> {
        &self.entry
    }
}

impl Entry<'_> {
    pub(crate) fn source_path(&self) -> Vec<u8> {
        of_entry(self.node, self.source, Side::Source)
    }

    pub(crate) fn target_path(&self) -> Vec<u8> {
        of_entry(self.node, self.target, Side::Target)
    }

    /// Returns the entry's place as the journal records it.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { directory: self.node.position, name: self.target }
    }

    /// Returns whether the entry is an operand.
    pub(crate) fn is_operand(&self) -> bool {
        self.node.lists_operands
    }

    /// Returns the role of the entry: where its name comes from.
    pub(crate) fn role(&self) -> Role {
        match (self.is_operand(), self.rest) {
            (_, Some(_)) => Role::Leading,
            (true, None) => Role::Operand,
            (false, None) => Role::Inside,
        }
    }
}
