//! Plan of a copy: checks a request against the file system once, before any write.
//!
//! Determines what the target operand is, and gives each source its name in it. Every refusal that
//! concerns the command line as a whole comes from here. The walk decides about single entries
//! when it reaches them, because their state can change until then.

pub(crate) mod backup;
pub(crate) mod overlap;
pub(crate) mod swap;

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{CWD, Kind, mkdirat, openat, statat, statat_follow};

use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::request::{
    Again, Dereference, Force, Order, Parents, Policy, Recursion, Request, Scope, Striping,
    TargetForm,
};
use crate::metadata::striping;
use crate::names::at::DIRECTORY;
use crate::names::path::{directory_of, in_lower_case, operand_of_path, split, trimmed};
use crate::plan::overlap::may_overlap;
use haul_tree::Operand;

/// A request whose operands are valid.
pub(crate) struct Plan {
    pub(crate) operands: Vec<Operand>,
    /// Current directory, which the sources' paths are relative to.
    pub(crate) source: OwnedFd,
    /// Directory in which the operands' target names are created.
    pub(crate) target: OwnedFd,
    /// Target directory as it was given; empty if the target is the new name.
    pub(crate) target_name: CString,
    /// Target as it was given, for messages.
    pub(crate) shown: CString,
    /// Order of the entries, which may be stricter than the policy's.
    pub(crate) order: Order,
    /// What concerns a target that takes the contents of sources.
    pub(crate) contents: Contents,
    /// Whether the single operand is copied to its own backup, so that the copy makes no further
    /// backup.
    pub(crate) backs_itself_up: bool,
}

/// What a plan by the rule of [`TargetForm::Contents`] has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    /// Whether the target directory does not exist: the run makes it before it copies.
    pub(crate) makes_target: bool,
    /// Whether several operands may have entries of one name in the target, of which the first one has it.
    pub(crate) shares_names: bool,
}

impl Plan {
    /// Examines the target and names the entries to create. Makes a handful of calls and writes
    /// nothing.
    pub(crate) fn resolve(request: &Request) -> Result<Plan, Failure> {
        let fail = |what, error: Option<Errno>| Failure {
            operation: Operation::Copy,
            what,
            source: request
                .sources
                .first()
                .map(|name| name.to_bytes().to_vec())
                .unwrap_or_default(),
            target: request.target.to_bytes().to_vec(),
            errno: error,
            severity: Severity::Failure,
        };
        let here = open_here(request).map_err(|errno| fail(What::StatTarget, Some(errno)))?;
        if request.form == TargetForm::Contents {
            return Plan::of_contents(request, here);
        }
        let is_directory = match request.form {
            TargetForm::Name | TargetForm::Contents => false,
            TargetForm::Guess | TargetForm::Directory | TargetForm::LastDirectory => {
                match statat_follow(&here, &request.target) {
                    Ok(stat) => stat.kind() == Kind::Directory,
                    Err(error) if request.form != TargetForm::Guess => {
                        return Err(fail(not_a_directory(request.form), Some(error.errno)));
                    }
                    // The call that creates the target reports what is wrong with it.
                    Err(_) => false,
                }
            }
        };
        if !is_directory {
            if matches!(request.form, TargetForm::Directory | TargetForm::LastDirectory) {
                return Err(fail(not_a_directory(request.form), Some(Errno::NOTDIR)));
            }
            if request.policy.parents == Parents::Keep {
                return Err(fail(What::ParentsNeedDirectory, None));
            }
            let parent = || open_parent(&here, &request.target).and_then(striping::is_supported);
            if lacks_striping(request, parent) {
                return Err(fail(What::NotStriped, None));
            }
            let target = here.try_clone().map_err(|_| fail(What::Resources, Some(Errno::MFILE)))?;
            return Ok(Plan::as_name(request, here, target));
        }
        let target = openat(&here, &request.target, DIRECTORY)
            .map_err(|error| fail(not_a_directory(request.form), Some(error.errno)))?;
        if lacks_striping(request, || striping::is_supported(&target)) {
            return Err(fail(What::NotStriped, None));
        }
        Ok(Plan::into_directory(request, here, target))
    }

