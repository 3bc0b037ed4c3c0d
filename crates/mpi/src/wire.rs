//! Encoding of messages: numbers of eight bytes in little-endian order.

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Takes a number from the front; `None` if there are too few bytes.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}
