//! Commands and typed text are judged by what the shell that runs them knows. The home directory of
//! these worlds is a temporary one: a rule that failed would delete nothing else.

use std::path::Path;
use std::sync::Arc;

use hermes_policy::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    SessionApprovals,
};
use hermes_terminal::backend::Confinement;
use hermes_terminal::{
    CommandApprover, CommandCheck, CommandDecision, CommandKind, Refusal, RefusalKind,
};
use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::world::{Directory, Parts, World};

/// The real rules, with nobody to ask.
struct Rules(CommandPolicy);

impl CommandApprover for Rules {
    fn check(&self, check: &CommandCheck<'_>) -> CommandDecision {
        let verdict = self.0.check(&CheckRequest {
            text: check.command,
            shell: check.shell,
            isolated: false,
            sandboxed: check.kind == CommandKind::Typed(Confinement::Sandbox),
            yolo: false,
            sudo_password_set: false,
            interaction: Interaction::NonInteractive,
            session: &SessionApprovals::default(),
        });
        if verdict.is_approved() {
            return CommandDecision::Allowed {
                approval: None,
                confinement: Confinement::None,
            };
        }
        CommandDecision::Refused(Refusal {
            kind: RefusalKind::Blocked,
            message: verdict.message.unwrap_or_default(),
            hardline: verdict.hardline,
            pattern_key: verdict.pattern_key,
            description: verdict.description,
        })
    }
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    for name in ["home", "work", "user", "tmp"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let home = dir.path().canonicalize().unwrap().join("user");
    std::fs::write(home.join("precious"), "").unwrap();
    let paths = KnownPaths {
        homes: KnownHomes::new([&home], [home.join(".hermes")]),
        temp_dirs: Vec::new(),
    };
    let policy = CommandPolicy::new(ApprovalSettings::default(), paths, Arc::default());
    let parts = Parts {
        approver: Arc::new(Rules(policy)),
        ..Parts::default()
    };
    World::build(Directory::Own(dir), |_| {}, parts)
}

fn is_hardline(result: &Value) -> bool {
    result["status"] == "blocked" && result["hardline"] == true
}

#[test]
fn what_earlier_commands_left_in_the_session_counts() {
    let world = world();
    let home = world.path("user");
    let state =
        "wipe() { rm -rf \"$1\"; }\nalias zap='rm -rf'\nexport TARGET=$HOME\nexport TOOL=ls\n";
    std::fs::write(world.path("work/state.sh"), state).unwrap();
    // A file that is run shows nothing of this.
    assert_eq!(world.run(". ./state.sh")["exit_code"], 0);
    for command in [
        "rm -rf $TARGET",
        "wipe \"$TARGET\"",
        "wipe ~",
        "zap ~",
        "bash -c \"rm -rf $TARGET\"",
    ] {
        let result = world.run(command);
        assert!(is_hardline(&result), "{command}: {result}");
    }
    assert_eq!(world.run("$TOOL -a")["exit_code"], 0);
    let unknown = world.run("$OTHER");
    assert_eq!(unknown["pattern_key"], "command only known when it runs");
    // The directory counts as well, that of the session and one that is asked for.
    let elsewhere = json!({"command": "rm -rf .", "workdir": home.to_str().unwrap()});
    assert!(is_hardline(&world.call(elsewhere)));
    assert_eq!(world.run("cd \"$TARGET\"")["exit_code"], 0);
    for command in ["rm -rf *", "rm -rf .", "find . -delete", "zap ./*"] {
        let result = world.run(command);
        assert!(is_hardline(&result), "{command}: {result}");
    }
    assert!(Path::new(&home).join("precious").exists());
}

#[test]
fn text_for_a_shell_on_a_terminal_is_judged_like_a_command() {
    let world = world();
    let id = world.start_with(json!({"command": "bash --norc --noprofile", "pty": true}));
    let send = |action: &str, data: &str| {
        world.process(json!({"action": action, "session_id": id, "data": data}))
    };
    for line in [
        "rm -rf ~",
        "zap() { rm -rf \"$1\"; }; zap ~",
        "(sleep 1; reboot) &",
    ] {
        let result = send("submit", line);
        assert!(is_hardline(&result), "{line}: {result}");
    }
    let flagged = send("submit", "python3 -c 'print(1)'");
    assert_eq!(flagged["status"], "blocked");
    assert_eq!(flagged["pattern_key"], "script execution via -e/-c flag");
    let preview = || {
        let poll = world.process(json!({"action": "poll", "session_id": id}));
        poll["output_preview"].as_str().unwrap().to_owned()
    };
    let answers = |text: &str| eventually(text, || preview().contains(text));
    // A shell that is still starting is ended by Ctrl-C, and one that has not dealt with it yet drops
    // what is typed behind it: it has to be waiting at its prompts before and after.
    let interrupt = |waits_at: &[char]| {
        let ends = |with: &[char]| preview().trim_end().ends_with(with);
        eventually("what was typed", || ends(waits_at));
        assert_eq!(send("write", "\u{3}")["status"], "ok");
        eventually("the prompt after Ctrl-C", || ends(&['#', '$']));
    };
    // What the shell was told before counts.
    for line in ["target=$HOME", "cd ~", "echo ready $((20 + 1))"] {
        assert_eq!(send("submit", line)["status"], "ok", "{line}");
    }
    answers("ready 21");
    for line in ["rm -rf \"$target\"", "rm -rf *"] {
        let result = send("submit", line);
        assert!(is_hardline(&result), "{line}: {result}");
    }
    // What a key or a sign brings back from the history has not been judged.
    for line in ["\u{1b}[A", "\u{10}", "\u{12}echo", "!!", "!-1", "x\u{1}"] {
        let result = send("submit", line);
        assert_eq!(result["status"], "blocked", "{line:?}: {result}");
        assert_eq!(result["pattern_key"], "command only known when it runs");
    }
    // So does a line that is typed in parts, with corrections, or over several lines.
    assert_eq!(send("write", "rm -rf ")["status"], "ok");
    assert_eq!(send("write", "x\u{7f}~")["status"], "ok");
    let result = send("submit", "");
    assert!(is_hardline(&result), "{result}");
    assert!(result["error"].as_str().unwrap().contains("\\u0003"));
    interrupt(&['~']);
    assert_eq!(send("submit", "rm -f \\")["status"], "ok");
    assert!(is_hardline(&send("submit", "-r ~")));
    interrupt(&['>']);
    assert_eq!(send("submit", "echo still $((40 + 2))")["status"], "ok");
    answers("still 42");
    assert!(world.path("user/precious").exists());
    world.process(json!({"action": "kill", "session_id": id}));
    // A program that runs nothing of it takes any text.
    let id = world.start_with(json!({"command": "cat", "pty": true}));
    let sent = world.process(json!({"action": "submit", "session_id": id, "data": "rm -rf ~"}));
    assert_eq!(sent["status"], "ok");
    world.process(json!({"action": "kill", "session_id": id}));
}
