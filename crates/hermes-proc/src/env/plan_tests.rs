//! Tests of the rules, class by class.
#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::*;
use crate::home::{ChildHome, HomeFacts, HomeMode};

fn policy() -> EnvPolicy {
    let mut policy = EnvPolicy {
        hermes_home: PathBuf::from("/hh"),
        hermes_program: PathBuf::from("/nowhere/hermes"),
        child_home: ChildHome::resolve(&HomeFacts {
            mode: HomeMode::Profile,
            is_container: false,
            hermes_home: Path::new("/hh"),
            inherited_real_home: None,
            inherited_home: Some(OsStr::new("/u")),
            account_home: None,
        }),
        ..EnvPolicy::default()
    };
    policy.secret_names = names(&["MY_PROVIDER"]).into();
    policy.own_install = OwnInstall::of_roots([PathBuf::from("/own")]);
    policy
}

fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
    list.iter().map(pair).collect()
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// The plan of a class for these inherited names.
fn inherited(class: SpawnClass, policy: &EnvPolicy, list: &[&str]) -> EnvPlan {
    let base: Vec<_> = list.iter().map(|name| (name.into(), "v".into())).collect();
    EnvPlan::build(&EnvRequest::new(class, &base, policy))
}

fn has(plan: &EnvPlan, name: &str) -> bool {
    plan.get(name).is_some()
}

/// Which classes keep an inherited name.
fn keepers(policy: &EnvPolicy, name: &str) -> String {
    SpawnClass::ALL
        .into_iter()
        .filter(|class| has(&inherited(*class, policy, &[name]), name))
        .map(SpawnClass::letter)
        .collect()
}

#[test]
fn each_tier_has_its_keepers() {
    let policy = policy();
    for (name, classes) in [
        // T0, marks of a run.
        ("_HERMES_GATEWAY", ""),
        ("_HERMES_FORCE_GH_TOKEN", ""),
        ("HERMES_RPC_TOKEN", ""),
        ("HERMES_YOLO_MODE", ""),
        ("HERMES_DELEGATED_CHILD_CONTEXT", ""),
        // T0, secrets of our own.
        ("AUXILIARY_VISION_API_KEY", "E"),
        ("auxiliary_web_base_url", "E"),
        ("GATEWAY_RELAY_X_TOKEN", "E"),
        ("HERMES_DASHBOARD_SESSION_TOKEN", "E"),
        ("HERMES_AUTH_JSON_BOOTSTRAP", "E"),
        // Identity.
        ("HERMES_SESSION_ID", ""),
        ("HERMES_CRON_AUTO_DELIVER_CHAT_ID", ""),
        ("HERMES_EXEC_ID", ""),
        ("TERMINAL_CWD", ""),
        ("MESSAGING_CWD", ""),
        // T1.
        ("GH_TOKEN", "E"),
        ("SUDO_PASSWORD", "E"),
        ("SLACK_SIGNING_SECRET", "E"),
        // T2, listed and derived.
        ("OPENAI_API_KEY", "E"),
        ("TELEGRAM_HOME_CHANNEL", "E"),
        ("MY_PROVIDER", "E"),
        // T3.
        ("VIRTUAL_ENV", ""),
        ("CONDA_PREFIX_1", ""),
        ("PYTHONHOME", ""),
        // Kept on purpose.
        ("AWS_ACCESS_KEY_ID", "ACEFG"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "ACEFG"),
        ("SSH_AUTH_SOCK", "ACDEFG"),
        ("NOTION_TOKEN", "ACEFG"),
        ("CONDA_EXE", "ACEFG"),
        ("HTTPS_PROXY", "ACDEFG"),
        ("https_proxy", "ACDEFG"),
        ("HERMES_KANBAN_TASK", "ACEFG"),
        ("HERMES_PROFILE", "ABCEFG"),
        ("HERMES_TENANT", "ACEFG"),
        ("TERMINAL_TIMEOUT", "ACEFG"),
        ("PYTHONPATH", "ACEFG"),
        ("LC_TIME", "ABCDEFG"),
        ("XDG_CACHE_HOME", "ABCDEFG"),
        ("XDG_AUTH_FILE", "ACDEFG"),
        ("USER", "ABCDEFG"),
        ("TMP", "ABCEFG"),
        ("NODE_EXTRA_CA_CERTS", "ACDEFG"),
    ] {
        assert_eq!(keepers(&policy, name), classes, "{name}");
    }
}

