//! Decides about one file before its data are touched: which file it is, whether it is left out, and
//! which names and times the output gets.

use haul_codec::{Damage, Header, Stamp};
use haul_sys::fs::{Follow, Kind, Stat, Time, link_count_at};
use haul_sys::{Errno, errno_text};

use super::file::{Files, Step};
use super::input::{Named, Opened};
use super::messages::Said;
use super::names::{TRIED, base, original, renamed, suffix_at};
use super::settings::{Target, Task};
use crate::set_aside;

/// The longest path with its NUL, see path_resolution(7): a stored name is shorter.
const PATH_BYTES_MAX: usize = 4096;

impl Files<'_> {
    /// Opens an input; one that does not exist is looked for with the usual suffixes.
    pub(super) fn open(&self, named: Named, said: &mut Said) -> Step<(Named, Opened)> {
        let settings = self.settings();
        let follows = settings.target == Target::Stdout || settings.force > 0;
        let follow = if follows { Follow::Yes } else { Follow::No };
        let first = match named.open(follow) {
            Ok(opened) => return Ok((named, opened)),
            Err(error) => error,
        };
        let has_suffix = suffix_at(&named.shown, &settings.suffix).is_some();
        if !settings.decompresses() || first.errno != Errno::NOENT || has_suffix {
            said.error(&named.shown, &format!(": {}", first.text()));
            if first.errno == Errno::NOENT {
                said.hint(&set_aside::hints(&*named.directory, &named.name, &named.shown));
            }
            return Err(());
        }
        let own = settings.suffix.as_slice();
        let others = TRIED.iter().copied().filter(|suffix| *suffix != own);
        for suffix in [own].into_iter().chain(others) {
            let longer = named.beside([&named.shown, suffix].concat());
            match longer.open(follow) {
                Ok(opened) => return Ok((longer, opened)),
                Err(error) if error.errno == Errno::NOENT => {}
                Err(error) => {
                    said.error(&longer.shown, &format!(": {}", error.text()));
                    return Err(());
                }
            }
        }
        let longer = named.beside([&named.shown, own].concat());
        said.error(&longer.shown, &format!(": {}", errno_text(Errno::NOENT)));
        for file in [&named, &longer] {
            said.hint(&set_aside::hints(&*file.directory, &file.name, &file.shown));
        }
        Err(())
    }

    /// Leaves out what is no file to be replaced.
    pub(super) fn check(&self, named: &Named, stat: &Stat, said: &mut Said) -> Step<()> {
        const SET_USER: u32 = 0o4000;
        const SET_GROUP: u32 = 0o2000;
        const STICKY: u32 = 0o1000;
        let settings = self.settings();
        let bits = stat.permissions();
        let links;
        let text = if stat.kind() == Kind::Directory {
            " is a directory -- ignored"
        } else if settings.target == Target::Stdout {
            return Ok(());
        } else if stat.kind() != Kind::Regular {
            " is not a directory or a regular file - ignored"
        } else if bits & SET_USER != 0 {
            " is set-user-ID on execution - ignored"
        } else if bits & SET_GROUP != 0 {
            " is set-group-ID on execution - ignored"
        } else if settings.force > 0 {
            return Ok(());
        } else if bits & STICKY != 0 {
            " has the sticky bit set - file ignored"
        } else if let others @ 1.. = other_names(named, stat) {
            let plural = if others == 1 { "" } else { "s" };
            links = format!(" has {others} other link{plural} -- file ignored");
            &links
        } else {
            return Ok(());
        };
        said.warn(settings, &named.shown, text);
        Err(())
    }

    /// Returns the name of the output.
    pub(super) fn output_name(&self, named: &Named, said: &mut Said) -> Step<Vec<u8>> {
        let settings = self.settings();
        if settings.target == Target::Stdout && !matches!(settings.task, Task::Test | Task::List) {
            return Ok(b"stdout".to_vec());
        }
        let suffix = suffix_at(&named.shown, &settings.suffix);
        let is_told = settings.verbose > 0 || (!settings.recursive.is_on() && !settings.is_quiet());
        match (settings.task, suffix) {
            (Task::Compress, Some(at)) if settings.force == 0 => {
                if is_told {
                    let suffix = &named.shown[at..];
                    let suffix = String::from_utf8_lossy(suffix);
                    said.note(&named.shown, &format!(" already has {suffix} suffix -- unchanged"));
                }
                Err(())
            }
            (Task::Compress, _) => Ok([named.shown.as_slice(), &settings.suffix].concat()),
            (_, Some(at)) => Ok(original(&named.shown, at)),
            (Task::Test | Task::List, None) if !settings.recursive.is_on() => {
                Ok(named.shown.clone())
            }
            (_, None) => {
                if is_told {
                    said.warn(settings, &named.shown, ": unknown suffix -- ignored");
                }
                Err(())
            }
        }
    }

    pub(super) fn mtime(&self, opened: &Opened) -> Option<Time> {
        let settings = self.settings();
        let is_wanted = settings.keeps_time() || settings.task == Task::List;
        (is_wanted && opened.size().is_some()).then_some(opened.stat.mtime)
    }

    /// Returns what the header of a compressed file says.
    pub(super) fn stamp(
        &self,
        opened: &Opened,
        name: Option<&[u8]>,
        (shown, said): (&[u8], &mut Said),
    ) -> Stamp {
        let mut mtime = 0;
        if let Some(time) = self.mtime(opened) {
            match u32::try_from(time.seconds) {
                Ok(seconds) if seconds > 0 => mtime = seconds,
                _ => {
                    let text = ": warning: file timestamp out of range for gzip format";
                    said.warn(self.settings(), shown, text);
                }
            }
        }
        Stamp { mtime, name: name.map(<[u8]>::to_vec) }
    }

    /// Acts on a header: refuses what is doubtful, and returns the name of the output.
    pub(super) fn header(
        &self,
        header: Option<&Header>,
        (shown, output): (&[u8], Vec<u8>),
        said: &mut Said,
    ) -> Step<Vec<u8>> {
        let settings = self.settings();
        let Some(header) = header else { return Ok(output) };
        if let Some(doubt) = header.doubt {
            said.damage(settings, shown, doubt);
            if settings.force < 2 {
                return Err(());
            }
        }
        if let Some(bytes) = header.extra_bytes.filter(|_| settings.verbose > 0) {
            said.note(shown, &format!(": extra field of {bytes} bytes ignored"));
        }
        let is_used = settings.keeps_name()
            && (settings.target == Target::Files || settings.task == Task::List);
        match &header.name {
            // One that is not used may have any length.
            Some(name) if is_used && name.len() >= PATH_BYTES_MAX => {
                said.damage(settings, shown, Damage::NameTooLarge);
                Err(())
            }
            Some(name) if is_used && !base(name).is_empty() => Ok(renamed(&output, name)),
            _ => Ok(output),
        }
    }
}

/// Returns how many names a file has besides its own. A file that has just been published may have had two
/// for a moment, which a client of a server remembers.
fn other_names(named: &Named, stat: &Stat) -> u64 {
    if stat.nlink < 2 {
        return 0;
    }
    let now = link_count_at(&*named.directory, &named.name).unwrap_or(stat.nlink);
    now.saturating_sub(1)
}
