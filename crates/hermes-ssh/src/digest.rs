//! SHA-256 as people and manifests write it.

use sha2::{Digest, Sha256};

/// Of bytes that are there.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(bytes);
    digits(hasher)
}

/// Of everything a hasher has seen, in hexadecimal digits.
pub(crate) fn digits(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}
