//! Directory trees as values, so that tests compare whole states.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Path below the root → mode and content (links by their target).
pub(crate) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// Everything below `root`, directories with a slash at the end.
pub(crate) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    collect(root, "", &mut tree);
    tree
}

fn collect(dir: &Path, below: &str, tree: &mut Tree) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        let meta = std::fs::symlink_metadata(entry.path()).unwrap();
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap();
            tree.insert(
                name,
                (0, target.to_string_lossy().into_owned().into_bytes()),
            );
        } else if meta.is_dir() {
            tree.insert(format!("{name}/"), (mode, Vec::new()));
            collect(&entry.path(), &format!("{name}/"), tree);
        } else if meta.is_file() {
            tree.insert(name, (mode, std::fs::read(entry.path()).unwrap()));
        } else {
            tree.insert(name, (mode, b"special".to_vec()));
        }
    }
}

/// Names only.
pub(crate) fn names(root: &Path) -> Vec<String> {
    read(root).into_keys().collect()
}

/// Writes a file with its parents.
pub(crate) fn put(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    put_mode(root, name, content, 0o600);
}

/// Writes a file with its parents and a mode.
pub(crate) fn put_mode(root: &Path, name: &str, content: impl AsRef<[u8]>, mode: u32) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Makes a FIFO.
pub(crate) fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}
