//! Backslash escapes of quoted text.

/// Backslash escapes as `$'…'`, `echo -e` and `printf` know them.
pub(crate) fn decode_escapes(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else {
            out.push('\\');
            break;
        };
        let mut number = |radix: u32, most: usize, first: Option<char>| {
            let mut value = first.and_then(|c| c.to_digit(radix)).unwrap_or(0);
            let mut taken = usize::from(first.is_some());
            while taken < most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
                    break;
                };
                value = value.saturating_mul(radix).saturating_add(digit);
                chars.next();
                taken += 1;
            }
            // A shell's string ends at NUL; ours just goes without.
            char::from_u32(value).filter(|c| *c != '\0')
        };
        match escape {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' | 'b' | 'f' | 'v' => {}
            'e' | 'E' => out.push('\u{1b}'),
            'x' => out.extend(number(16, 2, None)),
            'u' => out.extend(number(16, 4, None)),
            'U' => out.extend(number(16, 8, None)),
            '0'..='7' => out.extend(number(8, 3, Some(escape))),
            other => out.push(other),
        }
    }
    out
}
