//! The source of a decoder: bytes that can be looked at before they are taken.

use std::io::{self, Read};

use crate::error::DecodeError;

/// Bytes that are asked for at a time.
const READ_BYTES: usize = 256 << 10;

/// A source.
pub(crate) struct Input {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    has_ended: bool,
    /// Bytes that were read from the source.
    total: u64,
    /// Whether the thread that reads stays the same.
    is_bound: bool,
}

impl Input {
    pub(crate) fn new(source: impl Read + Send + 'static) -> Input {
        let source = Box::new(source);
        Input { source, buffer: Vec::new(), at: 0, has_ended: false, total: 0, is_bound: false }
    }

    /// Returns the bytes that were read and not taken.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Returns how many bytes were taken; 0 after [`Input::never_leave`].
    pub(crate) fn taken(&self) -> u64 {
        if self.is_bound { 0 } else { self.total - self.bytes().len() as u64 }
    }

    /// Says that no other thread will read.
    pub(crate) fn never_leave(&mut self) {
        self.is_bound = true;
    }

    /// Returns how many bytes were read from the source.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Takes bytes.
    pub(crate) fn take(&mut self, count: usize) {
        self.at = (self.at + count).min(self.buffer.len());
    }

    /// Reads until there are so many bytes, or the source ends. Returns whether there are.
    pub(crate) fn fill(&mut self, count: usize) -> Result<bool, DecodeError> {
        while self.bytes().len() < count && !self.has_ended {
            self.read()?;
        }
        Ok(self.bytes().len() >= count)
    }

    /// Reads once. Returns `false` at the end.
    pub(crate) fn read(&mut self) -> Result<bool, DecodeError> {
        if self.has_ended {
            return Ok(false);
        }
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let room = &mut self.buffer[before..];
        let answer = loop {
            match self.source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => break answer,
            }
        };
        let count = *answer.as_ref().unwrap_or(&0);
        self.buffer.truncate(before + count);
        self.total += count as u64;
        self.has_ended = answer.as_ref().map_or(true, |count| *count == 0);
        match answer {
            Ok(count) => Ok(count > 0),
            Err(error) => Err(DecodeError::Input(error)),
        }
    }

    /// Returns the next byte.
    pub(crate) fn byte(&mut self) -> Result<Option<u8>, DecodeError> {
        if self.bytes().is_empty() && !self.fill(1)? {
            return Ok(None);
        }
        let byte = self.bytes().first().copied();
        self.take(1);
        Ok(byte)
    }
}
