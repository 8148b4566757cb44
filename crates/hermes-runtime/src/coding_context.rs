//! Whether a conversation is about a program (`agent.coding_context`), and what is known of its
//! project. Looks at a few names of files and starts nothing.

use std::path::{Path, PathBuf};

use hermes_config::Config;
use hermes_fs::Kind;
use hermes_text::one_line;
use serde_json::Value;

use crate::context::Context;
use crate::repository::Repository;
use crate::request::ConversationRequest;

/// Files that make a directory the root of a project.
const MARKS: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "package.json",
    "tsconfig.json",
    "deno.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "pubspec.yaml",
    "CMakeLists.txt",
    "Makefile",
    "Dockerfile",
];
/// Instructions for agents, which mark a project as well.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md", ".cursorrules"];
/// Endings of source files: a repository with one of them is about a program.
const SOURCES: &[&str] = &[
    "py", "pyi", "ipynb", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "rs", "java", "kt", "kts",
    "scala", "rb", "php", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "m", "mm", "dart", "ex",
    "exs", "lua", "sh", "bash", "zsh", "sql", "vue", "svelte", "r", "jl", "hs", "clj", "erl", "pl",
];
/// Directories that say nothing about a project.
const NOT_SEARCHED: &[&str] = &[
    "node_modules",
    "venv",
    "__pycache__",
    "dist",
    "build",
    "target",
    "vendor",
];
/// Platforms on which somebody may program together with the agent.
const PLATFORMS: &[&str] = &["cli", "tui", "acp", "desktop", ""];
/// Targets and scripts that check a project.
const CHECKS: &[&str] = &[
    "test",
    "tests",
    "lint",
    "typecheck",
    "check",
    "build",
    "fmt",
    "format",
];
/// Directories above the working directory in which a project may begin.
const LEVELS: usize = 7;
/// Entries of a repository that are looked at for sources.
const ENTRIES: usize = 500;
/// Checks and files of a project that are named.
const NAMED: usize = 8;
/// Longest file that is read for checks.
const LONGEST: u64 = 256 * 1024;

/// `agent.coding_context`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Auto,
    Focus,
    On,
    Off,
}

impl Mode {
    fn of(config: &Config) -> Self {
        let word = match config.get("agent.coding_context") {
            Some(Value::Bool(true)) => return Self::On,
            Some(Value::Bool(false)) => return Self::Off,
            Some(Value::String(word)) => word.trim().to_ascii_lowercase(),
            _ => return Self::Auto,
        };
        match word.as_str() {
            "focus" | "strict" | "lean" => Self::Focus,
            "on" | "true" | "yes" | "always" => Self::On,
            "off" | "false" | "no" | "never" => Self::Off,
            _ => Self::Auto,
        }
    }
}

/// A conversation about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodingContext {
    /// Whether it gets only the tools for that.
    pub(crate) is_focused: bool,
    /// What is known of the project, as lines.
    pub(crate) project: Option<String>,
    /// The user's own rules.
    pub(crate) instructions: Option<String>,
}

impl CodingContext {
    /// What the settings and the directory say; `None` if the conversation is about something else.
    /// Nothing is known of the directory of a remote backend.
    pub(crate) fn detect(
        request: &ConversationRequest,
        cwd: &Path,
        is_remote: bool,
        context: &Context,
    ) -> Option<Self> {
        let config = context.config();
        let mode = Mode::of(config);
        if mode == Mode::Off {
            return None;
        }
        // First, because it costs nothing: a look for the project is a few hundred looks at names.
        if mode != Mode::On && !PLATFORMS.contains(&request.source.as_str()) {
            return None;
        }
        let ignored = [context.location.user_home.clone(), context.temp_dir()];
        let root = (!is_remote).then(|| project_root(cwd, &ignored)).flatten();
        if mode != Mode::On && root.is_none() {
            return None;
        }
        Some(Self {
            is_focused: mode == Mode::Focus,
            project: root.map(|root| described(&root)),
            instructions: instructions(config.get("agent.coding_instructions")),
        })
    }
}

/// A text, or a list of texts.
fn instructions(value: Option<&Value>) -> Option<String> {
    let texts: Vec<&str> = match value? {
        Value::String(text) => vec![text.trim()],
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::trim)
            .collect(),
        _ => return None,
    };
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The nearest directory that is the root of a project: by its files, or a repository with sources.
/// The home of the user and the directory for temporary files never are.
fn project_root(cwd: &Path, ignored: &[PathBuf]) -> Option<PathBuf> {
    let is_ignored = |directory: &Path| ignored.iter().any(|one| one == directory);
    let marked = cwd.ancestors().take(LEVELS).find(|directory| {
        let mut marks = MARKS.iter().chain(INSTRUCTIONS);
        !is_ignored(directory) && marks.any(|mark| directory.join(mark).exists())
    });
    marked.map(Path::to_owned).or_else(|| {
        let root = Repository::around(cwd)?.root;
        (!is_ignored(&root) && has_sources(&root)).then_some(root)
    })
}

