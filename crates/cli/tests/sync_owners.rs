//! Owners and modes that `haul sync` gives otherwise than the source has them, as rsync does.

use super::support::Outcome;
use super::support::is_root;
use super::sync_lines::{Row, demand_rows, row};

const MODES: &[Row] = &[
    row("chmod 755 s/a", "-rlt -E", &[".f...p..... a"]),
    row("chmod 751 t/a; chmod 711 s/c; chmod 750 t/c", "-rlt -E", &[".f...p..... a"]),
    row("chmod 755 s/a; echo longer >t/a; chmod 640 t/a; old t/a", "-rltE", &[">f.s.p..... a"]),
    row("chmod 755 s/a", "-aE", &[".f...p..... a"]),
    row("chmod 755 s/a", "-rlt -E --chmod=a-x", &[]),
    row(
        "",
        "-a --chmod=F600,D711",
        &[
            ".d...p..... ./",
            ".d...p..... d/",
            ".d...p..... e/",
            ".f...p..... a",
            ".f...p..... c",
            ".f...p..... d/b",
            ".S...p..... p",
        ],
    ),
    row(
        "rm t/a t/d/b; rm -r t/e; old t t/d",
        "-rlt --chmod=Fgo-r --chmod=Dg+w",
        &[">f+++++++++ a", ">f+++++++++ d/b", "cd+++++++++ e/"],
    ),
    row("chmod 600 t/a; chmod 644 s/a", "-rlt --chmod=F640", &[]),
    row(
        "chmod 2750 s/d t/d; chmod 755 s/a",
        "-a --chmod=g=u,Fo=,D+X",
        &[
            ".d...p..... ./",
            ".d...p..... d/",
            ".d...p..... e/",
            ".f...p..... a",
            ".f...p..... c",
            ".f...p..... d/b",
            ".S...p..... p",
        ],
    ),
    row(
        "echo longer >t/a; old t/a",
        "-a --chmod=F400,Du+w",
        &[">f.s.p..... a", ".f...p..... c", ".f...p..... d/b", ".S...p..... p"],
    ),
];

#[test]
fn permission_bits_are_changed_on_their_way() -> Outcome {
    demand_rows(MODES)
}

const OWNERS: &[Row] = &[
    row("chown 3:4 s/a t/c", "-a --no-g", &[".f....o.... a", ".f....o.... c"]),
    row("chown 3:4 s/a t/c", "-a --no-o", &[".f.....g... a", ".f.....g... c"]),
    row("chown 3:4 s/a; rm t/a; old t", "-rlt -o", &[">f+++++++++ a"]),
    row("chown 3:4 s/a; rm t/a; old t", "-rlpt -g", &[">f+++++++++ a"]),
    row(
        "chown 3:4 s/a t/d; older t/d/b; old t/d",
        "-rlpt -g",
        &[".f.....g... a", ".d.....g... d/", ">f..t...... d/b"],
    ),
    row(
        "chown 3:4 s/a",
        "-a --chown=7:8",
        &[
            ".d....og... ./",
            ".d....og... d/",
            ".d....og... e/",
            ".f....og... a",
            ".f....og... c",
            ".f....og... d/b",
            ".L....og... l -> a",
            ".S....og... p",
        ],
    ),
    row("chown 3:4 s/a", "-rlt --usermap=3:9", &[".f....o.... a"]),
    row("chown 3:4 s/a", "-a --usermap=1-5:9,*:0 --groupmap=4:0", &[".f....o.... a"]),
    row("chown 2:2 s/a", "-a --usermap=bi?:1 --groupmap=bin:0", &[".f....o.... a"]),
    row("chown 2:98765 s/a", "-a --usermap=*:0 --groupmap=:0", &[]),
    row(
        "chown 3:4 s/a t/a; chmod 6755 s/a; chmod 755 t/a",
        "-a --chown=7:8 --no-l --no-D",
        &[
            ".d....og... ./",
            ".d....og... d/",
            ".d....og... e/",
            ".f...pog... a",
            ".f....og... c",
            ".f....og... d/b",
        ],
    ),
    row(
        "chown 3:4 s/a; mv t o; chown 9:9 o/a",
        "-a --usermap=3:9 --groupmap=4:9 --link-dest=../o",
        &[],
    ),
];

#[test]
fn owners_are_kept_each_for_itself_and_become_others() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    demand_rows(OWNERS)
}