#[test]
fn the_operator_lets_markers_through_and_no_credential() {
    let mut policy = policy();
    policy.passthrough = names(&[
        "VIRTUAL_ENV",
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "MY_PROVIDER",
        "_HERMES_GATEWAY",
        "NOTION_TOKEN",
        "*",
    ]);
    assert_eq!(keepers(&policy, "VIRTUAL_ENV"), "ABCEG");
    assert_eq!(keepers(&policy, "CONDA_PREFIX"), "");
    assert_eq!(keepers(&policy, "OPENAI_API_KEY"), "E");
    assert_eq!(keepers(&policy, "GH_TOKEN"), "E");
    assert_eq!(keepers(&policy, "_HERMES_GATEWAY"), "");
    assert_eq!(keepers(&policy, "NOTION_TOKEN"), "ABCEFG");
    let refused: Vec<String> = policy.refusals().iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            "env passthrough: refused *: wildcards are not allowed; give the full name (source: config)",
            "env passthrough: refused GH_TOKEN: credential managed by Hermes (source: config)",
            "env passthrough: refused MY_PROVIDER: credential managed by Hermes (source: config)",
            "env passthrough: refused OPENAI_API_KEY: credential managed by Hermes (source: \
             config)",
            "env passthrough: refused _HERMES_GATEWAY: internal to Hermes (source: config)",
        ]
    );
}

#[test]
fn trusted_names_reach_shells_alone() {
    let mut policy = policy();
    policy.trusted_passthrough = names(&["GH_TOKEN", "MY_PROVIDER", "AUXILIARY_VISION_API_KEY"]);
    assert_eq!(keepers(&policy, "GH_TOKEN"), "AE");
    assert_eq!(keepers(&policy, "MY_PROVIDER"), "AE");
    assert_eq!(keepers(&policy, "AUXILIARY_VISION_API_KEY"), "E");
    let plan = inherited(SpawnClass::ToolShell, &policy, &["GH_TOKEN"]);
    assert_eq!(
        plan.receipt().of("GH_TOKEN"),
        Some((Fate::Kept, Rule::TrustedPassthrough))
    );
    let refused: Vec<_> = policy
        .refusals()
        .into_iter()
        .map(|r| (r.name, r.reason))
        .collect();
    assert_eq!(
        refused,
        [(
            "AUXILIARY_VISION_API_KEY".to_owned(),
            RefusalReason::Internal
        )]
    );
}

#[test]
fn a_skill_gets_plain_names_into_scripts_of_its_session() {
    let policy = policy();
    let asked = ["NOTION_TOKEN", "ANTHROPIC_API_KEY", "VIRTUAL_ENV", " "];
    let raw = names(&asked);
    let base = pairs(&[
        ("NOTION_TOKEN", "n"),
        ("ANTHROPIC_API_KEY", "a"),
        ("VIRTUAL_ENV", "/v"),
    ]);
    for class in [SpawnClass::ToolShell, SpawnClass::ScriptSandbox] {
        let plan = EnvPlan::build(&EnvRequest {
            skill_passthrough: Some(&raw),
            ..EnvRequest::new(class, &base, &policy)
        });
        assert!(has(&plan, "NOTION_TOKEN"));
        assert!(
            !has(&plan, "ANTHROPIC_API_KEY") && !has(&plan, "VIRTUAL_ENV"),
            "{class}"
        );
    }
    let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::ScriptSandbox, &base, &policy));
    assert!(!has(&plan, "NOTION_TOKEN"), "another session");
}

