//! Bytes to text, in pieces of any size.
//!
//! A character cut in two by a read comes out whole; what is no UTF-8 becomes U+FFFD, as often and
//! in the same places however the bytes were cut.

/// Decodes UTF-8 piece by piece.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    /// The beginning of a character whose rest has not come yet: at most three bytes.
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Decodes the next bytes and passes the text on in one or more pieces.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&str)) {
        if self.pending.is_empty() {
            return self.decode(bytes, sink);
        }
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(bytes);
        self.decode(&joined, sink);
    }

    /// Says what is left at the end.
    pub fn finish(&mut self, sink: &mut dyn FnMut(&str)) {
        if !std::mem::take(&mut self.pending).is_empty() {
            sink("\u{fffd}");
        }
    }

    fn decode(&mut self, mut bytes: &[u8], sink: &mut dyn FnMut(&str)) {
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    if !text.is_empty() {
                        sink(text);
                    }
                    return;
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            if let Ok(text) = std::str::from_utf8(valid)
                && !text.is_empty()
            {
                sink(text);
            }
            let Some(length) = error.error_len() else {
                rest.clone_into(&mut self.pending);
                return;
            };
            sink("\u{fffd}");
            bytes = rest.get(length..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut out = String::new();
        let mut decoder = Utf8Decoder::default();
        for piece in pieces {
            decoder.feed(piece, &mut |text| out.push_str(text));
        }
        decoder.finish(&mut |text| out.push_str(text));
        out
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xe2), Just(0x82), Just(0xac)], 0..64),
            size in 1_usize..8,
        ) {
            prop_assert_eq!(decode(bytes.chunks(size)), String::from_utf8_lossy(&bytes));
        }
    }
}
