//! Each algorithm says of known bytes what its own programs say.

use super::*;

/// (algorithm, digest of nothing, digest of "abc"), from the algorithms' own specifications and
/// programs.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "blake3",
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
    ),
    ("xxh3-64", "2d06800538d394c2", "78af5f94892f3950"),
    ("xxh3-128", "99aa06d3014798d86001c324468d497f", "06b05ab6733a618578af5f94892f3950"),
    (
        "sha256",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ),
    (
        "sha224",
        "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
    ),
    (
        "sha1",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
    ),
    ("md5", "d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72"),
];

#[test]
fn known_bytes_have_known_digests() {
    for (name, nothing, abc) in KNOWN {
        let algorithm = Algorithm::find(name).expect(name);
        assert_eq!(algorithm.start().finish_hex(), *nothing, "{name} of nothing");
        let mut digest = algorithm.start();
        digest.update(b"a");
        digest.update(b"");
        digest.update(b"bc");
        assert_eq!(digest.finish_hex(), *abc, "{name} of abc");
    }
}

#[test]
fn the_pieces_do_not_matter_and_holes_read_as_zeros() {
    for algorithm in TABLE {
        let whole = vec![0; 100_003];
        let mut at_once = algorithm.start();
        at_once.update(&whole);
        assert_eq!(at_once.taken_bytes(), 100_003);
        let mut by_pieces = algorithm.start();
        for piece in whole.chunks(977) {
            by_pieces.update(piece);
        }
        let mut as_hole = algorithm.start();
        as_hole.update_zeros(100_003);
        let expected = at_once.finish();
        assert_eq!(expected.len(), algorithm.bytes, "{}", algorithm.name);
        assert_eq!(by_pieces.finish(), expected, "{}", algorithm.name);
        assert_eq!(as_hole.finish(), expected, "{}", algorithm.name);
    }
}

#[test]
fn only_lengths_that_exist_are_made() {
    let blake2b = Algorithm::find("BLAKE2B").expect("blake2b");
    let mut short = blake2b.start_with(16).expect("128 bits");
    short.update(b"abc");
    // b2sum -l 128
    assert_eq!(short.finish_hex(), "cf4ab791c62b8d2b2109c90275287816");
    assert!(blake2b.start_with(0).is_none());
    assert!(blake2b.start_with(65).is_none());
    assert!(Algorithm::find("md5").expect("md5").start_with(8).is_none());
}

#[test]
fn names_are_unique_and_aliases_lead_somewhere() {
    for (index, algorithm) in TABLE.iter().enumerate() {
        assert!(!TABLE[..index].iter().any(|other| other.name == algorithm.name));
    }
    for (alias, _) in ALIASES {
        assert!(Algorithm::find(alias).is_some(), "{alias}");
    }
    assert!(Algorithm::find("crc9").is_none());
}

#[test]
fn what_lies_in_the_cache_is_the_file_also_when_it_was_cut_or_has_grown() {
    use std::io::Write as _;
    use std::sync::Arc;

    let whole: Vec<u8> = (0..(9 << 20) + 777).map(|at: usize| (at * 31 + at / 977) as u8).collect();
    for bytes in [4 << 20, (5 << 20) + 1, (8 << 20) - 9, whole.len()] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&whole).unwrap();
        let file = Arc::new(std::os::fd::OwnedFd::from(file));
        // Its reported size is larger, or smaller, than it is.
        for told in [whole.len(), 4 << 20] {
            let mut stat = haul_sys::fs::fstat(&*file).unwrap();
            stat.size = told as u64;
            haul_sys::data::ftruncate(&*file, bytes as u64).unwrap();
            haul_sys::data::seek_set(&*file, 0).unwrap();
            for algorithm in [&super::md5::MD5, &super::sha2::SHA256, &super::xxh3::XXH3_64] {
                let mut digest = algorithm.start();
                let source = crate::stream::Source::Own(Arc::clone(&file));
                haul_sys::data::seek_set(&*file, 0).unwrap();
                let policy = &crate::method::policy::DataPolicy::PLAIN;
                let told = crate::sum::hash_file(source, &stat, policy, &mut digest).unwrap();
                assert_eq!(told.bytes, bytes as u64);
                let mut expected = algorithm.start();
                expected.update(&whole[..bytes]);
                assert_eq!(digest.finish(), expected.finish(), "{} {bytes}", algorithm.name);
            }
        }
    }
}
