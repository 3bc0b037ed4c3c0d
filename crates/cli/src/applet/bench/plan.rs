//! Turns settings into a session: which cases, in which place, with which tools.

use std::path::{Path, PathBuf};

use haul_bench::{
    Backing, BenchOptions, CacheState, CaseSpec, ColdMeans, FileSystem, Found, GroundSpec, Group,
    PEERS, Scale, Scenario, Space, TimeLimit, Tool, Work, file_system_of, parse_scenario, space,
};

use super::options::{Place, Settings};
use crate::escape::{quote, quote_word};

/// Why there is nothing to measure, and what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) text: String,
    pub(crate) hint: &'static str,
}

type Result<T> = std::result::Result<T, Refusal>;

/// A case of the tour: a scenario, the state of the cache, and the series that are worth their time
/// there.
type Stop = (&'static str, CacheState, &'static [Group]);

/// What is measured by default: each kind of files in a size that takes a minute or less with all
/// its tools on two processors and a slow disk.
const TOUR: &[Stop] = &[
    ("nested-small:files=3000,dirs=30", CacheState::Warm, &[Group::Methods, Group::Jobs]),
    ("flat-small:files=3000,size=1K", CacheState::Warm, &[Group::Jobs]),
    ("medium:files=48,dirs=4", CacheState::Warm, &[Group::Methods]),
    ("large:files=4", CacheState::Warm, &[Group::Jobs]),
    ("huge:size=256M", CacheState::Warm, &[Group::Methods]),
    ("huge:size=64M", CacheState::Warm, &[Group::Sizes]),
    ("nested-small:files=3000,dirs=30", CacheState::Cold, &[]),
    ("huge:size=256M", CacheState::Cold, &[Group::Depths]),
    ("delete-nested:files=6000,dirs=30", CacheState::Warm, &[]),
    ("delete-flat:files=6000", CacheState::Warm, &[]),
];

/// How long one run may take before it counts as failed: the slowest tool on the slowest disk, with
/// a corpus of a practical size.
const RUN_LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// The name of the scratch folder that is made in the current one.
fn own_folder() -> PathBuf {
    PathBuf::from(format!("haul-bench-{}-here", std::process::id()))
}

/// Returns the session that the settings ask for, and what must be known of it.
pub(super) fn plan(settings: &Settings, found: &[Found]) -> Result<(BenchOptions, Vec<String>)> {
    let mut remarks = Vec::new();
    let grounds = grounds(settings, &mut remarks)?;
    let in_memory =
        |ground: &GroundSpec| matches!(ground, GroundSpec::Fresh { backing: Backing::Ram, .. });
    if settings.conditions.memory_bytes.is_some() && grounds.iter().any(in_memory) {
        // They would take the memory that the tools are to have.
        return Err(Refusal {
            text: "--memory needs files on a device, and these images are held in memory"
                .to_owned(),
            hint: "add --disk=DIR, or use --here=DIR",
        });
    }
    let mut cases = Vec::new();
    for Selection { mut scenario, cache, series } in selections(settings)? {
        scenario.together = settings.together;
        let tools = tools(settings, found, scenario.work, &series)?;
        if tools.is_empty() {
            return Err(Refusal {
                text: format!("no tool is left for {}", scenario.name),
                hint: "name one with --tool, or fewer restrictions with --only",
            });
        }
        for ground in &grounds {
            // Memory is never cold; the session reports that to a user who asks for it by name.
            let is_memory = matches!(ground, GroundSpec::Fresh { target: FileSystem::Tmpfs, .. });
            if settings.scenarios.is_empty() && is_memory && cache == CacheState::Cold {
                continue;
            }
            let usual = if scenario.work == Work::Delete { "rm" } else { "cp" };
            cases.push(CaseSpec {
                scenario: scenario.clone(),
                ground: ground.clone(),
                cache,
                tools: tools.clone(),
                baseline: settings.baseline.clone().unwrap_or_else(|| usual.to_owned()),
            });
        }
    }
    if let Some(name) = &settings.baseline
        && !cases.iter().any(|case| case.tools.iter().any(|tool| tool.name == *name))
    {
        return Err(Refusal {
            text: format!("no tool is called {}", quote_word(name.as_bytes())),
            hint: "haul bench --list shows the names",
        });
    }
    let options = BenchOptions {
        work: work_folder(settings),
        cases,
        rounds: settings.rounds,
        ranking: settings.ranking,
        seed: settings.seed,
        limit: settings.budget.map_or(TimeLimit::None, TimeLimit::AfterFiveRounds),
        run_limit: RUN_LIMIT,
        conditions: settings.conditions,
    };
    Ok((options, remarks))
}

