//! Real runs in directories, which need no privileges.

use std::fs;
use std::time::{Duration, Instant};

use haul_bench::{BenchOptions, CacheState, Conditions, Fault};

use crate::support::{folder_ground, ignored, names, options, session, tool};

const SMALL: &str = "nested-small:files=40,dirs=4";

#[test]
fn a_tool_with_a_wrong_result_is_flagged_and_never_ranked() {
    let work = tempfile::tempdir().unwrap();
    let tools = vec![
        tool("cp", "cp -R {source} {target}"),
        tool("nothing", "mkdir {target}"),
        tool("bytes", "cp -R {source} {target} && printf x >> {target}/p00001/d00001/f0000010"),
        tool("links", "cp -R --symbolic-link {source} {target}"),
        tool("exits", "sh -c 'echo no luck >&2; exit 3' {target}"),
        tool("missing", "/no/such/program {source} {target}"),
    ];
    let scratch = work.path().join("scratch");
    let (results, events) =
        session(&options(SMALL, folder_ground(&scratch), tools, work.path()), None);
    let results = results.unwrap();
    let case = &results.cases[0];
    assert_eq!(case.trouble, None);
    let fault = |tool: &str| &case.fault_of(tool).unwrap().fault;
    for tool in ["nothing", "bytes", "links"] {
        assert!(matches!(fault(tool), Fault::Wrong(_)), "{tool}: {:?}", fault(tool));
        assert_eq!(case.runs_of(tool).count(), 0);
    }
    assert_eq!(*fault("exits"), Fault::Exit { status: 3, stderr: "no luck".to_owned() });
    assert!(matches!(fault("missing"), Fault::NotStarted(_)));
    assert_eq!(case.runs_of("cp").count(), 2);
    assert!(events.iter().any(|event| event.contains("distort")), "a folder is warned of loudly");
    assert!(names(work.path()).is_empty(), "everything is gone");
    let run = &case.runs_of("cp").next().unwrap().measured;
    assert!(run.wall_s > 0.0 && run.max_rss_bytes > 0);
    assert!(results.overhead.unwrap().wall_s > 0.0);
    let text = haul_bench::render::text(&results);
    assert!(text.contains("nothing  FAILED: wrong result"), "{text}");
}

