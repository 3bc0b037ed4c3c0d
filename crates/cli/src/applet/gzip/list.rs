//! The table of `--list`.

use haul_codec::{Format, Summary};
use haul_sys::fs::Time;
use haul_sys::process::{Zone, local_time};

use super::messages::ratio;
use super::settings::Settings;

/// Width of the columns of sizes: digits of the largest.
const SIZE_COLUMNS: usize = 19;

/// Sums of all files.
#[derive(Debug, Default)]
pub(super) struct Totals {
    files: u64,
    bytes_in: u64,
    bytes_out: u64,
    /// Bytes of the last header: gzip leaves them out of the ratio of the sum, too.
    header_bytes: u64,
}

/// One file.
pub(super) struct Row<'a> {
    pub(super) format: Format,
    pub(super) summary: Summary,
    pub(super) header_bytes: u64,
    pub(super) time: Option<Time>,
    pub(super) name: &'a [u8],
}

fn saved(bytes_in: u64, bytes_out: u64, header_bytes: u64) -> String {
    ratio(i128::from(bytes_out) - (i128::from(bytes_in) - i128::from(header_bytes)), bytes_out)
}

fn sizes(bytes_in: u64, bytes_out: u64) -> String {
    format!("{bytes_in:>SIZE_COLUMNS$} {bytes_out:>SIZE_COLUMNS$} ")
}

impl Totals {
    /// Returns the line of a file, behind the heading if it is the first.
    pub(super) fn row(&mut self, settings: &Settings, row: &Row<'_>) -> Vec<u8> {
        let mut text = String::new();
        if self.files == 0 {
            if settings.verbose > 0 {
                text.push_str("method  crc     date  time  ");
            }
            if !settings.is_quiet() {
                let (packed, whole) = ("compressed", "uncompressed");
                text.push_str(&format!(
                    "{packed:>SIZE_COLUMNS$} {whole:>SIZE_COLUMNS$}  ratio uncompressed_name\n"
                ));
            }
        }
        let Summary { bytes_in, bytes_out, .. } = row.summary;
        self.files += 1;
        self.bytes_in += bytes_in;
        self.bytes_out += bytes_out;
        self.header_bytes = row.header_bytes;
        if settings.verbose > 0 {
            let method = match row.format {
                Format::Gzip | Format::Zip => "defla",
                Format::Lzw => "compr",
                Format::Pack => "pack ",
                _ => "store",
            };
            let check = row.summary.check.unwrap_or(u32::MAX);
            let time = row.time.map_or_else(|| "??? ?? ??:??".to_owned(), date);
            text.push_str(&format!("{method} {check:08x} {time} "));
        }
        text.push_str(&sizes(bytes_in, bytes_out));
        text.push_str(&saved(bytes_in, bytes_out, row.header_bytes));
        text.push(' ');
        let mut line = text.into_bytes();
        line.extend_from_slice(row.name);
        line.push(b'\n');
        line
    }

    /// Returns the line of the sums, if there is one.
    pub(super) fn sum(&self, settings: &Settings) -> Option<String> {
        if settings.is_quiet() || self.bytes_in == 0 || self.bytes_out == 0 {
            return None;
        }
        let indent = if settings.verbose > 0 { " ".repeat(28) } else { String::new() };
        let sizes = sizes(self.bytes_in, self.bytes_out);
        let saved = saved(self.bytes_in, self.bytes_out, self.header_bytes);
        Some(format!("{indent}{sizes}{saved} (totals)"))
    }
}

fn date(time: Time) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Some(local) = local_time(time.seconds, Zone::Local) else {
        return "??? ?? ??:??".to_owned();
    };
    let month = usize::try_from(local.month).ok().and_then(|month| MONTHS.get(month - 1));
    let month = month.copied().unwrap_or("???");
    format!("{month}{:3} {:02}:{:02}", local.day, local.hour, local.minute)
}
