//! Who may run what, in every context.

use std::sync::Mutex;

use pretty_assertions::assert_eq;

use super::*;
use crate::{KnownHomes, Status};

struct Answers {
    answer: Answer,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Answers {
    fn new(answer: Answer) -> Self {
        Self {
            answer,
            asked: Mutex::default(),
        }
    }

    fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Approver for Answers {
    fn ask(&self, request: &ApprovalRequest) -> Answer {
        self.asked.lock().unwrap().push(request.clone());
        self.answer.clone()
    }
}

struct Assesses(Assessment);

impl RiskAssessor for Assesses {
    fn assess(&self, _: &ApprovalRequest) -> Assessment {
        self.0.clone()
    }
}

fn policy() -> CommandPolicy {
    CommandPolicy::new(
        ApprovalSettings::default(),
        KnownPaths {
            homes: KnownHomes::new(["/home/u"], ["/home/u/.hermes"]),
            temp_dirs: vec!["/tmp".to_owned()],
        },
        Arc::new(Redactor::default()),
    )
}

fn request<'a>(
    text: &'a str,
    interaction: Interaction<'a>,
    session: &'a SessionApprovals,
) -> CheckRequest<'a> {
    CheckRequest {
        text,
        shell: &hermes_shell::UnknownShell,
        isolated: false,
        sandboxed: false,
        yolo: false,
        sudo_password_set: false,
        interaction,
        session,
    }
}

const HARDLINE: &[&str] = &[
    "cat <<EOF\n`rm -rf /`\nEOF",
    "cat <<EOF > notes\nsee `reboot` for more\nEOF",
    "cat <<-EOF | wc -l\n\t`mkfs.ext4 /dev/sda`\n\tEOF",
    "bash <<EOF\necho $USER\nrm -rf /\nEOF",
    "a=xm; ${a/x/r} -rf /",
    "a=rmx; ${a%x} -rf /",
    "a=REBOOT; ${a,,}",
    "x=/y; rm -rf ${x%y}",
    "sudo --us root rm -rf /",
    "su --comm 'rm -rf /' root",
    "rm -rf /",
    "rm /",
    "/usr/bin/rm -rf /",
    "rm -rf \"/\"",
    "rm -rf '/'",
    "rm -rf //",
    "rm -rf /.",
    "rm -rf /..",
    "rm -rf /*",
    "rm -rf /tmp/..",
    "rm -rf /etc",
    "rm -rf /etc/",
    "rm -rf /usr/*",
    "rm -rf /e*",
    "rm -rf /[e]tc",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf $HOME",
    "rm -rf ${HOME}",
    "rm -rf \"${HOME}\"/*",
    "rm -rf ${HOME:?}",
    "rm -rf /home/u",
    "rm -rf ${X:-/}",
    "rm -fr --no-preserve-root -- /",
    "r\\m -rf /",
    "r''m -rf /",
    "\"rm\" -rf /",
    "rm${IFS}-rf${IFS}/",
    "rm$IFS-rf$IFS/",
    "$(echo rm) -rf /",
    "`echo rm` -rf /",
    "$(printf 'r%s' m) -rf /",
    "$'\\x72m' -rf /",
    "x=rm; $x -rf /",
    "d=/; rm -rf $d",
    "for d in /etc /usr; do rm -rf \"$d\"; done",
    "{rm,-rf,/}",
    "rm -rf /{bin,etc}",
    "/bin/r? -rf /",
    "r\\\nm -rf /",
    "ｒｍ -rf /",
    "\u{1b}[0mrm -rf /",
    "echo ＇; rm -rf / #＇",
    "sudo rm -rf /",
    "sudo -u root env A=1 nice -n 5 rm -rf /",
    "busybox rm -rf /",
    "echo / | xargs rm -rf",
    "find . -exec rm -rf / \\;",
    "sh -c 'rm -rf /'",
    "sh -c 'reboot'",
    "bash -lc \"sudo reboot\"",
    "bash -c 'bash -c \"bash -c reboot\"'",
    "eval reboot",
    "eval 're''boot'",
    "echo reboot | sh",
    "bash <<'E'\nreboot\nE",
    "cat <<E | sh\nreboot\nE",
    "sh <<< reboot",
    "(reboot)",
    "{ reboot; }",
    "true && reboot",
    "reboot &",
    "! reboot",
    "if true; then reboot; fi",
    "echo \"$(reboot)\"",
    "echo `reboot`",
    "f() { reboot; }; f",
    "sudo -n reboot",
    "trap reboot EXIT",
    "coproc reboot",
    "nohup reboot",
    "timeout 5 reboot",
    "ssh host reboot",
    "rg --pre reboot x",
    "shutdown -h now",
    "halt",
    "poweroff",
    "init 0",
    "telinit 6",
    "systemctl reboot",
    "systemctl --force poweroff",
    "mkfs.ext4 /dev/sdb1",
    "mkfs -t ext4 x",
    "dd if=/dev/zero of=/dev/sda",
    "dd of=/dev/nvme0n1 if=x",
    "echo x > /dev/sda",
    "cat x | sudo tee y > /dev/vda",
    "kill -9 -1",
    "kill -- -1",
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "reboot )",
    "echo $( (reboot) )",
    "$((reboot) )",
    "[[ a ]]; reboot",
    "a=(b); reboot",
    "echo 'a' ( ; rm -rf /",
];