#[test]
fn a_deletion_that_leaves_something_is_flagged() {
    let work = tempfile::tempdir().unwrap();
    let tools = vec![tool("rm", "rm -rf {target}"), tool("half", "rm -rf {target}/p00000")];
    let scratch = work.path().join("scratch");
    let scenario = "delete-nested:files=40,dirs=4";
    let (results, _) =
        session(&options(scenario, folder_ground(&scratch), tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    assert_eq!(case.runs_of("rm").count(), 2);
    assert_eq!(
        case.fault_of("half").unwrap().fault,
        Fault::Wrong("the target still exists".to_owned())
    );
}

#[test]
fn a_repeated_start_is_divided() {
    let work = tempfile::tempdir().unwrap();
    let tools = vec![tool("cp", "cp {source} {target}")];
    let scratch = work.path().join("scratch");
    let (results, _) =
        session(&options("startup", folder_ground(&scratch), tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    assert_eq!(case.trouble, None);
    assert!(case.runs.iter().all(|run| run.measured.wall_s < 0.2));
}

#[test]
fn cold_files_are_cold_or_said_to_be_warm() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools = vec![tool("cp", "cp -R {source} {target}")];
    let mut options = options("medium:files=8,dirs=2", folder_ground(&scratch), tools, work.path());
    options.cases[0].cache = CacheState::Cold;
    let (results, _) = session(&options, None);
    let case = &results.unwrap().cases[0];
    for run in &case.runs {
        match run.measured.cache.source_before {
            Some(0) => {}
            // tmpfs cannot be dropped from the cache, and another process may have the pages
            // mapped.
            Some(_) => {
                assert!(case.ground.warnings.iter().any(|text| text.contains("partly warm")));
            }
            None => ignored("a kernel with cachestat"),
        }
    }
}

#[test]
fn an_interrupt_at_any_stage_leaves_nothing() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools =
        || vec![tool("cp", "cp -R {source} {target}"), tool("cat", "cp -r {source} {target}")];
    let whole =
        session(&options(SMALL, folder_ground(&scratch), tools(), work.path()), None).1.len();
    for stop_at in 1..=whole {
        let options = options(SMALL, folder_ground(&scratch), tools(), work.path());
        let (results, _) = session(&options, Some(stop_at));
        assert!(results.unwrap().interrupted);
        assert!(names(work.path()).is_empty(), "after event {stop_at}: {:?}", names(work.path()));
    }
}

#[test]
fn a_command_that_hangs_is_ended_by_an_interrupt_and_by_the_limit() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools = || vec![tool("hang", "sh -c 'sleep 600; :' {target}")];
    let start = Instant::now();
    let hang = options(SMALL, folder_ground(&scratch), tools(), work.path());
    // The third event is the run itself: case, preparing, run.
    let (results, events) = session(&hang, Some(3));
    assert!(events[2].starts_with("Run"), "{events:?}");
    assert!(results.unwrap().interrupted);
    let mut limited = options(SMALL, folder_ground(&scratch), tools(), work.path());
    limited.run_limit = Duration::from_millis(300);
    let (results, _) = session(&limited, None);
    assert_eq!(results.unwrap().cases[0].faults[0].fault, Fault::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(names(work.path()).is_empty());
}

#[test]
fn an_empty_folder_is_used_and_kept() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let tools = vec![tool("cp", "cp -R {source} {target}")];
    let (results, _) = session(&options(SMALL, folder_ground(&scratch), tools, work.path()), None);
    assert_eq!(results.unwrap().cases[0].trouble, None);
    assert_eq!(names(work.path()), ["scratch"]);
    assert!(names(&scratch).is_empty());
}

#[test]
fn too_little_room_is_noticed_before_anything_is_written() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools = vec![tool("cp", "cp {source} {target}")];
    let (results, events) =
        session(&options("huge:size=1T", folder_ground(&scratch), tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    assert!(case.trouble.as_ref().unwrap().contains("are needed"), "{:?} {events:?}", case.trouble);
    assert!(names(work.path()).is_empty());
}

#[test]
fn a_bystander_reads_beside_each_run() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools = vec![tool("cp", "cp -R {source} {target}")];
    let usual = options(SMALL, folder_ground(&scratch), tools, work.path());
    let alone = session(&usual, None).0.unwrap();
    assert!(alone.cases[0].runs.iter().all(|run| run.measured.bystander.is_none()));
    assert!(!haul_bench::render::text(&alone).contains("pages left"));
    // Of the machine's memory one hundredth may be much.
    let conditions = Conditions { bystander_percent: Some(10), memory_bytes: Some(64 << 20) };
    let results = session(&BenchOptions { conditions, ..usual }, None).0.unwrap();
    let case = &results.cases[0];
    if case.trouble.as_ref().is_some_and(|trouble| trouble.contains("memory cgroup")) {
        return ignored("the right to make a memory cgroup");
    }
    assert_eq!((case.trouble.as_ref(), case.runs.len()), (None, 2));
    for run in &case.runs {
        let used = run.measured.bystander.unwrap();
        assert!(used.alone.reads > 0 && used.alone.p50_s <= used.alone.p999_s, "{used:?}");
        // Ten hundredths of 64 MiB, in whole chunks.
        assert!(used.pages_before.is_none_or(|pages| (1..=1536).contains(&pages)), "{used:?}");
    }
    let text = haul_bench::render::text(&results);
    assert!(text.contains("with 64 MiB of memory, beside a reader of 10 % of it"), "{text}");
    assert!(text.contains("pages left"), "{text}");
    let page = haul_bench::render::html(&results);
    assert!(page.contains("reader's pages left") || page.contains("reader&#39;s pages left"));
}

#[test]
fn a_tool_runs_in_the_cgroup_and_the_cgroup_is_removed() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tells = "sh -c 'cat /proc/self/cgroup >&2; exit 3' {source} {target}";
    let usual = options(SMALL, folder_ground(&scratch), vec![tool("tells", tells)], work.path());
    let conditions = Conditions { bystander_percent: None, memory_bytes: Some(64 << 20) };
    let results = session(&BenchOptions { conditions, ..usual }, None).0.unwrap();
    let case = &results.cases[0];
    if case.trouble.as_ref().is_some_and(|trouble| trouble.contains("memory cgroup")) {
        return ignored("the right to make a memory cgroup");
    }
    let Fault::Exit { status: 3, stderr } = &case.fault_of("tells").unwrap().fault else {
        panic!("{:?}", case.faults);
    };
    assert!(stderr.contains(&format!("/haul-bench-{}-", std::process::id())), "{stderr}");
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    assert!(!own.contains("haul-bench"), "{own}");
}