#[test]
fn extras_obey_the_tiers_unless_forced() {
    let policy = policy();
    let extra = pairs(&[
        ("PLAIN", "1"),
        ("GH_TOKEN", "no"),
        ("VIRTUAL_ENV", "/no"),
        ("TERMINAL_CWD", "/"),
        ("_HERMES_FORCE_OPENAI_API_KEY", "yes"),
        ("_HERMES_FORCE_HERMES_YOLO_MODE", "no"),
        ("_HERMES_FORCE__HERMES_X", "no"),
        ("_HERMES_Y", "no"),
        ("HERMES_RPC_TOKEN", "no"),
        ("PYTHONPATH", "/own:/mine"),
        ("A=B", "no"),
        ("NUL", "a\0b"),
        ("", "no"),
    ]);
    let base = pairs(&[("_HERMES_FORCE_ANTHROPIC_API_KEY", "inherited")]);
    let plan = EnvPlan::build(&EnvRequest {
        extra: &extra,
        ..EnvRequest::new(SpawnClass::ToolShell, &base, &policy)
    });
    let values: Vec<_> = plan.variables().values().collect();
    assert!(
        !values.iter().any(|value| *value == "no" || *value == "/no"),
        "{plan:?}"
    );
    assert!(!has(&plan, "ANTHROPIC_API_KEY") && !has(&plan, "TERMINAL_CWD") && !has(&plan, "NUL"));
    assert_eq!(plan.get("PLAIN"), Some(OsStr::new("1")));
    assert_eq!(plan.get("OPENAI_API_KEY"), Some(OsStr::new("yes")));
    assert_eq!(plan.get("PYTHONPATH"), Some(OsStr::new("/mine")));
}

#[test]
fn a_sandbox_gets_its_own_way_home() {
    let policy = policy();
    let base = pairs(&[
        ("HERMES_RPC_TOKEN", "old"),
        ("PYTHONPATH", "/x"),
        ("TERMINAL_ENV", "x"),
    ]);
    let extra = pairs(&[
        ("HERMES_RPC_TOKEN", "new"),
        ("PYTHONUTF8", "1"),
        ("TZ", "UTC"),
    ]);
    let session = [("HERMES_SESSION_ID".to_owned(), Some("s".to_owned()))];
    let plan = EnvPlan::build(&EnvRequest {
        extra: &extra,
        session: &session,
        ..EnvRequest::new(SpawnClass::ScriptSandbox, &base, &policy)
    });
    let seen: Vec<_> = plan
        .variables()
        .keys()
        .filter_map(|name| name.to_str())
        .collect();
    assert_eq!(
        seen,
        [
            "HERMES_HOME",
            "HERMES_REAL_HOME",
            "HERMES_RPC_TOKEN",
            "HOME",
            "PATH",
            "PYTHONUTF8",
            "TZ"
        ]
    );
    assert_eq!(plan.get("HOME"), Some(OsStr::new("/hh/home")));
    assert_eq!(plan.get("HERMES_RPC_TOKEN"), Some(OsStr::new("new")));
}

#[test]
fn a_server_gets_its_list_and_what_the_user_wrote() {
    let policy = policy();
    let base = pairs(&[
        ("LANG", "C"),
        ("EDITOR", "vi"),
        ("SSL_CERT_FILE", "/own/ca.pem"),
    ]);
    let extra = pairs(&[
        ("GITHUB_TOKEN", "written"),
        ("HOME", "/theirs"),
        ("PATH", "/only"),
        ("_HERMES_X", "no"),
        ("HERMES_YOLO_MODE", "no"),
    ]);
    let plan = EnvPlan::build(&EnvRequest {
        extra: &extra,
        ..EnvRequest::new(SpawnClass::McpServer, &base, &policy)
    });
    let seen: Vec<_> = plan
        .variables()
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(
        seen,
        [
            "GITHUB_TOKEN=written",
            "HOME=/theirs",
            "LANG=C",
            "PATH=/only"
        ]
    );
}

#[test]
fn helpers_get_back_what_the_call_names() {
    let policy = policy();
    let base = pairs(&[
        ("GH_TOKEN", "t"),
        ("OPENAI_API_KEY", "k"),
        ("_HERMES_X", "x"),
    ]);
    let granted = |class| {
        let plan = EnvPlan::build(&EnvRequest {
            grants: &["GH_TOKEN", "_HERMES_X"],
            ..EnvRequest::new(class, &base, &policy)
        });
        assert!(!has(&plan, "OPENAI_API_KEY") || class == SpawnClass::Hermes);
        assert!(!has(&plan, "_HERMES_X"));
        has(&plan, "GH_TOKEN")
    };
    assert!(granted(SpawnClass::Helper) && granted(SpawnClass::UserScript));
    assert!(!granted(SpawnClass::ToolShell) && !granted(SpawnClass::McpServer));
    let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy))
        .with("GIT_TERMINAL_PROMPT", "0")
        .without("PATH")
        .without("NEVER_THERE");
    assert_eq!(plan.get("GIT_TERMINAL_PROMPT"), Some(OsStr::new("0")));
    assert_eq!(
        plan.receipt().of("PATH"),
        Some((Fate::Stripped, Rule::Withheld))
    );
    assert_eq!(plan.receipt().of("NEVER_THERE"), None);
}

