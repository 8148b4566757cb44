//! Many writers at once.

use crate::configured;

const COMMENTED: &str = "\
# one
terminal: # two
  # three
  timeout: 180 # four
# five
";

// check 16
#[test]
fn twenty_writers_all_get_their_setting_in_and_keep_every_comment() {
    let home = configured(COMMENTED);
    let keys: Vec<String> = (0..20).map(|number| format!("own.k{number}")).collect();
    let writers: Vec<_> = keys
        .iter()
        .map(|key| home.hermes(["config", "set", key, "v", "--force"]).start())
        .collect();
    for mut writer in writers {
        assert!(writer.wait().success());
    }
    let text = home.read("config.yaml");
    let others: Vec<&str> = text
        .lines()
        .filter(|line| *line != "own:" && !line.starts_with("  k"))
        .collect();
    assert_eq!(others, COMMENTED.lines().collect::<Vec<_>>(), "{text}");
    let own = home
        .run(["config", "get", "own", "--json"])
        .succeeds()
        .json();
    let own = own.as_object().unwrap();
    assert_eq!(own.len(), 20);
    for number in 0..20 {
        assert_eq!(own[&format!("k{number}")], "v");
    }
    home.run(["config", "check"]).succeeds();
}

#[test]
fn secrets_set_at_once_are_all_kept() {
    let home = configured("");
    home.put(".env", "# mine\n");
    let writers: Vec<_> = (0..10)
        .map(|number| {
            let name = format!("OWN_{number}_TOKEN");
            home.hermes(["config", "set", &name, "v"]).start()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().success());
    }
    let text = home.read(".env");
    assert!(text.starts_with("# mine\n"), "{text}");
    assert_eq!(text.lines().count(), 11, "{text}");
}

#[test]
fn only_one_of_several_creators_gets_the_name() {
    let home = configured("");
    let creators: Vec<_> = (0..6)
        .map(|_| home.hermes(["profile", "create", "coder"]).start())
        .collect();
    let successes = creators
        .into_iter()
        .filter_map(|mut creator| creator.wait().success().then_some(()))
        .count();
    assert_eq!(successes, 1);
    let names: Vec<_> = std::fs::read_dir(home.path("profiles"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["coder"]);
}
