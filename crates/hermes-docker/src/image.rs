//! Whether an image is here, fetching it if not, and whether it brings an init of its own.

use std::time::Duration;

use serde_json::Value;

use super::engine::{Answer, Engine, unreachable_words};
use super::engine_words::last_line;
use super::error::{DockerError, Result};
use super::pull::pull;
use super::socket::Sought;

const LOOK_LIMIT: Duration = Duration::from_secs(15);
/// Programs with which s6 images start.
const S6_INITS: [&str; 2] = ["/init", "/package/admin/s6-overlay/command/init"];

/// Makes sure that an image is here, and says whether it brings an init of its own.
pub(crate) fn provide(
    engine: &Engine,
    image: &str,
    pull_limit: Duration,
    progress: &dyn Fn(&str),
) -> Result<bool> {
    if let Some(is_s6) = look(engine, image)? {
        return Ok(is_s6);
    }
    progress(&format!("fetching image {image}"));
    pull(engine, image, pull_limit, progress)?;
    // What the engine has just fetched and cannot show is an ordinary image as far as we know.
    Ok(look(engine, image)?.unwrap_or(false))
}

/// Whether an image is here. Fetches nothing.
pub(crate) fn is_here(engine: &Engine, image: &str) -> Result<bool> {
    Ok(look(engine, image)?.is_some())
}

fn look(engine: &Engine, image: &str) -> Result<Option<bool>> {
    let quick = engine.socket().and_then(|socket| socket.entry_point(image));
    match quick {
        Some(Sought::Found(entry_point)) => return Ok(Some(is_s6(&entry_point))),
        Some(Sought::Missing) => return Ok(None),
        None => {}
    }
    let format = "{{json .Config.Entrypoint}}";
    let answer = engine.ask(&["image", "inspect", image, "--format", format], LOOK_LIMIT)?;
    if answer.is_success() {
        let entry_point = serde_json::from_str(answer.stdout.trim()).unwrap_or_default();
        return Ok(Some(is_s6(&entry_point)));
    }
    match unreachable_words(&answer.words) {
        Some(error) => Err(error),
        None if is_missing(&answer) => Ok(None),
        None => Err(DockerError::Image {
            image: image.to_owned(),
            words: last_line(&answer.words).to_owned(),
        }),
    }
}

fn is_missing(answer: &Answer) -> bool {
    let words = answer.words.to_ascii_lowercase();
    [
        "no such image",
        "no such object",
        "image not known",
        "not found",
    ]
    .iter()
    .any(|part| words.contains(part))
        || words.is_empty()
}

/// Whether the entry point is the init of s6-overlay. Anything unreadable is an ordinary image.
fn is_s6(entry_point: &Value) -> bool {
    let first = match entry_point {
        Value::Array(words) => words.first().and_then(Value::as_str),
        Value::String(word) => Some(word.as_str()),
        _ => None,
    };
    first.is_some_and(|first| S6_INITS.contains(&first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_init_of_s6_makes_an_s6_image() {
        for yes in [
            json!(["/init"]),
            json!(["/package/admin/s6-overlay/command/init", "x"]),
            json!("/init"),
        ] {
            assert!(is_s6(&yes), "{yes}");
        }
        for no in [
            json!(null),
            json!([]),
            json!(["/bin/sh", "/init"]),
            json!(["/initx"]),
            json!({}),
        ] {
            assert!(!is_s6(&no), "{no}");
        }
    }

    #[test]
    fn a_missing_image_is_told_from_other_trouble() {
        let answer = |words: &str| Answer {
            code: Some(1),
            stdout: String::new(),
            words: words.to_owned(),
        };
        for words in [
            "Error response from daemon: no such image: x: No such image: x:latest",
            "Error: inspecting object: x: image not known",
            "Error: No such object: x",
        ] {
            assert!(is_missing(&answer(words)), "{words}");
        }
        assert!(!is_missing(&answer("invalid reference format")));
    }
}
