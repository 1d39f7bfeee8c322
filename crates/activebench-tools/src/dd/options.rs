//! The operands of dd.

use std::collections::BTreeSet;

/// Input and output block without an operand that sets it.
const DEFAULT_BLOCK: u64 = 512;
/// A read of a kernel's generator returns at most this many bytes (2^25 - 1).
const MOST_GENERATED: u64 = (1 << 25) - 1;

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    input: Option<String>,
    output: Option<String>,
    /// `bs`, in bytes.
    bs: Option<u64>,
    ibs: Option<u64>,
    obs: Option<u64>,
    /// True if an operand sets a block size, known or not.
    sets_block: bool,
    /// `count` in blocks, or in bytes with `iflag=count_bytes`; `None` where it is not given or not certain.
    pub(super) count: Option<u64>,
    /// True if `count` is given.
    pub(super) is_counted: bool,
    conv: BTreeSet<String>,
    iflag: BTreeSet<String>,
    oflag: BTreeSet<String>,
    status: Option<String>,
}

/// Where data comes from or goes to, by the operand alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A file or a device.
    Named,
    /// A character device without storage: `/dev/zero`, `/dev/null`.
    NoStorage,
    /// Standard input or output, whatever that is.
    Standard,
}

impl Options {
    /// Reads the words after the program. Never fails: what cannot be read is unknown. Lists add up, other operands
    /// replace earlier ones.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut options = Self::default();
        for (name, value) in argv.iter().skip(1).filter_map(|word| word.split_once('=')) {
            let list = |set: &mut BTreeSet<String>| set.extend(value.split(',').map(str::to_owned));
            match name {
                "if" => options.input = Some(value.to_owned()),
                "of" => options.output = Some(value.to_owned()),
                "bs" | "ibs" | "obs" => {
                    let bytes = number(value).filter(|bytes| *bytes > 0);
                    options.sets_block = true;
                    match name {
                        "bs" => options.bs = bytes,
                        "ibs" => options.ibs = bytes,
                        _ => options.obs = bytes,
                    }
                }
                "count" => {
                    options.is_counted = true;
                    // From 9.1 on, a `B` at its end makes it a number of bytes.
                    options.count = number(value).filter(|_| !value.contains('B'));
                }
                "conv" => list(&mut options.conv),
                "iflag" => list(&mut options.iflag),
                "oflag" => list(&mut options.oflag),
                "status" => options.status = Some(value.to_owned()),
                _ => {}
            }
        }
        options
    }

    pub(super) fn input(&self) -> Side {
        side(self.input.as_deref())
    }

    pub(super) fn output(&self) -> Side {
        side(self.output.as_deref())
    }

    /// Returns the name of the input, if it is one of storage.
    pub(super) fn input_name(&self) -> Option<&str> {
        self.input.as_deref().filter(|_| self.input() == Side::Named)
    }

    /// Returns the name of the output, if it is one of storage.
    pub(super) fn output_name(&self) -> Option<&str> {
        self.output.as_deref().filter(|_| self.output() == Side::Named)
    }

    /// Returns true if standard input is as long as dd wants.
    pub(super) fn is_endless(&self) -> bool {
        self.input() == Side::NoStorage && self.input.as_deref() != Some("/dev/null")
    }

    pub(super) fn has_conv(&self, name: &str) -> bool {
        self.conv.contains(name)
    }

    pub(super) fn has_iflag(&self, name: &str) -> bool {
        self.iflag.contains(name)
    }

    pub(super) fn has_oflag(&self, name: &str) -> bool {
        self.oflag.contains(name)
    }

    /// Returns the operand that makes the data durable before the clock stops.
    pub(super) fn durable(&self) -> Option<&'static str> {
        let of = [
            ("conv=fsync", self.has_conv("fsync")),
            ("conv=fdatasync", self.has_conv("fdatasync")),
            ("oflag=sync", self.has_oflag("sync")),
            ("oflag=dsync", self.has_oflag("dsync")),
        ];
        of.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Returns true if an operand sets a block size.
    pub(super) fn sets_block(&self) -> bool {
        self.sets_block
    }

    /// Returns true if dd prints no figure.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.status.as_deref(), Some("none" | "noxfer"))
    }

    /// Returns true if dd writes as many bytes as it reads.
    pub(super) fn keeps_size(&self) -> bool {
        !["sync", "block", "unblock"].iter().any(|conv| self.has_conv(conv))
    }

    /// Returns the bytes of a read; `None` where the size is not readable.
    pub(super) fn read_block(&self) -> Option<u64> {
        let given = if self.sets_block { self.bs.or(self.ibs) } else { None };
        let is_readable = !self.sets_block || self.bs.is_some() || self.ibs.is_some() || self.obs.is_some();
        given.or(is_readable.then_some(DEFAULT_BLOCK))
    }

    /// Returns the bytes of a write. `None` where a short read makes a short write, and where it is not readable.
    pub(super) fn write_block(&self) -> Option<u64> {
        let is_copied = self.bs.is_some() && self.keeps_size();
        let is_short = match self.input() {
            Side::Standard => !self.has_iflag("fullblock"),
            Side::NoStorage => {
                self.bs.is_some_and(|bs| bs > MOST_GENERATED) && self.input.as_deref() != Some("/dev/zero")
            }
            Side::Named => false,
        };
        if is_copied && is_short {
            return None;
        }
        let is_readable = !self.sets_block || self.bs.is_some() || self.ibs.is_some() || self.obs.is_some();
        self.bs.or(self.obs).or(is_readable.then_some(DEFAULT_BLOCK))
    }

    /// Returns true if the input is always read in whole blocks.
    pub(super) fn reads_whole_blocks(&self) -> bool {
        self.input() != Side::Standard || self.has_iflag("fullblock")
    }

    /// Returns the bytes that the command asks for; `None` where the input can end before.
    pub(super) fn requested_bytes(&self) -> Option<u64> {
        let count = self.count.filter(|_| self.is_endless() && self.keeps_size())?;
        if self.has_iflag("count_bytes") {
            return Some(count);
        }
        let block = self.read_block()?;
        let is_whole = self.input.as_deref() == Some("/dev/zero") || block <= 256;
        (is_whole || block <= MOST_GENERATED && self.input.as_deref() == Some("/dev/urandom"))
            .then(|| count.checked_mul(block))?
    }
}

