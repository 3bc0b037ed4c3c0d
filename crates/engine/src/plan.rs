//! Plan of a copy: checks a request against the file system once, before any write.
//!
//! Determines what the target operand is, and gives each source its name in it. Every refusal that
//! concerns the command line as a whole comes from here. The walk decides about single entries
//! when it reaches them, because their state can change until then.

pub(crate) mod backup;
pub(crate) mod overlap;
pub(crate) mod swap;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{Access, CWD, Follow, Kind, OpenHow, openat, statat_follow};

use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::request::{
    Again, Force, Order, Parents, Recursion, Request, Scope, Striping, TargetForm,
};
use crate::metadata::striping;
use crate::names::path::{directory_of, operand_of_path, split};
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
    /// Whether the single operand is copied to its own backup, so that the copy makes no further
    /// backup.
    pub(crate) backs_itself_up: bool,
}

const DIRECTORY: OpenHow = OpenHow { access: Access::Path, follow: Follow::Yes, ..OpenHow::READ };

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
        let is_directory = match request.form {
            TargetForm::Name => false,
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
            order,
            backs_itself_up: false,
        }
    }
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
        TargetForm::Guess | TargetForm::LastDirectory | TargetForm::Name => What::TargetOperand,
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
}
