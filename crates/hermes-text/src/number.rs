//! Numbers for people.

/// `1,234,567`.
pub fn with_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::with_separators;

    #[test]
    fn thousands_are_separated() {
        let shown = [0, 999, 1000, 1_234_567].map(with_separators);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
