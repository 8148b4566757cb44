//! A quick look at what was just written: does a data file parse? Never runs a program.

use std::path::Path;

use hermes_config::yaml::Document;
use serde_json::{Value, json};

/// `{"status": "ok" | "error" | "skipped", …}`.
pub(super) fn lint(path: &Path, text: &str) -> Value {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    let verdict = match extension.as_deref() {
        Some("json") => serde_json::from_str::<serde::de::IgnoredAny>(text)
            .map(drop)
            .map_err(|error| error.to_string()),
        // Several documents in one file are common and legal, and not read by our parser.
        Some("yaml" | "yml") if !text.lines().skip(1).any(|line| line.starts_with("---")) => {
            Document::parse(text)
                .map(drop)
                .map_err(|error| error.to_string())
        }
        _ => return json!({"status": "skipped", "message": "no check for this kind of file"}),
    };
    match verdict {
        Ok(()) => json!({"status": "ok"}),
        Err(message) => json!({"status": "error", "output": message}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_are_parsed_and_others_skipped() {
        let status = |name: &str, text: &str| lint(Path::new(name), text)["status"].clone();
        assert_eq!(status("a.json", "{\"a\": [1]}"), "ok");
        assert_eq!(status("a.JSON", "{\"a\": [1}"), "error");
        assert_eq!(status("a.yml", "a: [1"), "error");
        assert_eq!(status("a.yml", "a: 1\n---\nb: 2\n"), "skipped");
        assert_eq!(status("a.txt", "{"), "skipped");
    }
}
