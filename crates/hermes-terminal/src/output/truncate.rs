//! Cutting text for a reader with little room.

use hermes_text::with_separators;

use super::capture::split_after;

/// Of what is shown, this share (in percent) is the beginning.
const HEAD_SHARE: usize = 40;

/// Cuts the middle out of a text of more than `most` characters. `already_omitted` characters were
/// left out between `head` and `tail` before. `None` if nothing needs to be cut.
pub(crate) fn cut(head: &str, tail: &str, already_omitted: usize, most: usize) -> Option<String> {
    let head_length = head.chars().count();
    let tail_length = tail.chars().count();
    let total = head_length + already_omitted + tail_length;
    if total <= most {
        return None;
    }
    let show_head = most * HEAD_SHARE / 100;
    let show_tail = most - show_head;
    let (shown_head, _) = split_after(head, show_head);
    let shown_tail = if tail_length >= show_tail {
        split_after(tail, tail_length - show_tail).1.to_owned()
    } else if already_omitted == 0 {
        let from_head = (head_length + tail_length).saturating_sub(show_tail);
        format!("{}{tail}", split_after(head, from_head).1)
    } else {
        tail.to_owned()
    };
    let shown = shown_head.chars().count() + shown_tail.chars().count();
    Some(format!(
        "{shown_head}\n\n… [OUTPUT TRUNCATED - {} chars omitted out of {} total] …\n\n{shown_tail}",
        with_separators(total.saturating_sub(shown)),
        with_separators(total)
    ))
}

/// The text with its middle cut out if it has more than `most` characters: 40 % of what is left
/// come from the beginning, 60 % from the end.
pub fn truncate(text: &str, most: usize) -> String {
    cut(text, "", 0, most).unwrap_or_else(|| text.to_owned())
}

/// The last `most` characters, from the beginning of a line if one begins there.
pub fn tail_from_line_start(text: &str, most: usize) -> &str {
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    let (before, tail) = split_after(text, length - most);
    if before.ends_with('\n') {
        return tail;
    }
    match tail.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn the_middle_goes_and_the_marker_counts() {
        let text = "a".repeat(600) + &"b".repeat(1_000_000);
        let cut = truncate(&text, 1000);
        let lines: Vec<&str> = cut.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0], "a".repeat(400));
        assert_eq!(
            lines[2],
            "… [OUTPUT TRUNCATED - 999,600 chars omitted out of 1,000,600 total] …"
        );
        assert_eq!(lines[4], "b".repeat(600));
        assert_eq!(truncate("short", 5), "short");
    }

    #[test]
    fn what_was_left_out_before_counts_too() {
        let cut = cut(&"h".repeat(20), &"t".repeat(20), 60, 10).unwrap();
        assert_eq!(
            cut,
            "hhhh\n\n… [OUTPUT TRUNCATED - 90 chars omitted out of 100 total] …\n\ntttttt"
        );
    }

    #[test]
    fn a_tail_begins_with_a_line() {
        assert_eq!(tail_from_line_start("one\ntwo\nthree\n", 8), "three\n");
        assert_eq!(
            tail_from_line_start("one\ntwo\nthree\n", 10),
            "two\nthree\n"
        );
        assert_eq!(tail_from_line_start("éééé", 2), "éé");
        assert_eq!(tail_from_line_start("abc\n", 2), "c\n");
        assert_eq!(tail_from_line_start("short", 100), "short");
    }

    proptest! {
        #[test]
        fn both_ends_survive_any_text(text in "[a-zé€\\n]{0,200}", most in 1_usize..100) {
            let cut = truncate(&text, most);
            let length = text.chars().count();
            if length <= most {
                prop_assert_eq!(cut, text);
            } else {
                let head = most * 40 / 100;
                let (expected, _) = split_after(&text, head);
                prop_assert!(cut.starts_with(expected));
                let (_, expected) = split_after(&text, length - (most - head));
                prop_assert!(cut.ends_with(expected));
            }
        }
    }
}
