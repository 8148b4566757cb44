//! What of a command's output comes back, and what is kept of the rest.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::{Place, text};

/// Largest resident size of a process so far, in kilobytes.
fn peak_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn much_output_is_cut_in_the_middle_and_kept_in_a_file() {
    // check 19
    let place = Place::new();
    let mut talk = place.talk();
    talk.output("true");
    let before = peak_of(talk.hermes.pid());
    let result = talk.run("echo FIRST; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo LAST");
    let growth = peak_of(talk.hermes.pid()) - before;
    assert!(growth < 64 * 1024, "{growth} kB");
    let output = text(&result, "output");
    let (head, rest) = output
        .split_once("\n… [OUTPUT TRUNCATED - ")
        .unwrap_or_else(|| {
            panic!(
                "{}",
                output
                    .chars()
                    .filter(|letter| *letter != 'x')
                    .collect::<String>()
            )
        });
    let (marker, tail) = rest.split_once("] …\n").unwrap();
    assert!(
        marker.ends_with(" chars omitted out of 100,000,011 total"),
        "{marker}"
    );
    assert!(head.starts_with("FIRST\nxxx") && tail.ends_with("xxx\nLAST"));
    let share = head.trim_end().len() * 100 / (head.trim_end().len() + tail.trim_start().len());
    assert!((38..=42).contains(&share), "{share} % before the cut");
    let whole = Path::new(text(&result, "full_output_path"));
    let meta = whole.metadata().unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    assert!(
        meta.len() > 1_000_000 && meta.len() <= 11 * 1024 * 1024,
        "{}",
        meta.len()
    );
    assert!(whole.starts_with(place.home.path("cache/terminal")));
}

#[test]
fn a_secret_across_the_cut_is_masked() {
    // check 19
    let secret = "canary-straddles-the-cut-0123456789";
    let place = Place::new().env("OPENAI_API_KEY", secret);
    place.home.put_outside("work/secret", secret, 0o600);
    let mut talk = place.talk();
    // At every offset around the end of the head.
    for offset in [19_970, 19_985, 19_999] {
        let command = format!(
            "head -c {offset} /dev/zero | tr '\\0' x; cat secret; head -c 60000 /dev/zero | tr '\\0' y"
        );
        let result = talk.run(&command);
        let shown = result.to_string();
        assert!(
            !shown.contains("canary") && !shown.contains("0123456789"),
            "{offset}"
        );
        let whole = std::fs::read_to_string(text(&result, "full_output_path")).unwrap();
        assert!(
            !whole.contains("canary") && whole.contains("***"),
            "{offset}"
        );
    }
}

#[test]
fn odd_bytes_become_text() {
    // check 19
    let place = Place::new();
    let mut talk = place.talk();
    let result = talk.run("printf 'a\\xffb\\n'");
    assert_eq!(result["output"], "a\u{fffd}b");
    let result = talk.run("printf '\\033[31mred\\033[0m \\033]0;title\\007end'");
    assert_eq!(result["output"], "red end");
    let result = talk.run("printf 'no newline'");
    assert_eq!(result["output"], "no newline");
    // What is cut between two writes is still one letter.
    let result = talk.run("printf '\\xc3'; sleep 0.05; printf '\\xa4'");
    assert_eq!(result["output"], "ä");
    let result = talk.run("printf 'x\\0y'");
    let output = text(&result, "output");
    assert!(output.starts_with('x') && output.ends_with('y'), "{result}");
}
