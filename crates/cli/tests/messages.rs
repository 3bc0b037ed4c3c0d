//! Error messages: text, stream and exit code are those of GNU cp 9.7, because scripts read them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, ignored, is_root};

/// The folder in which every command line of this module runs.
fn furnish(root: &Path) -> Outcome {
    for dir in ["s/sub", "d", "full/f"] {
        fs::create_dir_all(root.join(dir))?;
    }
    for (name, text) in [("f", "one"), ("g", "two"), ("s/a", "x"), ("s/sub/y", "y"), ("d/g", "z")] {
        fs::write(root.join(name), text)?;
    }
    fs::hard_link(root.join("f"), root.join("hard"))?;
    for (text, name) in [("f", "link"), ("nowhere", "dangling"), ("loop", "loop")] {
        symlink(text, root.join(name))?;
    }
    Ok(())
}

/// Runs every command line in a separate folder, and collects the differences.
fn check(cases: &[(&str, &str)], code: i32, adapt: impl Fn(Call) -> Call) -> Outcome {
    let mut wrong = Vec::new();
    let scratch = Scratch::public()?;
    for (line, expected) in cases {
        scratch.clear("w")?;
        fs::create_dir(scratch.at("w"))?;
        furnish(&scratch.at("w"))?;
        let words: Vec<&str> = line
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| word.trim_matches('"'))
            .collect();
        let done = adapt(cp(words).in_dir(scratch.at("w"))).run()?;
        let expected: String = expected.lines().map(|line| format!("cp: {line}\n")).collect();
        let expected = expected.replace("cp: Try", "Try").replace("cp:   -", "  -");
        let expected = expected.replace("cp: Valid", "Valid");
        if done.errors() != expected || done.code() != Some(code) || !done.stdout.is_empty() {
            let (said, code) = (done.errors(), done.code());
            wrong.push(format!("cp {line}\nsaid {code:?}: {said}instead of: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

const TRY: &str = "Try 'haul cp --help' for more information.";

#[test]
fn wrong_command_lines_are_answered_in_getopts_words() -> Outcome {
    let cases = [
        ("", "missing file operand"),
        ("f", "missing destination file operand after 'f'"),
        ("-t d", "missing file operand"),
        ("-t", "option requires an argument -- 't'"),
        ("--target-directory", "option '--target-directory' requires an argument"),
        ("-T f g h", "extra operand 'h'"),
        ("-q f x", "invalid option -- 'q'"),
        ("-/ f x", "invalid option -- '/'"),
        ("-rq", "invalid option -- 'q'"),
        ("--foo f x", "unrecognized option '--foo'"),
        ("--foo=bar f x", "unrecognized option '--foo=bar'"),
        ("--rec=1 f x", "option '--recursive' doesn't allow an argument"),
        (
            "--re f x",
            "option '--re' is ambiguous; possibilities: '--recursive' '--remove-destination' \
             '--reflink'",
        ),
        (
            "--no f x",
            "option '--no' is ambiguous; possibilities: '--no-clobber' '--no-dereference' \
             '--no-preserve' '--no-target-directory'",
        ),
        ("--no-preserve", "option '--no-preserve' requires an argument"),
        ("-ls f x", "cannot make both hard and symbolic links"),
        ("--reflink=always --sparse=always f x", "--reflink can be used only with --sparse=auto"),
        (
            "--update=foo f x",
            "invalid argument 'foo' for '--update'\nValid arguments are:\n  - 'all'\n  - 'none'\n  \
             - 'none-fail'\n  - 'older'",
        ),
        (
            "--update=no f x",
            "ambiguous argument 'no' for '--update'\nValid arguments are:\n  - 'all'\n  - 'none'\n  \
             - 'none-fail'\n  - 'older'",
        ),
        (
            "--reflink=a f x",
            "ambiguous argument 'a' for '--reflink'\nValid arguments are:\n  - 'auto'\n  - \
             'always'\n  - 'never'",
        ),
        (
            "--sparse f",
            "invalid argument 'f' for '--sparse'\nValid arguments are:\n  - 'never'\n  - 'auto'\n  \
             - 'always'",
        ),
        (
            "--preserve=mode,foo f x",
            "invalid argument 'foo' for '--preserve'\nValid arguments are:\n  - 'mode'\n  - \
             'timestamps'\n  - 'ownership'\n  - 'links'\n  - 'context'\n  - 'xattr'\n  - \
             'flags'\n  - 'all'",
        ),
    ];
    let cases: Vec<(&str, String)> =
        cases.iter().map(|(line, text)| (*line, format!("{text}\n{TRY}"))).collect();
    let cases: Vec<(&str, &str)> =
        cases.iter().map(|(line, text)| (*line, text.as_str())).collect();
    check(&cases, 1, |call| call)
}

#[test]
fn what_cannot_be_done_is_told_in_gnus_words() -> Outcome {
    let cases = [
        ("f g nodir", "target 'nodir': No such file or directory"),
        ("f g hard", "target 'hard': Not a directory"),
        ("-t nodir f", "target directory 'nodir': No such file or directory"),
        ("-t f g", "target directory 'f': Not a directory"),
        ("-t d -T f", "cannot combine --target-directory (-t) and --no-target-directory (-T)"),
        ("s x", "-r not specified; omitting directory 's'"),
        ("s f d", "-r not specified; omitting directory 's'"),
        ("nope x", "cannot stat 'nope': No such file or directory"),
        ("nope f d", "cannot stat 'nope': No such file or directory"),
        ("f f", "'f' and 'f' are the same file"),
        ("f ./f", "'f' and './f' are the same file"),
        ("f hard", "'f' and 'hard' are the same file"),
        ("f link", "'f' and 'link' are the same file"),
        ("link f", "'link' and 'f' are the same file"),
        ("-P link f", "'link' and 'f' are the same file"),
        ("-a link hard", "'link' and 'hard' are the same file"),
        ("-r s s", "cannot copy a directory, 's', into itself, 's/s'"),
        ("-r s s/new", "cannot copy a directory, 's', into itself, 's/new'"),
        ("-r s s/sub", "cannot copy a directory, 's', into itself, 's/sub/s'"),
        ("f dangling", "not writing through dangling symlink 'dangling'"),
        ("loop x", "cannot stat 'loop': Too many levels of symbolic links"),
        ("f loop", "cannot stat 'loop': Too many levels of symbolic links"),
        ("f nodir/x", "cannot create regular file 'nodir/x': No such file or directory"),
        ("f nodir/", "cannot create regular file 'nodir/': Not a directory"),
        ("f f/x", "cannot stat 'f/x': Not a directory"),
        ("f/ x", "cannot stat 'f/': Not a directory"),
        ("f full", "cannot overwrite directory 'full/f' with non-directory 'f'"),
        ("-r s f", "cannot overwrite non-directory 'f' with directory 's'"),
        ("f g d/g d", "'d/g' and 'd/g' are the same file"),
        ("d/g g d", "'d/g' and 'd/g' are the same file"),
        (
            "g s/a f d/g full",
            "cannot overwrite directory 'full/f' with non-directory 'f'\n\
          will not overwrite just-created 'full/g' with 'd/g'",
        ),
        ("--update=none-fail f g", "not replacing 'g'"),
        ("-l f g", "cannot create hard link 'g' to 'f': File exists"),
        ("-s f g", "cannot create symbolic link 'g' to 'f': File exists"),
        ("-s f d", "d/f: can make relative symbolic links only in current directory"),
        ("\"\" x", "cannot stat '': No such file or directory"),
        ("f \"\"", "cannot create regular file '': No such file or directory"),
        ("-t \"\" f", "target directory '': No such file or directory"),
        ("-- -x y", "cannot stat '-x': No such file or directory"),
    ];
    check(&cases, 1, |call| call)
}

#[test]
fn what_is_given_twice_is_copied_once() -> Outcome {
    let cases = [
        ("f f d", "warning: source file 'f' specified more than once"),
        ("f ./s/../f d", "warning: source file './s/../f' specified more than once"),
        ("-r s s d", "warning: source directory 's' specified more than once"),
        ("-r s ./s/ d", "warning: source directory './s/' specified more than once"),
    ];
    check(&cases, 0, |call| call)
}

#[test]
fn abbreviations_and_options_behind_operands_are_understood() -> Outcome {
    let cases = [
        ("f x --preserve=m", ""),
        ("f --pres x", ""),
        ("--target=d f", ""),
        ("-td f", ""),
        ("f x -v --reflink=never --sparse=nev --update=ol --no-t", ""),
    ];
    let scratch = Scratch::new()?;
    for (line, _) in cases {
        scratch.clear("w")?;
        fs::create_dir(scratch.at("w"))?;
        furnish(&scratch.at("w"))?;
        cp(line.split(' ')).in_dir(scratch.at("w")).succeed()?;
        let made = ["x", "d/f"]
            .iter()
            .any(|name| fs::read(scratch.at("w").join(name)).is_ok_and(|bytes| bytes == b"one"));
        assert!(made, "{line}");
    }
    // With POSIXLY_CORRECT the first operand ends the options.
    let call = cp(["f", "x", "-v"]).in_dir(scratch.at("w")).env("POSIXLY_CORRECT", "1");
    assert_eq!(call.run()?.errors(), "cp: target '-v': No such file or directory\n");
    Ok(())
}

#[test]
fn the_first_line_of_the_version_ends_in_it_and_help_goes_to_standard_output() -> Outcome {
    let version = cp(["--version"]).succeed()?.text();
    let first = version.lines().next().unwrap_or_default();
    assert_eq!(first, format!("cp (haul) {}", env!("CARGO_PKG_VERSION")));
    let help = cp(["--help", "no", "matter"]).succeed()?.text();
    assert!(help.starts_with("Usage: cp [OPTION]... [-T] SOURCE DEST\n"), "{help}");
    Ok(())
}

#[test]
fn a_link_called_cp_is_cp() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "one")?;
    symlink(haul(), scratch.at("cp"))?;
    let done = Call::of(scratch.at("cp")).words(["f", "g"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(done.text(), "");
    assert_eq!(fs::read(scratch.at("g"))?, b"one");
    let done = Call::of(scratch.at("cp")).in_dir(scratch.path()).run()?;
    let line = "Try 'cp --help' for more information.";
    assert_eq!(done.errors(), format!("cp: missing file operand\n{line}\n"));
    Ok(())
}

/// The terminal gets only printable text, whatever the names are.
#[test]
fn names_are_quoted_so_that_they_cannot_harm_a_terminal() -> Outcome {
    use std::os::unix::ffi::OsStrExt as _;
    let cases: [(&[u8], &str, &str); 7] = [
        (b"new\nline", "'new'$'\\n''line'", "'new'$'\\n''line'"),
        (b"\x1b[31mred", "''$'\\033''[31mred'", "''$'\\033''[31mred'"),
        (b"\xff\xfe", "''$'\\377\\376'", "''$'\\377\\376'"),
        (b"a\xe2\x80\xaeb", "'a'$'\\342\\200\\256''b'", "'a'$'\\342\\200\\256''b'"),
        ("é".as_bytes(), "''$'\\303\\251'", "'é'"),
        (b"it's", "\"it's\"", "\"it's\""),
        (b"-rf", "'-rf'", "'-rf'"),
    ];
    let scratch = Scratch::new()?;
    for (name, in_c, in_utf8) in cases {
        let path = std::ffi::OsStr::from_bytes(name);
        for (locale, quoted) in [("C", in_c), ("C.UTF-8", in_utf8)] {
            let call = |words: [&std::ffi::OsStr; 4]| {
                cp(words).in_dir(scratch.path()).env("LC_ALL", locale)
            };
            let dash = std::ffi::OsStr::new("--");
            let verbose = std::ffi::OsStr::new("-v");
            let missing = call([verbose, dash, path, "x".as_ref()]).run()?.errors();
            let expected = format!("cp: cannot stat {quoted}: No such file or directory\n");
            assert_eq!(missing, expected, "{locale}");
            fs::write(scratch.at(path), "x")?;
            let told = call([verbose, dash, path, "y".as_ref()]).succeed()?.text();
            assert_eq!(told, format!("{quoted} -> 'y'\n"), "{locale}");
            fs::remove_file(scratch.at(path))?;
        }
    }
    Ok(())
}

/// Makes files that an ordinary user may not read or write.
fn lock(root: &Path) -> Outcome {
    let mode =
        |name: &str, mode| fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode));
    fs::write(root.join("secret"), "root's")?;
    fs::create_dir_all(root.join("closed/in"))?;
    fs::create_dir(root.join("mine"))?;
    for name in ["mine/rof", "mine/f"] {
        fs::write(root.join(name), name)?;
    }
    fs::create_dir_all(root.join("mine/rod"))?;
    fs::write(root.join("mine/rod/k"), "k")?;
    let user = Some(super::support::run::USER);
    for name in ["mine", "mine/rof", "mine/f", "mine/rod", "mine/rod/k"] {
        std::os::unix::fs::chown(root.join(name), user, user)?;
    }
    for (name, bits) in [("secret", 0o600), ("closed", 0o700), ("mine/rof", 0o444)] {
        mode(name, bits)?;
    }
    mode("mine/rod", 0o555)?;
    Ok(())
}

#[test]
fn an_ordinary_user_is_told_what_is_denied() -> Outcome {
    if !is_root()? || !has("setpriv")? {
        return Ok(());
    }
    let cases = [
        ("../secret x", "cannot open '../secret' for reading: Permission denied"),
        ("../closed/in x", "cannot stat '../closed/in': Permission denied"),
        ("-r ../closed x", "cannot access '../closed': Permission denied"),
        ("f ../x", "cannot create regular file '../x': Permission denied"),
        ("f ../closed/", "cannot stat '../closed/f': Permission denied"),
        ("-t ../closed f", "cannot stat '../closed/f': Permission denied"),
        ("f ../closed/in", "cannot stat '../closed/in': Permission denied"),
        ("f rof", "cannot create regular file 'rof': Permission denied"),
        ("f rod/new", "cannot create regular file 'rod/new': Permission denied"),
        ("-f f ../secret", "cannot remove '../secret': Permission denied"),
        ("--remove-destination f rod/k", "cannot remove 'rod/k': Permission denied"),
        ("-r rod ../x", "cannot create directory '../x': Permission denied"),
    ];
    let scratch = Scratch::public()?;
    let binary = scratch.program("haul")?;
    let mut wrong = Vec::new();
    for (line, expected) in cases {
        scratch.clear("w")?;
        fs::create_dir(scratch.at("w"))?;
        lock(&scratch.at("w"))?;
        let call = Call::of(&binary).word("cp").words(line.split(' '));
        let done = call.in_dir(scratch.at("w/mine")).by_user().run()?;
        let expected = format!("cp: {expected}\n");
        if done.errors() != expected || done.code() != Some(1) {
            wrong.push(format!("cp {line}: {:?} {}", done.code(), done.errors()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// As after `sudo -u USER` in a home folder that USER may not enter.
#[test]
fn a_current_directory_that_is_closed_does_not_matter_to_absolute_paths() -> Outcome {
    if !is_root()? || !has("setpriv")? {
        return Ok(());
    }
    use super::support::run::USER;
    let scratch = Scratch::public()?;
    let binary = scratch.program("haul")?;
    scratch.write("s/f", "text")?;
    for (name, bits) in [("closed", 0o700), ("open", 0o777)] {
        fs::create_dir(scratch.at(name))?;
        fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(bits))?;
    }
    std::os::unix::fs::chown(scratch.at("open"), Some(USER), Some(USER))?;
    for (option, source, target) in [("-p", "s/f", "open/f"), ("-r", "s", "open/s")] {
        let call = Call::of(&binary).words(["cp", option]);
        let call = call.word(scratch.at(source)).word(scratch.at(target));
        // The shell enters the folder while it may.
        let script = "cd closed && exec \"$0\" \"$@\"";
        let call = call.by_user().in_dir(scratch.path()).under(["sh", "-c", script]);
        call.succeed()?;
        assert!(scratch.at(target).exists());
    }
    Ok(())
}

#[test]
fn a_context_that_must_be_kept_is_refused_without_selinux() -> Outcome {
    if Path::new("/sys/fs/selinux/enforce").exists() {
        return ignored("a kernel without SELinux");
    }
    let scratch = Scratch::new()?;
    scratch.write("a", "bytes")?;
    let refused = "cp: cannot preserve security context without an SELinux-enabled kernel\n";
    for options in [
        &["--preserve=context"][..],
        &["--preserve=all,context"],
        &["--preserve=context,all"],
        &["--preserve=context", "-a"],
        &["-a", "--preserve=context"],
        &["--preserve=context", "--no-preserve=all"],
    ] {
        let done = cp(options).words(["a", "b"]).in_dir(scratch.path()).run()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(1), refused), "{options:?}");
        assert!(!scratch.at("b").exists(), "{options:?}");
    }
    for options in
        [&["-a"][..], &["--preserve=all"], &["--preserve=context", "--no-preserve=context"]]
    {
        cp(options).words(["a", "b"]).in_dir(scratch.path()).succeed()?;
    }
    Ok(())
}

#[test]
fn debug_says_what_gnu_says_of_a_file_without_data() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("empty", "")?;
    fs::File::create(scratch.at("hole"))?.set_len(10 << 20)?;
    for (words, offload, detection) in [
        (&["empty"][..], "unknown", "no"),
        (&["--reflink=never", "empty"], "avoided", "no"),
        (&["--sparse=always", "empty"], "avoided", "zeros"),
        (&["hole"], "unknown", "SEEK_HOLE"),
        (&["--reflink=never", "hole"], "unknown", "SEEK_HOLE"),
    ] {
        let done = cp(["--debug"]).words(words).word("t").in_dir(scratch.path()).succeed()?;
        let told = done.text();
        if told.contains("reflink: yes") {
            continue;
        }
        assert!(told.contains(&format!("\ncopy offload: {offload}, ")), "{words:?}: {told}");
        let detected = format!(", sparse detection: {detection}, ");
        assert!(told.contains(&detected), "{words:?}: {told}");
    }
    Ok(())
}
