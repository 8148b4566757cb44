//! What is never snapshotted: the patterns that the reference writes into its store, and the names
//! that count whatever a project's own `.gitignore` says.

use std::path::Path;

/// `info/exclude` of the store.
pub(crate) const PATTERNS: &[&str] = &[
    "node_modules/",
    "dist/",
    "build/",
    "target/",
    "out/",
    ".next/",
    ".nuxt/",
    "__pycache__/",
    "*.pyc",
    "*.pyo",
    ".cache/",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    "coverage/",
    ".coverage",
    ".venv/",
    "venv/",
    "env/",
    ".git/",
    ".hg/",
    ".svn/",
    ".worktrees/",
    "*.so",
    "*.dylib",
    "*.dll",
    "*.o",
    "*.a",
    "*.jar",
    "*.class",
    "*.exe",
    "*.obj",
    "*.mp4",
    "*.mov",
    "*.mkv",
    "*.webm",
    "*.zip",
    "*.tar",
    "*.tar.gz",
    "*.tgz",
    "*.7z",
    "*.rar",
    "*.iso",
    ".env",
    ".env.*",
    ".env.local",
    ".env.*.local",
    ".DS_Store",
    "Thumbs.db",
    "*.log",
];

/// `info/attributes` of the store, which beats the `.gitattributes` of a project: files are saved and
/// brought back byte for byte.
pub(crate) const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding\n";

/// What git is told not to add besides: a `.gitignore` can bring back what `info/exclude` leaves out, and
/// nobody has looked into those directories for secrets and for repositories.
pub(crate) fn excluded_directories() -> impl Iterator<Item = String> {
    let names = PATTERNS
        .iter()
        .filter_map(|pattern| pattern.strip_suffix('/'));
    names.map(|name| format!(":(exclude,glob)**/{name}/**"))
}

/// Whether a directory of this name is left out with everything in it.
pub(crate) fn is_excluded_directory(name: &str) -> bool {
    PATTERNS
        .iter()
        .any(|pattern| pattern.strip_suffix('/') == Some(name))
}

/// Whether a file of this name holds secrets. A `.gitignore` can bring back what `info/exclude` leaves
/// out, so these are left out by name.
pub(crate) fn is_secret(name: &str) -> bool {
    name == ".env" || name.starts_with(".env.")
}

/// Whether a file is left out by its own name or that of a directory above it.
pub(crate) fn is_never_saved(path: &Path) -> bool {
    let above = path.parent().into_iter().flat_map(Path::components);
    let mut above = above.map(|part| part.as_os_str().to_string_lossy());
    let name = path.file_name().unwrap_or_default();
    is_secret(&name.to_string_lossy()) || above.any(|name| is_excluded_directory(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_and_secrets_are_recognised() {
        for name in ["node_modules", "target", ".git", ".worktrees"] {
            assert!(is_excluded_directory(name), "{name}");
        }
        for name in ["src", "*.log", ".env", "targets"] {
            assert!(!is_excluded_directory(name), "{name}");
        }
        for name in [".env", ".env.local", ".env.production.local"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["env", ".envrc", "x.env"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
