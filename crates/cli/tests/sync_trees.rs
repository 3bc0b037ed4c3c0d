//! Which entries `haul sync` makes, and under which paths: each command ends as rsync's does.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::support::described::{described, differences};
use super::support::judge::snapshot;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::is_usable;
use super::support::{Outcome, has};
use super::sync_lines::{itemized, sync};

/// Makes a tree `s`, and no target.
const TREE: &str = "\
    old() { touch -hd @1600000000 \"$@\"; }
    mkdir -p s/d/n s/e s/f/g; echo aa >s/a; echo bb >s/d/b; echo nn >s/d/n/n; echo cc >s/c; ln -s a s/l; mkfifo s/p
    find s -exec touch -hd @1600000000 {} +";

/// Changes of the tree, and the words of commands, separated by `;`, that follow each other.
type Case = (&'static str, &'static str);

/// Runs each case with haul, first as a rehearsal, and with rsync, and compares lines, exit statuses and trees.
fn demand_as_rsync(cases: &[Case]) -> Outcome {
    if !has("rsync")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (edit, commands) in cases {
        scratch.clear_all()?;
        for side in ["haul", "rsync"] {
            fs::create_dir(scratch.at(side))?;
            demand(&scratch.at(side), &format!("{TREE}\n{edit}"))?;
        }
        for command in commands.split("; ") {
            let words: Vec<&str> = command.split(' ').collect();
            let context = format!("{edit}: {command}");
            let before = snapshot(&scratch.at("haul"));
            let foreseen = sync(["-n", "-i"]).words(&words).in_dir(scratch.at("haul")).run()?;
            assert!(before == snapshot(&scratch.at("haul")), "-n of {context} changed something");
            let ours = sync(["-i"]).words(&words).in_dir(scratch.at("haul")).run()?;
            let theirs = Call::of("rsync").word("-i").words(&words);
            let theirs = theirs.in_dir(scratch.at("rsync")).run()?;
            assert_eq!(itemized(&ours), itemized(&theirs), "{context}: {ours:?} {theirs:?}");
            assert_eq!(itemized(&foreseen), itemized(&ours), "-n of {context}: {foreseen:?}");
            assert_eq!(ours.code(), theirs.code(), "{context}: {ours:?} {theirs:?}");
            let [ours, theirs] = ["haul", "rsync"].map(|root| described(&scratch.at(root)));
            let differences = differences(&ours?, &theirs?);
            assert!(differences.is_empty(), "{context}:\n{differences}");
        }
    }
    Ok(())
}

#[test]
fn paths_are_kept_as_far_as_asked() -> Outcome {
    demand_as_rsync(&[
        ("", "-aR s/d/n t; -aR s/a t; -aR s t"),
        ("chmod 700 s/d", "-aR s/d/b t"),
        ("chmod 700 s/d", "-aR s/./d/b t"),
        ("chmod 700 s/d", "-aR --no-implied-dirs s/d/b t"),
        ("", "-aR s/d/b s/e s/d/n t"),
        ("mkdir -p t/s/d/n; touch t/s/x t/s/d/x t/s/d/n/x", "-aR --delete s/d/n/ t"),
        ("mkdir -p t/s/d/n; touch t/s/x t/s/d/x t/s/d/n/x", "-aR --delete s/d/n s/e t"),
        ("mkdir -p t/d/n; touch t/x t/d/x t/d/n/x", "-aR --delete s/./d t"),
    ])
}

#[test]
fn directories_are_made_without_their_entries() -> Outcome {
    demand_as_rsync(&[
        ("", "-dlt s/ t"),
        ("", "-dlt s/. t"),
        ("mkdir -p t/d; touch t/x t/d/x", "-dlt --delete s/ t"),
        ("", "-rdlt s/ t"),
    ])
}

