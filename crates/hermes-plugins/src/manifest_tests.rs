use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, "folder", false)
}

#[test]
fn everything_the_reference_knows_is_read() {
    let manifest = parsed(
        "name: notes\nversion: 1.2\ndescription: |\n  Two\n  lines\nauthor: A\nkind: Backend\n\
         manifest_version: 1\nrequires_env:\n- NOTES_KEY\n- {name: B, description: d, url: u, secret: true}\n\
         provides_tools: [a]\nprovides_hooks: [pre_tool_call]\npip_dependencies: ['x==1']\n\
         runtime: mcp\ncommand: [./run, --fast]\n",
    );
    let variable = |name: &str, description: &str, url: &str| RequiredVariable {
        name: name.into(),
        description: description.into(),
        url: url.into(),
    };
    assert_eq!(
        manifest,
        Ok(Manifest {
            name: "notes".into(),
            version: "1.2".into(),
            description: "Two lines".into(),
            kind: Kind::Backend,
            runtime: Runtime::Mcp(vec!["./run".into(), "--fast".into()]),
            requires_env: vec![variable("NOTES_KEY", "", ""), variable("B", "d", "u")],
            provides_hooks: vec!["pre_tool_call".into()],
            python_dependencies: vec!["x==1".into()],
            warnings: Vec::new(),
        })
    );
}

#[test]
fn an_empty_manifest_has_the_name_of_its_directory() {
    for text in ["", "# nothing\n", "{}"] {
        let manifest = parsed(text).unwrap();
        assert_eq!(manifest.name, "folder");
        assert_eq!(
            (manifest.kind, manifest.runtime),
            (Kind::Standalone, Runtime::Files)
        );
    }
}

#[test]
fn python_code_without_a_runtime_cannot_be_used() {
    let python = Manifest::parse("name: x", "x", true).unwrap();
    assert_eq!(python.runtime, Runtime::Python);
    assert!(python.obstacle().unwrap().contains("no interpreter"));
    let named = Manifest::parse(
        "{runtime: exec, command: [x], provides_hooks: [y]}",
        "x",
        true,
    );
    assert_eq!(named.unwrap().obstacle(), None);
}

#[test]
fn an_unknown_kind_is_a_warning() {
    let manifest = parsed("kind: [a]").unwrap();
    assert_eq!(manifest.kind, Kind::Standalone);
    assert!(
        manifest.warnings[0].contains("unknown kind"),
        "{manifest:?}"
    );
}

#[test]
fn what_cannot_be_used_is_named() {
    for (text, problem) in [
        ("- a\n- b", "not a mapping"),
        ("name: [", "line 1"),
        ("name: ../x", "cannot have"),
        ("name: {a: 1}", "name must be text"),
        ("manifest_version: 2", "manifest_version is 2"),
        ("manifest_version: two", "whole number"),
        ("runtime: mcp", "needs a command"),
        ("{runtime: mcp, command: run}", "list of texts"),
        ("{runtime: mcp, command: ['']}", "needs a command"),
        ("{runtime: exec, command: [x]}", "needs provides_hooks"),
        ("runtime: wasm", "mcp, exec or python"),
        ("requires_env: KEY", "list of names"),
        ("requires_env: ['A B']", "not the name of a variable"),
        ("requires_env: [{url: x}]", "list of names"),
        ("provides_hooks: [1]", "list of texts"),
    ] {
        let error = parsed(text).unwrap_err();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn a_manifest_that_is_no_small_file_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plugin.yml");
    assert_eq!(Manifest::of_directory(directory.path()), None);
    hermes_fs::write_atomic_exact(&path, &vec![b'#'; 70_000], 0o600).unwrap();
    let large = Manifest::of_directory(directory.path()).unwrap();
    assert!(large.unwrap_err().contains("larger than 64 KiB"));
    hermes_fs::remove_file(&path).unwrap();
    hermes_fs::create_fifo(&path, 0o600).unwrap();
    let fifo = Manifest::of_directory(directory.path()).unwrap();
    assert!(fifo.unwrap_err().contains("not a regular file"));
    hermes_fs::remove_file(&path).unwrap();
    hermes_fs::symlink(Path::new("/etc/passwd"), &path).unwrap();
    let link = Manifest::of_directory(directory.path()).unwrap();
    assert!(link.unwrap_err().contains("not a regular file"));
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "(name|runtime|command|kind|requires_env|[:\\[\\]{}\"'\\- \n&*!|>]|\\PC){0,60}") {
        drop(parsed(&text));
    }
}