const HARMLESS: &[&str] = &[
    "echo 'rm -rf /'",
    "echo \"rm -rf /\"",
    "git commit -m \"rm -rf /\"",
    "echo reboot",
    "grep shutdown log",
    "cat <<'E'\nrm -rf /\nreboot\nE",
    "man reboot",
    "which reboot",
    "command -v shutdown",
    "shutdown --help",
    "systemctl status",
    "ls / /etc",
    "# rm -rf /",
    "echo a # ; reboot",
    "kill -1 77",
    "init-db 0",
    "find / -name x",
    "ls > /dev/null",
    "rm ./~",
    "rm 'etc'",
    "echo \"$(echo \"a; reboot\")\"",
    "git commit -m \"$(cat <<'EOF'\nHandle \"power\"\nreboot now; rm -rf /\nEOF\n)\"",
    "echo \"`echo \"a; reboot\"`\"",
    "case $x in reboot) echo a;; halt|poweroff) echo b;; esac",
    "[[ $x == reboot ]] && echo a",
    "echo ${x:-reboot}",
    "for x in reboot halt; do echo $x; done",
    "echo $((reboot + 1))",
    "declare -A m=([reboot]=1 [halt]=2)",
    "printf '%s\\n' reboot halt",
    "test \"$x\" = reboot",
    "cat <<-E\n\treboot\n\tE\necho a",
    "awk '{ print; }' f | grep 'reboot'",
    "a=(reboot halt); echo \"${a[0]}\"",
    "[[ $x =~ ^(reboot|halt)$ ]] && echo a",
    "if [[ $x == a || reboot == $x ]]; then echo a; fi",
    "(( reboot = 1 ))",
    "select x in reboot halt; do echo $x; done",
    "echo a{reboot,halt}",
    "x='a\nreboot'; echo \"$x\"",
    "sed -n '/a/,/b/{p;}' f; echo \"it's; reboot\"",
];

#[test]
fn hardline_commands_are_blocked_in_every_mode() {
    let session = SessionApprovals::default();
    let yes = Answers::new(Answer::Always);
    let mut policy = policy();
    let mut through = Vec::new();
    for command in HARDLINE {
        for interaction in [
            Interaction::Interactive(&yes),
            Interaction::Gateway(Some(&yes)),
            Interaction::Cron,
            Interaction::NonInteractive,
        ] {
            for (yolo, mode) in [
                (true, ApprovalMode::Smart),
                (false, ApprovalMode::Off),
                (false, ApprovalMode::Manual),
            ] {
                policy.settings.mode = mode;
                policy.settings.allowlist = vec![(*command).to_owned(), "*".to_owned()];
                let verdict = policy.check(&CheckRequest {
                    yolo,
                    ..request(command, interaction, &session)
                });
                if verdict.is_approved() || !verdict.hardline || verdict.status != Status::Blocked {
                    through.push(format!("{command:?} with yolo {yolo} and {mode:?}"));
                    continue;
                }
                let message = verdict.message.unwrap();
                let start = format!("BLOCKED (hardline): {}", verdict.description.unwrap());
                assert!(message.starts_with(&start) && message.contains("by hand"));
            }
        }
    }
    assert!(through.is_empty(), "let through: {through:#?}");
    assert_eq!(yes.times(), 0);
}