#[test]
fn directories_with_nothing_but_directories_are_left_out() -> Outcome {
    demand_as_rsync(&[
        ("", "-am s/ t"),
        ("cp -a s t", "-am --delete s/ t"),
        ("", "-am --exclude=/d/b --exclude=n s/ t"),
        ("", "-am --include=*/ --include=n --exclude=* s/ t"),
        ("mkdir -p x/y/z", "-am x/ t; -am x t"),
    ])
}

#[test]
fn directories_above_the_target_are_made() -> Outcome {
    let cases = ["s/ t/u/v", "s/a t/u/v", "s/a t/u/v/", "s t/u/v", "s/ t"];
    for operands in cases {
        let (scratch, theirs) = (Scratch::new()?, Scratch::new()?);
        for scratch in [&scratch, &theirs] {
            demand(scratch.path(), TREE)?;
        }
        let done = sync(["-a", "--mkpath"]).words(operands.split(' '));
        let done = done.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{operands}: {done:?}");
        if has("rsync")? {
            let call = Call::of("rsync").words(["-a", "--mkpath"]).words(operands.split(' '));
            call.in_dir(theirs.path()).run()?;
            let differences = differences(&described(scratch.path())?, &described(theirs.path())?);
            assert!(differences.is_empty(), "{operands}:\n{differences}");
        }
    }
    Ok(())
}

#[test]
fn a_source_that_is_not_there_is_no_failure_if_asked() -> Outcome {
    demand_as_rsync(&[
        ("", "-a --ignore-missing-args s/none s/a t"),
        ("", "-a --ignore-missing-args s/none t"),
    ])
}