#[test]
fn a_worker_is_told_its_workspace_if_there_is_one() {
    let policy = policy();
    let dir = tempfile::tempdir().unwrap();
    let base = pairs(&[("TERMINAL_CWD", "/stale")]);
    let told = |class, value: &Path| {
        let extra = [("TERMINAL_CWD".into(), value.as_os_str().to_owned())];
        let plan = EnvPlan::build(&EnvRequest {
            extra: &extra,
            ..EnvRequest::new(class, &base, &policy)
        });
        plan.get("TERMINAL_CWD").map(PathBuf::from)
    };
    assert_eq!(
        told(SpawnClass::Hermes, dir.path()),
        Some(dir.path().to_owned())
    );
    assert_eq!(told(SpawnClass::Hermes, &dir.path().join("gone")), None);
    assert_eq!(told(SpawnClass::Hermes, Path::new(".")), None);
    assert_eq!(told(SpawnClass::ToolShell, dir.path()), None);
}

#[test]
fn homes_are_set_and_hermes_keeps_its_own() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("home")).unwrap();
    let mut policy = policy();
    policy.hermes_home = dir.path().to_owned();
    policy.child_home = ChildHome::resolve(&HomeFacts {
        mode: HomeMode::Profile,
        is_container: false,
        hermes_home: dir.path(),
        inherited_real_home: None,
        inherited_home: Some(OsStr::new("/u")),
        account_home: None,
    });
    let base = pairs(&[
        ("HOME", "/u"),
        ("HERMES_HOME", "/stale"),
        ("HERMES_REAL_HOME", "/stale"),
    ]);
    for class in SpawnClass::ALL {
        let plan = EnvPlan::build(&EnvRequest::new(class, &base, &policy));
        let at = |name| plan.get(name).map(PathBuf::from);
        let own = dir.path().join("home");
        let home = if class == SpawnClass::Hermes {
            "/u".into()
        } else {
            own
        };
        assert_eq!(at("HOME"), Some(home), "{class}");
        let is_server = class == SpawnClass::McpServer;
        assert_eq!(
            at("HERMES_HOME"),
            (!is_server).then(|| dir.path().to_owned()),
            "{class}"
        );
        assert_eq!(
            at("HERMES_REAL_HOME"),
            (!is_server).then(|| "/u".into()),
            "{class}"
        );
    }
}

#[test]
fn identity_and_terminal_marks() {
    let policy = policy();
    let base = pairs(&[
        ("HERMES_SESSION_ID", "stale"),
        ("HERMES_EXEC_ID", "stale"),
        ("TERM", "dumb"),
    ]);
    let session = [
        ("HERMES_SESSION_KEY".to_owned(), Some(String::new())),
        ("HERMES_SESSION_CHAT_ID".to_owned(), None),
        ("GH_TOKEN".to_owned(), Some("not a session name".to_owned())),
    ];
    let plan = EnvPlan::build(&EnvRequest {
        session: &session,
        background: true,
        pty: true,
        exec_id: Some("0123456789abcdef"),
        ..EnvRequest::new(SpawnClass::ToolShell, &base, &policy)
    });
    assert_eq!(
        plan.get("HERMES_SESSION_KEY"),
        Some(OsStr::new("")),
        "bound to nothing"
    );
    assert!(!has(&plan, "HERMES_SESSION_ID") && !has(&plan, "HERMES_SESSION_CHAT_ID"));
    assert!(!has(&plan, "GH_TOKEN"));
    assert_eq!(
        plan.get("HERMES_EXEC_ID"),
        Some(OsStr::new("0123456789abcdef"))
    );
    assert_eq!(plan.get("PYTHONUNBUFFERED"), Some(OsStr::new("1")));
    assert_eq!(plan.get("TERM"), Some(OsStr::new("xterm-256color")));
    let base = pairs(&[("TERM", "screen")]);
    let plan = EnvPlan::build(&EnvRequest {
        pty: true,
        ..EnvRequest::new(SpawnClass::ToolShell, &base, &policy)
    });
    assert_eq!(plan.get("TERM"), Some(OsStr::new("screen")));
}

