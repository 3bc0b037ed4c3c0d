//! An archive in the form that the kernel unpacks as its first root.
//!
//! The form is "newc": a header of hexadecimal numbers, the name, the bytes, each padded to four bytes
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive that grows in memory.
#[derive(Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    /// Entries so far; each needs an inode number of its own.
    count: u32,
}

const DIRECTORY: u32 = 0o40755;
const PROGRAM: u32 = 0o100_755;

impl Cpio {
    /// Adds a directory, below those that were added before.
    pub(super) fn directory(&mut self, name: &str) {
        self.add(name, DIRECTORY, &[]);
    }

    /// Adds a file that can be run.
    pub(super) fn file(&mut self, name: &str, bytes: &[u8]) {
        self.add(name, PROGRAM, bytes);
    }

    fn add(&mut self, name: &str, mode: u32, bytes: &[u8]) {
        self.count += 1;
        let links = 1;
        // A file of more bytes than the header can say is no part of a first root.
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let name_bytes = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let numbers = [self.count, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_bytes, 0];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes.extend_from_slice(format!("{number:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Ends the archive and returns its bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_its_headers_names_and_bytes_aligned() {
        let mut cpio = Cpio::default();
        cpio.directory("bin");
        cpio.file("bin/sh", b"12345");
        let bytes = cpio.finish();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let headers: Vec<_> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(headers.len(), 3);
        assert!(headers.iter().all(|at| at % 4 == 0) && bytes.len().is_multiple_of(4));
        let file = &text[headers[1]..];
        assert_eq!((&file[14..22], &file[54..62]), ("000081ed", "00000005"));
        let (four, three) = ("\0".repeat(4), "\0".repeat(3));
        let expected = format!("bin/sh{four}12345{three}070701");
        assert!(file[110..].starts_with(&expected), "{file:?}");
        assert!(text.contains("TRAILER!!!"));
    }
}
