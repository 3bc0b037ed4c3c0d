//! A minimal parser of the kernel's type information (BTF) that finds field offsets.
//!
//! The eBPF program follows a few kernel structures whose layout differs from build to build.
//! `/sys/kernel/btf/vmlinux` has the layout of the running kernel; finding fifteen structures in it
//! takes milliseconds, and the object needs no type information from the compiler. Format:
//! <https://docs.kernel.org/bpf/btf.html>. All input is checked; invalid input gives `None`.

use std::collections::HashMap;

/// Deepest nesting of anonymous members that is searched; the kernel's deepest is 4.
const MOST_NESTED: usize = 8;
/// Longest chain of `const`, `volatile` and `typedef`; the kernel's longest is about 6.
const MOST_ALIASES: usize = 32;

const POINTER: u32 = 2;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const FUNCTION_PROTOTYPE: u32 = 13;

/// Parsed BTF, borrowing the bytes.
pub(crate) struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins in `types`; type 0 is `void` and is not stored.
    starts: Vec<u32>,
    /// The requested structures and typedefs, by name.
    named: HashMap<&'a [u8], Vec<u32>>,
}

/// One type's common part.
#[derive(Clone, Copy)]
struct Header {
    name: u32,
    kind: u32,
    length: usize,
    /// Bit 31: members have bit-field offsets.
    flagged: bool,
    target: u32,
    /// Offset of the data of this kind.
    data: usize,
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl<'a> Btf<'a> {
    /// Indexes the bytes; `None` if they are not BTF in this machine's byte order.
    ///
    /// Only `wanted` names are indexed: there are 100,000 types, of which fifteen are needed.
    pub(crate) fn parse(bytes: &'a [u8], wanted: &[&str]) -> Option<Btf<'a>> {
        if bytes.get(..3)? != [&0xeb9f_u16.to_ne_bytes()[..], &[1]].concat() {
            return None;
        }
        let header = number(bytes, 4)? as usize;
        let section = |offset, length| -> Option<&'a [u8]> {
            let start = header.checked_add(number(bytes, offset)? as usize)?;
            bytes.get(start..start.checked_add(number(bytes, length)? as usize)?)
        };
        let mut btf = Btf {
            types: section(8, 12)?,
            strings: section(16, 20)?,
            starts: vec![u32::MAX],
            named: HashMap::new(),
        };
        let mut at = 0;
        while at < btf.types.len() {
            let header = btf.header_at(at)?;
            let id = u32::try_from(btf.starts.len()).ok()?;
            btf.starts.push(u32::try_from(at).ok()?);
            if matches!(header.kind, STRUCT | TYPEDEF) && header.name != 0 {
                let name = btf.name(header.name);
                if wanted.iter().any(|one| one.as_bytes() == name) {
                    btf.named.entry(name).or_default().push(id);
                }
            }
            at = header.data.checked_add(data_bytes(header.kind, header.length)?)?;
        }
        Some(btf)
    }

    fn header_at(&self, at: usize) -> Option<Header> {
        let info = number(self.types, at + 4)?;
        Some(Header {
            name: number(self.types, at)?,
            kind: info >> 24 & 0x1f,
            length: (info & 0xffff) as usize,
            flagged: info >> 31 == 1,
            target: number(self.types, at + 8)?,
            data: at + 12,
        })
    }

    fn header(&self, id: u32) -> Option<Header> {
        let start = *self.starts.get(id as usize)?;
        if start == u32::MAX { None } else { self.header_at(start as usize) }
    }

    fn name(&self, offset: u32) -> &'a [u8] {
        let tail = self.strings.get(offset as usize..).unwrap_or_default();
        tail.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Skips `const`, `volatile`, `restrict`, typedefs and type tags.
    fn resolved(&self, mut id: u32) -> Option<Header> {
        for _ in 0..MOST_ALIASES {
            let header = self.header(id)?;
            if !matches!(header.kind, TYPEDEF | 9 | 10 | 11 | 18) {
                return Some(header);
            }
            id = header.target;
        }
        None
    }

    /// Returns the offset in bytes of a field such as `se.sum_exec_runtime`; the search includes
    /// anonymous structures and unions.
    pub(crate) fn offset(&self, structure: &str, path: &str) -> Option<u32> {
        let candidates = self.named.get(structure.as_bytes())?;
        candidates.iter().find_map(|id| {
            let mut header = self.resolved(*id)?;
            let mut offset = 0_u32;
            for field in path.split('.') {
                let (here, target) = self.member(header, field.as_bytes(), MOST_NESTED)?;
                offset = offset.checked_add(here)?;
                // Only the last field may have a type other than a structure, and its members are
                // not needed.
                header = self.resolved(target)?;
            }
            Some(offset)
        })
    }

    fn member(&self, header: Header, wanted: &[u8], depth: usize) -> Option<(u32, u32)> {
        if !matches!(header.kind, STRUCT | UNION) || depth == 0 {
            return None;
        }
        for index in 0..header.length {
            let at = header.data + index * 12;
            let name = self.name(number(self.types, at)?);
            let target = number(self.types, at + 4)?;
            let bits = number(self.types, at + 8)?;
            let bits = if header.flagged { bits & 0x00ff_ffff } else { bits };
            if name == wanted {
                return Some((bits / 8, target));
            }
            if name.is_empty()
                && let Some(inner) = self.resolved(target)
                && let Some((offset, found)) = self.member(inner, wanted, depth - 1)
            {
                return Some((bits.checked_add(offset.checked_mul(8)?)? / 8, found));
            }
        }
        None
    }

    /// Returns the name of the structure that an argument of a tracepoint points to; the empty name
    /// if it points to another type. `None` without such a tracepoint or argument.
    pub(crate) fn tracepoint_argument(&self, tracepoint: &str, index: usize) -> Option<&'a [u8]> {
        let typedef = format!("btf_trace_{tracepoint}");
        let pointer = self.resolved(*self.named.get(typedef.as_bytes())?.first()?)?;
        let prototype = self.resolved(pointer.target)?;
        if pointer.kind != POINTER || prototype.kind != FUNCTION_PROTOTYPE {
            return None;
        }
        // Argument 0 of the prototype is the tracepoint's private data.
        let index = index.checked_add(1)?;
        if index >= prototype.length {
            return None;
        }
        let argument = self.resolved(number(self.types, prototype.data + index * 8 + 4)?)?;
        let target = if argument.kind == POINTER { self.resolved(argument.target) } else { None };
        Some(target.filter(|one| one.kind == STRUCT).map_or(&b""[..], |one| self.name(one.name)))
    }
}

