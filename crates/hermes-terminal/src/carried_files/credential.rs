//! Which declared credential file may leave this machine.
//!
//! A skill from anywhere can declare files. What it gets must lie in the home, and must not be one of
//! the stores that hold everything else: those open every account the user has.

use std::path::{Path, PathBuf};

use hermes_policy::refuses_carrying;

/// Where a declared file really is and where it belongs below `.hermes`, or why it does not go
/// along.
pub fn declared_credential(home: &Path, declared: &str) -> Result<(PathBuf, PathBuf), String> {
    let target = hermes_fs::confined_relative(declared)
        .map_err(|_| "it must be a path relative to the Hermes home, without '..'")?;
    let unreadable = |error: hermes_fs::Error| {
        if error.is_not_found() {
            "there is no such file".to_owned()
        } else {
            error.to_string()
        }
    };
    let real_home = hermes_fs::canonicalize(home).map_err(unreadable)?;
    let source = hermes_fs::canonicalize(&real_home.join(&target)).map_err(unreadable)?;
    let inside = source
        .strip_prefix(&real_home)
        .map_err(|_| "a link points outside the Hermes home")?;
    if refuses_carrying(&target) || refuses_carrying(inside) {
        return Err("it contains Hermes credentials or settings and is never copied".into());
    }
    let meta = hermes_fs::symlink_metadata(&source).map_err(unreadable)?;
    if !meta.is_file() {
        return Err("it is not a regular file".into());
    }
    Ok((source, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_inside_the_home_go_along() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let put = |name: &str| hermes_fs::write_atomic(&dir.path().join(name), b"x", 0o600);
        hermes_fs::create_dir_all(&home.join("sub"), 0o700).unwrap();
        for name in ["outside", "home/token.json", "home/.env"] {
            put(name).unwrap();
        }
        hermes_fs::symlink(Path::new("../outside"), &home.join("leak")).unwrap();
        hermes_fs::symlink(Path::new(".env"), &home.join("innocent.json")).unwrap();
        hermes_fs::symlink(Path::new("token.json"), &home.join("alias.json")).unwrap();

        let real = hermes_fs::canonicalize(&home).unwrap();
        let fine = |name: &str| Ok((real.join("token.json"), PathBuf::from(name)));
        assert_eq!(declared_credential(&home, "token.json"), fine("token.json"));
        assert_eq!(
            declared_credential(&home, "./alias.json"),
            fine("alias.json")
        );
        for (declared, refusal) in [
            ("../../.ssh/id_rsa", "relative to the Hermes home"),
            ("/etc/passwd", "relative to the Hermes home"),
            ("", "relative to the Hermes home"),
            (".env", "stays on this machine"),
            ("innocent.json", "stays on this machine"),
            ("leak", "leads out"),
            ("sub", "not a regular file"),
            ("nothing", "no such file"),
        ] {
            let refused = declared_credential(&home, declared).unwrap_err();
            assert!(refused.contains(refusal), "{declared}: {refused}");
        }
    }
}