#[test]
fn processes_run_at_once_and_each_is_measured() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    // Each waits until all three have come: only processes that run at the same time ever end.
    let meet = format!("{}/met", work.path().display());
    let script = format!(
        "echo >> {meet}; until [ $(wc -l < {meet}) -ge 3 ]; do :; done; cp -R {{source}} {{target}}"
    );
    let tools = vec![tool("meets", &script)];
    let mut options = options(SMALL, folder_ground(&scratch), tools, work.path());
    options.cases[0].scenario.together = Some(3);
    options.rounds.counted = 1;
    let results = session(&options, None).0.unwrap();
    let case = &results.cases[0];
    assert_eq!((case.trouble.as_ref(), &case.faults[..]), (None, &[][..]));
    let [run] = case.runs.as_slice() else { panic!("{:?}", case.runs) };
    let processes = &run.measured.processes;
    assert_eq!(processes.len(), 3);
    for process in processes {
        assert!(process.wall_s > 0.0 && process.wall_s <= run.measured.wall_s, "{run:?}");
        assert!(process.pss_bytes.is_none_or(|bytes| bytes >= 4096), "{run:?}");
    }
    let text = haul_bench::render::text(&results);
    assert!(text.contains(", 3 at once") && text.contains("memory (Pss)"), "{text}");
    assert!(haul_bench::render::html(&results).contains("slowest of them"));
}

#[test]
fn a_wrong_result_of_any_process_is_found() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    // The first target has the name without a number.
    let script = "case {target} in *copy) mkdir {target};; *) cp -R {source} {target};; esac";
    let tools = vec![tool("lazy", script)];
    let mut options = options(SMALL, folder_ground(&scratch), tools, work.path());
    options.cases[0].scenario.together = Some(3);
    let results = session(&options, None).0.unwrap();
    assert!(matches!(results.cases[0].faults[0].fault, Fault::Wrong(_)), "{:?}", results.cases[0]);
}

#[test]
fn a_tree_is_not_deleted_by_several_at_once() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    let tools = vec![tool("rm", "rm -r {target}")];
    let ground = folder_ground(&scratch);
    let mut options = options("delete-nested:files=20,dirs=2", ground, tools, work.path());
    options.cases[0].scenario.together = Some(2);
    let results = session(&options, None).0.unwrap();
    let trouble = results.cases[0].trouble.as_ref();
    assert!(trouble.is_some_and(|trouble| trouble.contains("deleted once")), "{trouble:?}");
}

#[test]
fn sources_and_targets_may_be_in_two_folders() {
    let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (here, to) = (work.path().join("here"), other.path().join("to"));
    let seen = work.path().join("seen");
    let script =
        format!("echo {{source}} {{target}} >> {}; cp -R {{source}} {{target}}", seen.display());
    let ground = folder_ground(&here).to(Some(to.clone()));
    let results =
        session(&options(SMALL, ground, vec![tool("cp", &script)], work.path()), None).0.unwrap();
    let case = &results.cases[0];
    assert_eq!((case.trouble.as_ref(), case.runs.len()), (None, 2), "{:?}", case.faults);
    assert!(case.ground.name.contains("(folder) to "), "{:?}", case.ground);
    let seen = fs::read_to_string(seen).unwrap();
    for line in seen.lines() {
        let (source, target) = line.split_once(' ').unwrap();
        assert!(source.starts_with(here.to_str().unwrap()), "{line}");
        assert!(target.starts_with(to.to_str().unwrap()), "{line}");
    }
    assert!(!here.exists() && !to.exists(), "both are removed in the end");
}
