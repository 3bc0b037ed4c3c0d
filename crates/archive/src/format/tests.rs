//! What is written is read again, and whatever is read, nothing panics and memory stays bounded.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{
    BLOCK_BYTES, Layout, Member, MemberKind, Moment, Next, OwnerNames, PaxOptions, Reader,
    SparseVersion, Style, WriteFormat, Zeros, headers,
};
use crate::source::StreamSource;
use std::sync::LazyLock;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(18),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

fn style(format: WriteFormat) -> Style<'static> {
    static PAX: LazyLock<PaxOptions> = LazyLock::new(PaxOptions::default);
    let (owners, sparse) = (OwnerNames::Write, SparseVersion::V10);
    Style {
        extra: crate::format::ExtraHeader::Omit,
        format,
        owners,
        extended_mtime: None,
        sparse,
        link_kind: 0o100_000,
        pax: &PAX,
        boundary: None,
    }
}

fn text(bytes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![9 => 1_u8..=255, 1 => Just(b'/')], bytes)
}

fn member() -> impl Strategy<Value = Member> {
    let kind = prop_oneof![
        Just(MemberKind::Regular),
        Just(MemberKind::Directory),
        Just(MemberKind::Symlink),
        Just(MemberKind::HardLink),
        Just(MemberKind::CharDevice),
        Just(MemberKind::Fifo),
    ];
    let numbers = (0_u32..0o10000, 0_u64..1 << 40, 0_u64..1 << 33, any::<i32>(), 0_u32..2000);
    (kind, text(1..300), text(1..300), text(0..50), numbers).prop_map(
        |(kind, mut name, link, user, (mode, size, id, seconds, minor))| {
            while name.last() == Some(&b'/') {
                name.pop();
            }
            name.push(if kind == MemberKind::Directory { b'/' } else { b'n' });
            let is_link = matches!(kind, MemberKind::Symlink | MemberKind::HardLink);
            let stored = if kind == MemberKind::Regular { size % 5000 } else { 0 };
            Member {
                layout: Layout::Ustar,
                is_extended: false,
                kind,
                name,
                link: if is_link { link } else { Vec::new() },
                mode,
                uid: id,
                gid: id / 3,
                user: user.clone(),
                group: user,
                size: stored,
                mtime: Moment { seconds: i64::from(seconds) * 40, nanoseconds: minor * 4321 },
                atime: None,
                ctime: None,
                device: if kind == MemberKind::CharDevice { (7, minor) } else { (0, 0) },
                regions: None,
                xattrs: Vec::new(),
                acls: [None, None],
                context: None,
                header_offset: 0,
                data_offset: 0,
                stored_bytes: stored,
            }
        },
    )
}

fn archive(members: &[Member], format: WriteFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in members {
        bytes.extend(headers(member, &member.name, style(format)).unwrap());
        let end = bytes.len() + usize::try_from(member.stored_bytes).unwrap();
        bytes.resize(end.next_multiple_of(BLOCK_BYTES), b'd');
    }
    bytes.resize(bytes.len() + 2 * BLOCK_BYTES, 0);
    bytes
}

/// Corrects the checksum of the block with this byte: most changes would only be seen by it.
pub(crate) fn reseal(bytes: &mut [u8], at: usize) {
    let block = at / BLOCK_BYTES * BLOCK_BYTES;
    if let Some(place) = bytes.get_mut(block..block + BLOCK_BYTES)
        && let Ok(place) = <&mut [u8; BLOCK_BYTES]>::try_from(place)
    {
        super::header::seal(place);
    }
}

/// Reads an archive to its end and returns its members; `None` if anything is wrong with it.
fn read(bytes: &[u8]) -> Option<Vec<Member>> {
    let mut reader = Reader::new(StreamSource::new(bytes), Zeros::End);
    let mut members = Vec::new();
    // No archive has more events than blocks and keywords.
    for _ in 0..=bytes.len() {
        match reader.advance() {
            Ok(Next::Member(member)) => members.push(*member),
            Ok(Next::End) => return Some(members),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
    panic!("the reader does not end");
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn members_are_read_as_written(
        members in proptest::collection::vec(member(), 0..4),
        is_posix in any::<bool>(),
    ) {
        let format = if is_posix { WriteFormat::Posix } else { WriteFormat::Gnu };
        let found = read(&archive(&members, format)).unwrap();
        prop_assert_eq!(found.len(), members.len());
        for (found, member) in found.iter().zip(&members) {
            let expected = Member {
                layout: if is_posix { Layout::Ustar } else { Layout::Gnu },
                is_extended: found.is_extended,
                header_offset: found.header_offset,
                data_offset: found.data_offset,
                mtime: match is_posix {
                    true => member.mtime,
                    false => Moment { nanoseconds: 0, ..member.mtime },
                },
                // Without records a name is cut at its field.
                user: if is_posix { member.user.clone() } else { found.user.clone() },
                group: if is_posix { member.group.clone() } else { found.group.clone() },
                ..member.clone()
            };
            prop_assert_eq!(found, &expected);
            prop_assert!(member.user.starts_with(&found.user));
        }
    }

    #[test]
    fn changed_bytes_never_panic_and_never_give_a_name_with_nul(
        members in proptest::collection::vec(member(), 1..4),
        is_posix in any::<bool>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in any::<usize>(),
    ) {
        let format = if is_posix { WriteFormat::Posix } else { WriteFormat::Gnu };
        let mut bytes = archive(&members, format);
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
            reseal(&mut bytes, at);
        }
        if cut.is_multiple_of(3) {
            bytes.truncate(cut % bytes.len());
        }
        for member in read(&bytes).unwrap_or_default() {
            prop_assert!(!member.name.contains(&0) && !member.link.contains(&0));
            prop_assert!(member.data().iter().all(|region| region.offset.checked_add(region.bytes).is_some()));
        }
    }

    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _whatever_it_is = read(&noise);
    }
}

#[test]
fn a_header_that_claims_too_much_is_refused_before_memory_is_taken() {
    let mut member = Member {
        layout: Layout::Gnu,
        is_extended: false,
        kind: MemberKind::Regular,
        name: b"x".to_vec(),
        link: Vec::new(),
        mode: 0,
        uid: 0,
        gid: 0,
        user: Vec::new(),
        group: Vec::new(),
        size: 0,
        mtime: Moment::default(),
        atime: None,
        ctime: None,
        device: (0, 0),
        regions: None,
        xattrs: Vec::new(),
        acls: [None, None],
        context: None,
        header_offset: 0,
        data_offset: 0,
        stored_bytes: 1 << 50,
    };
    member.size = member.stored_bytes;
    for flag in [b'x', b'g', b'L', b'K'] {
        let mut bytes = headers(&member, &member.name, style(WriteFormat::Gnu)).unwrap();
        bytes[156] = flag;
        super::header::seal((&mut bytes[..]).try_into().unwrap());
        let mut reader = Reader::new(StreamSource::new(&bytes[..]), Zeros::End);
        let refused = Next::Refused(b"x".to_vec(), super::Refusal::HeaderTooLarge);
        assert_eq!(reader.advance(), Ok(refused));
        assert_eq!(reader.advance(), Ok(Next::Lost));
        assert_eq!(reader.advance(), Ok(Next::End));
    }
}