/// Returns the number of bytes after the header of a type; `None` for an unknown kind, because the
/// next type cannot be found then.
fn data_bytes(kind: u32, length: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        3 => 12,
        4 | 5 | 15 | 19 => length.checked_mul(12)?,
        6 | 13 => length.checked_mul(8)?,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &[&str] = &["inner", "outer", "other", "task_struct", "int"];

    /// Assembles BTF of: `int`, `struct inner { int x; int y; }`,
    /// `struct outer { int a; union { struct inner in; } }`.
    fn sample() -> Vec<u8> {
        let strings = b"\0int\0inner\0x\0y\0outer\0a\0in\0";
        let name = |text: &str| {
            let found = strings.windows(text.len() + 2).position(|window| {
                window[0] == 0
                    && &window[1..=text.len()] == text.as_bytes()
                    && window[text.len() + 1] == 0
            });
            u32::try_from(found.unwrap() + 1).unwrap()
        };
        let words = [
            vec![name("int"), 1 << 24, 4, 32],
            vec![name("inner"), 4 << 24 | 2, 8, name("x"), 1, 0, name("y"), 1, 32],
            vec![0, 5 << 24 | 1, 8, name("in"), 2, 0],
            vec![name("outer"), 4 << 24 | 2, 12, name("a"), 1, 0, 0, 3, 32],
        ]
        .concat();
        let types = u32::try_from(words.len() * 4).unwrap();
        let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types, types, u32::try_from(strings.len()).unwrap()] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in words {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn fields_are_found_through_anonymous_members() {
        let bytes = sample();
        let btf = Btf::parse(&bytes, WANTED).unwrap();
        assert_eq!(btf.offset("inner", "y"), Some(4));
        assert_eq!(btf.offset("outer", "a"), Some(0));
        assert_eq!(btf.offset("outer", "in.y"), Some(8));
        assert_eq!(btf.offset("outer", "in.z"), None);
        assert_eq!(btf.offset("other", "a"), None);
        assert_eq!(btf.tracepoint_argument("sys_enter", 0), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>) {
            if let Some(btf) = Btf::parse(&bytes, WANTED) {
                btf.offset("task_struct", "pid");
            }
        }

        #[test]
        fn damaged_btf_never_panics(at in 0_usize..180, value: u8, cut in 0_usize..200) {
            let mut bytes = sample();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            bytes.truncate(cut.max(24));
            if let Some(btf) = Btf::parse(&bytes, WANTED) {
                btf.offset("outer", "in.y");
                btf.tracepoint_argument("int", 0);
            }
        }
    }
}
