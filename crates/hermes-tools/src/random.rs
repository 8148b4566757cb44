//! Random bytes of the system, and names made of them.

/// `count` random bytes; the error is a sentence.
pub(crate) fn random(count: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(format!("the system gave no random bytes: {errno}")),
        }
    }
    Ok(bytes)
}

/// `count` random bytes as hexadecimal digits, for names nobody else uses.
pub(crate) fn random_hex(count: usize) -> Result<String, String> {
    let mut digits = String::with_capacity(count * 2);
    for byte in random(count)? {
        digits.push_str(&format!("{byte:02x}"));
    }
    Ok(digits)
}
