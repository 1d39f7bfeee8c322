//! Keys as openssl writes them, and the DSSE envelope that they sign.
//!
//! The crate `dsse` makes the envelope, ed25519-dalek the signature; `docs/design/bundle.md` says why.

use activebench_model::sha256;
use dsse::{Ed25519Signer, Ed25519Verifier, Envelope};
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey};
use ed25519_dalek::{SigningKey, VerifyingKey};

use crate::error::{BundleError, Fault};

/// Type of the signed document, a JSON document of in-toto. The type is inside the signed bytes.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A key that signs: PKCS#8 PEM of `openssl genpkey -algorithm ed25519`.
pub struct PrivateKey(SigningKey);

/// A key that checks: PEM of `openssl pkey -pubout`.
#[derive(Debug)]
pub struct PublicKey(VerifyingKey);

// Not derived: a key must not get into a log.
impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateKey(..)")
    }
}

impl PrivateKey {
    /// Reads a key.
    ///
    /// # Errors
    /// Returns an error if this is not an unencrypted ed25519 key in PKCS#8 PEM.
    pub fn from_pem(pem: &str) -> Result<Self, BundleError> {
        SigningKey::from_pkcs8_pem(pem).map(Self).map_err(|error| BundleError::Key {
            why: match label(pem) {
                Some("ENCRYPTED PRIVATE KEY") => {
                    "it is encrypted (hint: `openssl pkey -in KEY -out PLAIN` decrypts it into a file of your own)"
                        .to_owned()
                }
                Some("PUBLIC KEY") => "it is a public key (hint: --sign takes the private one)".to_owned(),
                _ => format!(
                    "not an ed25519 private key in PEM: {error} (hint: `openssl genpkey -algorithm ed25519 -out KEY`)"
                ),
            },
        })
    }

    /// Returns the key that checks the signatures of this one.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a statement; returns the envelope as JSON.
    pub(crate) fn sign(&self, statement: &[u8]) -> Result<Vec<u8>, BundleError> {
        let failed = |error: dsse::Error| BundleError::Sign { why: error.to_string() };
        let signer = Ed25519Signer::from_bytes(self.0.as_bytes()).map_err(failed)?.with_key_id(self.public().id()?);
        let mut json =
            dsse::sign(PAYLOAD_TYPE, statement, &signer).and_then(|envelope| envelope.to_json()).map_err(failed)?;
        json.push(b'\n');
        Ok(json)
    }
}

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// Returns an error if this is not an ed25519 public key in PEM.
    pub fn from_pem(pem: &str) -> Result<Self, BundleError> {
        VerifyingKey::from_public_key_pem(pem).map(Self).map_err(|error| BundleError::Key {
            why: match label(pem) {
                Some("PRIVATE KEY") => {
                    "it is a private key (hint: `openssl pkey -in KEY -pubout` gives the public one)".to_owned()
                }
                _ => format!("not an ed25519 public key in PEM: {error} (hint: `openssl pkey -in KEY -pubout`)"),
            },
        })
    }

    /// Returns the SHA-256 of the key in DER: what `openssl pkey -pubin -in PUB -outform DER | sha256sum` prints.
    ///
    /// # Errors
    /// When the key cannot be encoded, which does not happen to one that was decoded.
    pub fn id(&self) -> Result<String, BundleError> {
        let der = self.0.to_public_key_der().map_err(|error| BundleError::Key { why: error.to_string() })?;
        Ok(sha256::of_bytes(der.as_bytes()))
    }
}

/// Returns the label in the first line of a PEM file.
fn label(pem: &str) -> Option<&str> {
    let line = pem.lines().find(|line| line.starts_with("-----BEGIN "))?;
    line.strip_prefix("-----BEGIN ")?.trim_end().strip_suffix("-----")
}

/// Returns the statement in an envelope. With a key: exactly the bytes that were signed, or an error.
pub(crate) fn open(envelope: &[u8], key: Option<&PublicKey>) -> Result<Vec<u8>, Fault> {
    let damaged = |why: String| Fault::Statement { why };
    let envelope = Envelope::from_json(envelope).map_err(|error| damaged(error.to_string()))?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(damaged(format!("its payload is {:?} instead of {PAYLOAD_TYPE:?}", envelope.payload_type)));
    }
    let wrong = |error: dsse::Error| Fault::Signature { why: error.to_string() };
    match key {
        Some(key) => {
            let verifier = Ed25519Verifier::from_bytes(key.0.as_bytes()).map_err(wrong)?;
            Ok(dsse::verify(&envelope, &[&verifier], 1).map_err(wrong)?.payload)
        }
        None => dsse::verify(&envelope, &[&Anybody], 1)
            .map(|unchecked| unchecked.payload)
            .map_err(|error| damaged(error.to_string())),
    }
}

/// Accepts every signature: an unchecked envelope is decoded by the same path as a checked one. The result is not
/// trusted, see [`crate::SignatureCheck::NotChecked`].
struct Anybody;

impl dsse::Verifier for Anybody {
    fn verify(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`, OpenSSL 3.0.
    const KEY: &str = include_str!("../tests/keys/signer.pem");
    const PUBLIC: &str = include_str!("../tests/keys/signer.pub.pem");
    const OTHER: &str = include_str!("../tests/keys/other.pub.pem");

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The test vector of protocol.md, secure-systems-lab/dsse v1.0.
        assert_eq!(
            dsse::pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn a_signature_holds_under_its_key_alone() {
        let envelope = PrivateKey::from_pem(KEY).unwrap().sign(b"{}").unwrap();
        let public = PublicKey::from_pem(PUBLIC).unwrap();
        assert_eq!(open(&envelope, Some(&public)).unwrap(), b"{}");
        assert_eq!(open(&envelope, None).unwrap(), b"{}");
        let other = PublicKey::from_pem(OTHER).unwrap();
        assert!(matches!(open(&envelope, Some(&other)), Err(Fault::Signature { .. })));
        let text = String::from_utf8(envelope).unwrap();
        let retyped = text.replace("in-toto", "in-tofu");
        assert!(matches!(open(retyped.as_bytes(), Some(&public)), Err(Fault::Statement { .. })));
        let changed = text.replace("e30=", "e31=");
        assert!(changed != text && open(changed.as_bytes(), Some(&public)).is_err(), "{text}");
    }

    #[test]
    fn what_is_no_key_says_what_to_do() {
        let private = |pem: &str| PrivateKey::from_pem(pem).unwrap_err().to_string();
        let public = |pem: &str| PublicKey::from_pem(pem).unwrap_err().to_string();
        for (said, expected) in [
            (private(PUBLIC), "--sign takes the private one"),
            (private(""), "openssl genpkey"),
            (private(include_str!("../tests/keys/rsa.pem")), "not an ed25519 private key"),
            (private(include_str!("../tests/keys/encrypted.pem")), "it is encrypted"),
            (public(KEY), "-pubout"),
            (public("x"), "not an ed25519 public key"),
        ] {
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", PrivateKey::from_pem(KEY).unwrap()), "PrivateKey(..)");
    }
}
