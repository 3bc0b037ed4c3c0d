//! A request held against the world once, before anything is written.
//!
//! Finds out what the target operand is, and gives each source its name in it. Every refusal that
//! concerns the command line as a whole comes from here; what concerns one entry is decided when
//! the entry is met, for only then is it true.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use haul_sys::Errno;
use haul_sys::fs::{Access, CWD, Follow, Kind, OpenHow, openat, statat_follow};

use crate::error::{Failure, Severity, What};
use crate::request::{Order, Recursion, Request, TargetForm};
use crate::walk::reader::Operand;

/// A request that makes sense.
pub(crate) struct Plan {
    pub(crate) operands: Vec<Operand>,
    /// The current directory, in which the sources' paths begin.
    pub(crate) source: OwnedFd,
    /// The directory in which the operands' target names are made.
    pub(crate) target: OwnedFd,
    /// The target directory as it was given, or nothing if the target is the new name.
    pub(crate) target_name: CString,
    /// The order to keep, which may be stricter than the policy's.
    pub(crate) order: Order,
}

const DIRECTORY: OpenHow = OpenHow { access: Access::Path, follow: Follow::Yes, ..OpenHow::READ };

impl Plan {
    /// Looks at the target and names what is to be made. A handful of calls; writes nothing.
    pub(crate) fn resolve(request: &Request) -> Result<Plan, Failure> {
        let fail = |what, error: Option<Errno>| Failure {
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
        let here = openat(CWD, c".", DIRECTORY)
            .map_err(|error| fail(What::StatTarget, Some(error.errno)))?;
        let is_directory = match request.form {
            TargetForm::Name => false,
            TargetForm::Guess | TargetForm::Directory => {
                match statat_follow(&here, &request.target) {
                    Ok(stat) => stat.kind() == Kind::Directory,
                    Err(error) if request.form == TargetForm::Directory => {
                        return Err(fail(What::TargetDirectory, Some(error.errno)));
                    }
                    // What is wrong with it is found out by the call that makes it.
                    Err(_) => false,
                }
            }
        };
        if !is_directory {
            if request.form == TargetForm::Directory {
                return Err(fail(What::TargetDirectory, Some(Errno::NOTDIR)));
            }
            let target = here.try_clone().map_err(|_| fail(What::Resources, Some(Errno::MFILE)))?;
            return Ok(Plan::as_name(request, here, target));
        }
        let target = openat(&here, &request.target, DIRECTORY)
            .map_err(|error| fail(What::TargetDirectory, Some(error.errno)))?;
        Ok(Plan::into_directory(request, here, target))
    }

    fn as_name(request: &Request, source: OwnedFd, target: OwnedFd) -> Plan {
        let operand =
            |source: &CString| Operand { source: source.clone(), target: request.target.clone() };
        Plan {
            operands: request.sources.iter().map(operand).collect(),
            source,
            target,
            target_name: CString::default(),
            order: request.policy.order,
        }
    }

    fn into_directory(request: &Request, here: OwnedFd, target: OwnedFd) -> Plan {
        let mut seen = HashSet::new();
        let mut twice = false;
        let operands: Vec<Operand> = request
            .sources
            .iter()
            .map(|source| {
                let name = last_component(source);
                twice |= !seen.insert(name.clone());
                Operand { source: source.clone(), target: name }
            })
            .collect();
        // Two operands of one name go into the same place, where the second must find what the
        // first has left.
        let recursive = request.policy.recursion == Recursion::Yes;
        let order = if twice && recursive { Order::Listed } else { request.policy.order };
        Plan { operands, source: here, target, target_name: request.target.clone(), order }
    }
}

/// Returns the last component of a path; `.` where that would lead out of the target directory,
/// as `..` and `/` do: their contents go into the target itself.
fn last_component(path: &CStr) -> CString {
    let bytes = path.to_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = bytes.get(..end).unwrap_or(bytes);
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    match trimmed.get(start..) {
        None | Some(b"" | b"." | b"..") => c".".to_owned(),
        Some(name) => CString::new(name).unwrap_or_default(),
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