const LINKS: &str = "ln -s d s/dl; ln -s /etc/hostname s/abs; ln -s ../out s/up; ln -s ../a s/d/in
    ln -s ../../out s/d/out; ln -s none s/none; echo o >out; old out; mkdir o; echo x >o/x; old o/x o; ln -s ../o s/od
    old s/* s/d/* s s/d";

#[test]
fn links_are_followed_or_skipped_by_where_they_lead() -> Outcome {
    demand_as_rsync(&[
        (LINKS, "-a --safe-links s/ t; -a --safe-links --delete s/ t"),
        (LINKS, "-a --copy-unsafe-links s/ t; -a --copy-unsafe-links --delete s/ t"),
        (LINKS, "-a --copy-unsafe-links s t"),
        (LINKS, "-ak s/ t; -ak --delete s/ t"),
        (LINKS, "-ak --safe-links s/ t"),
        (LINKS, "-rtk s/ t"),
    ])
}

#[test]
fn bytes_are_written_into_the_file_itself_if_asked() -> Outcome {
    demand_as_rsync(&[
        ("cp -a s t; echo longer >t/a; echo B >t/d/b; ln t/a t/y", "-a --inplace s/ t"),
        ("cp -a s t; rm t/a; ln -s c t/a; mkdir t/q; rm t/c; mkfifo t/c", "-a --inplace s/ t"),
        ("cp -a s t; chmod 600 t/a; touch t/c", "-a --inplace s/ t"),
        ("cp -a s t; chmod 755 s/a; echo longer >t/a", "-rltE --inplace s/ t"),
    ])?;
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{TREE}\ncp -a s t; echo longer >t/a; ln t/a t/y"))?;
    let before = fs::metadata(scratch.at("t/a"))?.ino();
    sync(["-a", "--inplace", "s/", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::metadata(scratch.at("t/a"))?.ino(), before);
    assert_eq!(fs::read_to_string(scratch.at("t/y"))?, "aa\n");
    let refused = sync(["-ab", "--inplace", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    Ok(())
}

#[test]
fn contents_are_compared_by_the_digest_that_is_chosen() -> Outcome {
    for name in ["auto", "xxh128", "xxh3", "xxh64", "md5", "sha1"] {
        let scratch = Scratch::new()?;
        demand(scratch.path(), &format!("{TREE}\ncp -a s t; echo AA >t/a; old t/a"))?;
        let choice = format!("--checksum-choice={name}");
        let done = sync(["-aci", &choice, "s/", "t"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.text(), ">fc........ a\n", "{name}: {done:?}");
    }
    Ok(())
}

/// Lines of a form that the user gives, on standard output and in a file.
#[test]
fn lines_have_the_form_that_is_asked_for() -> Outcome {
    if !has("rsync")? {
        return Ok(());
    }
    let edit = "mkdir t; echo x >t/x; ln s/a s/h; touch -h -d @1600000000 s";
    for format in ["%i|%n|%L|%f|%l|%B|%M|%o|%U|%G|%%|", "%n%L", "[%o] %f", "%i %n%L"] {
        let lines = |program: Call, side: &Scratch| -> Outcome<[Vec<String>; 2]> {
            demand(side.path(), &format!("{TREE}\n{edit}"))?;
            let words = [
                "-a".to_owned(),
                "--delete".to_owned(),
                format!("--out-format={format}"),
                "--log-file=log".to_owned(),
                format!("--log-file-format={format}"),
            ];
            let done = program.words(words).words(["s/", "t"]).in_dir(side.path()).run()?;
            assert_eq!(done.code(), Some(0), "{format}: {done:?}");
            let log = fs::read_to_string(side.at("log"))?;
            // The time and the number of the process, and rsync's first and last line.
            let logged = log.lines().filter_map(|line| Some(line.split_once("] ")?.1.to_owned()));
            let logged =
                logged.filter(|line| !line.starts_with("building ") && !line.starts_with("sent "));
            let printed = done.text();
            let printed = printed.lines().map(str::to_owned);
            let mut both = [printed.collect::<Vec<_>>(), logged.collect()];
            both.iter_mut().for_each(|lines| lines.sort());
            Ok(both)
        };
        let ours = lines(sync([] as [&str; 0]), &Scratch::new()?)?;
        let theirs = lines(Call::of("rsync"), &Scratch::new()?)?;
        assert_eq!(ours, theirs, "{format}");
    }
    let scratch = Scratch::new()?;
    demand(scratch.path(), TREE)?;
    let refused = sync(["-a", "--out-format=%b", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert!(refused.code() == Some(1) && refused.errors().contains("%b"), "{refused:?}");

    Ok(())
}

/// The source ends too early: a new file keeps what was read if asked, and a file that exists is not touched.
#[test]
fn a_part_of_a_new_file_stays_if_asked() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for (options, place) in
        [("-a", None), ("-aP", Some("t/big")), ("-a --partial-dir=.part", Some("t/.part/big"))]
    {
        let scratch = Scratch::new()?;
        demand(
            scratch.path(),
            &format!("{TREE}\nmkdir t; echo old >t/a; head -c 3000000 /dev/urandom >s/big"),
        )?;
        let call = sync(options.split(' ')).words([
            "--jobs=1",
            "--reflink=never",
            "--io-size=64K",
            "--progress=never",
            "s/",
            "t",
        ]);
        let calls = "copy_file_range,pwrite64,write,sendfile,splice,io_uring_enter,pwritev2";
        let rule = format!("inject={calls}:error=EIO:when=5+");
        let traced = call.in_dir(scratch.path()).under([
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={calls}"),
            "-e",
            &rule,
            "--",
        ]);
        let done = traced.run()?;
        assert_eq!(done.code(), Some(23), "{options}: {done:?}");
        for (path, is_there) in
            [("t/big", place == Some("t/big")), ("t/.part/big", place == Some("t/.part/big"))]
        {
            let part = fs::metadata(scratch.at(path)).ok();
            assert_eq!(part.is_some(), is_there, "{options} {path}: {done:?}");
            assert!(part.is_none_or(|it| it.mtime() == 0 && it.len() < 3_000_000), "{options}");
        }
        let again = sync(options.split(' ')).words(["--progress=never", "s/", "t"]);
        again.in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::metadata(scratch.at("t/big"))?.len(), 3_000_000, "{options}");
        assert!(!scratch.at("t/.part").exists(), "{options}");
    }
    Ok(())
}
