//! Numbers and times as people read them.

use serde::{Deserialize, Deserializer};

/// Seconds of the clock, however many times a template has borrowed them.
pub(crate) trait Seconds {
    fn seconds(&self) -> i64;
}

impl Seconds for i64 {
    fn seconds(&self) -> i64 {
        *self
    }
}

impl<T: Seconds + ?Sized> Seconds for &T {
    fn seconds(&self) -> i64 {
        T::seconds(self)
    }
}

/// A count, however many times a template has borrowed it.
pub(crate) trait Count {
    fn is_one(&self) -> bool;
}

impl Count for usize {
    fn is_one(&self) -> bool {
        *self == 1
    }
}

impl<T: Count + ?Sized> Count for &T {
    fn is_one(&self) -> bool {
        T::is_one(self)
    }
}

/// How long ago something was, as the page's script writes it as well.
pub(crate) fn ago(now: impl Seconds, at: impl Seconds) -> String {
    let (now, at) = (now.seconds(), at.seconds());
    let past = (now - at).abs();
    let text = match past {
        0..60 => format!("{past} s"),
        60..3_600 => format!("{} min", past / 60),
        3_600..172_800 => format!("{} h", past / 3_600),
        _ => format!("{} d", past / 86_400),
    };
    if at > now {
        format!("in {text}")
    } else {
        format!("{text} ago")
    }
}

/// A length of time.
pub(crate) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        seconds => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A count in few characters.
pub(crate) fn short_count(count: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit * 10 / unit);
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{} k", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} M", tenths(1_000_000)),
        _ => format!("{} G", tenths(1_000_000_000)),
    }
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    let tenths = |shift: u32| {
        let whole = count >> shift;
        let rest = ((count - (whole << shift)) * 10) >> shift;
        format!("{whole}.{rest}")
    };
    match count {
        0..0x400 => format!("{count} B"),
        0x400..0x10_0000 => format!("{} KB", count >> 10),
        0x10_0000..0x4000_0000 => format!("{} MB", count >> 20),
        0x4000_0000..0x100_0000_0000 => format!("{} GB", tenths(30)),
        _ => format!("{} TB", tenths(40)),
    }
}

/// Dollars.
pub(crate) fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        "$0".to_owned()
    } else if amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// The ending of a counted word.
pub(crate) fn plural(count: impl Count) -> &'static str {
    if count.is_one() { "" } else { "s" }
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Reads `null` as the default.
pub(crate) fn nullable<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn times_are_short_and_say_their_direction() {
        assert_eq!(ago(100, 41), "59 s ago");
        assert_eq!(ago(7_200, 0), "2 h ago");
        assert_eq!(ago(0, 90), "in 1 min");
        assert_eq!(ago(345_600, 0), "4 d ago");
        assert_eq!(span(3_725), "1 h 2 min");
    }

    #[test]
    fn counts_and_bytes_are_rounded_down() {
        assert_eq!(short_count(9_999), "9999");
        assert_eq!(short_count(12_345), "12 k");
        assert_eq!(short_count(1_960_000), "1.9 M");
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(3 << 30 | 1 << 29), "3.5 GB");
        assert_eq!(dollars(0.0012), "$0.0012");
        assert_eq!(dollars(2.0), "$2.00");
    }

    #[test]
    fn a_segment_cannot_leave_its_place() {
        assert_eq!(segment("a/../b?c#d e\"'"), "a%2F..%2Fb%3Fc%23d%20e%22%27");
    }
}
