//! Installs whose settings belong to someone else.

use crate::{configured, fresh};

#[test]
fn a_package_manager_keeps_its_settings() {
    let home = configured("terminal: {timeout: 5}\n");
    let before = home.tree();
    let advice = "hint: edit services.hermes-agent.settings in configuration.nix, then run: sudo \
                  nixos-rebuild switch\n";
    for args in [
        ["config", "set", "terminal.timeout", "9"].as_slice(),
        &["config", "set", "OPENROUTER_API_KEY", "v"],
        &["config", "unset", "terminal.timeout"],
        &["config", "edit"],
        &["config", "migrate"],
    ] {
        home.hermes(args)
            .env("HERMES_MANAGED", "nix")
            .run()
            .refuses(
                1,
                "config.yaml is managed by NixOS on this machine and cannot be changed here",
            )
            .says_part(advice);
    }
    home.hermes(["config", "set", "terminal.timeout", "9"])
        .env("HERMES_MANAGED", "homebrew")
        .run()
        .refuses(
            1,
            "config.yaml is managed by Homebrew on this machine and cannot be changed here",
        );
    home.hermes(["config", "get", "terminal.timeout"])
        .env("HERMES_MANAGED", "nix")
        .run()
        .prints("5\n");
    before.is_still(&home.tree());
}

#[test]
fn the_marker_in_the_home_counts_as_much_as_the_variable() {
    let home = fresh();
    home.put(".managed", "");
    home.run(["config", "set", "terminal.timeout", "9"])
        .refuses(
            1,
            "config.yaml is managed by NixOS on this machine and cannot be changed here",
        );
    assert!(!home.has("config.yaml"));
}

#[test]
fn an_administrators_value_wins_and_cannot_be_changed() {
    let home = configured("terminal:\n  timeout: 5\n  cwd: /mine\n");
    let file = home.put_outside(
        "etc/config.yaml",
        "terminal:\n  timeout: 7\napprovals:\n  mode: manual\n",
        0o644,
    );
    let directory = file.parent().unwrap();
    let run = |args: &[&str]| home.hermes(args).env("HERMES_MANAGED_DIR", directory).run();
    run(&["config", "get", "terminal.timeout"]).prints("7\n");
    run(&["config", "get", "terminal.cwd"]).prints("/mine\n");
    run(&["config", "get", "terminal.timeout", "--origin"])
        .succeeds()
        .prints(&format!(
            "7\n  from {}:2\n  overrides ~/.hermes/config.yaml:2 = 5\n  overrides default = 180\n",
            file.display()
        ));
    let before = home.tree();
    for (args, key) in [
        (
            ["config", "set", "terminal.timeout", "9"].as_slice(),
            "terminal.timeout",
        ),
        (&["config", "unset", "terminal.timeout"], "terminal.timeout"),
        (
            &["config", "set", "approvals.mode", "off"],
            "approvals.mode",
        ),
    ] {
        run(args).refuses(
            1,
            &format!("{key} is set by the administrator in {}", file.display()),
        );
    }
    before.is_still(&home.tree());
    run(&["config", "set", "terminal.cwd", "/other"]).succeeds();
}
