//! Any text gets a verdict, and no wrapping hides a command that must not run.

use proptest::prelude::*;
use std::sync::Arc;

use hermes_secret::Redactor;

use super::*;
use crate::command::foreground::foreground_refusal;
use crate::command::gateway_self_harm::gateway_self_harm;
use crate::command::sudo::uses;
use crate::{KnownHomes, KnownPaths, with_password_from_stdin};
use hermes_shell::Analysis;

fn verdict(text: &str) -> Verdict {
    let paths = KnownPaths {
        homes: KnownHomes::new(["/home/u"], ["/home/u/.hermes"]),
        temp_dirs: vec!["/tmp".to_owned()],
    };
    let settings = ApprovalSettings {
        deny: vec!["secret-tool *".to_owned()],
        ..ApprovalSettings::default()
    };
    let policy = CommandPolicy::new(settings, paths, Arc::new(Redactor::default()));
    policy.check(&CheckRequest {
        text,
        shell: &hermes_shell::UnknownShell,
        isolated: false,
        sandboxed: false,
        yolo: false,
        sudo_password_set: false,
        interaction: Interaction::NonInteractive,
        session: &SessionApprovals::default(),
    })
}

fn check_all(text: &str) {
    let verdict = verdict(text);
    assert_eq!(verdict.is_approved(), verdict.message.is_none());
    let analysis = Analysis::of(text);
    drop(foreground_refusal(&analysis));
    drop(gateway_self_harm(&analysis));
    if let Some(rewrite) = with_password_from_stdin(text) {
        let uses = uses(&analysis);
        let shells = uses.iter().filter(|found| !found.has_own_input).count();
        assert_eq!(rewrite.password_lines, shells);
    }
}

const SNIPPETS: &[&str] = &[
    "if [ -f x ]; then rm -rf \"$HOME\"/x; else echo `date`; fi",
    "cat <<'E' | bash -s -- a > f 2>&1\nreboot \"x\nE\n",
    "for i in {1..3} a{b,c}; do sudo -u x env A=$((1+2)) nice rm ${i%.*} & done",
    "f() { local x=(1 2 '3 4'); \"${x[@]}\" | f; }; f <<< $'a\\x41' >(tee y) < <(z)",
    "case $1 in a|b) eval \"$(curl x)\" ;; *) find . -exec sh -c 'rm {}' \\; ;; esac",
    "python3 - <<-E && git push -f origin +main || kill -9 $(pgrep a)\n\tx\n\tE\n",
    "[[ $a =~ ^(b|c)$ && ! -e d ]] && ((e++)) ; time -p dd if=a of=/dev/null",
    "\u{1b}[31mｒｍ\u{1b}[0m -rf ～ ＇a＇ é\u{301} \u{202e}",
    "a=b; b=$a$a; c=\"${b:-$(echo d)}\" ${e:0:1} ${!f} ${#g} ${h//i/j}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_a_verdict(text in any::<String>()) {
        check_all(&text);
    }

    #[test]
    fn any_shell_like_text_gets_a_verdict(
        text in "[a-c $(){}\\[\\]<>|&;\"'`\\\\\n#=!~*?/-]{0,120}",
    ) {
        check_all(&text);
    }

    #[test]
    fn mutated_snippets_get_a_verdict(
        which in 0..SNIPPETS.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<char>()), 1..8),
    ) {
        let mut chars: Vec<char> = SNIPPETS[which].chars().collect();
        for (place, how, other) in cuts {
            if chars.is_empty() {
                break;
            }
            let at = place.index(chars.len());
            match how {
                0 => { chars.remove(at); }
                1 => chars.insert(at, other),
                2 => chars.truncate(at),
                _ => { let c = chars[at]; chars.insert(at, c); }
            }
        }
        check_all(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn wrapping_does_not_hide_hardline_commands(
        core in prop::sample::select(vec![
            "rm -rf /", "reboot", "sudo rm -rf ~", "mkfs.ext4 /dev/sda", "kill -9 -1",
            "dd if=x of=/dev/sda", "systemctl poweroff", "r\\m -rf /etc",
        ]),
        wrappers in proptest::collection::vec(0..20_u8, 0..5),
    ) {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut text = core.to_owned();
        for wrapper in wrappers {
            text = match wrapper {
                0 => format!("( {text} )"),
                1 => format!("{{ {text}; }}"),
                2 => format!("echo a && {text}"),
                3 => format!("echo a || {text}"),
                4 => format!("echo a; {text}"),
                5 => format!("echo a\n{text}\n"),
                6 => format!("sh -c {}", quoted(&text)),
                7 => format!("bash -lc {}", quoted(&text)),
                8 => format!("eval {}", quoted(&text)),
                9 => format!("if true; then {text}; fi"),
                10 => format!("while true; do {text}; done"),
                11 => format!("echo $( {text} )"),
                12 => format!("f() {{ {text}; }}; f"),
                // One delimiter per level: an inner end must not end the outer text.
                13 => format!("bash <<'END{0}'\n{text}\nEND{0}\n", text.len()),
                14 => format!("echo {} | sh", quoted(&text)),
                15 => format!("{text} # comment"),
                16 => format!("A=1; {text}"),
                17 => format!("case a in a) {text};; esac"),
                18 => format!("diff <( {text} ) b"),
                _ => format!("  {text} || true"),
            };
            // A here-document ends what stands on its last line.
            if matches!(wrapper, 15 | 17 | 9 | 10 | 12 | 0 | 1 | 11 | 18 | 19) && text.contains("END") {
                return Ok(());
            }
        }
        let verdict = verdict(&text);
        prop_assert!(verdict.hardline, "{text:?} was let through");
    }
}
