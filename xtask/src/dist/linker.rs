//! A linker that makes static programs independent of their position, for a target of which rustc does
//! not know that they can be.
//!
//! rustc links static programs for musl on 64-bit ARM at fixed addresses, without address space layout
//! randomisation. Its standard library for that target has all that is needed: musl's start file that
//! relocates the program itself, and objects that are independent of their position. So a script in
//! place of the linker exchanges the start files, and asks lld for such a program.

use super::stage::put;
use crate::command::{command, output};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Its name tells rustc that its arguments are those of lld.
const NAME: &str = "ld.lld";

const SCRIPT: &str = r#"#!/bin/sh
# Made by cargo xtask dist: xtask/src/dist/linker.rs says why.
for word do
    shift
    case $word in
        */self-contained/crt1.o) word=${word%crt1.o}rcrt1.o ;;
        */self-contained/crtbegin.o) word=${word%crtbegin.o}crtbeginS.o ;;
        */self-contained/crtend.o) word=${word%crtend.o}crtendS.o ;;
        -static) set -- "$@" -static -pie --no-dynamic-linker -z text; continue ;;
    esac
    set -- "$@" "$word"
done
exec 'LLD' -flavor gnu "$@"
"#;

/// Writes the script into a folder, and returns its path.
pub(super) fn script(folder: &Path) -> Result<PathBuf> {
    let sysroot = output(command("rustc").args(["--print", "sysroot"]))?;
    let host = output(command("rustc").args(["--print", "host-tuple"]))?;
    let lld = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    let path = folder.join(NAME);
    put(&path, SCRIPT.replace("LLD", &lld.display().to_string()).as_bytes(), 0o755)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn start_files_are_exchanged_and_other_words_stay() {
        let folder = std::env::temp_dir().join(format!("xtask-linker-{}", std::process::id()));
        let path = folder.join(NAME);
        let script = SCRIPT.replace("'LLD' -flavor gnu", "printf '%s\\n'");
        put(&path, script.as_bytes(), 0o755).unwrap();
        let words = ["/s/self-contained/crt1.o", "a b.o", "-static", "-o", "crt1.o"];
        let told = output(command("sh").arg(&path).args(words)).unwrap();
        let expected = "/s/self-contained/rcrt1.o|a b.o|-static|-pie|--no-dynamic-linker|-z|text|\
                        -o|crt1.o|";
        assert_eq!(told.replace('\n', "|"), expected);
        fs::remove_dir_all(&folder).unwrap();
    }
}
