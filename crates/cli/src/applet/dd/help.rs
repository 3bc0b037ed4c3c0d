//! `dd --help` and `dd --version`: the only options, for all else are operands.

use haul_io::DataPolicy;

use crate::getopt::{Opt, Origin};
use crate::option::data::{cache, own_cache};
use crate::option::effect::{Effect, help_row, read, version_row};
use crate::option::gentle::{begins, gentle};
use crate::option::help::CACHE;
use crate::page::Page;

pub(super) const OPTIONS: &[Opt<Effect<DataPolicy>>] = &[
    own_cache(read(|policy, word| {
        policy.cache = cache(&word)?;
        Ok(())
    })),
    gentle(begins()),
    help_row(),
    version_row(),
];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(OPERANDS)
        .options(OPTIONS, Origin::Gnu)
        .heading("An option that GNU dd does not have")
        .options(OPTIONS, Origin::Haul)
        .text(CACHE)
        .keys(super::operands::keys())
        .examples([
            (
                "haul dd if=disk.img of=/dev/sdX bs=4M oflag=direct conv=fsync",
                "write an image to a device",
            ),
            ("haul dd if=disk.img of=part bs=1M skip=100 count=8", "cut 8 MiB out of a file"),
        ])
        .exit("The exit status is 0 if everything was copied, 1 otherwise.")
}

/// The operands.
const OPERANDS: &str = "\
Usage: dd [OPERAND]...
  or:  dd OPTION
Copy blocks from one file to another, and convert them on the way.

  if=FILE         input (default: standard input)
  of=FILE         output (default: standard output)
  ibs=BYTES       size of an input block (default 512)
  obs=BYTES       size of an output block (default 512)
  bs=BYTES        size of both; what one read gives is one write
  cbs=BYTES       size of a record for block and unblock
  skip=N          begin N input blocks into the input (also iseek=N)
  seek=N          begin N output blocks into the output (also oseek=N)
  count=N         stop after N input blocks
  conv=CONVS      conversions, with commas between
  iflag=FLAGS     how to open and read the input, with commas between
  oflag=FLAGS     how to open and write the output, with commas between
  status=LEVEL    none: no report, only errors; noxfer: a report without the
                  rate; progress: a report each second as well

BYTES and N take a suffix: c (1), w (2), b (512), K, M, G and so on up to Q or KiB,
MiB and so on (powers of 1024), kB, MB and so on (powers of 1000), xM as M. Numbers
can be multiplied: 2x512. An N that ends in B counts bytes.

CONVS:

  ascii      EBCDIC to ASCII
  ebcdic     ASCII to EBCDIC
  ibm        ASCII to IBM's variant of EBCDIC
  block      lines to records of cbs bytes, filled up with spaces
  unblock    records of cbs bytes to lines, without the spaces at their end
  lcase      capitals to small letters
  ucase      small letters to capitals
  swab       exchange the two bytes of each pair
  sync       fill short input blocks up with NUL, or with spaces for block and
             unblock
  sparse     leave a hole for an output block of zeros
  excl       the output must not exist
  nocreat    the output must exist
  notrunc    keep what the output has behind the end of the data; without it an
             output that is the input is refused, where it would lose bytes
  noerror    after a failed read continue with the next block
  fdatasync  wait at the end until the data are on the device
  fsync      wait at the end until data and attributes are on the device

FLAGS:

  append     write at the end of the output; needs conv=notrunc to keep it
  direct     bypass the page cache (O_DIRECT)
  directory  the file must be a directory
  dsync      wait for the device after each write (O_DSYNC)
  sync       as dsync, and for the attributes (O_SYNC)
  fullblock  repeat short reads until the block is full (iflag)
  nonblock   open without waiting (O_NONBLOCK)
  noatime    do not update the access time
  nocache    drop the data from the page cache; with count=0, the whole file
  noctty     a terminal does not become the controlling one
  nofollow   the file must not be a symbolic link

At SIGUSR1 dd prints the report so far and continues.

";