fn overlay(login: &[(&str, Option<&str>)], session: &[(&str, Option<&str>)]) -> Overlay {
    let layer = |list: &[(&str, Option<&str>)]| {
        let change = |(n, v): &(&str, Option<&str>)| (OsString::from(n), v.map(OsString::from));
        list.iter().map(change).collect()
    };
    Overlay {
        login: layer(login),
        session: layer(session),
    }
}

#[test]
fn the_session_lies_over_the_plan_but_not_over_what_is_protected() {
    let policy = policy();
    let base = pairs(&[("KEEP", "base"), ("GONE", "base"), ("PATH", "/a")]);
    let overlay = overlay(
        &[
            ("GH_TOKEN", Some("from profile")),
            ("LAYER", Some("login")),
            ("PATH", Some("/usr/bin:/bin:/own/bin")),
            ("HERMES_HOME", Some("/other")),
        ],
        &[
            ("LAYER", Some("session")),
            ("VIRTUAL_ENV", Some("/project/.venv")),
            ("CONDA_PREFIX", Some("/own/venv")),
            ("PYTHONPATH", Some("/own/lib")),
            ("GONE", None),
            ("NEVER", None),
            ("HERMES_REAL_HOME", None),
            ("HERMES_EXEC_ID", Some("forged")),
            ("HERMES_SESSION_ID", Some("forged")),
            ("HERMES_YOLO_MODE", Some("1")),
            ("_HERMES_FORCE_X", Some("1")),
            ("A=B", Some("1")),
        ],
    );
    let plan = EnvPlan::build(&EnvRequest {
        overlay: Some(&overlay),
        exec_id: Some("mine"),
        ..EnvRequest::new(SpawnClass::ToolShell, &base, &policy)
    });
    let text = |name: &str| plan.get(name).and_then(OsStr::to_str);
    assert_eq!(text("KEEP"), Some("base"));
    assert_eq!(text("GONE"), None);
    assert_eq!(text("LAYER"), Some("session"));
    assert_eq!(text("GH_TOKEN"), Some("from profile"));
    assert_eq!(text("VIRTUAL_ENV"), Some("/project/.venv"));
    assert_eq!(text("CONDA_PREFIX"), None);
    assert_eq!(text("PYTHONPATH"), None);
    assert_eq!(text("HERMES_HOME"), Some("/hh"));
    assert_eq!(text("HERMES_REAL_HOME"), Some("/u"));
    assert_eq!(text("HERMES_EXEC_ID"), Some("mine"));
    for forged in [
        "HERMES_SESSION_ID",
        "HERMES_YOLO_MODE",
        "_HERMES_FORCE_X",
        "X",
        "A=B",
    ] {
        assert_eq!(text(forged), None, "{forged}");
    }
    let path = text("PATH").unwrap();
    assert!(path.starts_with("/hh/cache/bin:/usr/bin:/bin:"), "{path}");
    assert!(!path.contains("/own"), "{path}");
    let fate = |name: &str| plan.receipt().of(name);
    assert_eq!(fate("GONE"), Some((Fate::Stripped, Rule::SessionUnset)));
    assert_eq!(fate("GH_TOKEN"), Some((Fate::Set, Rule::LoginShell)));
    assert_eq!(
        fate("HERMES_YOLO_MODE"),
        Some((Fate::Stripped, Rule::Protected))
    );
    assert_eq!(fate("NEVER"), None);
}

#[test]
fn scripts_take_markers_and_listed_names_from_the_session_and_others_nothing() {
    let policy = policy();
    let overlay = overlay(
        &[
            ("GH_TOKEN", Some("x")),
            ("MY_PROVIDER", Some("x")),
            ("LC_ALL", Some("C")),
        ],
        &[
            ("VIRTUAL_ENV", Some("/p")),
            ("ANY", Some("x")),
            ("PATH", Some("/p/bin")),
        ],
    );
    let plan = |class| {
        EnvPlan::build(&EnvRequest {
            overlay: Some(&overlay),
            ..EnvRequest::new(class, &[], &policy)
        })
    };
    let script = plan(SpawnClass::ScriptSandbox);
    assert!(has(&script, "VIRTUAL_ENV") && has(&script, "LC_ALL"));
    assert!(!has(&script, "GH_TOKEN") && !has(&script, "MY_PROVIDER") && !has(&script, "ANY"));
    assert!(
        script
            .get("PATH")
            .unwrap()
            .as_bytes()
            .windows(6)
            .any(|part| part == b"/p/bin")
    );
    for class in SpawnClass::ALL {
        let takes = matches!(class, SpawnClass::ToolShell | SpawnClass::ScriptSandbox);
        assert_eq!(has(&plan(class), "VIRTUAL_ENV"), takes, "{class}");
    }
}

