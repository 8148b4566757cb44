//! Pictures in the results of tools of MCP servers, for models that see.

use std::path::Path;

use base64::Engine as _;
use serde_json::Value;

/// Pictures of one result that are shown; the paths of all are in the result.
const MAX_IMAGES: usize = 4;
/// A larger picture is a file only.
const MAX_BYTES: u64 = 5 << 20;

/// A picture that a model can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultImage {
    /// Such as `image/png`, by what the picture is, not by what its server calls it.
    pub media_type: &'static str,
    pub base64: String,
}

/// The pictures of a result, read from where the tool has kept them. One that is gone, too large or of
/// a kind that no model takes is left out: its path is in the result.
pub fn result_images(tool: &str, result: &Value) -> Vec<ResultImage> {
    // Only tools of servers have such files, and only we write their list.
    let files = result.get("files").and_then(Value::as_array);
    let Some(files) = files.filter(|_| tool.starts_with("mcp__")) else {
        return Vec::new();
    };
    let paths = files.iter().filter_map(|file| file["path"].as_str());
    let images = paths.filter_map(|path| load(Path::new(path)));
    images.take(MAX_IMAGES).collect()
}

fn load(path: &Path) -> Option<ResultImage> {
    if !path.parent()?.ends_with("cache/mcp-files") {
        return None;
    }
    let bytes = hermes_fs::read_capped(path, MAX_BYTES).ok()?;
    Some(ResultImage {
        media_type: media_type(&bytes)?,
        base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
    })
}

/// What a picture is by its first bytes: a server refuses one under a wrong name, and then no other
/// picture would be sent there.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pictures_are_shown_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("cache/mcp-files");
        hermes_fs::create_dir_all(&files, 0o700).unwrap();
        let put = |path: &Path, bytes: &[u8]| {
            hermes_fs::write_atomic(path, bytes, 0o600).unwrap();
            json!({"path": path, "mime_type": "image/png"})
        };
        let picture = b"\x89PNG\r\n\x1a\nrest";
        let good = put(&files.join("a.png"), picture);
        let text = put(&files.join("b.png"), b"hallo");
        let other = put(&dir.path().join("c.png"), picture);
        let gone = json!({"path": files.join("d.png")});
        let result = json!({"result": "", "files": [text, other, gone, good]});
        let images = result_images("mcp__srv__shot", &result);
        assert_eq!(images.len(), 1);
        assert_eq!(images[0].media_type, "image/png");
        assert_eq!(result_images("terminal", &result), []);
        let many = json!({"files": vec![good; 9]});
        assert_eq!(result_images("mcp__srv__shot", &many).len(), MAX_IMAGES);
    }
}
