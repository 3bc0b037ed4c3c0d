//! The folder that holds images and mount points, and the list of mounts in it.
//!
//! The list is always read from the kernel, never remembered, so that `down`
//! works after an `up` that was killed.

use super::table::{FILE_SYSTEMS, FileSystem};
use crate::error::{Context, Error, Result};
use crate::workspace::{Workspace, closed_to_others};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Number of folders of killed runs with this process number that are skipped.
const OWN_TRIES: u32 = 100;

/// A folder for test file systems, by its absolute path.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
}

impl Place {
    /// The place for manual use: `target/test-fs`, or the folder that the user names.
    pub(crate) fn shared(workspace: &Workspace, named: Option<&str>) -> Result<Self> {
        let dir = match named {
            Some(dir) => std::path::absolute(dir).context("resolve", dir)?,
            None => workspace.target.join("test-fs"),
        };
        Self { dir }.sound()
    }

    /// A place for this process alone, so that concurrent runs do not collide.
    ///
    /// Tests give folders of it to unprivileged users. If those cannot reach the target folder, as in a
    /// checkout below a closed home, it is made in the folder for temporary files.
    pub(crate) fn own(workspace: &Workspace) -> Result<Self> {
        let name = format!("run-{}", std::process::id());
        let below_target = workspace.target.join("test-fs");
        fs::create_dir_all(&below_target).context("create", below_target.display())?;
        let prefix = if closed_to_others(&below_target).is_none() {
            below_target.join(name)
        } else {
            std::env::temp_dir().join(format!("haul-test-fs-{name}"))
        };
        for attempt in 0..OWN_TRIES {
            let dir = PathBuf::from(format!("{}-{attempt}", prefix.display()));
            // Not `create_dir_all`: in a folder for all users, an existing folder may belong to another user.
            match DirBuilder::new().mode(0o755).create(&dir) {
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made.context("create", dir.display())?;
                    return Self { dir }.sound();
                }
            }
        }
        Err(Error::new(format!("there are {OWN_TRIES} folders {}-*", prefix.display()))
            .hint("remove them: they are empty folders of killed runs"))
    }

    fn sound(self) -> Result<Self> {
        let shown = self.dir.to_string_lossy();
        if shown.contains([':', ',', '\\', '\'']) || self.dir.to_str().is_none() {
            return Err(Error::new(format!("cannot mount below {shown}"))
                .hint("`--dir DIR` names a path without colon, comma, quote or backslash"));
        }
        Ok(self)
    }

    /// Creates the folder, open to all users, and locks it until the returned file is closed.
    pub(crate) fn lock(&self) -> Result<File> {
        fs::create_dir_all(&self.dir).context("create", self.dir.display())?;
        fs::set_permissions(&self.dir, Permissions::from_mode(0o755))
            .context("open to all users", self.dir.display())?;
        let file = File::open(&self.dir).context("open", self.dir.display())?;
        file.lock().context("lock", self.dir.display())?;
        Ok(file)
    }

    pub(crate) fn mount_point(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn image(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.img"))
    }

    /// Returns the file systems of the table that are mounted here.
    pub(crate) fn mounted(&self) -> Result<Vec<&'static FileSystem>> {
        let mounted = mounted_below(&self.dir)?;
        let is_mounted = |one: &&FileSystem| mounted.contains(&self.mount_point(one.name));
        Ok(FILE_SYSTEMS.iter().filter(is_mounted).collect())
    }
}

/// All mount points below a folder, in the order in which they were mounted.
pub(crate) fn mounted_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo").context("read", "the mount table")?;
    // The kernel shows paths without symbolic links.
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let below = |point: PathBuf| point.strip_prefix(&real).map(|rest| dir.join(rest)).ok();
    Ok(mount_points(&table).filter_map(below).collect())
}

fn mount_points(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape)
}

/// Decodes the kernel's octal escapes, such as `\040` for a space.
fn unescape(field: &str) -> PathBuf {
    let mut parts = field.split('\\');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                path.push(char::from(code));
                path.push_str(&part[3..]);
            }
            None => path.push_str(part),
        }
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_unescaped() {
        let table = "23 28 0:22 / /proc rw - proc proc rw\n\
            99 28 7:0 / /a\\040b/ext4 rw,relatime shared:1 - ext4 /dev/loop0 rw\n";
        let points: Vec<_> = mount_points(table).collect();
        assert_eq!(points, [PathBuf::from("/proc"), PathBuf::from("/a b/ext4")]);
    }

    #[test]
    fn a_path_that_would_break_the_list_is_refused() {
        for dir in ["/a:b", "/a,b", "/a'b"] {
            assert!(Place { dir: dir.into() }.sound().is_err(), "{dir}");
        }
        assert!(Place { dir: "/a b".into() }.sound().is_ok());
    }

    #[test]
    fn the_kernel_says_what_is_mounted() {
        assert!(mounted_below(Path::new("/")).unwrap().contains(&"/proc".into()));
        assert_eq!(mounted_below(Path::new("/nowhere")).unwrap(), Vec::<PathBuf>::new());
    }
}
