//! The kernels: packages of Debian's releases, fetched by apt and unpacked below `target/vm`.
//!
//! Each release has a package list of its own here, so that the package sources of this machine stay as they
//! are. Proxies and other settings of apt hold for both.

use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel that can be booted.
pub(super) struct Kernel {
    /// The name for `--kernel`: the version series that the release stays on.
    pub(super) name: &'static str,
    /// The release of Debian that has it.
    release: &'static str,
}

/// All kernels, the oldest first. The last one changes, because its release does.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel { name: "5.10", release: "bullseye" },
    Kernel { name: "6.1", release: "bookworm" },
    Kernel { name: "6.12", release: "trixie" },
    Kernel { name: "newest", release: "sid" },
];

/// The package that depends on the current kernel of a release.
const PACKAGE: &str = "linux-image-amd64";

/// Beginnings of the packages that a kernel consists of. Since Linux 6.16, Debian has three.
const PARTS: [&str; 3] = ["linux-image-", "linux-binary-", "linux-modules-"];

const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A kernel that is unpacked.
pub(super) struct Unpacked {
    /// As the kernel says it of itself: `6.1.0-50-amd64`.
    pub(super) version: String,
    pub(super) image: PathBuf,
    /// The folder that has `lib/modules`.
    pub(super) base: PathBuf,
}

impl Unpacked {
    /// Returns the folder with the folder of the modules.
    pub(super) fn modules(&self) -> PathBuf {
        self.base.join("lib/modules")
    }

    /// Finds what a package has: older ones have the image in `/boot` and modules in `/lib`.
    fn find(root: &Path) -> Result<Self> {
        for base in [root.to_path_buf(), root.join("usr")] {
            let Ok(entries) = fs::read_dir(base.join("lib/modules")) else { continue };
            for entry in entries.flatten() {
                let version = entry.file_name().to_string_lossy().into_owned();
                let images =
                    [root.join(format!("boot/vmlinuz-{version}")), entry.path().join("vmlinuz")];
                if let Some(image) = images.into_iter().find(|image| image.is_file()) {
                    return Ok(Self { version, image, base });
                }
            }
        }
        Err(Error::new(format!("there is no kernel in {}", root.display())))
    }
}

impl Kernel {
    /// Returns the row of a name.
    pub(super) fn of_name(name: &str) -> Result<&'static Self> {
        KERNELS.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
            let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
            Error::new(format!("there is no kernel {name:?}"))
                .hint(format!("there are {}", names.join(", ")))
        })
    }

    /// Fetches and unpacks the kernel below a folder, once.
    pub(super) fn provide(&self, dir: &Path) -> Result<Unpacked> {
        let root = dir.join(format!("kernel-{}", self.name));
        if !root.exists() {
            println!("fetching the kernel of Debian {}", self.release);
            let made = dir.join(format!("kernel-{}.new", self.name));
            if made.exists() {
                fs::remove_dir_all(&made).context("remove", made.display())?;
            }
            let lists = Lists::update(dir, self.release)?;
            let packages = lists.packages()?;
            let debs = made.join("packages");
            fs::create_dir_all(&debs).context("create", debs.display())?;
            let words: Vec<_> = packages.iter().map(String::as_str).collect();
            output(lists.apt("apt-get").current_dir(&debs).arg("download").args(words))?;
            for deb in fs::read_dir(&debs).context("read", debs.display())? {
                interrupt::check()?;
                let deb = deb.context("read", debs.display())?.path();
                output(command("dpkg-deb").arg("-x").arg(deb).arg(&made))?;
            }
            fs::remove_dir_all(&debs).context("remove", debs.display())?;
            let found = Unpacked::find(&made)?;
            output(command("depmod").arg("-b").arg(&found.base).arg(&found.version))?;
            fs::rename(&made, &root).context("rename", made.display())?;
        }
        Unpacked::find(&root)
    }
}

/// The package lists of one release.
struct Lists {
    dir: PathBuf,
    /// The package source. It lies beside the folder, which apt tidies.
    source: PathBuf,
}

impl Lists {
    /// Fetches the lists.
    fn update(dir: &Path, release: &str) -> Result<Self> {
        let source = dir.join(format!("{release}.list"));
        let lists = Self { dir: dir.join(format!("lists-{release}")), source };
        let partial = lists.dir.join("partial");
        fs::create_dir_all(&partial).context("create", partial.display())?;
        let line = format!("deb [signed-by={KEYRING} target=Packages] {MIRROR} {release} main\n");
        fs::write(&lists.source, line).context("write", lists.source.display())?;
        output(lists.apt("apt-get").args(["-qq", "update"]))?;
        Ok(lists)
    }

    /// Returns a command of apt that knows these lists and no others.
    fn apt(&self, program: &str) -> std::process::Command {
        let mut apt = command(program);
        for (name, value) in [
            ("Dir::Etc::SourceList", self.source.clone()),
            ("Dir::Etc::SourceParts", "/dev/null".into()),
            ("Dir::State::Lists", self.dir.clone()),
            ("Dir::Cache::pkgcache", PathBuf::new()),
            ("Dir::Cache::srcpkgcache", PathBuf::new()),
            // The user of apt need not reach a folder below a home.
            ("APT::Sandbox::User", "root".into()),
        ] {
            apt.arg("-o").arg(format!("{name}={}", value.display()));
        }
        apt
    }

    /// Returns the packages of the current kernel.
    fn packages(&self) -> Result<BTreeSet<String>> {
        let (mut found, mut open) = (BTreeSet::new(), vec![PACKAGE.to_owned()]);
        while let Some(package) = open.pop() {
            let text =
                output(self.apt("apt-cache").args(["show", "--no-all-versions"]).arg(&package))?;
            open.extend(parts(&text).filter(|part| found.insert(part.clone())));
        }
        if found.is_empty() {
            return Err(Error::new(format!("{PACKAGE} depends on no kernel")));
        }
        Ok(found)
    }
}

/// Returns the parts of a kernel that the description of a package depends on.
fn parts(description: &str) -> impl Iterator<Item = String> {
    let depends = description.lines().filter_map(|line| line.strip_prefix("Depends: "));
    let names = depends.flat_map(|line| line.split(", ")).filter_map(|one| one.split(' ').next());
    names.filter(|name| PARTS.iter().any(|part| name.starts_with(part))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_kernel_are_in_its_dependencies() {
        let text = "Package: linux-image-amd64\nDepends: linux-base-amd64 (= 7.2.13-1), \
            linux-image-7.2.13+deb14-amd64 (= 7.2.13-1)\nSuggests: linux-binary-x\n";
        assert_eq!(parts(text).collect::<Vec<_>>(), ["linux-image-7.2.13+deb14-amd64"]);
    }

    #[test]
    fn both_layouts_of_a_package_are_found() {
        let root = std::env::temp_dir().join(format!("xtask-kernel-{}", std::process::id()));
        for (modules, image) in [
            ("lib/modules/5.10.0-1", "boot/vmlinuz-5.10.0-1"),
            ("usr/lib/modules/7.2.1", "usr/lib/modules/7.2.1/vmlinuz"),
        ] {
            fs::create_dir_all(root.join(modules)).unwrap();
            assert!(Unpacked::find(&root).is_err());
            fs::create_dir_all(root.join("boot")).unwrap();
            fs::write(root.join(image), "").unwrap();
            let found = Unpacked::find(&root).unwrap();
            assert_eq!(found.image, root.join(image));
            assert_eq!(found.modules().join(&found.version), root.join(modules));
            fs::remove_dir_all(&root).unwrap();
        }
    }
}