/// Whether there is a source file in a directory or right below it.
fn has_sources(root: &Path) -> bool {
    let mut left = ENTRIES;
    let mut directories = vec![root.to_owned()];
    let mut is_root = true;
    while let Some(directory) = directories.pop() {
        let Ok(entries) = hermes_fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries {
            if left == 0 {
                return false;
            }
            left -= 1;
            let name = entry.name.to_string_lossy();
            let ending = entry.path.extension().unwrap_or_default();
            let ending = ending.to_string_lossy().to_ascii_lowercase();
            if entry.kind == Kind::File && SOURCES.contains(&ending.as_str()) {
                return true;
            }
            let is_searched = !name.starts_with('.') && !NOT_SEARCHED.contains(&&*name);
            if is_root && is_searched && entry.kind == Kind::Dir {
                directories.push(entry.path);
            }
        }
        is_root = false;
    }
    false
}

/// What the model is told about a project.
fn described(root: &Path) -> String {
    let mut lines = vec![format!("Project directory: {}", root.display())];
    if let Some(branch) = Repository::around(root).and_then(|found| found.branch) {
        lines.push(format!(
            "Git branch at the start: {}",
            one_line(&branch, 200)
        ));
    }
    let files: Vec<&str> = MARKS
        .iter()
        .copied()
        .filter(|mark| root.join(mark).is_file())
        .take(NAMED)
        .collect();
    if !files.is_empty() {
        lines.push(format!("Project files: {}", files.join(", ")));
    }
    let checks = checks(root);
    if !checks.is_empty() {
        lines.push(format!("Checks: {}", checks.join("; ")));
    }
    lines.join("\n")
}

/// Commands that check a project, as far as its files name them.
fn checks(root: &Path) -> Vec<String> {
    let text = |name: &str| {
        let text = hermes_fs::read_text_capped(&root.join(name), LONGEST);
        text.unwrap_or_default()
    };
    let has = |name: &str| root.join(name).is_file();
    let mut found = Vec::new();
    let manifest: Value = serde_json::from_str(&text("package.json")).unwrap_or_default();
    let runner = [
        ("pnpm-lock.yaml", "pnpm"),
        ("bun.lockb", "bun"),
        ("bun.lock", "bun"),
        ("yarn.lock", "yarn"),
    ];
    let runner = runner.iter().find(|(lock, _)| has(lock));
    let runner = runner.map_or("npm", |(_, runner)| runner);
    let scripts = CHECKS
        .iter()
        .filter(|name| manifest["scripts"][**name].is_string());
    found.extend(scripts.map(|name| format!("{runner} run {name}")));
    if has("pytest.ini") || text("pyproject.toml").contains("[tool.pytest") {
        found.push("pytest".to_owned());
    }
    if has("Cargo.toml") {
        found.push("cargo test".to_owned());
    }
    if has("go.mod") {
        found.push("go test ./...".to_owned());
    }
    let makefile = text("Makefile");
    let targets = CHECKS.iter().filter(|name| {
        let mut lines = makefile.lines();
        lines.any(|line| {
            let rest = line.strip_prefix(**name).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    });
    found.extend(targets.map(|name| format!("make {name}")));
    found.truncate(NAMED);
    found
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_project_is_known_by_its_files_and_a_repository_by_its_sources() {
        let found = |files: &[(&str, &str)], below: &str| {
            let root = tree(files);
            let cwd = root.path().join(below);
            std::fs::create_dir_all(&cwd).unwrap();
            let ignored = [root.path().join("home")];
            let found = project_root(&cwd, &ignored)?;
            Some(found.strip_prefix(root.path()).unwrap().to_owned())
        };
        let git = (".git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(found(&[("Cargo.toml", "")], "src/a"), Some("".into()));
        assert_eq!(found(&[git, ("tools/run.sh", "")], ""), Some("".into()));
        assert_eq!(found(&[git, ("notes/a.md", "")], ""), None);
        assert_eq!(found(&[git, ("node_modules/a.js", "")], ""), None);
        assert_eq!(found(&[("home/Makefile", "")], "home"), None);
    }

    #[test]
    fn checks_are_those_that_the_files_name() {
        let root = tree(&[
            (
                "package.json",
                r#"{"scripts": {"test": "x", "start": "y", "lint": "z"}}"#,
            ),
            ("yarn.lock", ""),
            ("Makefile", "all:\n\ttrue\ntest :\n\ttrue\nbuild := x\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ]);
        assert_eq!(
            checks(root.path()),
            ["yarn run test", "yarn run lint", "pytest", "make test"]
        );
        let lines = described(root.path());
        assert!(
            lines.contains("Project files: pyproject.toml, package.json, Makefile"),
            "{lines}"
        );
    }
}