    /// Plans a run by the rule of [`TargetForm::Contents`].
    fn of_contents(request: &Request, here: OwnedFd) -> Result<Plan, Failure> {
        let fail = |what, errno: Option<Errno>| Failure {
            operation: Operation::Copy,
            what,
            source: Vec::new(),
            target: request.target.to_bytes().to_vec(),
            errno,
            severity: Severity::Failure,
        };
        let removes =
            request.policy.synchronize.as_ref().is_some_and(|rules| rules.delete.is_some());
        let shares_targets = || match request.policy.parents {
            Parents::Cut => shares_targets(&here, request),
            Parents::Keep => shares_relative_targets(&request.sources),
        };
        if removes && shares_targets() {
            return Err(fail(What::SharedTarget, None));
        }
        let is_one_file =
            matches!(&*request.sources, [source] if !is_directory(&here, source, request));
        let is_cut = request.policy.parents == Parents::Cut;
        let is_name = is_one_file && is_cut && !ends_in_slash(&request.target);
        let makes_target = match statat_follow(&here, &request.target) {
            Ok(stat) if stat.kind() == Kind::Directory => false,
            Ok(_) if !is_name => return Err(fail(What::TargetOperand, Some(Errno::NOTDIR))),
            Err(error) if error.errno != Errno::NOENT => {
                return Err(fail(What::StatTarget, Some(error.errno)));
            }
            Err(_) if !is_name && !is_lone_directory(request) => true,
            Ok(_) | Err(_) => {
                let target =
                    here.try_clone().map_err(|_| fail(What::Resources, Some(Errno::MFILE)))?;
                return Ok(Plan::as_name(request, here, target));
            }
        };
        Plan::into_contents(request, here, makes_target)
            .map_err(|errno| fail(What::Resources, Some(errno)))
    }

    /// Gives each source its path in the target directory, or that of the directory itself, so that messages have the
    /// paths that a user would type.
    fn into_contents(request: &Request, here: OwnedFd, makes_target: bool) -> Result<Plan, Errno> {
        let directory = [trimmed(request.target.to_bytes()), b"/"].concat();
        let operand = |source: &CString| {
            if request.policy.parents == Parents::Keep {
                return relative(source, &directory);
            }
            let name = last_component(source);
            let is_contents = ends_in_slash(source) || &*name == c".";
            let own: &[u8] = if is_contents { b"" } else { name.to_bytes() };
            let target = CString::new([&directory, own].concat()).unwrap_or_default();
            Operand::whole(source.clone(), target)
        };
        let target = here.try_clone().map_err(|_| Errno::MFILE)?;
        let is_relative = request.policy.parents == Parents::Keep;
        let shares_names = match is_relative {
            true => request.sources.len() > 1,
            false => shares_names(&request.sources),
        };
        let order = if shares_names { Order::Listed } else { request.policy.order };
        Ok(Plan {
            operands: request.sources.iter().map(operand).collect(),
            source: here,
            target,
            target_name: CString::default(),
            shown: request.target.clone(),
            contents: Contents { makes_target, shares_names },
            order,
            backs_itself_up: false,
        })
    }

    /// Makes the target directory, if the plan needs that. Only its last component may be missing.
    pub(crate) fn make_target(&mut self, policy: &Policy) -> Result<(), Failure> {
        if policy.synchronize.as_ref().is_some_and(|rules| rules.makes_path) {
            self.make_above()?;
        }
        if !self.contents.makes_target {
            return Ok(());
        }
        // What is not preserved comes from the source whose entries it gets, as for other directories.
        let contents = self.operands.iter().find(|operand| ends_in_slash(&operand.target));
        let mode = contents
            .and_then(|operand| statat_follow(&self.source, &operand.source).ok())
            .map_or(0o777, |stat| {
                let changes = policy.synchronize.as_ref().map(|rules| &rules.modes);
                let mode = stat.permissions();
                let mode = changes.map_or(mode, |changes| changes.of(Kind::Directory, mode));
                mode & 0o777 | 0o700
            });
        // Nothing had this name a moment ago: who has it now may have meant harm.
        mkdirat(&self.source, &self.shown, mode).map_err(|error| self.not_made(error))
    }

