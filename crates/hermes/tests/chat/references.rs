//! What a message names with an `@`.

use hermes_testkit::{ModelServer, ScriptedAnswer, git};
use pretty_assertions::assert_eq;

use crate::world::World;

fn sent(world: &World) -> String {
    let last = world.last_messages().pop().unwrap();
    last["content"].as_str().unwrap().to_owned()
}

#[test]
fn references_attach_files_folders_and_changes() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    let root = world.home.user_home();
    std::fs::create_dir_all(root.join("src dir/deep")).unwrap();
    std::fs::write(root.join("src dir/a b.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(root.join("src dir/deep/c"), "").unwrap();
    world
        .ask("see @file:\"src dir/a b.txt\":2-3, ok?")
        .succeeds();
    assert_eq!(
        sent(&world),
        "see @file:\"src dir/a b.txt\":2-3, ok?\n\n[Attached]\n\n@file:\"src dir/a b.txt\":2-3\n\
         ```\ntwo\nthree\n```"
    );
    world.ask("@folder:'src dir'").succeeds();
    assert!(
        sent(&world).ends_with("```\na b.txt\ndeep/\n  c\n```"),
        "{}",
        sent(&world)
    );
    git(&root, &["init", "-q"]);
    git(&root, &["add", "src dir/a b.txt"]);
    git(&root, &["commit", "-q", "-m", "the first of all"]);
    std::fs::write(root.join("src dir/a b.txt"), "one\nTWO\nthree\n").unwrap();
    world.ask("@diff").succeeds();
    assert!(sent(&world).contains("+TWO"));
    git(&root, &["add", "-u"]);
    world.ask("@staged and @diff").succeeds();
    assert!(sent(&world).contains("+TWO"));
    assert!(sent(&world).contains("@diff\n```\n(no changes)\n```"));
    world.ask("@git:5").succeeds();
    assert!(sent(&world).contains("the first of all"));
}

#[test]
fn private_files_are_not_attached_and_named() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    let root = world.home.user_home();
    std::fs::create_dir_all(root.join("work/.ssh")).unwrap();
    std::fs::write(root.join("work/.ssh/config"), "canary").unwrap();
    std::fs::write(root.join("work/.netrc"), "canary").unwrap();
    std::fs::write(root.join("outside"), "canary").unwrap();
    std::fs::write(root.join("work/binary"), b"\xff\xfe\x00canary").unwrap();
    std::os::unix::fs::symlink(root.join("outside"), root.join("work/link")).unwrap();
    for (reference, why) in [
        ("@file:../outside", "outside the working directory"),
        ("@file:link", "outside the working directory"),
        ("@file:~/outside", "outside the working directory"),
        ("@file:/etc/passwd", "outside the working directory"),
        ("@file:.ssh/config", "credentials"),
        ("@file:.netrc", "credentials"),
        ("@folder:.ssh", "credentials"),
        ("@file:nosuch", "no such file"),
        ("@file:binary", "was not attached"),
        ("@folder:binary", "it is not a folder"),
        ("@diff", "was not attached"),
        ("@url:http://127.0.0.1:1/x", "not on the public web"),
        ("@url:file:///etc/passwd", "Only http and https"),
    ] {
        let query = format!("look at {reference} now");
        let outcome = world
            .hermes(&["chat", "-Q", "-q", &query])
            .in_directory(&root.join("work"))
            .run();
        outcome.succeeds().says_part(why).never_shows("canary");
        let text = sent(&world);
        assert!(text.contains(why), "{reference}: {text}");
        assert!(text.starts_with(&query), "{text}");
        assert!(
            !text.contains("canary") && !text.contains("root:"),
            "{text}"
        );
    }
}

#[test]
fn references_beyond_half_of_the_context_window_are_not_attached() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("ok")));
    world.configure("context_length: 70000", "");
    let root = world.home.user_home();
    std::fs::write(root.join("large"), "word ".repeat(40_000)).unwrap();
    let outcome = world.ask("@file:large");
    outcome
        .succeeds()
        .says_part("more than half of the context window");
    assert!(sent(&world).len() < 1_000);
}

#[test]
fn nothing_is_fetched_from_a_blocked_site() {
    let settings = |domain: &str| {
        format!(
            "security: {{allow_private_urls: true, website_blocklist: {{enabled: true, domains: ['{domain}'], \
             shared_files: [sites.txt]}}}}"
        )
    };
    let page = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/page", ScriptedAnswer::raw(200, "text/plain", b"a word"));
    let address = format!("{}/page", page.root());
    let ask = |domain: &str, listed: &str| {
        let world = World::configured(
            ModelServer::always(ScriptedAnswer::text("ok")),
            &settings(domain),
        );
        world.home.put("sites.txt", listed);
        world.ask(&format!("look at @url:{address}")).succeeds();
        sent(&world)
    };
    let free = ask("example.com", "# nothing\n");
    assert!(free.contains("a word"), "{free}");
    let before = page.received().len();
    let blocked = ask("127.0.0.1", "");
    assert!(
        blocked.contains("127.0.0.1 is blocked by security.website_blocklist.domains"),
        "{blocked}"
    );
    let blocked = ask("example.com", "127.0.0.1\n");
    assert!(blocked.contains("sites.txt"), "{blocked}");
    assert_eq!(page.received().len(), before);
}