#[test]
fn bytes_that_are_not_text_pass_unchanged() {
    let policy = policy();
    let value = OsStr::from_bytes(b"\xff\xfe");
    let name = OsStr::from_bytes(b"N\xffME");
    let base = [
        ("ODD".into(), value.to_owned()),
        (name.to_owned(), value.to_owned()),
    ];
    let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::ToolShell, &base, &policy));
    assert_eq!(plan.get("ODD"), Some(value));
    assert_eq!(plan.get(name), Some(value));
    let hidden = [(
        OsStr::from_bytes(b"_HERMES_\xff").to_owned(),
        value.to_owned(),
    )];
    let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::ToolShell, &hidden, &policy));
    assert_eq!(plan.get(&hidden[0].0), None);
}

#[test]
fn settings_cannot_declare_away_what_everything_needs() {
    let mut policy = policy();
    policy.secret_names = names(&["PATH", "HOME", "LANG"]).into();
    assert_eq!(keepers(&policy, "LANG"), "ABCDEFG");
    let plan = inherited(SpawnClass::ToolShell, &policy, &["HOME"]);
    assert!(has(&plan, "HOME"));
}

#[test]
fn nothing_prints_a_value() {
    let policy = policy();
    let base = pairs(&[("A", "hunter2"), ("GH_TOKEN", "hunter2")]);
    let overlay = overlay(&[("B", Some("hunter2"))], &[("C", Some("hunter2"))]);
    let request = EnvRequest {
        overlay: Some(&overlay),
        ..EnvRequest::new(SpawnClass::ToolShell, &base, &policy)
    };
    let plan = EnvPlan::build(&request);
    let printed = format!("{plan:?} {plan:#?} {overlay:?} {:?}", plan.receipt());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(!plan.receipt().to_json().to_string().contains("hunter2"));
}

#[test]
fn rule_texts_fit_a_narrow_table_and_ids_differ() {
    let mut ids = BTreeSet::new();
    for rule in [
        Rule::Inherited,
        Rule::SkillPassthrough,
        Rule::TrustedPassthrough,
        Rule::ListedSecret,
        Rule::DerivedSecret,
        Rule::OwnInstall,
        Rule::Unbuffered,
    ] {
        assert!(rule.text().chars().count() <= 34, "{}", rule.text());
        assert!(ids.insert(rule.id()), "{}", rule.id());
    }
}

#[test]
fn mark_of_an_agents_shell_is_set_inherited_and_kept() {
    const MARK: &str = crate::agent_shell::MARK;
    let policy = policy();
    for class in [SpawnClass::ToolShell, SpawnClass::ScriptSandbox] {
        let request = EnvRequest {
            of_agent: true,
            ..EnvRequest::new(class, &[], &policy)
        };
        assert_eq!(EnvPlan::build(&request).get(MARK), Some(OsStr::new("1")));
        assert!(!has(&inherited(class, &policy, &[]), MARK), "{class}");
    }
    // Whatever an agent's shell starts inherits it.
    assert_eq!(keepers(&policy, MARK), "ABCDEFG");
    // Neither the session nor a call takes it away.
    let mut overlay = Overlay::default();
    overlay.session.insert(MARK.into(), None);
    overlay.login.insert(MARK.into(), Some("".into()));
    let extra = pairs(&[(MARK, "")]);
    let request = EnvRequest {
        overlay: Some(&overlay),
        extra: &extra,
        of_agent: true,
        ..EnvRequest::new(SpawnClass::ToolShell, &[], &policy)
    };
    assert_eq!(EnvPlan::build(&request).get(MARK), Some(OsStr::new("1")));
}
