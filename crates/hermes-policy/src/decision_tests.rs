//! Who may run what, in every context.

use std::sync::Mutex;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::{Folding, Status};

struct Says {
    answer: Answer,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Says {
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

impl Approver for Says {
    fn ask(&self, request: &ApprovalRequest) -> Answer {
        self.asked.lock().unwrap().push(request.clone());
        self.answer.clone()
    }
}

struct Thinks(Judgement);

impl Judge for Thinks {
    fn judge(&self, _: &ApprovalRequest) -> Judgement {
        self.0.clone()
    }
}

fn guard() -> Guard {
    Guard::new(
        GuardSettings::default(),
        Surroundings {
            folding: Folding::new(["/home/u"], ["/home/u/.hermes"]),
            temp_dirs: vec!["/tmp".to_owned()],
        },
        Arc::new(Redactor::default()),
    )
}

fn request<'a>(
    text: &'a str,
    context: Context<'a>,
    session: &'a SessionApprovals,
) -> CheckRequest<'a> {
    CheckRequest {
        text,
        isolated: false,
        yolo: false,
        sudo_password_set: false,
        context,
        session,
    }
}

const HARDLINE: &[&str] = &[
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
fn hardline_holds_in_every_context() {
    let session = SessionApprovals::default();
    let yes = Says::new(Answer::Always);
    let mut guard = guard();
    let mut through = Vec::new();
    for command in HARDLINE {
        for context in [
            Context::Interactive(&yes),
            Context::Gateway(Some(&yes)),
            Context::Cron,
            Context::OneShotYolo,
            Context::NonInteractive,
        ] {
            for (yolo, mode) in [
                (true, ApprovalMode::Smart),
                (false, ApprovalMode::Off),
                (false, ApprovalMode::Manual),
            ] {
                guard.settings.mode = mode;
                guard.settings.allowlist = vec![(*command).to_owned(), "*".to_owned()];
                let verdict = guard.check(&CheckRequest {
                    yolo,
                    ..request(command, context, &session)
                });
                if verdict.approved || !verdict.hardline || verdict.status != Status::Blocked {
                    through.push(format!("{command:?} in {context:?}"));
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
fn data_and_questions_are_harmless() {
    let session = SessionApprovals::default();
    for command in HARMLESS {
        let verdict = guard().check(&request(command, Context::NonInteractive, &session));
        assert_eq!(verdict, Verdict::approved(), "{command:?}");
    }
}

#[test]
fn a_command_too_long_to_read_is_refused() {
    let session = SessionApprovals::default();
    let long = format!("echo {}", "x".repeat(200_000));
    let verdict = guard().check(&request(&long, Context::OneShotYolo, &session));
    assert!(verdict.hardline);
    assert!(verdict.message.unwrap().contains("file"));
    let wide = format!("echo {}", "é".repeat(127_000));
    let verdict = guard().check(&request(&wide, Context::OneShotYolo, &session));
    assert!(verdict.approved, "characters count, not bytes");
}

#[test]
fn a_password_written_by_the_model_is_blocked_without_ours() {
    let session = SessionApprovals::default();
    let text = "echo x | sudo -S id";
    let without = request(text, Context::OneShotYolo, &session);
    assert_eq!(guard().check(&without).status, Status::Blocked);
    let with = CheckRequest {
        sudo_password_set: true,
        ..without
    };
    assert!(guard().check(&with).approved);
}

#[test]
fn deny_rules_hold_even_with_yolo_and_in_containers() {
    let session = SessionApprovals::default();
    let mut guard = guard();
    guard.settings.deny = vec!["sudo *".to_owned()];
    guard.settings.allowlist = vec!["sudo *".to_owned()];
    for command in ["sudo id", "/usr/bin/sudo id", "bash -c \"sudo id\""] {
        for isolated in [false, true] {
            let verdict = guard.check(&CheckRequest {
                yolo: true,
                isolated,
                ..request(command, Context::OneShotYolo, &session)
            });
            assert_eq!(verdict.status, Status::Blocked, "{command}");
            assert!(verdict.message.unwrap().contains("sudo *"));
        }
    }
    assert!(
        guard
            .check(&request("echo 'sudo id'", Context::Cron, &session))
            .approved
    );
}

#[test]
fn isolated_containers_are_free_otherwise() {
    let session = SessionApprovals::default();
    let verdict = guard().check(&CheckRequest {
        isolated: true,
        ..request("rm -rf /", Context::NonInteractive, &session)
    });
    assert_eq!(verdict, Verdict::approved());
}

#[test]
fn without_anybody_the_settings_decide() {
    let session = SessionApprovals::default();
    let text = "rm -rf ./x";
    let mut guard = guard();
    let verdict = guard.check(&request(text, Context::NonInteractive, &session));
    assert_eq!(verdict.status, Status::Denied);
    assert_eq!(verdict.pattern_key.as_deref(), Some("recursive delete"));
    let message = verdict.message.unwrap();
    assert!(message.contains("Do not retry") && message.contains("noninteractive_mode"));
    assert!(
        guard
            .check(&request(text, Context::OneShotYolo, &session))
            .approved
    );
    guard.settings.noninteractive = Unattended::Approve;
    assert!(
        guard
            .check(&request(text, Context::NonInteractive, &session))
            .approved
    );
    guard.settings.noninteractive = Unattended::Deny;
    for entry in ["recursive delete", r"rm\s+-[^\s]*r", text, "rm -rf ./*"] {
        guard.settings.allowlist = vec![entry.to_owned()];
        let verdict = guard.check(&request(text, Context::NonInteractive, &session));
        assert!(verdict.approved, "{entry}");
    }
    let both = guard.check(&request(
        "rm -rf ./x; id",
        Context::NonInteractive,
        &session,
    ));
    assert!(!both.approved, "a pattern met two commands");
    guard.settings.allowlist = vec!["recursive delete".to_owned()];
    let more = guard.check(&request(
        "rm -rf x; git push -f",
        Context::NonInteractive,
        &session,
    ));
    assert!(!more.approved, "one key approved another");
}

#[test]
fn scheduled_jobs_need_the_very_command() {
    // check 33
    let session = SessionApprovals::default();
    let text = "rm -rf ./x";
    let mut guard = guard();
    let check = |guard: &Guard| guard.check(&request(text, Context::Cron, &session));
    assert_eq!(check(&guard).status, Status::Denied);
    guard.settings.allowlist = vec!["recursive delete".to_owned()];
    assert!(!check(&guard).approved);
    session.approve(&["recursive delete".to_owned()]);
    assert!(!check(&guard).approved);
    guard.settings.allowlist = vec![text.to_owned()];
    assert!(check(&guard).approved);
    guard.settings.allowlist = Vec::new();
    guard.settings.cron = Unattended::Approve;
    assert!(check(&guard).approved);
}

#[test]
fn answers_are_remembered_as_given() {
    let text = "rm -rf ./x";
    for (answer, asked_twice, approved) in [
        (Answer::Once, true, true),
        (Answer::Session, false, true),
        (Answer::Deny(None), true, false),
        (Answer::Deny(Some("too late".to_owned())), true, false),
    ] {
        let session = SessionApprovals::default();
        let says = Says::new(answer.clone());
        let guard = guard();
        for _ in 0..2 {
            let verdict = guard.check(&request(text, Context::Interactive(&says), &session));
            assert_eq!(verdict.approved, approved);
            if let Answer::Deny(Some(reason)) = &answer {
                assert!(verdict.message.unwrap().contains(reason.as_str()));
            }
        }
        assert_eq!(says.times(), if asked_twice { 2 } else { 1 }, "{answer:?}");
        let other = SessionApprovals::default();
        guard.check(&request(text, Context::Interactive(&says), &other));
        assert_eq!(says.times(), if asked_twice { 3 } else { 2 });
    }
}

#[test]
fn always_adds_one_line_to_the_settings() {
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
    let mut guard = guard();
    guard.permanent = Some(Arc::new(PermanentApprovals::new(sources)));
    let says = Says::new(Answer::Always);
    for _ in 0..2 {
        let session = SessionApprovals::default();
        let verdict = guard.check(&request(
            "rm -rf ./x",
            Context::Interactive(&says),
            &session,
        ));
        assert!(verdict.approved);
    }
    assert_eq!(says.times(), 1);
    assert_eq!(
        hermes_fs::read_text_capped(&path, 1 << 20).unwrap(),
        "# mine\nmodel: x  # kept\ncommand_allowlist:\n  - a  # first\n  - recursive delete\nz: 1\n"
    );
}

#[test]
fn an_approval_that_cannot_be_saved_holds_for_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    hermes_fs::write_atomic(&path, b"a: [1\n", 0o600).unwrap();
    let sources = hermes_config::Sources {
        env: hermes_config::Environment::from_pairs::<&str, &str>([]),
        home: dir.path().to_owned(),
        managed_dir: None,
        tighten_dotenv: true,
    };
    let mut guard = guard();
    guard.permanent = Some(Arc::new(PermanentApprovals::new(sources)));
    let says = Says::new(Answer::Always);
    let session = SessionApprovals::default();
    let verdict = guard.check(&request(
        "rm -rf ./x",
        Context::Interactive(&says),
        &session,
    ));
    assert!(verdict.approved && verdict.message.is_some());
    assert_eq!(
        hermes_fs::read_text_capped(&path, 1 << 20).unwrap(),
        "a: [1\n"
    );
}

#[test]
fn the_question_shows_no_secret() {
    let session = SessionApprovals::default();
    let says = Says::new(Answer::Once);
    let mut guard = guard();
    guard.redactor = Arc::new(Redactor::new(["correct-horse-battery"]));
    let text = "rm -rf ./x --token correct-horse-battery";
    guard.check(&request(text, Context::Gateway(Some(&says)), &session));
    let asked = says.asked.lock().unwrap();
    assert_eq!(asked[0].command, "rm -rf ./x --token ***");
    assert_eq!(asked[0].timeout.as_secs(), 300);
    assert_eq!(asked[0].keys, ["recursive delete"]);
}

#[test]
fn a_judge_is_heard_in_smart_mode_only() {
    let session = SessionApprovals::default();
    let text = "rm -rf ./x";
    let judged = |judgement: Judgement, mode: ApprovalMode, context: Context<'_>| {
        let mut guard = guard();
        guard.settings.mode = mode;
        guard.judge = Some(Arc::new(Thinks(judgement)));
        guard.check(&request(text, context, &session))
    };
    let no = || Judgement::Deny("loses work".to_owned());
    assert!(
        judged(
            Judgement::Approve,
            ApprovalMode::Smart,
            Context::NonInteractive
        )
        .approved
    );
    assert!(
        !judged(
            Judgement::Approve,
            ApprovalMode::Manual,
            Context::NonInteractive
        )
        .approved
    );
    assert!(
        !judged(
            Judgement::Unsure,
            ApprovalMode::Smart,
            Context::NonInteractive
        )
        .approved
    );
    let denied = judged(no(), ApprovalMode::Smart, Context::Cron);
    assert!(denied.message.unwrap().contains("loses work"));
    let says = Says::new(Answer::Always);
    assert!(judged(no(), ApprovalMode::Smart, Context::Interactive(&says)).approved);
    let asked = says.asked.lock().unwrap();
    assert!(!asked[0].offer_always && !asked[0].offer_session);
    assert_eq!(asked[0].advice.as_deref(), Some("loses work"));
    drop(asked);
    assert!(
        !session.covers("recursive delete"),
        "an answer not offered was kept"
    );
}

#[test]
fn a_gateway_without_a_way_out_waits() {
    let session = SessionApprovals::default();
    let verdict = guard().check(&request("rm -rf ./x", Context::Gateway(None), &session));
    assert_eq!(verdict.status, Status::PendingApproval);
    assert!(!verdict.approved);
}

#[test]
fn observers_see_question_and_answer() {
    #[derive(Default)]
    struct Log(Mutex<Vec<String>>);
    impl ApprovalObserver for Log {
        fn before(&self, request: &ApprovalRequest) {
            self.0.lock().unwrap().push(request.description.clone());
        }
        fn after(&self, _: &ApprovalRequest, answer: &Answer) {
            self.0.lock().unwrap().push(format!("{answer:?}"));
        }
    }
    let log = Arc::new(Log::default());
    let mut guard = guard();
    guard.observer = Some(log.clone());
    let says = Says::new(Answer::Once);
    let session = SessionApprovals::default();
    guard.check(&request(
        "rm -rf ./x",
        Context::Interactive(&says),
        &session,
    ));
    guard.check(&request("ls", Context::Interactive(&says), &session));
    assert_eq!(*log.0.lock().unwrap(), ["recursive delete", "Once"]);
}

#[test]
fn whole_scripts_are_asked_about_once() {
    let session = SessionApprovals::default();
    let says = Says::new(Answer::Session);
    let mut guard = guard();
    let check =
        |guard: &Guard, context| guard.check_script(&request("print(1)", context, &session));
    assert_eq!(
        check(&guard, Context::NonInteractive).status,
        Status::Denied
    );
    assert_eq!(check(&guard, Context::Cron).status, Status::Denied);
    assert!(check(&guard, Context::OneShotYolo).approved);
    assert!(check(&guard, Context::Interactive(&says)).approved);
    assert_eq!(says.times(), 0);
    assert!(check(&guard, Context::Gateway(Some(&says))).approved);
    assert!(check(&guard, Context::Gateway(Some(&says))).approved);
    assert_eq!(says.times(), 1);
    assert_eq!(says.asked.lock().unwrap()[0].keys, ["execute_code"]);
    session.clear();
    guard.settings.allowlist = vec!["execute_code".to_owned()];
    assert!(check(&guard, Context::NonInteractive).approved);
    assert!(!check(&guard, Context::Cron).approved);
    guard.settings.mode = ApprovalMode::Off;
    assert!(check(&guard, Context::Cron).approved);
}

#[test]
fn verdicts_have_the_shape_of_a_check() {
    let session = SessionApprovals::default();
    let check = |text| {
        guard()
            .check(&request(text, Context::NonInteractive, &session))
            .to_json()
    };
    assert_eq!(check("ls"), json!({ "approved": true }));
    let blocked = check("rm -rf /");
    assert_eq!(blocked["approved"], json!(false));
    assert_eq!(blocked["hardline"], json!(true));
    let denied = check("rm -rf x");
    assert_eq!(denied["pattern_key"], json!("recursive delete"));
    assert_eq!(denied.get("hardline"), None);
}