    fn not_made(&self, error: haul_sys::CallError) -> Failure {
        Failure {
            operation: Operation::Copy,
            what: What::CreateDirectory,
            source: Vec::new(),
            target: self.shown.to_bytes().to_vec(),
            errno: Some(error.errno),
            severity: Severity::Failure,
        }
    }

    /// Makes the directories above the target that are missing.
    fn make_above(&self) -> Result<(), Failure> {
        let fail = |error| self.not_made(error);
        let above = directory_of(self.shown.to_bytes());
        let bytes = above.to_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
        for end in ends.map(|(at, _)| at).chain([bytes.len()]) {
            let part = CString::new(&bytes[..end]).unwrap_or_default();
            match mkdirat(&self.source, &part, 0o777) {
                Err(error) if error.errno != Errno::EXIST => return Err(fail(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Plans a list of pairs: each source gets the target path of its pair.
    pub(crate) fn of_pairs(request: &Request, again: &[Again]) -> Result<Plan, Failure> {
        let fail = |what, errno| Failure {
            operation: Operation::Copy,
            what,
            source: Vec::new(),
            target: Vec::new(),
            errno: Some(errno),
            severity: Severity::Failure,
        };
        let source = open_here(request).map_err(|errno| fail(What::StatTarget, errno))?;
        let target = source.try_clone().map_err(|_| fail(What::Resources, Errno::MFILE))?;
        let operand = |again: &Again| Operand {
            source: again.source.clone(),
            target: again.target.clone(),
            rest: (again.scope == Scope::Alone).then(CString::default),
        };
        Ok(Plan {
            operands: again.iter().map(operand).collect(),
            source,
            target,
            target_name: CString::default(),
            shown: request.target.clone(),
            contents: Contents::default(),
            order: request.policy.order,
            backs_itself_up: false,
        })
    }

    /// Plans nothing, for a process that gets its work from another one.
    pub(crate) fn empty(request: &Request) -> Result<Plan, Failure> {
        let mut plan = Plan::of_pairs(request, &[])?;
        plan.order = request.policy.order;
        Ok(plan)
    }

    fn as_name(request: &Request, source: OwnedFd, target: OwnedFd) -> Plan {
        let backup = own_backup(request, &target);
        let backs_itself_up = backup.is_some();
        let name = backup.unwrap_or_else(|| request.target.clone());
        let operand = |source: &CString| Operand::whole(source.clone(), name.clone());
        Plan {
            operands: request.sources.iter().map(operand).collect(),
            source,
            target,
            target_name: CString::default(),
            shown: request.target.clone(),
            contents: Contents::default(),
            order: request.policy.order,
            backs_itself_up,
        }
    }

    fn into_directory(request: &Request, here: OwnedFd, target: OwnedFd) -> Plan {
        let operand = |source: &CString| match request.policy.parents {
            Parents::Keep => operand_of_path(source),
            Parents::Cut => Operand::whole(source.clone(), last_component(source)),
        };
        let operands: Vec<Operand> = request.sources.iter().map(operand).collect();
        // An operand that goes to the place of another one must find the result of the first.
        let recursive =
            request.policy.recursion == Recursion::Yes || request.policy.parents == Parents::Keep;
        let order = if recursive && may_overlap(request, target.as_fd()) {
            Order::Listed
        } else {
            request.policy.order
        };
        Plan {
            operands,
            source: here,
            target,
            target_name: request.target.clone(),
            shown: request.target.clone(),
            contents: Contents::default(),
            order,
            backs_itself_up: false,
        }
    }
}

/// Returns whether the only source is a directory that is made without its entries: the target is its new name.
fn is_lone_directory(request: &Request) -> bool {
    let lists = request.policy.synchronize.as_ref().is_some_and(|rules| rules.lists_directories);
    let is_itself = |source: &CStr| !ends_in_slash(source) && &*last_component(source) != c".";
    lists
        && request.policy.recursion == Recursion::No
        && request.policy.parents == Parents::Cut
        && !ends_in_slash(&request.target)
        && matches!(&*request.sources, [source] if is_itself(source))
}

/// Returns an operand that keeps the directories of its path, or those behind a component `.` in it, as in rsync(1).
fn relative(source: &CString, directory: &[u8]) -> Operand {
    let path = Relative::of(source);
    let own = |parts: &[&[u8]]| CString::new(parts.concat()).unwrap_or_default();
    let slash: &[u8] = if source.to_bytes().ends_with(b"/") { b"/" } else { b"" };
    let Relative { base, parts } = path;
    match &*parts {
        [] => Operand::whole(source.clone(), own(&[directory])),
        [name] => Operand::whole(own(&[base, name, slash]), own(&[directory, name])),
        [first, rest @ ..] => Operand {
            source: own(&[base, first]),
            target: own(&[directory, first]),
            rest: Some(own(&[&rest.join(&b'/'), slash])),
        },
    }
}

/// A source of which the target gets the path as it is given.
struct Relative<'s> {
    /// What the path is relative to: nothing, the root directory, or what is before `/./`.
    base: &'s [u8],
    parts: Vec<&'s [u8]>,
}

impl Relative<'_> {
    fn of(source: &CStr) -> Relative<'_> {
        let bytes = source.to_bytes();
        let (base, path) = match bytes.windows(3).position(|part| part == b"/./") {
            Some(at) => (&bytes[..=at], &bytes[at + 3..]),
            None if bytes.starts_with(b"/") => (&b"/"[..], bytes),
            None => (&b""[..], bytes),
        };
        let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
        Relative { base, parts: parts.collect() }
    }
}

/// Returns whether a source goes to the target of another one from another place, or below it: what is removed there
/// would be what the other one has brought.
fn shares_relative_targets(sources: &[CString]) -> bool {
    let all: Vec<Relative<'_>> = sources.iter().map(|source| Relative::of(source)).collect();
    let mut bases: HashMap<&[&[u8]], HashSet<&[u8]>> = HashMap::new();
    for Relative { base, parts } in &all {
        bases.entry(parts).or_default().insert(base);
    }
    let others = |base: &[u8], parts: &[&[u8]]| {
        bases.get(parts).is_some_and(|bases| bases.iter().any(|other| *other != base))
    };
    all.iter().any(|Relative { base, parts }| {
        (0..=parts.len()).any(|length| others(base, &parts[..length]))
    })
}

/// Returns whether two sources may have entries of one name in the target: then they are handled in their order.
fn shares_names(sources: &[CString]) -> bool {
    let mut names = HashSet::new();
    sources.len() > 1
        && sources.iter().any(|source| {
            let name = last_component(source);
            ends_in_slash(source) || &*name == c"." || !names.insert(in_lower_case(&name))
        })
}

/// Returns whether two directories among the sources go to one of the target, perhaps only where case is ignored, or one
/// of several to the target itself.
fn shares_targets(here: &OwnedFd, request: &Request) -> bool {
    let [_, _, ..] = &*request.sources else { return false };
    let mut names = HashSet::new();
    let directories = request.sources.iter().filter(|source| is_directory(here, source, request));
    directories.into_iter().any(|source| {
        let name = last_component(source);
        ends_in_slash(source) || &*name == c"." || !names.insert(in_lower_case(&name))
    })
}

fn ends_in_slash(path: &CStr) -> bool {
    path.to_bytes().ends_with(b"/")
}

/// Returns whether a source is a directory, or leads to one where the run follows it.
fn is_directory(here: &OwnedFd, source: &CStr, request: &Request) -> bool {
    let follows = ends_in_slash(source) || request.policy.dereference != Dereference::Never;
    let stat = if follows { statat_follow(here, source) } else { statat(here, source) };
    stat.is_ok_and(|stat| stat.kind() == Kind::Directory)
}

/// Returns whether a striping was requested, and the target cannot have one. If that is not known, the call
/// that creates a file reports what is wrong.
fn lacks_striping(
    request: &Request,
    is_supported: impl FnOnce() -> haul_sys::Result<bool>,
) -> bool {
    request.policy.striping != Striping::Inherit && is_supported() == Ok(false)
}

/// Opens the directory of a target that is a new name.
fn open_parent(here: &OwnedFd, target: &CStr) -> haul_sys::Result<OwnedFd> {
    openat(here, &directory_of(target.to_bytes()), DIRECTORY)
}

/// Opens the current directory, which relative paths start from. Missing search permission is no
/// error if every path is absolute.
fn open_here(request: &Request) -> Result<OwnedFd, Errno> {
    let is_absolute = |path: &CString| path.to_bytes().starts_with(b"/");
    match openat(CWD, c".", DIRECTORY) {
        Ok(here) => Ok(here),
        Err(_) if is_absolute(&request.target) && request.sources.iter().all(is_absolute) => {
            openat(CWD, c"/", DIRECTORY).map_err(|error| error.errno)
        }
        Err(error) => Err(error.errno),
    }
}

const fn not_a_directory(form: TargetForm) -> What {
    match form {
        TargetForm::Directory => What::TargetDirectory,
        TargetForm::Guess | TargetForm::LastDirectory | TargetForm::Name | TargetForm::Contents => {
            What::TargetOperand
        }
    }
}

/// Returns the backup path if the single operand would be copied to itself. With `-f` and a
/// backup, a regular file is copied to its own backup, the only self-copy that is allowed.
fn own_backup(request: &Request, here: &OwnedFd) -> Option<CString> {
    let policy = &request.policy;
    let backup = policy.backup.as_ref()?;
    let asked = policy.force == Force::IfUnopenable;
    if !asked || request.sources.first() != Some(&request.target) {
        return None;
    }
    let stat = statat_follow(here, &request.target).ok()?;
    if stat.kind() != Kind::Regular {
        return None;
    }
    backup::name_for(here.as_fd(), &request.target, backup).ok().map(|(name, _)| name)
}

/// Returns the last component of a path. Returns `.` for `..` and `/`, which would lead out of the
/// target directory: their content goes into the target itself.
fn last_component(path: &CStr) -> CString {
    match split(path.to_bytes()).1 {
        b"" | b"." | b".." => c".".to_owned(),
        name => CString::new(name).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_target_never_lead_out_of_it() {
        let cases = [
            (c"a/b", c"b"),
            (c"a/b//", c"b"),
            (c"b", c"b"),
            (c"..", c"."),
            (c"a/..", c"."),
            (c"/", c"."),
            (c"a/.", c"."),
        ];
        for (path, name) in cases {
            assert_eq!(last_component(path).as_c_str(), name, "{path:?}");
        }
    }

    #[test]
    fn a_target_that_somebody_has_planted_meanwhile_is_not_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        std::fs::create_dir(path("source")).unwrap();
        std::fs::create_dir(path("victim")).unwrap();
        let request = Request::new([path("source/")], path("t"), Policy::archive()).unwrap();
        let mut plan = Plan::resolve(&request.form(TargetForm::Contents)).unwrap();
        assert!(plan.contents.makes_target);
        std::os::unix::fs::symlink("victim", path("t")).unwrap();
        let failure = plan.make_target(&Policy::archive()).unwrap_err();
        assert_eq!((failure.what, failure.errno), (What::CreateDirectory, Some(Errno::EXIST)));
    }
}
