//! The kernel's number of a device, and its two parts: `gnu_dev_major`, `gnu_dev_minor` and
//! `gnu_dev_makedev` of the C library.

/// Splits a number into major and minor.
pub(crate) fn parts(device: u64) -> (u32, u32) {
    let major = (device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000);
    let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00);
    (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0))
}

/// Joins major and minor.
pub(crate) fn number((major, minor): (u32, u32)) -> u64 {
    let (major, minor) = (u64::from(major), u64::from(minor));
    (major & 0xffff_f000) << 32 | (major & 0xfff) << 8 | (minor & 0xffff_ff00) << 12 | minor & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_number() {
        for pair in [(0, 0), (8, 1), (259, 70_000), (0xffff_ffff, 0xffff_ffff), (1, 0xff00)] {
            assert_eq!(parts(number(pair)), pair);
        }
    }
}