fn side(name: Option<&str>) -> Side {
    const NO_STORAGE: [&str; 6] = ["/dev/zero", "/dev/null", "/dev/full", "/dev/random", "/dev/urandom", "/dev/hwrng"];
    match name {
        None => Side::Standard,
        Some(name) if NO_STORAGE.contains(&name) => Side::NoStorage,
        Some(name)
            if ["/dev/stdin", "/dev/stdout", "/dev/fd/", "/proc/self/fd/"]
                .iter()
                .any(|begin| name.starts_with(begin)) =>
        {
            Side::Standard
        }
        Some(_) => Side::Named,
    }
}

/// Reads a number with its suffixes: `4k`, `1MB`, `2x512`. `None` for anything else.
pub(super) fn number(text: &str) -> Option<u64> {
    text.split('x').try_fold(1_u64, |product, factor| product.checked_mul(plain_number(factor)?))
}

fn plain_number(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let power = |base: u64, prefix: &str| -> Option<u64> {
        let place = ["k", "M", "G", "T", "P"].iter().position(|name| name.eq_ignore_ascii_case(prefix))?;
        base.checked_pow(u32::try_from(place).ok()? + 1)
    };
    let factor = match suffix {
        "" | "c" | "B" => 1,
        "w" => 2,
        "b" => 512,
        suffix => match (suffix.strip_suffix("iB"), suffix.strip_suffix('B')) {
            (Some(prefix), _) => power(1024, prefix)?,
            (None, Some(prefix)) => power(1000, prefix)?,
            (None, None) => power(1024, suffix)?,
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_have_the_suffixes_of_dd() {
        for (text, expected) in [
            ("512", Some(512)),
            ("4k", Some(4096)),
            ("4K", Some(4096)),
            ("1M", Some(1 << 20)),
            ("1MiB", Some(1 << 20)),
            ("1MB", Some(1_000_000)),
            ("1kB", Some(1000)),
            ("2b", Some(1024)),
            ("2x512", Some(1024)),
            ("3w", Some(6)),
            ("", None),
            ("x", None),
            ("1Q", None),
            ("$N", None),
            ("99999999999T", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn operands_are_read_as_dd_reads_them() {
        let zeros = options("dd if=/dev/zero of=f bs=1M count=64 conv=notrunc conv=fsync oflag=direct,dsync");
        assert_eq!((zeros.input(), zeros.output()), (Side::NoStorage, Side::Named));
        assert_eq!((zeros.write_block(), zeros.requested_bytes()), (Some(1 << 20), Some(64 << 20)));
        assert!(zeros.has_conv("notrunc") && zeros.has_oflag("direct"));
        assert_eq!(zeros.durable(), Some("conv=fsync"));
        // A pipe returns what it has.
        assert_eq!(options("dd of=f bs=1M").write_block(), None);
        assert_eq!(options("dd of=f bs=1M iflag=fullblock").write_block(), Some(1 << 20));
        assert_eq!(options("dd of=f obs=1M").write_block(), Some(1 << 20));
        assert_eq!(options("dd of=f").write_block(), Some(512));
        assert_eq!(options("dd of=f bs=$N if=g").write_block(), None);
        // A file can end before, and how a later dd counts `64kB` depends on its version.
        assert_eq!(options("dd if=g of=f bs=1M count=4").requested_bytes(), None);
        assert_eq!(options("dd if=/dev/zero of=f bs=1M count=4kB").requested_bytes(), None);
        assert_eq!(options("dd if=/dev/zero of=f bs=1M count=4096 iflag=count_bytes").requested_bytes(), Some(4096));
        assert_eq!(options("dd if=/dev/urandom of=f bs=64M count=4").requested_bytes(), None);
        assert_eq!((options("dd").input(), options("dd of=/dev/stdout").output()), (Side::Standard, Side::Standard));
    }
}
