//! Random names for files, containers and commands, in hexadecimal digits.

use rustix::rand::{GetRandomFlags, getrandom};

/// Hexadecimal digits from the system's random source: a name nobody can guess.
pub fn random_hex(digits: usize) -> String {
    let mut bytes = vec![0_u8; digits.div_ceil(2)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            // Only kernels older than any we start on lack the call; an empty name would collide.
            Err(_) => {
                let now = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap_or_default();
                let seed = now.as_nanos() ^ u128::from(std::process::id());
                for (byte, value) in rest.iter_mut().zip(seed.to_le_bytes()) {
                    *byte = value;
                }
                break;
            }
        }
    }
    let mut text = hex(&bytes);
    text.truncate(digits);
    text
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .filter_map(|nibble| char::from_digit(nibble.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::random_hex;

    #[test]
    fn random_names_have_their_length_and_differ() {
        assert_eq!(random_hex(12).len(), 12);
        assert_eq!(random_hex(15).len(), 15);
        assert!(random_hex(16).chars().all(|c| c.is_ascii_hexdigit()));
        assert_ne!(random_hex(16), random_hex(16));
    }
}
