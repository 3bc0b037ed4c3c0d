//! What the tests share: data, and the judge, an inflater that shares no code with the codec.

use std::io::{Cursor, Read as _, Write as _};

use haul_codec::{Cut, DecodeError, DecodePlan, Decoder, EncodePlan, Encoder, Summary};

/// Returns bytes that deflate shortens to about a third.
pub(crate) fn words(bytes: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 8] =
        ["GET /index", "POST /form", "200", "404", " agent", "\n", " 10.0.0.", "error: "];
    let (mut text, mut state) = (Vec::with_capacity(bytes + 32), seed);
    while text.len() < bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        text.extend_from_slice(WORDS[(state >> 61) as usize].as_bytes());
        if state >> 40 & 1 == 0 {
            text.extend_from_slice(format!("{}", state >> 48).as_bytes());
        }
    }
    text.truncate(bytes);
    text
}

/// Returns bytes that nothing shortens.
pub(crate) fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(bytes)
    .collect()
}

pub(crate) fn encoded(bytes: &[u8], level: u8, jobs: usize, cut: Cut) -> Vec<u8> {
    let plan = EncodePlan { level, jobs, cut, ..EncodePlan::GZIP };
    let mut encoder = Encoder::new(Vec::new(), plan);
    encoder.write_all(bytes).unwrap();
    let (sink, totals) = encoder.finish().unwrap();
    assert_eq!((totals.bytes_in, totals.bytes_out), (bytes.len() as u64, sink.len() as u64));
    sink
}

pub(crate) fn decoded(bytes: &[u8], jobs: usize) -> Result<(Vec<u8>, Summary), DecodeError> {
    let plan = DecodePlan { jobs, ..DecodePlan::default() };
    let mut decoder = Decoder::new(Cursor::new(bytes.to_vec()), plan);
    let mut all = Vec::new();
    while let Some(piece) = decoder.next_piece()? {
        assert!(!piece.is_empty());
        all.extend_from_slice(&piece);
    }
    Ok((all, decoder.summary()))
}

/// Returns what the judge makes of a gzip stream; fails as it does.
pub(crate) fn judged(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut all)?;
    Ok(all)
}

/// Returns a member that another writer made.
pub(crate) fn foreign(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}
