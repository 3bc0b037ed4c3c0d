//! What happens to extracted members, in GNU tar's words.

use haul_archive::extract::{Action, Event, Monitor};

use haul_archive::format::Moment;
use haul_sys::process::Zone;

use super::print::{date_text, permissions_text};
use super::quoting::{listed, named};
use super::session::Session;
use super::times;
use super::warning::Warning;
use crate::escape::quote_word;

/// Tells a session what happens.
pub(super) struct Telling {
    pub(super) session: std::sync::Arc<Session>,
    /// In which times are shown.
    pub(super) zone: Zone,
}

impl Monitor for Telling {
    fn hashed(&self, name: &[u8], digest: &[u8]) {
        self.session.hashed(name, digest);
    }

    fn event(&self, name: &[u8], event: &Event) {
        let session = &self.session;
        match event {
            // As the warning that it is where the file cannot have it.
            Event::Failed(action @ (Action::Attribute(_) | Action::Acl), error) => {
                let text = format!("{} {}: {}", words(action), quote_word(name), error.text());
                session.fail_about(name, &text, Some(error.errno));
            }
            Event::Failed(action, error) => {
                session.fail_call(name, &words(action), *error);
            }
            Event::Incomplete(haul_io::DataError::Call(error)) => {
                session.fail_call(name, "Cannot write", *error);
            }
            Event::Incomplete(error) => session.fail_at(name, &format!("Cannot write: {error}")),
            Event::LeadsOut => session.fail_at(name, "Member name contains '..'"),
            Event::Skipped => {
                let text = format!("{}: skipping existing file", named(name));
                session.warn_of(Warning::ExistingFile, &text);
            }
            Event::Kept => session.kept(),
            Event::Newer => {
                let text = format!("Current {} is newer or same age", quote_word(name));
                session.warn_of(Warning::IgnoreNewer, &text);
            }
            Event::NotSet(action, error) => {
                let text = format!("{} {}: {}", words(action), quote_word(name), error.text());
                session.warn_of(Warning::XattrWrite, &text);
            }
            Event::Unprivileged(bits) => session.warn(&format!(
                "{}: permission bits {bits:04o} not set: the file does not have the owner of the \
                 archive",
                named(name)
            )),
            Event::Device => {
                session.fail_at(name, "Cannot mknod: devices are made only with -p or --devices");
            }
            Event::Exchanged => session
                .fail_at(name, "Its name leads to another file than the one that was extracted"),
            Event::Continued => {
                session.fail_at(name, "Cannot extract -- file is continued from another volume");
            }
            Event::UnknownType(flag) => {
                let text = format!(
                    "{}: Unknown file type '{}', extracted as normal file",
                    named(name),
                    listed(&[*flag])
                );
                session.warn_of(Warning::UnknownCast, &text);
            }
            Event::OddTime(mtime) => {
                if let Some(what) = odd_time(*mtime, self.zone) {
                    session.warn_of(Warning::Timestamp, &format!("{}: {what}", named(name)));
                }
            }
        }
    }
}

/// Returns what is odd about a time, if it still is.
fn odd_time(mtime: Moment, zone: Zone) -> Option<String> {
    let shown = date_text(mtime, zone, true);
    if mtime.seconds < 0 {
        return Some(format!("implausibly old time stamp {shown}"));
    }
    let ahead = mtime.since(Moment::now())?;
    Some(format!("time stamp {shown} is {} s in the future", times::text(ahead)))
}

fn words(action: &Action) -> String {
    match action {
        Action::Open => "Cannot open".to_owned(),
        Action::MakeDirectory => "Cannot mkdir".to_owned(),
        Action::FollowLink => "Cannot follow the symbolic link (see -P)".to_owned(),
        Action::MakeSymlink(text) => format!("Cannot create symlink to {}", quote_word(text)),
        Action::MakeLink(text) => format!("Cannot hard link to {}", quote_word(text)),
        Action::MakeNode => "Cannot mknod".to_owned(),
        Action::MakeFifo => "Cannot mkfifo".to_owned(),
        Action::Unlink => "Cannot unlink".to_owned(),
        Action::GiveBack(name) => {
            format!(
                "Another file has this name, and the one that had it is {} now",
                quote_word(name)
            )
        }
        Action::Stat => "Cannot stat".to_owned(),
        Action::Owner(uid, gid) => format!("Cannot change ownership to uid {uid}, gid {gid}"),
        Action::Mode(mode) => format!("Cannot change mode to {}", permissions_text(*mode)),
        Action::Times => "Cannot utime".to_owned(),
        Action::Close => "Cannot close".to_owned(),
        Action::Sync => "Cannot sync".to_owned(),
        Action::Publish => "Cannot rename".to_owned(),
        Action::Attribute(attribute) => {
            format!("setxattrat: Cannot set {} extended attribute for file", quote_word(attribute))
        }
        Action::Acl => "acl_set_file_at: Cannot set POSIX ACLs for file".to_owned(),
        Action::Hash => "Cannot hash its holes".to_owned(),
        Action::Context => "setfileconat: Cannot set SELinux context for file".to_owned(),
    }
}
