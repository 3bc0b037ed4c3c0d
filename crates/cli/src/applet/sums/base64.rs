//! Base64 as RFC 4648 has it, with padding: what `cksum --base64` prints.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns how many characters so many bytes have.
pub(super) const fn length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Returns whether a byte may stand for six bits.
pub(super) fn is_letter(byte: u8) -> bool {
    LETTERS.contains(&byte)
}

pub(super) fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(length(bytes.len()));
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4 {
            let six = (bits >> (18 - 6 * index)) & 63;
            let letter = LETTERS.get(six as usize).copied().unwrap_or(b'=');
            text.push(if index <= group.len() { letter } else { b'=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(bytes.as_bytes()), text.as_bytes());
            assert_eq!(length(bytes.len()), text.len());
        }
    }
}
