//! Pictures, sounds and files in answers: kept as files, since base64 in a conversation helps nobody.

use std::path::Path;

use base64::Engine as _;
use hermes_mcp::Blob;
use serde_json::{Value, json};

/// Saves each and says where it is.
pub(super) fn save_blobs(blobs: Vec<Blob>, directory: &Path) -> Vec<Value> {
    let saved = blobs.into_iter().map(|blob| match save(&blob, directory) {
        Ok(mut entry) => {
            if let Some(uri) = blob.uri {
                entry["uri"] = json!(uri);
            }
            entry
        }
        Err(reason) => json!({"mime_type": blob.mime_type, "error": reason}),
    });
    saved.collect()
}

fn save(blob: &Blob, directory: &Path) -> Result<Value, String> {
    let data: String = blob.data.split_ascii_whitespace().collect();
    let engine = base64::engine::general_purpose::STANDARD;
    let bytes = engine
        .decode(data)
        .map_err(|_| "what the server sent is not base64".to_owned())?;
    let name = format!("{}.{}", hermes_fs::random_hex(16), ending(&blob.mime_type));
    let path = directory.join(name);
    hermes_fs::create_dir_all(directory, 0o700).map_err(|error| error.to_string())?;
    hermes_fs::write_atomic(&path, &bytes, 0o600).map_err(|error| error.to_string())?;
    Ok(json!({
        "path": path.display().to_string(),
        "mime_type": blob.mime_type,
        "bytes": bytes.len(),
    }))
}

fn ending(mime_type: &str) -> &'static str {
    match mime_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "application/pdf" => "pdf",
        "application/gzip" => "gz",
        "application/zip" => "zip",
        "application/json" => "json",
        mime if mime.starts_with("text/") => "txt",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_becomes_a_file_and_nonsense_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let blob = |data: &str| Blob {
            mime_type: "image/png".to_owned(),
            data: data.to_owned(),
            uri: None,
        };
        let saved = save_blobs(vec![blob("aGFs\nbG8="), blob("%%")], dir.path());
        let path = saved[0]["path"].as_str().unwrap();
        assert_eq!(Path::new(path).extension(), Some("png".as_ref()));
        let kept = hermes_fs::read_capped(Path::new(path), 100).unwrap();
        assert_eq!(kept, b"hallo");
        assert!(saved[1]["error"].as_str().unwrap().contains("base64"));
    }
}
