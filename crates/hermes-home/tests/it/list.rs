//! Listing, showing, describing and selecting profiles.

use hermes_home::profiles::{self, describe, load_meta, use_profile};
use hermes_home::{Error, Sticky, count_skills, sticky_profile};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::gateway_probe::FakeHermes;
use crate::test_root::{TestRoot, mode, name, read, write};

#[test]
fn an_installation_that_does_not_exist_yet_has_the_default_profile() {
    let test = TestRoot::new();
    let list = test.list();
    assert_eq!(list.profiles.len(), 1);
    assert!(list.profiles.first().unwrap().name.is_default());
    assert!(!test.root().exists());
}

#[test]
fn the_record_has_every_field() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let home = test.profile("coder");
    write(
        &home.join("config.yaml"),
        "model:\n  default: gpt # x\n  provider: openai\n",
    );
    write(&home.join("skills/a/SKILL.md"), "");
    write(
        &home.join("profile.yaml"),
        "description: d\ndescription_auto: true\ngateway_port: 9653\n",
    );
    write(
        &home.join("distribution.yaml"),
        "name: dist\nversion: 1.2\nsource: /src\n",
    );
    write(
        &test.path(".local/bin/cc"),
        "#!/bin/sh\nexec hermes -p coder \"$@\"\n",
    );
    let gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let _lock = gateway.take_lock(&home);

    let current = name("coder");
    let list = profiles::list(&test.location(), Some(&current)).unwrap();
    let json = list.to_json();
    assert_eq!(json["root"], json!(test.root()));
    assert_eq!(json["active"], "coder");
    let default = &json["profiles"][0];
    assert_eq!(default["name"], "default");
    assert_eq!(default["is_default"], true);
    assert_eq!(default["is_current"], false);
    assert_eq!(default["distribution"], json!(null));
    assert_eq!(default["description"], "");
    let keys: Vec<&str> = default
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "name",
            "path",
            "is_default",
            "is_current",
            "gateway_running",
            "gateway_pid",
            "model",
            "provider",
            "has_env",
            "skill_count",
            "alias",
            "distribution",
            "description",
            "description_auto",
            "gateway_port"
        ]
    );
    assert_eq!(
        json["profiles"][1],
        json!({
            "name": "coder",
            "path": home,
            "is_default": false,
            "is_current": true,
            "gateway_running": true,
            "gateway_pid": gateway.pid(),
            "model": "gpt",
            "provider": "openai",
            "has_env": true,
            "skill_count": 1,
            "alias": "cc",
            "distribution": {"name": "dist", "version": "1.2", "source": "/src"},
            "description": "d",
            "description_auto": true,
            "gateway_port": 9653,
        })
    );
    let shown = profiles::show(&test.location(), &name("coder"), Some(&current)).unwrap();
    assert_eq!(Some(&shown), list.profiles.get(1));
    assert!(shown.has_soul);
}

#[test]
fn directories_that_are_no_profiles_are_left_out_and_order_is_by_name() {
    let test = TestRoot::new();
    for directory in ["zeta", "alpha", "Bad Name", "default", ".hidden", "UPPER"] {
        std::fs::create_dir_all(test.profile(directory)).unwrap();
    }
    write(&test.profile("file"), "");
    std::os::unix::fs::symlink("alpha", test.profile("linked")).unwrap();
    std::os::unix::fs::symlink("nowhere", test.profile("dangling")).unwrap();
    let list = test.list();
    let names: Vec<_> = list.profiles.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["default", "alpha", "linked", "zeta"]);
}

#[test]
fn a_broken_profile_does_not_break_the_list() {
    let test = TestRoot::new();
    for file in ["config.yaml", "profile.yaml", "distribution.yaml"] {
        write(&test.profile("bad").join(file), "a: [\n");
        write(&test.profile("odd").join(file), "- list\n");
        write(&test.profile("bytes").join(file), "");
        std::fs::write(test.profile("bytes").join(file), b"\xff\xfe").unwrap();
    }
    write(&test.profile("plain").join("config.yaml"), "model: gpt\n");
    let list = test.list();
    assert_eq!(list.profiles.len(), 5);
    let models: Vec<_> = list.profiles.iter().map(|p| p.model.as_deref()).collect();
    assert_eq!(models, [None, None, None, None, Some("gpt")]);
    assert!(list.profiles.iter().all(|p| p.distribution.is_none()));
}

#[test]
fn show_wants_a_profile_that_exists() {
    let test = TestRoot::new();
    let error = profiles::show(&test.location(), &name("gone"), None).unwrap_err();
    assert_eq!(error.to_string(), "Profile 'gone' does not exist");
    assert!(error.hint().unwrap().contains("hermes profile create gone"));
}

#[test]
fn the_pointer_is_written_and_removed() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let location = test.location();
    use_profile(&location, &name("Coder")).unwrap();
    let pointer = test.root().join("active_profile");
    assert_eq!(read(&pointer), "coder\n");
    assert_eq!(mode(&pointer), 0o644);
    assert!(matches!(
        use_profile(&location, &name("gone")),
        Err(Error::Missing { .. })
    ));
    assert_eq!(sticky_profile(&location), Sticky::Named(name("coder")));
    use_profile(&location, &name("default")).unwrap();
    assert!(!pointer.exists());
    use_profile(&location, &name("default")).unwrap();
}

#[test]
fn descriptions_keep_the_rest_of_the_file() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let location = test.location();
    let file = test.profile("coder").join("profile.yaml");
    write(&file, "# notes\ngateway_port: 9653 # mine\nunknown: kept\n");
    describe(
        &location,
        &name("coder"),
        " yes: it's \"quoted\"\n# too ",
        true,
    )
    .unwrap();
    let meta = load_meta(&test.profile("coder"));
    assert_eq!(meta.description, "yes: it's \"quoted\"\n# too");
    assert!(meta.description_auto);
    assert_eq!(meta.gateway_port, Some(9653));
    let text = read(&file);
    assert!(text.contains("# notes") && text.contains("# mine") && text.contains("unknown: kept"));

    describe(&location, &name("coder"), "by hand", false).unwrap();
    assert!(!load_meta(&test.profile("coder")).description_auto);
    describe(&location, &name("coder"), "  ", false).unwrap();
    assert_eq!(load_meta(&test.profile("coder")).description, "");
    assert_eq!(
        read(&file),
        "# notes\ngateway_port: 9653 # mine\nunknown: kept\n"
    );

    write(&file, "a: [\n");
    assert!(matches!(
        describe(&location, &name("coder"), "x", false),
        Err(Error::Yaml { .. })
    ));
    assert_eq!(read(&file), "a: [\n");
    assert!(matches!(
        describe(&location, &name("gone"), "x", false),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn skills_are_counted_with_categories_and_without_hidden_ones() {
    let test = TestRoot::new();
    let home = test.root();
    for skill in [
        "one",
        "category/two",
        "category/sub/three",
        "one/references/old",
        ".archive/gone",
        "category/.hub/x",
        "node_modules/y",
    ] {
        write(&home.join("skills").join(skill).join("SKILL.md"), "");
    }
    write(&home.join("skills/empty/README.md"), "");
    std::os::unix::fs::symlink("one", home.join("skills/linked")).unwrap();
    // A loop must not keep us.
    std::os::unix::fs::symlink("..", home.join("skills/category/loop")).unwrap();
    assert_eq!(count_skills(&home), 4);
    assert_eq!(count_skills(&test.path("nowhere")), 0);
}
