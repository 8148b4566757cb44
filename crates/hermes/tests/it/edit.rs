//! `config edit`.

use hermes_testkit::{ProgramOutput, TestHome};

use crate::fresh;

fn edit(home: &TestHome, script: &str) -> ProgramOutput {
    let editor = home.put_outside("editor", format!("#!/bin/sh\n{script}\n"), 0o755);
    home.hermes(["config", "edit"])
        .env("EDITOR", format!("{} --wait", editor.display()))
        .env("VISUAL", "/no/such/editor")
        .run()
}

#[test]
fn the_editor_gets_the_file_and_its_arguments() {
    let home = fresh();
    let outcome = edit(
        &home,
        "test \"$1\" = --wait && test -f \"$2\" && printf 'terminal:\\n  timeout: 7\\n' > \"$2\"",
    );
    outcome
        .succeeds()
        .prints("✓ ~/.hermes/config.yaml is valid\n")
        .says("");
    home.run(["config", "get", "terminal.timeout"])
        .prints("7\n");
    assert_eq!(home.mode("config.yaml"), 0o600);
}

#[test]
fn a_mistake_is_reported_with_line_and_column() {
    let home = fresh();
    let outcome = edit(&home, "printf 'terminal:\\n  timeout: [1\\n' > \"$2\"");
    outcome.exits(1).prints("").says_part(&format!(
        "Error: {} cannot be understood: line ",
        home.path("config.yaml").display()
    ));
    outcome.says_part(", column ");
    // What was typed is not thrown away.
    assert_eq!(home.read("config.yaml"), "terminal:\n  timeout: [1\n");
}

#[test]
fn an_editor_that_fails_or_is_missing_is_named() {
    let home = fresh();
    let outcome = edit(&home, "exit 4");
    outcome.exits(1).says_part("/editor failed: ");
    home.hermes(["config", "edit"])
        .env("EDITOR", "no-such-editor-anywhere")
        .run()
        .refuses(3, "the editor no-such-editor-anywhere was not found");
    home.hermes(["config", "edit"])
        .env("PATH", "/nowhere")
        .run()
        .refuses(3, "no editor was found");
}

#[test]
fn the_usual_editors_are_found_on_the_path() {
    let home = fresh();
    home.put_outside(
        "bin/vi",
        "#!/bin/sh\necho 'timezone: UTC' > \"$1\"\n",
        0o755,
    );
    home.hermes(["config", "edit"])
        .env("PATH", home.outside("bin"))
        .run()
        .succeeds();
    assert_eq!(home.read("config.yaml"), "timezone: UTC\n");
}
