//! Bytes that the network interfaces have moved since boot: `/proc/net/dev` (proc_pid_net(5)).

use std::path::Path;

use crate::reader::{ReadError, Reader};
use crate::roots::{Process, Roots};

/// The table of all interfaces.
pub(crate) const INTERFACES: &str = "/proc/net/dev";
/// Description of its lines, for error messages.
pub(crate) const EXPECTED: &str = "a table of interfaces";

/// Bytes that interfaces moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// Returns the bytes moved through this machine's interfaces, each byte counted once: hardware interfaces and the
/// loopback. A bond, a VLAN or a bridge is left out because it repeats the bytes of the interfaces below it. Without
/// any hardware interface (in a container), all interfaces count.
///
/// # Errors
/// Returns as text what could not be read.
pub fn traffic(roots: &Roots) -> Result<Traffic, String> {
    let reader = Reader::new(roots, Process::Own);
    let path = Path::new(INTERFACES);
    let text = reader.text(path).map_err(|error| error.to_string())?;
    let all = interfaces(&text).ok_or_else(|| {
        ReadError::Content { path: path.to_owned(), text: text.clone(), expected: EXPECTED }.to_string()
    })?;
    let is_hardware =
        |name: &str| reader.exists(&Path::new("/sys/class/net").join(name).join("device")).unwrap_or(false);
    let (hardware, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| is_hardware(name));
    let counted = |name: &str| name == "lo" || hardware.is_empty();
    let others = others.iter().filter(|(name, _)| counted(name));
    Ok(hardware.iter().chain(others).fold(Traffic::default(), |sum, (_, one)| Traffic {
        received_bytes: sum.received_bytes.saturating_add(one.received_bytes),
        sent_bytes: sum.sent_bytes.saturating_add(one.sent_bytes),
    }))
}

/// Parses each interface line: `  eth0: 1234 ...`. The first number is the bytes received, the ninth the bytes sent.
/// `None` when a line has another format, or there is no line.
pub(crate) fn interfaces(text: &str) -> Option<Vec<(&str, Traffic)>> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let found: Option<Vec<_>> = lines
        .map(|(name, figures)| {
            let mut numbers = figures.split_whitespace().map(str::parse::<u64>);
            let received_bytes = numbers.next()?.ok()?;
            let sent_bytes = numbers.nth(7)?.ok()?;
            Some((name.trim(), Traffic { received_bytes, sent_bytes }))
        })
        .collect();
    found.filter(|found| !found.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEAD: &str = "Inter-|   Receive                                                |  Transmit\n \
                        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n";

    fn line(name: &str, received: u64, sent: u64) -> String {
        format!("{name:>6}: {received} 5 0 0 0 0 0 0 {sent} 5 0 0 0 0 0 0\n")
    }

    #[test]
    fn a_byte_that_passes_two_interfaces_counts_once() {
        let root = tempfile::tempdir().expect("a folder");
        let roots = Roots::at(root.path());
        fs::create_dir_all(roots.proc.join("net")).expect("a folder");
        let write = |lines: &[(&str, u64, u64)]| {
            let lines: String = lines.iter().map(|(name, received, sent)| line(name, *received, *sent)).collect();
            fs::write(roots.proc.join("net/dev"), format!("{HEAD}{lines}")).expect("a file");
        };
        let moved =
            |received_bytes, sent_bytes| -> Result<Traffic, String> { Ok(Traffic { received_bytes, sent_bytes }) };
        // In a container, one end of a virtual pair is the only interface beside the loopback.
        write(&[("lo", 10, 10), ("eth0", 500, 70)]);
        assert_eq!(traffic(&roots), moved(510, 80));
        for name in ["eth0", "eth1"] {
            fs::create_dir_all(roots.sys.join("class/net").join(name).join("device")).expect("a folder");
        }
        write(&[("lo", 10, 10), ("eth0", 500, 70), ("eth1", 300, 30), ("bond0", 800, 100), ("bond0.7", 800, 100)]);
        assert_eq!(traffic(&roots), moved(810, 110));
    }

    #[test]
    fn a_line_that_is_none_is_not_zero() {
        for lines in
            ["", "  eth0: x 1 2 3 4 5 6 7 8\n", "  eth0: 1 2 3 4 5 6 7 8\n", "    lo: 1 2 3 4 5 6 7 8 9\n eth0:\n"]
        {
            assert_eq!(interfaces(&format!("{HEAD}{lines}")), None, "{lines:?}");
        }
        // A long counter follows the colon directly.
        let long = interfaces("  eth0:123456789012 2 3 4 5 6 7 8 9");
        assert_eq!(long, Some(vec![("eth0", Traffic { received_bytes: 123_456_789_012, sent_bytes: 9 })]));
    }
}
