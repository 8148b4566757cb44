//! SHA-256 as people and manifests write it.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Of bytes that are there.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hermes_fs::hex(&Sha256::digest(bytes))
}

/// Of everything a hasher has seen, in hexadecimal digits.
pub(crate) fn digits(hasher: Sha256) -> String {
    hermes_fs::hex(&hasher.finalize())
}

/// Of a stream to its end; each piece of it is handed on.
pub(crate) fn digest_stream<E: From<io::Error>>(
    mut content: impl Read,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<String, E> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match content.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
            return Ok(digits(hasher));
        };
        hasher.update(chunk);
        each(chunk)?;
    }
}
