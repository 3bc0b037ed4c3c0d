//! Changes of permissions in the notation of chmod(1): `644`, `u=rwX,go-w`.

/// One clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clause {
    /// The bits that the clause is about.
    who: u32,
    operator: u8,
    bits: u32,
    /// Whether execution is given to directories and to files that have it (`X`).
    conditional_x: bool,
}

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange(Vec<Clause>);

impl ModeChange {
    /// Reads a change; `None` if it is malformed. A clause that names no one obeys the umask.
    #[must_use]
    pub fn parse(text: &str, umask: u32) -> Option<ModeChange> {
        if !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
            let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777)?;
            let clause = Clause { who: 0o7777, operator: b'=', bits, conditional_x: false };
            return Some(ModeChange(vec![clause]));
        }
        let mut clauses = Vec::new();
        for part in text.split(',') {
            let letters = part.bytes().take_while(|byte| b"ugoa".contains(byte)).count();
            let (who, mut rest) = part.split_at(letters);
            let named = who.bytes().fold(0, |bits, letter| bits | of_who(letter));
            if rest.is_empty() {
                return None;
            }
            while let Some(operator) = rest.bytes().next().filter(|byte| b"+-=".contains(byte)) {
                let permissions = rest.get(1..)?;
                let length =
                    permissions.bytes().take_while(|byte| b"rwxXst".contains(byte)).count();
                let (letters, behind) = permissions.split_at(length);
                let bits = letters.bytes().fold(0, |bits, letter| bits | of_permission(letter));
                let who = if named == 0 { 0o7777 & !umask } else { named };
                let conditional_x = letters.contains('X');
                clauses.push(Clause { who, operator, bits: bits & who, conditional_x });
                rest = behind;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        Some(ModeChange(clauses))
    }

    /// Applies the change to permissions.
    #[must_use]
    pub fn apply(&self, mode: u32, is_directory: bool) -> u32 {
        let mut mode = mode;
        for clause in &self.0 {
            let mut bits = clause.bits;
            if clause.conditional_x && (is_directory || mode & 0o111 != 0) {
                bits |= 0o111 & clause.who;
            }
            mode = match clause.operator {
                b'+' => mode | bits,
                b'-' => mode & !bits,
                _ => (mode & !clause.who) | bits,
            };
        }
        mode
    }
}

fn of_who(letter: u8) -> u32 {
    match letter {
        b'u' => 0o4700,
        b'g' => 0o2070,
        b'o' => 0o1007,
        _ => 0o7777,
    }
}

fn of_permission(letter: u8) -> u32 {
    match letter {
        b'r' => 0o444,
        b'w' => 0o222,
        b'x' => 0o111,
        b's' => 0o6000,
        b't' => 0o1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_chmod() {
        for (text, before, directory, after) in [
            ("644", 0o4755, false, 0o644),
            ("u=rwX,go=rX", 0o600, false, 0o644),
            ("u=rwX,go=rX", 0o700, false, 0o755),
            ("u=rwX,go=rX", 0o600, true, 0o755),
            ("go-w", 0o777, false, 0o755),
            ("+x", 0o600, false, 0o711),
            ("a+rX,u-w", 0o200, false, 0o444),
            ("u+s", 0o755, false, 0o4755),
            ("u-x+w", 0o500, false, 0o600),
        ] {
            let change = ModeChange::parse(text, 0).unwrap();
            assert_eq!(change.apply(before, directory), after, "{text}");
        }
        for text in ["", "8", "u", "u=q", "77777", "u=r,"] {
            assert_eq!(ModeChange::parse(text, 0), None, "{text}");
        }
        assert_eq!(ModeChange::parse("+w", 0o022).unwrap().apply(0, false), 0o200);
    }
}