/// Returns the largest room that one of the cases takes; each is removed before the next.
pub(super) fn largest(options: &BenchOptions) -> haul_bench::Result<Option<Space>> {
    let mut largest: Option<Space> = None;
    for case in &options.cases {
        let space = space(&case.ground, &case.scenario)?;
        if largest.as_ref().is_none_or(|known| known.needed_bytes < space.needed_bytes) {
            largest = Some(space);
        }
    }
    Ok(largest)
}

/// One case as it was asked for.
struct Selection {
    scenario: Scenario,
    cache: CacheState,
    series: Vec<Group>,
}

fn selections(settings: &Settings) -> Result<Vec<Selection>> {
    let mut selections = all_selections(settings)?;
    let has_to = match &settings.place {
        Place::Folder { to, .. } | Place::Fresh { to, .. } => to.is_some(),
        Place::Between { .. } => true,
        Place::Usual => false,
    };
    let copies_only = [(settings.together.is_some(), "--together"), (has_to, "--to")];
    if let Some((_, option)) = copies_only.iter().find(|(is_given, _)| *is_given) {
        // A tree is deleted once, and in one place. The tour goes on without those cases; a scenario that was named is
        // refused.
        let deletes = |selection: &Selection| selection.scenario.work == Work::Delete;
        if !settings.scenarios.is_empty()
            && let Some(selection) = selections.iter().find(|selection| deletes(selection))
        {
            let name = &selection.scenario.name;
            return Err(Refusal {
                text: format!("{option} is for copies, and {name} deletes"),
                hint: "measure it without that option",
            });
        }
        selections.retain(|selection| !deletes(selection));
    }
    Ok(selections)
}

fn all_selections(settings: &Settings) -> Result<Vec<Selection>> {
    if settings.scenarios.is_empty() {
        let part = |cache| settings.caches.is_empty() || settings.caches.contains(&cache);
        let stops = TOUR.iter().filter(|(_, cache, _)| part(*cache));
        return stops.map(|stop| stop_selection(settings, stop)).collect();
    }
    let usual = [CacheState::Warm];
    let caches: &[CacheState] = if settings.caches.is_empty() { &usual } else { &settings.caches };
    let mut selections = Vec::new();
    for text in &settings.scenarios {
        for cache in caches {
            let scenario = scenario(text, settings.scale, settings.seed)?;
            selections.push(Selection { scenario, cache: *cache, series: settings.series.clone() });
        }
    }
    Ok(selections)
}

/// A case of the tour; in a full run with the whole corpus and all series.
fn stop_selection(settings: &Settings, (text, cache, worth): &Stop) -> Result<Selection> {
    let mut series = settings.series.clone();
    let text = match settings.scale {
        Scale::Quick => {
            series.retain(|group| worth.contains(group));
            text
        }
        Scale::Full => text.split(':').next().unwrap_or(text),
    };
    Ok(Selection {
        scenario: scenario(text, settings.scale, settings.seed)?,
        cache: *cache,
        series,
    })
}

/// Reads a scenario from the command line.
pub(crate) fn scenario(text: &str, scale: Scale, seed: u64) -> Result<Scenario> {
    parse_scenario(text, scale, seed).map_err(|error| Refusal {
        text: format!("scenario {}: {error}", quote_word(text.as_bytes())),
        hint: "haul bench --list shows the scenarios",
    })
}

