//! What is missing or unusual about Python on this machine (`agent.environment_probe`): one line of
//! the system prompt, so that a model does not find out by failing. Nothing is run for it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The line; `None` if there is nothing to say. `path` is the search path of commands.
pub(crate) fn python_remark(path: Option<&OsStr>) -> Option<String> {
    let find = |name: &str| hermes_proc::find_on_path(OsStr::new(name), path);
    let Some(found) = find("python3") else {
        return Some("Python: `python3` is not installed.".to_owned());
    };
    let python = Installation::of(&found)?;
    if python.has_pip && !python.is_managed {
        return None;
    }
    let has_uv = find("uv").is_some();
    if python.has_pip && has_uv {
        return None;
    }
    let mut remarks = vec![format!("`python3` is {}", python.version)];
    if !python.has_pip {
        remarks.push("it has no pip".to_owned());
    }
    if find("python").is_none() {
        remarks.push("`python` does not exist".to_owned());
    }
    if python.is_managed {
        remarks.push(
            "packages are managed by the system (PEP 668), so install into a virtual environment"
                .to_owned(),
        );
    }
    if has_uv {
        remarks.push("`uv` is installed".to_owned());
    }
    Some(format!("Python: {}.", remarks.join(", ")))
}

struct Installation {
    /// Such as `3.12`.
    version: String,
    has_pip: bool,
    /// Whether only the system's package manager may install into it.
    is_managed: bool,
}

impl Installation {
    /// What the place of an interpreter tells; `None` if that is not the usual one.
    fn of(program: &Path) -> Option<Self> {
        let real = hermes_fs::canonicalize(program).ok()?;
        let name = real.file_name()?.to_str()?;
        let version = name
            .strip_prefix("python")
            .filter(|rest| rest.contains('.'))?;
        let above = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
        let own = above(program)?;
        let is_virtual = own.join("pyvenv.cfg").is_file();
        let base = if is_virtual { own } else { above(&real)? };
        let libraries = |directory: &str| base.join(directory).join(name);
        let packages: [PathBuf; 5] = [
            libraries("lib").join("site-packages"),
            libraries("lib").join("dist-packages"),
            base.join("lib/python3/dist-packages"),
            libraries("local/lib").join("dist-packages"),
            libraries("local/lib").join("site-packages"),
        ];
        Some(Self {
            version: version.to_owned(),
            has_pip: packages.iter().any(|place| place.join("pip").is_dir()),
            is_managed: !is_virtual && libraries("lib").join("EXTERNALLY-MANAGED").exists(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use pretty_assertions::assert_eq;

    use super::*;

    /// What is said of an installation with these files, and links to its interpreter.
    fn remark(files: &[&str], links: &[&str]) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for name in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for link in links {
            symlink("python3.12", bin.join(link)).unwrap();
        }
        python_remark(Some(bin.as_os_str()))
    }

    #[test]
    fn only_what_is_unusual_is_said() {
        let python = "bin/python3.12";
        let pip = "lib/python3.12/site-packages/pip/x";
        let managed = "lib/python3.12/EXTERNALLY-MANAGED";
        assert_eq!(remark(&[python, pip], &["python3"]), None);
        assert_eq!(
            remark(&[python, pip, managed, "bin/uv"], &["python3"]),
            None
        );
        assert_eq!(
            remark(&[python, managed], &["python3"]).unwrap(),
            "Python: `python3` is 3.12, it has no pip, `python` does not exist, packages are managed by \
             the system (PEP 668), so install into a virtual environment."
        );
        assert_eq!(
            remark(&[python], &["python3", "python"]).unwrap(),
            "Python: `python3` is 3.12, it has no pip."
        );
        assert_eq!(
            remark(&[], &[]).unwrap(),
            "Python: `python3` is not installed."
        );
    }
}
