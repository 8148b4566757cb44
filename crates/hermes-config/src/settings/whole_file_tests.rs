use super::*;
use crate::Environment;
use pretty_assertions::assert_eq;

const FILE: &str = "\
# mine
model: {default: x, api_key: sk-live-0123456789abcdef}  # the key
custom_providers:
- name: a
  api_key: first-secret-of-some-length
- name: b
  api_key: ${B_KEY}
terminal:
  timeout: 60
";

fn home(text: &str) -> (tempfile::TempDir, Sources) {
    let home = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(&home.path().join("config.yaml"), text.as_bytes(), 0o600).unwrap();
    let sources = Sources::new(&Environment::from_pairs([("X", "y")]), home.path());
    (home, sources)
}

fn text_of(home: &tempfile::TempDir) -> String {
    hermes_fs::read_text_capped(&home.path().join("config.yaml"), 1 << 20).unwrap()
}

#[test]
fn secrets_are_shown_masked_and_everything_else_as_it_is() {
    let masked = masked_text(FILE).unwrap();
    assert!(!masked.contains("0123456789") && !masked.contains("first-secret-of"));
    assert!(masked.contains("# the key") && masked.contains("${B_KEY}"));
    assert!(masked.contains("sk-l...cdef"), "{masked}");
}

#[test]
fn a_mask_that_comes_back_keeps_the_secret() {
    let (home, sources) = home(FILE);
    let edited = masked_text(FILE).unwrap().replace("60", "90");
    replace_file(&sources, &edited, None).unwrap();
    assert_eq!(text_of(&home), FILE.replace("60", "90"));
}

#[test]
fn a_new_secret_replaces_the_old_one_and_a_list_may_change_its_order() {
    let (home, sources) = home(FILE);
    let masked = masked_text(FILE).unwrap();
    let edited = masked.replace("sk-l...cdef", "sk-new-0123456789abcdef");
    let edited = edited.replace("- name: a", "- name: z\n  api_key: ${Z}\n- name: a");
    replace_file(&sources, &edited, None).unwrap();
    let written = text_of(&home);
    assert!(written.contains("sk-new-0123456789abcdef"), "{written}");
    assert!(written.contains("first-secret-of-some-length"), "{written}");
}

#[test]
fn masks_without_a_secret_broken_yaml_and_lists_change_nothing() {
    let (home, sources) = home(FILE);
    let lone = "model: {default: x, api_key: abcd...wxyz}\n";
    let refused = replace_file(&sources, lone, None);
    assert!(matches!(refused, Err(WholeFileError::LoneMask(key)) if key == "model.api_key"));
    for wrong in ["a: [", "- a\n- b\n", "text"] {
        assert!(replace_file(&sources, wrong, None).is_err(), "{wrong}");
    }
    let changed = replace_file(&sources, "a: 1\n", Some(&|_: &str| false));
    assert!(matches!(changed, Err(WholeFileError::Changed)));
    assert_eq!(text_of(&home), FILE);
}

#[test]
fn values_change_together_or_not_at_all() {
    let (home, sources) = home(FILE);
    let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    let changes = [
        (path("terminal.timeout"), Some(Value::from(90))),
        (path("custom_providers"), None),
        (path("not.set"), None),
    ];
    change_values(&sources, &changes).unwrap();
    let written = text_of(&home);
    assert!(written.contains("timeout: 90") && !written.contains("custom_providers"));
    let wrong = [
        (path("terminal.timeout"), Some(Value::from(10))),
        (path("terminal.backend"), Some(Value::from(5))),
    ];
    assert!(change_values(&sources, &wrong).is_err());
    assert_eq!(text_of(&home), written);
}