#[test]
fn quoted_data_and_lookups_are_approved() {
    let session = SessionApprovals::default();
    for command in HARMLESS {
        let verdict = policy().check(&request(command, Interaction::NonInteractive, &session));
        assert_eq!(verdict, Verdict::approved(), "{command:?}");
    }
}

#[test]
fn command_above_the_length_limit_is_blocked() {
    let session = SessionApprovals::default();
    let long = format!("echo {}", "x".repeat(200_000));
    let yolo = |text| CheckRequest {
        yolo: true,
        ..request(text, Interaction::NonInteractive, &session)
    };
    let verdict = policy().check(&yolo(&long));
    assert!(verdict.hardline);
    assert!(verdict.message.unwrap().contains("file"));
    let wide = format!("echo {}", "é".repeat(127_000));
    let verdict = policy().check(&yolo(&wide));
    assert!(verdict.is_approved(), "characters count, not bytes");
}

#[test]
fn sudo_stdin_password_is_blocked_unless_one_is_configured() {
    let session = SessionApprovals::default();
    let text = "echo x | sudo -S id";
    let without = CheckRequest {
        yolo: true,
        ..request(text, Interaction::NonInteractive, &session)
    };
    assert_eq!(policy().check(&without).status, Status::Blocked);
    let with = CheckRequest {
        sudo_password_set: true,
        ..without
    };
    assert!(policy().check(&with).is_approved());
}

#[test]
fn deny_rules_apply_with_yolo_and_in_containers() {
    let session = SessionApprovals::default();
    let mut policy = policy();
    policy.settings.deny = vec!["sudo *".to_owned()];
    policy.settings.allowlist = vec!["sudo *".to_owned()];
    for command in ["sudo id", "/usr/bin/sudo id", "bash -c \"sudo id\""] {
        for isolated in [false, true] {
            let verdict = policy.check(&CheckRequest {
                yolo: true,
                isolated,
                ..request(command, Interaction::NonInteractive, &session)
            });
            assert_eq!(verdict.status, Status::Blocked, "{command}");
            assert!(verdict.message.unwrap().contains("sudo *"));
        }
    }
    assert!(
        policy
            .check(&request("echo 'sudo id'", Interaction::Cron, &session))
            .is_approved()
    );
}

#[test]
fn isolated_container_runs_everything_not_denied() {
    let session = SessionApprovals::default();
    let verdict = policy().check(&CheckRequest {
        isolated: true,
        sandboxed: false,
        ..request("rm -rf /", Interaction::NonInteractive, &session)
    });
    assert_eq!(verdict, Verdict::approved());
}

#[test]
fn noninteractive_mode_decides_when_nobody_can_be_asked() {
    let session = SessionApprovals::default();
    let text = "rm -rf ./x";
    let mut policy = policy();
    let verdict = policy.check(&request(text, Interaction::NonInteractive, &session));
    assert_eq!(verdict.status, Status::Denied);
    assert_eq!(verdict.pattern_key.as_deref(), Some("recursive delete"));
    let message = verdict.message.unwrap();
    assert!(message.contains("Do not retry") && message.contains("noninteractive_mode"));
    let yolo = CheckRequest {
        yolo: true,
        ..request(text, Interaction::NonInteractive, &session)
    };
    assert!(policy.check(&yolo).is_approved());
    policy.settings.noninteractive = Unattended::Approve;
    assert!(
        policy
            .check(&request(text, Interaction::NonInteractive, &session))
            .is_approved()
    );
    policy.settings.noninteractive = Unattended::Deny;
    for entry in ["recursive delete", r"rm\s+-[^\s]*r", text, "rm -rf ./*"] {
        policy.settings.allowlist = vec![entry.to_owned()];
        let verdict = policy.check(&request(text, Interaction::NonInteractive, &session));
        assert!(verdict.is_approved(), "{entry}");
    }
    let both = policy.check(&request(
        "rm -rf ./x; id",
        Interaction::NonInteractive,
        &session,
    ));
    assert!(!both.is_approved(), "a pattern met two commands");
    policy.settings.allowlist = vec!["recursive delete".to_owned()];
    let more = policy.check(&request(
        "rm -rf x; git push -f",
        Interaction::NonInteractive,
        &session,
    ));
    assert!(!more.is_approved(), "one key approved another");
}

