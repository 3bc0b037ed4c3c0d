//! The archives of other programs' tests: `haul tar` lists and extracts each as GNU tar does, or refuses it
//! for a reason that is in a table. `cargo xtask tar-corpora` fetches them.

use std::fs;
use std::path::{Path, PathBuf};

use haul_manifest::Aspects;

use super::support::judge::{compared, shown};
use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::tar::ours;
use super::support::{Outcome, entries, has, ignored};

/// An archive that haul treats in another way than GNU tar: what haul prints on standard error, and why.
/// Where haul prints nothing, it succeeds.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("go/gnu-long-nul.tar", "contains a NUL", "GNU tar cuts the name, others keep all of it"),
    ("go/gnu-multi-hdrs.tar", "two extended headers", "the first or the last one counts"),
    ("go/hdr-only.tar", "", "GNU tar skips data of links when it lists, and none when it extracts"),
    ("go/pax-bad-hdr-file.tar", "extended header is malformed", "GNU tar goes on behind it"),
    ("go/pax-bad-mtime-file.tar", "malformed", "GNU tar reads a part of the number"),
    ("go/pax-global-records.tar", "global extended header", "GNU tar applies it, Go does not"),
    ("go/pax-multi-hdrs.tar", "two extended headers", "the first or the last one counts"),
    ("go/pax-nul-path.tar", "contains a NUL", "GNU tar cuts the name, others keep all of it"),
    ("go/pax-nul-xattrs.tar", "extended header is malformed", "GNU tar goes on behind it"),
    ("go/pax-path-hdr.tar", "Unexpected EOF", "an extended header without its member"),
    ("go/pax-pos-size-file.tar", "different sizes", "some programs see one size, some the other"),
    (
        "go/sparse-formats.tar",
        "sparse map",
        "regions that are not whole blocks: GNU tar rounds them",
    ),
    ("go/writer-big-long.tar", "Unexpected EOF", "it is cut; GNU tar leaves the part of the file"),
    ("go/writer-big.tar", "Unexpected EOF", "it is cut; GNU tar leaves the part of the file"),
    (
        "libarchive/test_compat_lzma_2.tlz",
        "does not look like",
        "lzma is recognised by usual properties only",
    ),
    (
        "libarchive/test_compat_lzma_3.tlz",
        "does not look like",
        "lzma is recognised by usual properties only",
    ),
    (
        "libarchive/test_compat_solaris_tar_acl.tar",
        "",
        "GNU tar quotes the unknown type in the locale",
    ),
    (
        "libarchive/test_compat_tar_directory_1.tar",
        "",
        "GNU tar skips data of a directory when it lists, and none when it extracts",
    ),
    ("libarchive/test_compat_zstd_2.tar.zst", "", "GNU tar does not know skippable frames"),
    ("libarchive/test_extract.tar.lzma", "", "GNU tar does not recognise it"),
    (
        "libarchive/test_read_format_gtar_sparse_1_17_posix10_modified.tar",
        "sparse map",
        "GNU tar lists it, and cannot extract it",
    ),
    (
        "libarchive/test_read_format_gtar_sparse_skip_entry.tar",
        "different sizes",
        "the size of the file, not of its data",
    ),
    (
        "libarchive/test_read_format_tar_empty_filename.tar",
        "its name is empty",
        "GNU tar takes '.'",
    ),
    (
        "libarchive/test_read_format_tar_invalid_pax_size.tar",
        "extended header is malformed",
        "GNU tar goes on",
    ),
    ("python/testtar.tar", "different sizes", "some programs see one size, some the other"),
];

/// Files larger than this are holes for the most part; only their listing is compared.
const COMPARED_MAX_BYTES: u64 = 64 << 20;

/// Returns the folder of the archives.
fn corpora() -> Outcome<Option<PathBuf>> {
    let Some(dir) = std::env::var_os("HAUL_TAR_CORPORA") else {
        ignored("HAUL_TAR_CORPORA, the folder that `cargo xtask tar-corpora` makes")?;
        return Ok(None);
    };
    Ok(has("tar")?.then(|| dir.into()))
}

