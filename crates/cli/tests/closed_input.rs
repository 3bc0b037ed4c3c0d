//! Closed standard input and output: reading or writing them is an error, and no file is truncated
//! because of it.

use std::fs;
use std::path::Path;

use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::shell::shell;

const LINES: &[&str] = &[
    "haul write old <&-",
    "haul write --atomic old <&-",
    "haul write - <&-",
    "haul dd of=old <&-",
    "haul dd of=old conv=notrunc <&-",
    "haul tee old <&-",
    "haul cat <&-",
    "haul cat -n <&-",
    "haul split - <&-",
    "haul split -n 2 - <&-",
    "haul sha256sum <&-",
    "haul sha256sum -c <&-",
    "haul b3sum <&-",
    "haul b3sum -c <&-",
    "haul xxhsum <&-",
    "haul xxhsum -c <&-",
    "haul read - <&-",
    "haul read old >&-",
    "haul read --sum=md5 old >&-",
    "haul write - < old >&-",
    "haul write --sum=md5 new < old >&-",
    "haul dd if=old >&-",
    "haul tee new < old >&-",
    "haul cat old >&-",
    "haul split --filter=cat old >&-",
    "haul split -n 1/2 old >&-",
];

fn fails(dir: &Path, line: &str) -> Outcome {
    let done = shell(dir, line)?;
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{line}: {errors}");
    assert!(errors.contains("Bad file descriptor"), "{line}: {errors}");
    Ok(())
}

#[test]
fn what_is_closed_gives_and_takes_no_data() -> Outcome {
    for line in LINES {
        let scratch = Scratch::new()?;
        scratch.write("old", "kept\n")?;
        fails(scratch.path(), line)?;
        assert_eq!(fs::read(scratch.at("old"))?, b"kept\n", "{line}");
    }
    Ok(())
}

#[test]
fn what_needs_neither_runs_without() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("old", "kept\n")?;
    let line = "haul cp old a <&- >&- && haul dd if=old of=b status=none <&- >&- && \
                haul split --filter='cat > c' old <&- >&- && haul write d < old >&-";
    let done = shell(scratch.path(), line)?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(fs::read(scratch.at(name))?, b"kept\n", "{name}");
    }
    Ok(())
}
