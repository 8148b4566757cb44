//! `logs/container-boot.log`: what every boot of a container did about the gateways.

use std::io::Write;
use std::path::Path;

use hermes_fs::Directory;

/// Size from which the log is put aside.
const LIMIT: u64 = 256 * 1024;
const NAME: &str = "container-boot.log";

/// Appends lines to the log of an installation, which is put aside first if it has grown. Never
/// through a link.
pub fn append(root: &Path, lines: &[String]) -> hermes_fs::Result<()> {
    let logs = Directory::open(root)?.create_directories(Path::new("logs"), 0o700)?;
    let is_large = logs
        .metadata(Path::new(NAME))
        .is_ok_and(|meta| meta.is_file() && meta.len() >= LIMIT);
    if is_large {
        let aside = format!("{NAME}.1");
        logs.rename_unsynced(Path::new(NAME), &logs, Path::new(&aside))?;
    }
    let path = root.join("logs").join(NAME);
    let mut file = hermes_fs::open_append(&path, 0o600)?;
    let mut text = lines.join("\n");
    text.push('\n');
    file.write_all(text.as_bytes())
        .map_err(hermes_fs::Error::io("write", &path))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(path: &Path) -> String {
        hermes_fs::read_text_capped(path, 1 << 20).unwrap()
    }

    #[test]
    fn lines_are_added_until_the_log_is_put_aside() {
        let root = tempfile::tempdir().unwrap();
        append(root.path(), &["one".to_owned()]).unwrap();
        append(root.path(), &["two".to_owned(), "three".to_owned()]).unwrap();
        let log = root.path().join("logs/container-boot.log");
        assert_eq!(read(&log), "one\ntwo\nthree\n");
        let size = usize::try_from(LIMIT).unwrap();
        hermes_fs::write_atomic(&log, &vec![b'x'; size - 1], 0o600).unwrap();
        append(root.path(), &["still".to_owned()]).unwrap();
        assert!(read(&log).ends_with("still\n"));
        append(root.path(), &["new".to_owned()]).unwrap();
        assert_eq!(read(&log), "new\n");
        let aside = root.path().join("logs/container-boot.log.1");
        assert!(read(&aside).ends_with("still\n"));
    }

    #[test]
    fn a_link_is_not_written_through() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target");
        hermes_fs::write_atomic(&target, b"theirs", 0o600).unwrap();
        hermes_fs::create_dir_all(&root.path().join("logs"), 0o700).unwrap();
        hermes_fs::symlink(&target, &root.path().join("logs/container-boot.log")).unwrap();
        assert!(append(root.path(), &["line".to_owned()]).is_err());
        assert_eq!(read(&target), "theirs");
    }
}
