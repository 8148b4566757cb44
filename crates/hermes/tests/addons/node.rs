//! Packages of npm, with an npm and a Node that are played by scripts.

use std::fs;

use hermes_testkit::ProgramOutput;
use serde_json::json;

use super::{Desk, error_code, names};

pub(crate) const PACKAGE: &str = "npm:@scope/server";
pub(crate) const PINNED: &str = "npm:@scope/server@1.2.3";
const INTEGRITY: &str = "\"integrity\": \"sha512-AAAA\"";

/// npm resolves the package with these facts, then does as it is told.
pub(crate) fn npm(desk: &Desk, facts: &str, then: &str) {
    let log = desk.home.outside("npm-calls");
    let script = format!(
        "#!/bin/sh
         [ \"$1\" = --version ] && {{ echo 10.9.0; exit 0; }}
         [ \"$1\" = config ] && {{ echo {log}.global; exit 0; }}
         echo \"$*\" >> {log}
         env > {log}.env
         for word; do
           [ \"$last\" = --userconfig ] && cp \"$word\" {log}.settings
           last=$word
         done
         cd \"$last\" || exit 1
         case $1 in
         install) cat > package-lock.json <<'END'
{{\"lockfileVersion\": 3, \"packages\": {{\"\": {{}}, \"node_modules/@scope/server\": {{\"version\": \"1.2.3\", {facts}}}}}}}
END
         ;;
         ci) mkdir -p node_modules/@scope/server
           echo '{{\"bin\": {{\"server\": \"./run.js\"}}}}' > node_modules/@scope/server/package.json
           echo 'serve()' > node_modules/@scope/server/run.js ;;
         esac
         {then}
         exit 0\n",
        log = log.display()
    );
    desk.home.put_outside("bin/npm", script, 0o755);
}

/// Node answers as this version, and runs something else than the file it is given.
pub(crate) fn node(desk: &Desk, version: &str, runs: &str) {
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && {{ echo v{version}; exit 0; }}\n{runs}\n");
    desk.home.put_outside("bin/node", script, 0o755);
}

pub(crate) fn desk() -> Desk {
    let desk = Desk::new();
    npm(&desk, INTEGRITY, "");
    node(&desk, "22.1.0", "");
    desk
}

pub(crate) fn calls(desk: &Desk) -> Vec<String> {
    let log = fs::read_to_string(desk.home.outside("npm-calls")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

pub(crate) fn install(desk: &Desk, words: &[&str]) -> ProgramOutput {
    let words = ["install"].iter().chain(words).copied();
    desk.addons(&words.collect::<Vec<_>>())
}

#[test]
fn a_package_is_resolved_once_installed_by_its_hashes_and_listed() {
    let desk = desk();
    let call = desk
        .call(&["install", PINNED])
        .env("OPENAI_API_KEY", "sk-canary");
    call.run().succeeds();
    let calls = calls(&desk);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].starts_with("install --package-lock-only --ignore-scripts "));
    assert!(calls[1].starts_with("ci --no-bin-links --ignore-scripts --no-audit --no-fund "));
    let variables = fs::read_to_string(desk.home.outside("npm-calls.env")).unwrap();
    assert!(!variables.contains("canary"));
    let row = desk.row(PACKAGE);
    assert_eq!(row["state"], "installed");
    assert_eq!(
        (&row["kind"], &row["version"]),
        (&json!("node"), &json!("1.2.3"))
    );
    assert_eq!(names(&desk.store().join("@node")), ["npm:@scope+server"]);
    desk.addons(&["verify"]).succeeds();
    install(&desk, &[PINNED])
        .succeeds()
        .prints_part("is installed already");
    assert_eq!(self::calls(&desk).len(), 2);
    // Again, by the hashes of the first time.
    install(&desk, &[PACKAGE, "--force"]).succeeds();
    let calls = self::calls(&desk);
    assert!(calls[2].starts_with("ci ") && calls.len() == 3, "{calls:?}");
    desk.addons(&["gc"]).succeeds();
    desk.addons(&["remove", PACKAGE]).succeeds();
    assert_eq!(
        names(&desk.store().join("@node/npm:@scope+server")).len(),
        0
    );
}

/// The registry is the account's, as Python's index is; of its other settings npm sees none.
#[test]
fn npm_gets_the_registry_of_the_account_and_none_of_its_other_settings() {
    let desk = desk();
    let secret = "npm-token-canary";
    let npmrc = format!(
        "registry=https://user.example/npm/\n//user.example/npm/:_authToken={secret}\n\
         ignore-scripts=false\nscript-shell=/tmp/evil\n"
    );
    fs::create_dir_all(desk.home.user_home()).unwrap();
    fs::write(desk.home.user_home().join(".npmrc"), &npmrc).unwrap();
    let global = "cafile=/etc/corp.pem\nprefix=/evil\n";
    desk.home.put_outside("npm-calls.global", global, 0o644);
    // Settings of the directory that the call is made in count for nothing.
    let project = desk.home.outside("project");
    desk.home
        .put_outside("project/.npmrc", "registry=https://evil.example/\n", 0o644);
    let settings = || fs::read_to_string(desk.home.outside("npm-calls.settings")).unwrap();
    let call = desk.call(&["install", PINNED]).in_directory(&project);
    call.run().succeeds().never_shows(secret);
    assert_eq!(
        settings(),
        format!(
            "cafile=/etc/corp.pem\nregistry=https://user.example/npm/\n\
             //user.example/npm/:_authToken={secret}\n"
        )
    );
    for call in calls(&desk) {
        let given = call.contains(" --userconfig ") && call.contains(" --globalconfig /dev/null ");
        assert!(given && !call.contains(secret), "{call}");
    }
    // Nothing of it stays.
    let left = desk.home.tree().only(|path| path.ends_with("/npmrc"));
    assert_eq!(left.paths(), [""; 0]);

    desk.call(&["install", PINNED, "--force"])
        .env("npm_config_registry", "https://variable.example/")
        .run()
        .succeeds();
    assert!(settings().ends_with("\nregistry=https://variable.example/\n"));
    let mirror = [
        "install",
        PINNED,
        "--force",
        "--mirror",
        "https://mirror.example/",
    ];
    desk.addons(&mirror).succeeds();
    assert!(settings().ends_with("\nregistry=https://mirror.example/\n"));
    assert!(!settings().contains("registry=https://user.example"));
    desk.addons(&["install", PINNED, "--wheelhouse", "/"])
        .exits(2)
        .says_part("npm:@scope/server@1.2.3 is one of npm");
}

#[test]
fn an_installed_package_is_shown() {
    let desk = desk();
    desk.addons(&["show", PACKAGE])
        .exits(1)
        .says_part("it is not installed");
    install(&desk, &[PINNED]).succeeds();
    desk.addons(&["show", PACKAGE])
        .succeeds()
        .prints_part("@scope/server@1.2.3");
}

#[test]
fn an_interpreter_that_changes_leaves_packages_alone() {
    let desk = desk();
    install(&desk, &[PINNED]).succeeds();
    desk.install().succeeds();
    desk.python(13);
    desk.install().succeeds();
    assert_eq!(desk.row(PACKAGE)["state"], "installed");
    desk.addons(&["verify", PACKAGE]).succeeds();
}

#[test]
fn whatever_is_not_one_exact_version_is_refused() {
    let desk = desk();
    for name in [
        "npm:server@latest",
        "npm:server@^1.0.0",
        "npm:server@https://example.com/x.tgz",
        "npm:../server@1.0.0",
        "npm:server",
        "npm:",
    ] {
        let refused = install(&desk, &[name, "--json"]);
        assert_eq!(error_code(&refused), "unknown_feature", "{name}");
        refused.exits(2);
    }
    install(&desk, &["npm:server@latest", "--dry-run"]).exits(2);
    install(&desk, &[PINNED, "--dry-run"])
        .succeeds()
        .says_part("would be resolved");
    assert!(!desk.store().exists());
    assert_eq!(calls(&desk).len(), 0);
}

#[test]
fn a_package_without_a_hash_or_with_a_link_is_not_installed() {
    for (facts, then) in [
        ("\"link\": true", ""),
        ("\"integrity\": \"sha1-AAAA\"", ""),
        (INTEGRITY, "[ $1 = ci ] && ln -s /etc node_modules/etc"),
        (
            INTEGRITY,
            "[ $1 = ci ] && rm node_modules/@scope/server/run.js",
        ),
    ] {
        let desk = desk();
        npm(&desk, facts, then);
        install(&desk, &[PINNED]).exits(if then.contains("rm ") { 3 } else { 1 });
        assert_eq!(
            names(&desk.store().join("@node")),
            [""; 0],
            "{facts} {then}"
        );
        assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
    }
}

#[test]
fn failures_are_told_in_the_words_of_npm() {
    let desk = desk();
    npm(
        &desk,
        INTEGRITY,
        "echo 'npm error code E404' >&2; echo 'npm error 404 Not Found' >&2; exit 1",
    );
    let failed = install(&desk, &[PINNED, "--json"]);
    assert_eq!(error_code(&failed), "index_error");
    let tail = failed.json()["failed"][0]["installer"]["tail"].clone();
    assert!(tail.as_str().unwrap().contains("404 Not Found"));
    node(&desk, "18.1.0", "");
    let old = install(&desk, &[PINNED, "--json"]);
    assert_eq!(error_code(&old), "no_interpreter");
    old.exits(3);
}

#[test]
fn a_server_of_the_settings_runs_the_installed_copy() {
    let desk = desk();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/programs/server.py");
    let seen = desk.home.outside("seen");
    node(
        &desk,
        "22.1.0",
        &format!("echo \"$1\" > {}; exec python3 {server}", seen.display()),
    );
    desk.home.put(
        "config.yaml",
        "mcp_servers: {pinned: {addon: 'npm:@scope/server'}}\n",
    );
    let missing = desk.program(&["mcp", "test", "pinned"]).run();
    assert_ne!(missing.code, Some(0));
    let said = format!("{missing}");
    assert!(
        said.contains("not installed") && said.contains("hermes addons install"),
        "{said}"
    );
    install(&desk, &[PINNED]).succeeds();
    desk.program(&["mcp", "test", "pinned"]).run().succeeds();
    let ran = fs::read_to_string(&seen).unwrap();
    assert!(
        ran.contains("@node/npm:@scope+server/") && ran.trim().ends_with("/run.js"),
        "{ran}"
    );
    desk.home.put(
        "config.yaml",
        "mcp_servers: {bad: {addon: 'npm:server@latest'}}\n",
    );
    let bad = desk.program(&["mcp", "list"]).run();
    assert!(format!("{bad}").contains("addon"), "{bad}");
}