#[test]
fn cron_accepts_listed_commands_but_not_listed_keys() {
    // check 33
    let session = SessionApprovals::default();
    let text = "rm -rf ./x";
    let mut policy = policy();
    let check = |policy: &CommandPolicy| policy.check(&request(text, Interaction::Cron, &session));
    assert_eq!(check(&policy).status, Status::Denied);
    policy.settings.allowlist = vec!["recursive delete".to_owned()];
    assert!(!check(&policy).is_approved());
    session.approve(&["recursive delete".to_owned()]);
    assert!(!check(&policy).is_approved());
    policy.settings.allowlist = vec![text.to_owned()];
    assert!(check(&policy).is_approved());
    policy.settings.allowlist = Vec::new();
    policy.settings.cron = Unattended::Approve;
    assert!(check(&policy).is_approved());
}

#[test]
fn session_answer_is_remembered_and_once_is_not() {
    let text = "rm -rf ./x";
    for (answer, asked_twice, approved) in [
        (Answer::Once, true, true),
        (Answer::Session, false, true),
        (Answer::Deny(None), true, false),
        (Answer::Deny(Some("too late".to_owned())), true, false),
    ] {
        let session = SessionApprovals::default();
        let person = Answers::new(answer.clone());
        let policy = policy();
        for _ in 0..2 {
            let verdict = policy.check(&request(text, Interaction::Interactive(&person), &session));
            assert_eq!(verdict.is_approved(), approved);
            if let Answer::Deny(Some(reason)) = &answer {
                assert!(verdict.message.unwrap().contains(reason.as_str()));
            }
        }
        assert_eq!(
            person.times(),
            if asked_twice { 2 } else { 1 },
            "{answer:?}"
        );
        let other = SessionApprovals::default();
        policy.check(&request(text, Interaction::Interactive(&person), &other));
        assert_eq!(person.times(), if asked_twice { 3 } else { 2 });
    }
}

#[test]
fn always_appends_one_line_to_command_allowlist() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    let before = "# mine\nmodel: x  # kept\ncommand_allowlist:\n  - a  # first\nz: 1\n";
    hermes_fs::write_atomic(&path, before.as_bytes(), 0o600).unwrap();
    let sources = hermes_config::Sources {
        env: hermes_config::Environment::from_pairs::<&str, &str>([]),
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: true,
    };
    let mut policy = policy();
    policy.permanent = Some(Arc::new(PermanentApprovals::new(sources)));
    let person = Answers::new(Answer::Always);
    for _ in 0..2 {
        let session = SessionApprovals::default();
        let verdict = policy.check(&request(
            "rm -rf ./x",
            Interaction::Interactive(&person),
            &session,
        ));
        assert!(verdict.is_approved());
    }
    assert_eq!(person.times(), 1);
    assert_eq!(
        hermes_fs::read_text_capped(&path, 1 << 20).unwrap(),
        "# mine\nmodel: x  # kept\ncommand_allowlist:\n  - a  # first\n  - recursive delete\nz: 1\n"
    );
}

