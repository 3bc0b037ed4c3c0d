//! What a synchronisation leaves alone, although a plain reading of its options would remove or replace it: each is a
//! way to lose files that a hostile reader has found.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::identity::in_namespace;
use super::select::paths;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has, is_root};
use super::sync_lines::sync;

/// A story: what is there, the command, the files that must still be there with their contents, and the status.
struct Story {
    about: &'static str,
    scene: &'static str,
    /// Mounts, in a namespace of its own.
    mounts: &'static str,
    words: &'static [&'static str],
    kept: &'static [(&'static str, &'static str)],
    status: i32,
    /// How often the command is run.
    runs: usize,
}

const PLAIN: Story =
    Story { about: "", scene: "", mounts: "", words: &[], kept: &[], status: 0, runs: 2 };

const STORIES: &[Story] = &[
    Story {
        about: "a link of the target is on the way to an operand, and leads to the source",
        scene: "mkdir -p s/a/b s/x/b t; echo 1 >s/a/b/n; echo 2 >s/x/b/only; ln -s ../s/x t/a",
        words: &["-aRK", "--delete", "s/./a/b/", "t"],
        kept: &[("s/x/b/only", "2\n"), ("s/a/b/n", "1\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a link of the target is on the way to an operand, and leads out of the target",
        scene: "mkdir -p s/a o t; echo 1 >s/a/f; echo 2 >o/f; ln -s ../o t/a",
        words: &["-aRK", "s/./a/f", "t"],
        kept: &[("o/f", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "an operand goes below the target of another one from another place",
        scene: "mkdir -p s1/a/x s2/a t/a; echo 1 >s1/a/x/f; echo 2 >s2/a/h; echo 3 >t/a/g",
        words: &["-aR", "--delete", "s1/./a/x", "s2/./a", "t"],
        kept: &[("t/a/g", "3\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "sizes leave out all that is in a directory, which is not pruned for that",
        scene: "mkdir -p s/d t/d; echo 123456 >s/d/big; echo 12345 >t/d/big",
        words: &["-am", "--max-size=4", "--delete", "s/", "t"],
        kept: &[("t/d/big", "12345\n")],
        ..PLAIN
    },
    Story {
        about: "a file that looks the same is a name of a snapshot's",
        scene: "mkdir s snap t; echo old >snap/a; ln snap/a t/a; echo new >s/a; chmod 600 s/a
                touch -d @1600000000 snap/a s/a",
        words: &["-a", "--inplace", "s/", "t"],
        kept: &[("snap/a", "old\n")],
        ..PLAIN
    },
    Story {
        about: "a file that looks the same and has two names is replaced, and has a backup",
        scene:
            "mkdir s t; echo old >t/a; ln t/a t/b; echo new >s/a; echo new >s/b; chmod 600 s/a s/b
                touch -d @1600000000 s/a s/b t/a",
        words: &["-ab", "s/", "t"],
        kept: &[("t/a~", "old\n"), ("t/b~", "old\n")],
        ..PLAIN
    },
    Story {
        about: "the directory of backups is the target",
        scene: "mkdir s t; echo old >t/f; echo newer >s/f",
        words: &["-ab", "--backup-dir=.", "s/", "t"],
        kept: &[("t/f", "old\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a file is where only the way to an operand would be",
        scene: "mkdir -p s/a t; echo 1 >s/a/f; echo 2 >t/a",
        words: &["-aR", "--no-implied-dirs", "s/./a/f", "t"],
        kept: &[("t/a", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "the target is in the source, and a rule has nothing to do with it",
        scene: "mkdir -p s/sub/d; echo 1 >s/sub/only; echo 2 >s/sub/d/z; echo 3 >s/f",
        words: &["-a", "--delete", "--exclude=foo", "s/", "s/sub"],
        kept: &[("s/sub/only", "1\n"), ("s/sub/d/z", "2\n"), ("s/f", "3\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "the target is in the source, and a rule leaves it out",
        scene: "mkdir -p s/sub/d; echo 1 >s/sub/only; echo 3 >s/f",
        words: &["-a", "--delete", "--exclude=/sub", "s/", "s/sub"],
        kept: &[("s/sub/f", "3\n"), ("s/f", "3\n")],
        ..PLAIN
    },
    Story {
        about: "a mount shows a directory of the source as the target",
        scene: "mkdir -p s/sub t; echo 1 >s/sub/only; echo 3 >s/f",
        mounts: "mount --bind s/sub t",
        words: &["-a", "--delete", "s/", "t"],
        kept: &[("s/sub/only", "1\n"), ("s/f", "3\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a mount shows another directory of the source in the target",
        scene: "mkdir -p s/x s/y t/x; echo 1 >s/y/only; echo 3 >s/x/f",
        mounts: "mount --bind s/y t/x",
        words: &["-a", "--delete", "s/", "t"],
        kept: &[("s/y/only", "1\n"), ("s/x/f", "3\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a link of the target leads to the source, and out of the target",
        scene: "mkdir -p s/d s/e t out; echo 1 >s/d/f; echo 2 >s/e/only; echo 3 >out/only
                mkdir s/o; echo 4 >s/o/f; ln -s ../s/e t/d; ln -s ../out t/o",
        words: &["-aK", "--delete", "s/", "t"],
        kept: &[("s/e/only", "2\n"), ("out/only", "3\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "rules of the target protect what rules of the source do not",
        scene: "mkdir s t; echo '!' >s/.f; echo '- *.keep' >t/.f; echo 1 >t/x.keep; echo 2 >s/g",
        words: &["-a", "--filter=: .f", "--delete", "s/", "t"],
        kept: &[("t/x.keep", "1\n"), ("t/g", "2\n")],
        // Then the target has the rules of the source.
        runs: 1,
        ..PLAIN
    },
    Story {
        about: "rules of the source protect what the target has no rules about yet",
        scene: "mkdir -p s t/gone; echo '- *.keep' >s/.rsync-filter; echo 1 >t/x.keep
                echo 2 >t/gone/y.keep; echo 3 >t/gone/z",
        words: &["-a", "--filter=: .rsync-filter", "--delete-after", "s/", "t"],
        kept: &[("t/x.keep", "1\n"), ("t/gone/y.keep", "2\n")],
        ..PLAIN
    },
    Story {
        about: "a directory makes way for a file, and a rule protects what is in it",
        scene: "mkdir -p s t/d; echo 1 >s/d; echo 2 >t/d/x.keep",
        words: &["-a", "--force", "--exclude=*.keep", "s/", "t"],
        kept: &[("t/d/x.keep", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "newer files of the target are two, and one file in the source",
        scene: "mkdir s t; echo 1 >s/a; ln s/a s/b; touch -d @1500000000 s/a; echo 2 >t/a; echo 33 >t/b",
        words: &["-aHu", "s/", "t"],
        kept: &[("t/a", "2\n"), ("t/b", "33\n")],
        ..PLAIN
    },
    Story {
        about: "of several sources the first one with a name has it, in each run",
        scene: "mkdir -p a/d b/d; echo 1 >a/x; echo 22 >b/x; echo 3 >b/y; echo 4 >b/d/z; chmod 700 a/d",
        words: &["-a", "--jobs=4", "a/", "b/", "t"],
        kept: &[("t/x", "1\n"), ("t/y", "3\n"), ("t/d/z", "4\n")],
        ..PLAIN
    },
    Story {
        about: "the same of files that are named one by one",
        scene: "mkdir a b t; for n in 1 2 3 4 5 6 7 8 9; do echo a$n >a/$n; echo b-$n >b/$n; done",
        words: &["-a", "--jobs=8", "a/1", "a/9", "b/1", "b/9", "b/5", "t/"],
        kept: &[("t/1", "a1\n"), ("t/9", "a9\n"), ("t/5", "b-5\n")],
        ..PLAIN
    },
    Story {
        about: "a mount shows a directory of another source as the target of one",
        scene: "mkdir -p a b/sub t/a; echo 1 >b/sub/only; echo 2 >a/f",
        mounts: "mount --bind b/sub t/a",
        words: &["-a", "--delete", "a", "b", "t"],
        kept: &[("b/sub/only", "1\n"), ("a/f", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a mount shows a directory of the target in the source",
        scene: "mkdir -p s/mnt t/sub; echo 1 >t/sub/only; echo 2 >s/f",
        mounts: "mount --bind t/sub s/mnt",
        words: &["-a", "--delete", "s/", "t"],
        kept: &[("t/sub/only", "1\n"), ("s/f", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a source is a file in the target of another source",
        scene: "mkdir -p o/b w/b; echo 1 >w/b/file; echo 2 >o/b/g",
        words: &["-a", "--existing", "--delete", "o/b", "w/b/file", "w"],
        kept: &[("w/b/file", "1\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a rule protects what is in a directory that is in the place of an operand",
        scene: "mkdir -p q/f; echo 1 >q/f/keep; echo 2 >f",
        words: &["-a", "--force", "--exclude=/f/keep", "f", "q/"],
        kept: &[("q/f/keep", "1\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a rule leaves out one way to the target, and a mount is another one",
        scene: "mkdir -p s/sub s/alias; echo 1 >s/sub/only; echo 2 >s/f",
        mounts: "mount --bind s/sub s/alias",
        words: &["-a", "--delete", "--exclude=/sub", "s/", "s/sub"],
        kept: &[("s/sub/only", "1\n"), ("s/f", "2\n")],
        status: 23,
        ..PLAIN
    },
    Story {
        about: "a link that is copied as a link leads nowhere",
        scene: "mkdir -p h t; ln -s . h/self; echo 1 >h/f",
        words: &["-a", "--delete", "h/self", "h/t"],
        kept: &[("h/f", "1\n")],
        // Then the link is seen under two names.
        runs: 1,
        ..PLAIN
    },
];

#[test]
fn nothing_is_lost_that_is_not_surely_extraneous() -> Outcome {
    for story in STORIES {
        let is_plain = story.mounts.is_empty();
        let may_run = is_plain || (is_root()? && has("unshare")? && has("mount")?);
        if !may_run {
            continue;
        }
        let scratch = Scratch::new()?;
        demand(scratch.path(), story.scene)?;
        for run in 1..=story.runs {
            let call = sync(story.words.iter().copied());
            let done = match story.mounts {
                "" => call.in_dir(scratch.path()).run()?,
                mounts => in_namespace(&scratch, mounts, call)?,
            };
            let context = format!("{} (run {run}): {done:?}", story.about);
            assert_eq!(done.code(), Some(story.status), "{context}");
            for (name, text) in story.kept {
                let found = fs::read_to_string(scratch.at(name));
                assert_eq!(found.ok().as_deref(), Some(*text), "{name}: {context}");
            }
        }
    }
    Ok(())
}

/// The attributes of a directory that several sources have are those of the first one.
#[test]
fn a_directory_of_several_sources_gets_the_attributes_of_the_first() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), "mkdir -p a/d b/d; echo 1 >b/d/z; chmod 700 a/d; chmod 755 b/d")?;
    for _ in 0..2 {
        sync(["-a", "a/", "b/", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::metadata(scratch.at("t/d"))?.mode() & 0o777, 0o700);
        assert_eq!(paths(&scratch.at("t"))?, ["d/", "d/z"]);
    }
    Ok(())
}
