use std::os::unix::fs::PermissionsExt as _;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn files(home: &tempfile::TempDir) -> TokenFiles {
    TokenFiles::of_server(home.path(), "my server/../x")
}

fn mode(path: &Path) -> u32 {
    hermes_fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn put(files: &TokenFiles, content: &str) {
    hermes_fs::create_dir_all(&files.directory, 0o755).unwrap();
    hermes_fs::write_atomic(&files.path(".json"), content.as_bytes(), 0o644).unwrap();
}

#[test]
fn names_of_files_are_the_reference_s() {
    for (server, name) in [
        ("linear", "linear"),
        ("my server/../x", "my_server____x"),
        ("__a__", "a"),
        ("größe-1", "größe-1"),
        ("//", "default"),
        ("", "default"),
    ] {
        assert_eq!(file_name(server), name);
    }
    assert_eq!(file_name(&"x".repeat(300)).len(), 128);
}

#[test]
fn tokens_are_kept_for_the_owner_alone_with_the_time_of_their_end() {
    let home = tempfile::tempdir().unwrap();
    let files = files(&home);
    assert!(files.tokens().is_none());
    let answer = json!({
        "access_token": "a", "token_type": "bearer", "expires_in": "3600", "refresh_token": "r",
        "scope": null, "id_token": "i",
    });
    files.keep_tokens(&answer).unwrap();
    assert_eq!(mode(&home.path().join("mcp-tokens")), 0o700);
    assert_eq!(mode(&files.path(".json")), 0o600);
    let kept = files.read(".json").unwrap();
    let keys: Vec<&str> = kept.keys().map(String::as_str).collect();
    let expected = [
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "expires_at",
    ];
    assert_eq!(keys, expected);
    assert_eq!(kept["token_type"], "Bearer");
    let tokens = files.tokens().unwrap();
    let left = tokens.expires_at.unwrap().duration_since(SystemTime::now());
    assert!((3590..=3600).contains(&left.unwrap().as_secs()));
    assert!(files.remove().unwrap());
    assert!(!files.remove().unwrap());
}

#[test]
fn what_the_reference_has_written_is_read() {
    let home = tempfile::tempdir().unwrap();
    let files = files(&home);
    put(
        &files,
        "{\n  \"access_token\": \"a\",\n  \"token_type\": \"Bearer\",\n  \"expires_in\": 60,\n  \
         \"refresh_token\": \"r\",\n  \"expires_at\": 1000000000.5\n}",
    );
    let tokens = files.tokens().unwrap();
    assert_eq!(
        (tokens.access.as_str(), tokens.refresh.as_deref()),
        ("a", Some("r"))
    );
    let end = UNIX_EPOCH + Duration::from_secs_f64(1_000_000_000.5);
    assert_eq!(tokens.expires_at, Some(end));
    // An older file: the lifetime counts from when it was written.
    put(&files, "{\"access_token\": \"a\", \"expires_in\": 60}");
    let left = files.tokens().unwrap().expires_at.unwrap();
    let left = left.duration_since(SystemTime::now()).unwrap().as_secs();
    assert!((50..=60).contains(&left), "{left}");
}

#[test]
fn damaged_files_are_no_login() {
    let home = tempfile::tempdir().unwrap();
    let files = files(&home);
    for damaged in [
        "",
        "{",
        "[1]",
        "{\"access_token\": 7}",
        "{\"access_token\": \"\"}",
        "\u{0}",
    ] {
        put(&files, damaged);
        assert!(files.tokens().is_none(), "{damaged:?}");
    }
}