fn grounds(settings: &Settings, remarks: &mut Vec<String>) -> Result<Vec<GroundSpec>> {
    let cold = if settings.drop_caches { ColdMeans::DropCaches } else { ColdMeans::Advise };
    let is_root = haul_sys::process::identity().uid == 0;
    if settings.drop_caches && !is_root {
        return Err(Refusal {
            text: "only root may drop the page cache".to_owned(),
            hint: "without --drop-caches each file is taken out of it by itself",
        });
    }
    match &settings.place {
        Place::Folder { path, to } => {
            let path = path.clone().unwrap_or_else(own_folder);
            Ok(vec![GroundSpec::Folder { path, to: to.clone(), cold }])
        }
        Place::Fresh { names, disk, to } => {
            to.as_deref().map_or(Ok(()), |to| require_folder("--to", to))?;
            let fresh = |name: &String| Ok(fresh(name, disk.as_deref(), is_root)?.to(to.clone()));
            names.iter().map(fresh).collect()
        }
        Place::Between { disk, to } => {
            require_folder("--to", to)?;
            let name = format!("{}:{}", kind_of(disk)?, kind_of(to)?);
            Ok(vec![fresh(&name, Some(disk), is_root)?.to(Some(to.clone()))])
        }
        Place::Usual => Ok(vec![usual_ground(Path::new("."), is_root, remarks)]),
    }
}

fn require_folder(option: &str, folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    Err(Refusal {
        text: format!("{option}: {} is no folder", quote(folder.as_os_str().as_encoded_bytes())),
        hint: "it takes a folder in which the images are made, and removed again",
    })
}

/// Returns the kind of file system that a folder is on, if a fresh one can be made.
fn kind_of(folder: &Path) -> Result<FileSystem> {
    let name = file_system_of(folder).ok().flatten();
    let known = name.as_deref().and_then(|name| name.parse::<FileSystem>().ok());
    known.filter(|kind| *kind != FileSystem::Tmpfs && can_make(*kind)).ok_or_else(|| Refusal {
        text: format!(
            "no fresh {} can be made in {}",
            name.as_deref().unwrap_or("file system"),
            quote(folder.as_os_str().as_encoded_bytes())
        ),
        hint: "name a file system with --fs, or use folders: --here=DIR --to=DIR",
    })
}

pub(crate) fn fresh(name: &str, disk: Option<&Path>, is_root: bool) -> Result<GroundSpec> {
    let backing = disk.map_or(Backing::Ram, |disk| Backing::Disk(disk.to_owned()));
    let ground = GroundSpec::fresh(name, backing)
        .map_err(|error| Refusal { text: error.to_string(), hint: "as in --fs=ext4,xfs" })?;
    disk.map_or(Ok(()), |disk| require_folder("--disk", disk))?;
    if !is_root {
        return Err(Refusal {
            text: "only root can make and mount fresh file systems".to_owned(),
            hint: "with --here a scratch folder of this file system is used",
        });
    }
    Ok(ground)
}

/// A fresh file system of a folder's kind where it may, else fresh folders.
pub(crate) fn usual_ground(here: &Path, is_root: bool, remarks: &mut Vec<String>) -> GroundSpec {
    let kind = file_system_of(here).ok().flatten();
    let folder =
        || GroundSpec::Folder { path: here.join(own_folder()), to: None, cold: ColdMeans::Advise };
    let known = kind.as_deref().and_then(|name| name.parse::<FileSystem>().ok());
    let why = match (is_root, known) {
        (false, _) => "only root can make fresh file systems".to_owned(),
        (true, Some(target)) if can_make(target) => {
            let backing = match target {
                FileSystem::Tmpfs => Backing::Ram,
                _ => Backing::Disk(here.canonicalize().unwrap_or_else(|_| here.to_owned())),
            };
            return GroundSpec::Fresh { target, source: None, backing, to: None };
        }
        (true, Some(target)) => format!("there is no mkfs.{target} or no loop device"),
        (true, None) => format!("no fresh {} can be made", kind.as_deref().unwrap_or("one")),
    };
    remarks.push(format!(
        "fresh folders rather than fresh file systems are used, since {why}: what this file system \
         went through is in the figures"
    ));
    folder()
}

/// Says whether a file system can be made and mounted, as far as that can be seen.
fn can_make(kind: FileSystem) -> bool {
    if kind == FileSystem::Tmpfs {
        return true;
    }
    let maker = format!("mkfs.{kind}");
    let directories = search_path();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut places = directories.iter().chain(&usual);
    places.any(|place| place.join(&maker).is_file()) && Path::new("/dev/loop-control").exists()
}

