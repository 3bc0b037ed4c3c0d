//! Changes of permissions in the notation of chmod(1): `644`, `u=rwX,go-w`.

/// Bits of a mode that a change is about.
const ALL: u32 = 0o7777;

/// Bits of a directory that stay unless a change names them.
const SET_ID: u32 = 0o6000;

/// Which bits an operation sets or clears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Bits(u32),
    /// These, and execution for directories and for files that have it (`X`).
    WithConditionalX(u32),
    /// What the owner, the group or others may do now (`u`, `g`, `o`).
    Of(u32),
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clause {
    /// The bits of those that it names; 0 if it names no one.
    who: u32,
    operator: u8,
    value: Value,
    /// The bits that are named, which change in directories, too.
    mentioned: u32,
}

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    clauses: Vec<Clause>,
    umask: u32,
}

fn number(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 8).ok().filter(|bits| *bits <= ALL)
}

fn count(text: &str, wanted: &[u8]) -> usize {
    text.bytes().take_while(|byte| wanted.contains(byte)).count()
}

impl ModeChange {
    /// Reads a change; `None` if it is malformed. A clause that names no one obeys the umask.
    #[must_use]
    pub fn parse(text: &str, umask: u32) -> Option<ModeChange> {
        if !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
            let bits = number(text)?;
            let mentioned = if text.len() < 5 { (bits & SET_ID) | 0o1777 } else { ALL };
            let value = Value::Bits(bits);
            let clause = Clause { who: ALL, operator: b'=', value, mentioned };
            return Some(ModeChange { clauses: vec![clause], umask });
        }
        let mut clauses = Vec::new();
        for part in text.split(',') {
            let (who, mut rest) = part.split_at(count(part, b"ugoa"));
            let who = who.bytes().fold(0, |bits, letter| bits | of_who(letter));
            if rest.is_empty() {
                return None;
            }
            while let Some(operator) = rest.bytes().next().filter(|byte| b"+-=".contains(byte)) {
                let (clause, behind) = operation(who, operator, rest.get(1..)?)?;
                clauses.push(clause);
                rest = behind;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        Some(ModeChange { clauses, umask })
    }

    /// Applies the change to permissions.
    #[must_use]
    pub fn apply(&self, mode: u32, is_directory: bool) -> u32 {
        let mut mode = mode & ALL;
        for clause in &self.clauses {
            let kept = if is_directory { SET_ID & !clause.mentioned } else { 0 };
            let bits = match clause.value {
                Value::Bits(bits) => bits,
                Value::WithConditionalX(bits) if is_directory || mode & 0o111 != 0 => bits | 0o111,
                Value::WithConditionalX(bits) => bits,
                Value::Of(whose) => everyone(mode & whose),
            };
            let limit = if clause.who == 0 { !self.umask } else { clause.who };
            let bits = bits & limit & !kept;
            mode = match clause.operator {
                b'+' => mode | bits,
                b'-' => mode & !bits,
                // Without a name all bits are cleared, also those that the umask does not let it set.
                _ if clause.who == 0 => (mode & kept) | bits,
                _ => (mode & (!clause.who | kept)) | bits,
            };
        }
        mode
    }
}

/// Reads what follows an operator, and returns the rest.
fn operation(who: u32, operator: u8, text: &str) -> Option<(Clause, &str)> {
    let digits = count(text, b"01234567");
    if digits > 0 {
        let (digits, rest) = text.split_at(digits);
        let value = Value::Bits(number(digits)?);
        let clause = Clause { who: ALL, operator, value, mentioned: ALL };
        return (who == 0 && rest.is_empty()).then_some((clause, rest));
    }
    let whose = text.bytes().next().filter(|byte| b"ugo".contains(byte));
    let length = whose.map_or_else(|| count(text, b"rwxXst"), |_| 1);
    let (letters, rest) = text.split_at(length);
    let bits = letters.bytes().fold(0, |bits, letter| bits | of_permission(letter));
    let (value, bits) = match whose {
        Some(letter) => (Value::Of(of_who(letter) & 0o777), of_who(letter) & 0o777),
        None if letters.contains('X') => (Value::WithConditionalX(bits), bits),
        None => (Value::Bits(bits), bits),
    };
    let mentioned = if who == 0 { bits } else { bits & who };
    Some((Clause { who, operator, value, mentioned }, rest))
}

/// Gives to all what one class has.
fn everyone(bits: u32) -> u32 {
    [0o444, 0o222, 0o111].into_iter().filter(|all| bits & all != 0).fold(0, |sum, all| sum | all)
}

fn of_who(letter: u8) -> u32 {
    match letter {
        b'u' => 0o4700,
        b'g' => 0o2070,
        b'o' => 0o1007,
        _ => ALL,
    }
}

fn of_permission(letter: u8) -> u32 {
    match letter {
        b'r' => 0o444,
        b'w' => 0o222,
        b'x' => 0o111,
        b's' => SET_ID,
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

    /// The expected modes are those of GNU tar 1.34.
    #[test]
    fn the_umask_limits_what_is_set_and_not_what_is_cleared() {
        for (text, umask, before, directory, after) in [
            ("=rw", 0o022, 0o666, false, 0o644),
            ("=", 0o022, 0o666, false, 0),
            ("=rw", 0o077, 0o666, false, 0o600),
            ("u=rw,=r", 0o022, 0o666, false, 0o444),
            ("=rw-w", 0o022, 0o666, false, 0o444),
            ("-w", 0o022, 0o666, false, 0o466),
            ("=rw", 0o022, 0o7777, true, 0o6644),
            ("=t", 0o022, 0o7777, true, 0o7000),
            ("g=", 0o022, 0o7777, true, 0o7707),
            ("g=s", 0o022, 0o7777, true, 0o7707),
            ("a=rw", 0o022, 0o7777, true, 0o6666),
            ("0755", 0o022, 0o7777, true, 0o6755),
            ("00755", 0o022, 0o7777, true, 0o755),
            ("-st", 0o022, 0o7777, true, 0o777),
            ("g=u", 0o022, 0o640, false, 0o660),
            ("=u", 0o022, 0o666, false, 0o644),
            ("+100", 0o777, 0o666, false, 0o766),
            ("=644", 0o777, 0o7777, true, 0o644),
        ] {
            let change = ModeChange::parse(text, umask).unwrap();
            let found = change.apply(before, directory);
            assert_eq!(found, after, "{text}: {found:o} instead of {after:o}");
        }
        for text in ["u+100", "+100r", "+77777", "u=gr", "=uu"] {
            assert_eq!(ModeChange::parse(text, 0o022), None, "{text}");
        }
    }
}
