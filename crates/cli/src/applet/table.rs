//! The table of applets: a new one is a folder and a row here.

use super::entry::Applet;
use super::{
    bench, cat, clean, compare, cp, dd, install_links, mv, read, rm, split, sums, tee, trace, tune,
    verify, write,
};

/// All applets, in the order in which the overview shows them.
pub(super) static APPLETS: &[Applet] = &[
    cp::APPLET,
    mv::APPLET,
    rm::APPLET,
    cat::APPLET,
    dd::APPLET,
    read::APPLET,
    write::APPLET,
    tee::APPLET,
    split::APPLET,
    sums::MD5SUM,
    sums::SHA1SUM,
    sums::SHA224SUM,
    sums::SHA256SUM,
    sums::SHA384SUM,
    sums::SHA512SUM,
    sums::B2SUM,
    sums::CKSUM,
    sums::B3SUM,
    sums::XXHSUM,
    sums::SUM,
    compare::APPLET,
    verify::APPLET,
    trace::APPLET,
    bench::APPLET,
    tune::APPLET,
    clean::APPLET,
    install_links::APPLET,
];
