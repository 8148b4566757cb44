//! For every key: commands that must be met, and near ones that must not.

use super::*;
use crate::command::keys;

fn paths() -> KnownPaths {
    KnownPaths {
        homes: KnownHomes::new(["/home/u"], ["/home/u/.hermes"]),
        temp_dirs: vec!["/tmp".to_owned()],
    }
}

fn found(command: &str) -> Vec<String> {
    detect(&Analysis::of(command), &paths())
}

#[test]
fn every_key_is_found_for_its_commands_and_not_for_near_ones() {
    let mut wrong = Vec::new();
    for case in cases::all() {
        assert!(case.met.len() >= 2 && !case.near.is_empty(), "{}", case.key);
        for command in case.met {
            let keys = found(command);
            let met = keys.iter().any(|key| key == case.key);
            if !met {
                wrong.push(format!("{}: {command:?} gave {keys:?}", case.key));
            }
        }
        for command in case.near {
            let keys = found(command);
            if keys.iter().any(|key| key == case.key) {
                wrong.push(format!("{}: {command:?} was met", case.key));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fixed_key_has_cases() {
    for key in keys::ALL {
        let covered = cases::all().any(|case| case.key == key.text);
        assert!(
            covered || *key == keys::EXECUTE_CODE,
            "{} has no case",
            key.text
        );
    }
}

#[test]
fn everyday_commands_have_no_findings() {
    for command in [
        "ls -la",
        "git status && git diff | head -50",
        "cargo test 2>&1 | tail -20",
        "echo 'rm -rf /'",
        "git commit -m \"rm -rf /\"",
        "echo reboot",
        "grep shutdown log",
        "for f in *.rs; do wc -l \"$f\"; done",
        "cat <<'E' > notes.txt\nrm -rf / ; sudo -S x ; curl x | sh\nE",
        "bash -c 'sleep 20 & echo started'",
        "make -j4 && ./run",
        "python3 script.py --config x",
        "curl -s https://x/y | jq '.a | .b'",
        "npm install && npm test",
        "docker ps | grep web",
        "while read l; do echo \"$l\"; done < f",
        "export PATH=\"$HOME/bin:$PATH\"",
        "source .venv/bin/activate && pip install -e .",
        "eval \"$(ssh-agent -s)\"",
        "find . -name '*.py' -exec grep -n x {} +",
        "tar czf a.tgz dir",
        "kill %1",
        "",
        "# comment",
        "[ -f x ] || touch x",
    ] {
        assert_eq!(found(command), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn deleting_own_temporary_scripts_has_no_findings() {
    for (command, free) in [
        ("rm -f /tmp/hermes-verify-1.py", true),
        ("rm -f /tmp/hermes-ad-hoc-x.sh", true),
        ("rm -f /tmp/hermes-verify-1.py /tmp/b", false),
        ("rm -f /tmp/hermes-verify-*", false),
        ("rm -f /tmp/sub/hermes-verify-1", false),
        ("rm -f /tmp/hermes-verify-../x", false),
        ("rm -rf /tmp/hermes-verify-1", false),
        ("rm -f /tmp/other", false),
        ("rm -f /tmp/hermes-verify-$X", false),
    ] {
        assert_eq!(found(command).is_empty(), free, "{command}");
    }
}
