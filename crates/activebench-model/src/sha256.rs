//! SHA-256 as manifests and statements write it: lower-case hexadecimal.

use std::io::{self, Read};

use sha2::Digest;

/// The sum of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Sha256(sha2::Sha256);

impl Sha256 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Returns the sum.
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the sum of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut sum = Sha256::default();
    sum.update(bytes);
    sum.finish()
}

/// Returns the sum of everything that a reader gives, read in pieces.
///
/// # Errors
/// Returns the reader's error.
pub fn of_reader(mut from: impl Read) -> io::Result<String> {
    let mut sum = Sha256::default();
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(sum.finish()),
            Ok(read) => sum.update(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc"), expected);
        assert_eq!(of_reader(&b"abc"[..]).expect("bytes"), expected);
    }
}