#[test]
fn unsaved_permanent_approval_holds_for_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    hermes_fs::write_atomic(&path, b"a: [1\n", 0o600).unwrap();
    let sources = hermes_config::Sources {
        env: hermes_config::Environment::from_pairs::<&str, &str>([]),
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: true,
    };
    let mut policy = policy();
    policy.permanent = Some(Arc::new(PermanentApprovals::new(sources)));
    let person = Answers::new(Answer::Always);
    let session = SessionApprovals::default();
    let verdict = policy.check(&request(
        "rm -rf ./x",
        Interaction::Interactive(&person),
        &session,
    ));
    assert!(verdict.is_approved() && verdict.message.is_some());
    assert_eq!(
        hermes_fs::read_text_capped(&path, 1 << 20).unwrap(),
        "a: [1\n"
    );
}

#[test]
fn approval_request_masks_secrets() {
    let session = SessionApprovals::default();
    let person = Answers::new(Answer::Once);
    let mut policy = policy();
    policy.redactor = Arc::new(Redactor::new(["correct-horse-battery"]));
    let text = "rm -rf ./x --token correct-horse-battery";
    policy.check(&request(
        text,
        Interaction::Gateway(Some(&person)),
        &session,
    ));
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked[0].command, "rm -rf ./x --token ***");
    assert_eq!(asked[0].timeout.as_secs(), 300);
    assert_eq!(asked[0].keys, ["recursive delete"]);
}

#[test]
fn assessment_counts_in_smart_mode_only() {
    let session = SessionApprovals::default();
    let check = |assessment: Assessment, mode: ApprovalMode, interaction: Interaction<'_>| {
        let mut policy = policy();
        policy.settings.mode = mode;
        policy.assessor = Some(Arc::new(Assesses(assessment)));
        policy.check(&request("rm -rf ./x", interaction, &session))
    };
    let deny = || Assessment::Deny("loses work".to_owned());
    let nobody = Interaction::NonInteractive;
    let approved = check(Assessment::Approve, ApprovalMode::Smart, nobody);
    assert!(approved.is_approved());
    assert_eq!(approved.approved_by, Some(ApprovedBy::Model));
    assert!(!check(Assessment::Approve, ApprovalMode::Manual, nobody).is_approved());
    assert!(!check(Assessment::Unsure, ApprovalMode::Smart, nobody).is_approved());
    let denied = check(deny(), ApprovalMode::Smart, Interaction::Cron);
    assert!(denied.message.unwrap().contains("loses work"));
    let person = Answers::new(Answer::Always);
    let approved = check(
        deny(),
        ApprovalMode::Smart,
        Interaction::Interactive(&person),
    );
    assert_eq!(approved.approved_by, Some(ApprovedBy::User));
    let asked = person.asked.lock().unwrap();
    assert!(!asked[0].offer_always && !asked[0].offer_session);
    assert_eq!(asked[0].advice.as_deref(), Some("loses work"));
    drop(asked);
    assert!(
        !session.covers("recursive delete"),
        "an answer not offered was kept"
    );
}

#[test]
fn gateway_commands_cannot_stop_the_gateway() {
    let session = SessionApprovals::default();
    let person = Answers::new(Answer::Always);
    let check = |interaction| {
        policy().check(&CheckRequest {
            yolo: true,
            ..request("hermes gateway restart", interaction, &session)
        })
    };
    let inside = check(Interaction::Gateway(Some(&person)));
    assert_eq!(inside.status, Status::Blocked);
    assert!(inside.message.unwrap().contains("this conversation"));
    assert!(check(Interaction::Interactive(&person)).is_approved());
}

#[test]
fn gateway_without_approver_is_pending() {
    let session = SessionApprovals::default();
    let verdict = policy().check(&request("rm -rf ./x", Interaction::Gateway(None), &session));
    assert_eq!(verdict.status, Status::PendingApproval);
    assert!(!verdict.is_approved());
}