/// Returns the folders of PATH.
pub(super) fn search_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

/// Chooses the tools for some work.
fn tools(settings: &Settings, found: &[Found], work: Work, series: &[Group]) -> Result<Vec<Tool>> {
    let asked = |name: &String, list: &[String]| list.contains(name);
    let mut tools: Vec<Tool> = Vec::new();
    for group in Group::ALL {
        for tool in found.iter().flat_map(|program| program.tools(work, group)) {
            let takes_part = match &settings.only {
                Some(only) => asked(&tool.name, only),
                None => group == Group::Usual || series.contains(&group),
            };
            if takes_part || asked(&tool.name, &settings.add) {
                tools.push(tool);
            }
        }
    }
    tools.extend(settings.tools.iter().cloned());
    for (index, tool) in tools.iter().enumerate() {
        if tools.iter().skip(index + 1).any(|other| other.name == tool.name) {
            return Err(Refusal {
                text: format!("two tools are called {}", quote_word(tool.name.as_bytes())),
                hint: "give yours another name in front of '='",
            });
        }
    }
    for name in settings.only.iter().flatten().chain(&settings.add) {
        if name != "none" && !is_known(found, name) {
            return Err(Refusal {
                text: format!("no tool is called {}", quote_word(name.as_bytes())),
                hint: "haul bench --list shows the names of those that are installed",
            });
        }
    }
    Ok(tools)
}

/// Returns whether a name is known, for any work.
fn is_known(found: &[Found], name: &str) -> bool {
    let works = [Work::CopyTree, Work::CopyFile, Work::Delete];
    works.iter().any(|work| {
        Group::ALL.iter().any(|group| {
            found
                .iter()
                .any(|program| program.tools(*work, *group).iter().any(|tool| tool.name == name))
        })
    })
}

/// Returns the folder for the file that others are supposed to use: where the disk is that is
/// measured, so that it is the one whose pages are pushed out.
fn work_folder(settings: &Settings) -> PathBuf {
    match &settings.place {
        Place::Fresh { disk: Some(disk), .. } | Place::Between { disk, .. } => disk.clone(),
        Place::Fresh { disk: None, .. } => std::env::temp_dir(),
        Place::Folder { path: Some(path), .. } => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            parent.unwrap_or(Path::new(".")).to_owned()
        }
        Place::Folder { path: None, .. } | Place::Usual => PathBuf::from("."),
    }
}

/// Returns the text of `--list`.
pub(super) fn list(found: &[Found]) -> String {
    let mut text = "Scenarios (a quick run; with --full):\n".to_owned();
    for each in haul_bench::SCENARIOS {
        text += &format!("  {:14} {}\n", each.name, each.about);
        text += &format!("  {:14} {}; {}\n", "", each.quick, each.full);
    }
    text += "\nTools:\n";
    for program in found {
        let version = program.version.as_deref().unwrap_or("version unknown");
        let path = quote(program.path.as_os_str().as_encoded_bytes());
        text += &format!("  {:14} {path} ({})\n", program.program, version.trim());
        text += &names_of(program, "always", Group::Usual);
        text += &names_of(program, "series methods", Group::Methods);
        text += &names_of(program, "series jobs", Group::Jobs);
        text += &names_of(program, "series io-sizes", Group::Sizes);
        text += &names_of(program, "series depths", Group::Depths);
        text += &names_of(program, "with --add", Group::Extra);
    }
    let missing: Vec<&str> = PEERS
        .iter()
        .map(|peer| peer.program)
        .filter(|name| !found.iter().any(|program| program.program == *name))
        .collect();
    if !missing.is_empty() {
        text += &format!("\nNot installed: {}\n", missing.join(", "));
    }
    text
}

fn names_of(program: &Found, when: &str, group: Group) -> String {
    let mut names: Vec<String> = Vec::new();
    for work in [Work::CopyTree, Work::CopyFile, Work::Delete] {
        for tool in program.tools(work, group) {
            if !names.contains(&tool.name) {
                names.push(tool.name);
            }
        }
    }
    if names.is_empty() {
        return String::new();
    }
    format!("  {:14}   {when}: {}\n", "", names.join(" "))
}
