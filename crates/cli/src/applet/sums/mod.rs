//! The sums: one engine, and a command line for each program that people know.
//!
//! The GNU family (`md5sum`, `sha*sum`, `b2sum`, `cksum`) shares options, formats and messages;
//! `haul hash` is the same with every algorithm; `b3sum` and `xxhsum` have their own ways.

mod b3sum;
mod base64;
mod check;
mod format;
mod gnu;
mod hash;
mod lines;
mod options;
mod settings;
mod xxhsum;

use super::entry::{Applet, Run};
use settings::Program;

/// The row of `md5sum` in the table.
pub(super) const MD5SUM: Applet = Applet {
    name: "md5sum",
    summary: "print or check MD5 sums, as GNU md5sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::MD5, "md5sum"),
    run: Run::Words(gnu::md5sum),
};

/// The row of `sha1sum` in the table.
pub(super) const SHA1SUM: Applet = Applet {
    name: "sha1sum",
    summary: "print or check SHA-1 sums, as GNU sha1sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::SHA1, "sha1sum"),
    run: Run::Words(gnu::sha1sum),
};

/// The row of `sha224sum` in the table.
pub(super) const SHA224SUM: Applet = Applet {
    name: "sha224sum",
    summary: "print or check SHA-224 sums, as GNU sha224sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::SHA224, "sha224sum"),
    run: Run::Words(gnu::sha224sum),
};

/// The row of `sha256sum` in the table.
pub(super) const SHA256SUM: Applet = Applet {
    name: "sha256sum",
    summary: "print or check SHA-256 sums, as GNU sha256sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::SHA256, "sha256sum"),
    run: Run::Words(gnu::sha256sum),
};

/// The row of `sha384sum` in the table.
pub(super) const SHA384SUM: Applet = Applet {
    name: "sha384sum",
    summary: "print or check SHA-384 sums, as GNU sha384sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::SHA384, "sha384sum"),
    run: Run::Words(gnu::sha384sum),
};

/// The row of `sha512sum` in the table.
pub(super) const SHA512SUM: Applet = Applet {
    name: "sha512sum",
    summary: "print or check SHA-512 sums, as GNU sha512sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(gnu::SHA512, "sha512sum"),
    run: Run::Words(gnu::sha512sum),
};

/// The row of `b2sum` in the table.
pub(super) const B2SUM: Applet = Applet {
    name: "b2sum",
    summary: "print or check BLAKE2b sums, as GNU b2sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(Program::Blake2, "b2sum"),
    run: Run::Words(gnu::b2sum),
};

/// The row of `cksum` in the table.
pub(super) const CKSUM: Applet = Applet {
    name: "cksum",
    summary: "print or check sums of any of GNU cksum's kinds",
    drop_in: true,
    unwritten: 1,
    page: || options::help(Program::Cksum, "cksum"),
    run: Run::Words(gnu::cksum),
};

/// The row of `b3sum` in the table.
pub(super) const B3SUM: Applet = Applet {
    name: "b3sum",
    summary: "print or check BLAKE3 sums, on all processors",
    drop_in: true,
    unwritten: 1,
    page: b3sum::help,
    run: Run::Words(b3sum::run),
};

/// The row of `xxhsum` in the table.
pub(super) const XXHSUM: Applet = Applet {
    name: "xxhsum",
    summary: "print or check xxHash sums",
    drop_in: true,
    unwritten: 1,
    page: xxhsum::help,
    run: Run::Words(xxhsum::run),
};

/// The row of `sum` in the table.
pub(super) const SUM: Applet = Applet {
    name: "sum",
    summary: "print sums of 16 bits, as GNU sum",
    drop_in: true,
    unwritten: 1,
    page: || options::help(Program::Sum, "sum"),
    run: Run::Words(gnu::sum),
};

/// The row of `hash` in the table.
pub(super) const HASH: Applet = Applet {
    name: "hash",
    summary: "print or check digests of any kind, BLAKE3 unless told otherwise",
    drop_in: false,
    unwritten: 1,
    page: || options::help(Program::Own, "haul hash"),
    run: Run::Words(gnu::hash),
};