#[test]
fn execute_code_needs_one_approval_for_the_script() {
    let session = SessionApprovals::default();
    let person = Answers::new(Answer::Session);
    let mut policy = policy();
    let check = |policy: &CommandPolicy, interaction| {
        policy.check_script(&request("print(1)", interaction, &session))
    };
    assert_eq!(
        check(&policy, Interaction::NonInteractive).status,
        Status::Denied
    );
    assert_eq!(check(&policy, Interaction::Cron).status, Status::Denied);
    let once = Answers::new(Answer::Once);
    assert!(check(&policy, Interaction::Interactive(&once)).is_approved());
    assert!(check(&policy, Interaction::Interactive(&once)).is_approved());
    assert_eq!(once.times(), 2, "once per script");
    let no = Answers::new(Answer::Deny(None));
    assert_eq!(
        check(&policy, Interaction::Interactive(&no)).status,
        Status::Denied
    );
    assert!(check(&policy, Interaction::Gateway(Some(&person))).is_approved());
    assert!(check(&policy, Interaction::Interactive(&person)).is_approved());
    assert_eq!(person.times(), 1);
    assert_eq!(person.asked.lock().unwrap()[0].keys, ["execute_code"]);
    session.clear();
    policy.settings.allowlist = vec!["execute_code".to_owned()];
    assert!(check(&policy, Interaction::NonInteractive).is_approved());
    assert!(!check(&policy, Interaction::Cron).is_approved());
    policy.settings.mode = ApprovalMode::Off;
    assert!(check(&policy, Interaction::Cron).is_approved());
}

/// A session that earlier commands left in the root directory, with an alias, a function and exports.
struct LeftBehind;

impl hermes_shell::KnownShell for LeftBehind {
    fn directory(&self) -> Option<String> {
        Some("/".to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "CLEAN" => Some("rm -rf /".to_owned()),
            "TOOL" => Some("ls".to_owned()),
            _ => None,
        }
    }

    fn alias(&self, name: &str) -> Option<String> {
        (name == "ll").then(|| "rm -rf".to_owned())
    }

    fn function(&self, name: &str) -> Option<String> {
        (name == "f").then(|| "f () \n{ \n    rm -rf \"$1\"\n}\n".to_owned())
    }
}

#[test]
fn state_of_the_session_counts() {
    let session = SessionApprovals::default();
    let judged = |text| {
        policy().check(&CheckRequest {
            shell: &LeftBehind,
            ..request(text, Interaction::NonInteractive, &session)
        })
    };
    for command in [
        "rm -rf etc",
        "rm -rf *",
        "rm -rf .",
        "$CLEAN",
        "eval \"$CLEAN\"",
        "bash -c \"$CLEAN\"",
        "ll /",
        "ll usr",
        "f /",
        "f home",
        "find . -delete",
    ] {
        assert!(judged(command).hardline, "{command}");
    }
    for command in [
        "echo x > etc/hosts",
        "cd etc; echo x > hosts",
        "f x",
        "ll x",
        "$OTHER",
    ] {
        assert_eq!(judged(command).status, Status::Denied, "{command}");
    }
    for command in ["$TOOL -l", "eval \"$TOOL\"", "ls etc", "cd tmp; touch x"] {
        assert_eq!(judged(command), Verdict::approved(), "{command}");
    }
}

#[test]
fn own_files_of_hermes_are_not_written_even_in_yolo_mode() {
    let session = SessionApprovals::default();
    for command in [
        "echo 'approvals: {mode: off}' > ~/.hermes/config.yaml",
        "echo K=v >> /home/u/.hermes/.env",
        "cd /home/u && printf x > .hermes/config.yaml",
        "bash -c 'echo x > ~/.hermes/config.yaml'",
    ] {
        let mut asked = request(command, Interaction::NonInteractive, &session);
        asked.yolo = true;
        let verdict = policy().check(&asked);
        assert_eq!(verdict.status, Status::Blocked, "{command}");
        let message = verdict.message.unwrap_or_default();
        assert!(message.contains("Hermes' own settings"), "{message}");
        // There the kernel sees to it.
        asked.sandboxed = true;
        assert!(policy().check(&asked).is_approved(), "{command}");
    }
    let mut asked = request("echo x > ~/notes", Interaction::NonInteractive, &session);
    asked.yolo = true;
    assert!(policy().check(&asked).is_approved());
}
