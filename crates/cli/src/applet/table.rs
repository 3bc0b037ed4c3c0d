//! The table of applets: a new one is a folder and a row here.

use super::entry::Applet;
#[cfg(feature = "trace")]
use super::trace;
#[cfg(feature = "bench")]
use super::{bench, tune};
use super::{
    cat, clean, compare, cp, dd, gzip, install_links, mv, read, rm, split, sums, tar, tee, verify,
    write,
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
    gzip::GZIP,
    gzip::GUNZIP,
    gzip::ZCAT,
    tar::APPLET,
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
    sums::HASH,
    compare::APPLET,
    verify::APPLET,
    #[cfg(feature = "trace")]
    trace::APPLET,
    #[cfg(feature = "bench")]
    bench::APPLET,
    #[cfg(feature = "bench")]
    tune::APPLET,
    clean::APPLET,
    install_links::APPLET,
];

/// Names of the applets that need a cargo feature, and the feature.
const OPTIONAL: &[(&str, &str)] = &[("trace", "trace"), ("bench", "bench"), ("tune", "bench")];

/// Returns the cargo feature that would add the applet of this name to the build.
pub(super) fn missing_feature(name: &str) -> Option<&'static str> {
    let is_here = APPLETS.iter().any(|applet| applet.name == name);
    let (_, feature) = OPTIONAL.iter().find(|(optional, _)| !is_here && *optional == name)?;
    Some(feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, applet) in APPLETS.iter().enumerate() {
            let others = APPLETS.iter().skip(index + 1);
            assert!(others.clone().all(|other| other.name != applet.name), "{}", applet.name);
        }
    }

    #[test]
    fn an_optional_applet_is_in_the_table_or_names_its_feature() {
        for (name, has_feature) in [
            ("trace", cfg!(feature = "trace")),
            ("bench", cfg!(feature = "bench")),
            ("tune", cfg!(feature = "bench")),
        ] {
            let is_here = APPLETS.iter().any(|applet| applet.name == name);
            assert_eq!(is_here, has_feature, "{name}");
            assert_eq!(missing_feature(name).is_none(), has_feature, "{name}");
        }
        assert_eq!(missing_feature("cp"), None);
        assert_eq!(missing_feature("fly"), None);
    }
}
