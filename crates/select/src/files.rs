//! The texts of files that options name, each read once.
//!
//! A command that copies and removes makes two selections of the same options, and a rule must not be in one of them
//! alone: the second reading of a pipe finds nothing.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use haul_sys::sync::Mutex;

/// A file's path and its text.
type Text = (Vec<u8>, Arc<[u8]>);

/// Texts of the files that options name. A clone is the same set.
#[derive(Clone, Debug, Default)]
pub struct Files(Arc<Mutex<Vec<Text>>>);

impl Files {
    /// Returns the text of a file, which is read only if it has not been read before; `-` is standard input.
    pub(crate) fn read(&self, path: &[u8]) -> io::Result<Arc<[u8]>> {
        let mut texts = self.0.lock();
        if let Some((_, text)) = texts.iter().find(|(read, _)| read == path) {
            return Ok(Arc::clone(text));
        }
        let mut text = Vec::new();
        if path == b"-" {
            io::stdin().lock().read_to_end(&mut text)?;
        } else {
            text = std::fs::read(OsStr::from_bytes(path))?;
        }
        let text: Arc<[u8]> = text.into();
        texts.push((path.to_vec(), Arc::clone(&text)));
        Ok(text)
    }
}