/// What a program makes of an archive.
struct Made {
    listing: Done,
    extraction: Done,
    tree: PathBuf,
}

fn make(scratch: &Scratch, name: &str, archive: &Path, tar: &dyn Fn() -> Call) -> Outcome<Made> {
    let tree = scratch.at(name);
    fs::create_dir(&tree)?;
    let words = ["-tv", "--utc", "--full-time", "-f"];
    let call = tar().words(words).word(archive).env("LC_ALL", "C.UTF-8").in_dir(&tree);
    let listing = call.run()?;
    let extraction = tar().word("-xpf").word(archive).in_dir(&tree).run()?;
    Ok(Made { listing, extraction, tree })
}

/// Returns how the results differ, if they do.
fn difference(gnu: &Made, haul: &Made) -> Outcome<Option<String>> {
    let (gnu_text, haul_text) = (gnu.listing.text(), haul.listing.text());
    if gnu_text != haul_text {
        return Ok(Some(format!("listing:\n{haul_text}instead of:\n{gnu_text}")));
    }
    for (what, gnu, haul) in
        [("-t", &gnu.listing, &haul.listing), ("-x", &gnu.extraction, &haul.extraction)]
    {
        if gnu.code() != haul.code() {
            let (gnu_code, haul_code) = (gnu.code(), haul.code());
            return Ok(Some(format!("{what}: status {haul_code:?} instead of {gnu_code:?}")));
        }
    }
    if largest(&gnu.tree)? > COMPARED_MAX_BYTES {
        return Ok(None);
    }
    let comparison = compared(&gnu.tree, &haul.tree, Aspects::contents_only());
    Ok((!comparison.is_equal()).then(|| shown(&comparison)))
}

fn largest(folder: &Path) -> Outcome<u64> {
    let mut most = 0;
    for entry in entries(folder)? {
        let stat = entry.metadata()?;
        most = most.max(if stat.is_dir() { largest(&entry.path())? } else { stat.len() });
    }
    Ok(most)
}

#[test]
fn archives_of_other_programs_are_read_as_gnu_tar_reads_them_or_refused() -> Outcome {
    let Some(dir) = corpora()? else { return Ok(()) };
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for folder in ["go", "python", "libarchive"] {
        let mut archives: Vec<PathBuf> =
            entries(&dir.join(folder))?.iter().map(std::fs::DirEntry::path).collect();
        archives.sort();
        assert!(!archives.is_empty(), "no archives in {folder}");
        for archive in archives {
            let name = archive.strip_prefix(&dir)?.display().to_string();
            let scratch = Scratch::new()?;
            let gnu = make(&scratch, "gnu", &archive, &|| Call::of("tar"))?;
            let haul = make(&scratch, "haul", &archive, &ours)?;
            let found = difference(&gnu, &haul)?;
            let expected = DIFFERENT.iter().find(|(known, ..)| *known == name);
            let said = haul.listing.errors();
            match (&found, expected) {
                (None, None) => {}
                (Some(_), Some((_, message, _))) if said.contains(message) => {}
                // Another version of GNU tar may read what haul reads.
                (None, Some((_, "", _))) => {}
                (Some(found), _) => wrong.push(format!("{name}: {found}\nsaid {said}")),
                (None, Some(_)) => {
                    wrong.push(format!("{name} is in the table, and is read as by GNU tar"));
                }
            }
            if haul.listing.crashed() || haul.extraction.crashed() {
                wrong.push(format!("{name}: a crash"));
            }
            seen.push(name);
        }
    }
    for (name, ..) in DIFFERENT.iter().filter(|(name, ..)| !seen.iter().any(|one| one == name)) {
        wrong.push(format!("{name} is in the table, and there is no such archive"));
    }
    println!("{} archives, {} of them in the table", seen.len(), DIFFERENT.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
