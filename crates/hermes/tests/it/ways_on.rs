//! Help, hints and answers that lead somewhere: every command that a message names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use serde_json::{Value, json};

use crate::{configured, fresh};

/// Commands of the reference that messages describe without recommending them.
const OF_THE_REFERENCE: [&str; 2] = ["gateway", "update"];

/// Words that follow the name of the program in sentences about it.
const PROSE: [&str; 5] = ["alias", "comes", "is", "on", "subcommand"];

/// What follows `hermes` in the texts of a source file: words up to a placeholder, a flag or the end
/// of the command.
fn named_commands(source: &str) -> BTreeSet<Vec<String>> {
    let product = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for line in product.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let mut pieces = code.split("hermes ");
        let mut before = pieces.next().unwrap_or_default().to_owned();
        for rest in pieces {
            let last = before.chars().next_back();
            let is_text = before.contains('"') && last.is_some_and(|c| "`'\" :".contains(c));
            before.push_str("hermes ");
            before.push_str(rest);
            if !is_text {
                continue;
            }
            let command = rest.split(['`', '"', '\'', '\\', ')', ',', ';']).next();
            let words: Vec<String> = command
                .unwrap_or_default()
                .split_whitespace()
                .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
                .take_while(|word| !word.starts_with('-'))
                .map(str::to_owned)
                .collect();
            if !words.is_empty() {
                found.insert(words);
            }
        }
    }
    found
}

fn sources(directory: &Path, found: &mut BTreeSet<Vec<String>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !path.to_string_lossy().ends_with("_tests.rs")
        {
            found.extend(named_commands(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_command_that_a_message_names_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut found);
        }
    }
    // `hermes config set terminal.backend local` and its like: the first words are the command.
    let commands: BTreeSet<Vec<String>> = found
        .into_iter()
        .filter(|words| !OF_THE_REFERENCE.contains(&words[0].as_str()))
        .collect();
    assert!(commands.len() > 20, "{commands:?}");
    let home = fresh();
    let tree = home.run(["completion", "bash"]).succeeds().stdout.clone();
    let exists = |words: &[String]| {
        let name = words.join("__subcmd__").replace('-', "__");
        tree.contains(&format!("hermes__subcmd__{name})"))
            || tree.contains(&format!("hermes__{}", words.join("__").replace('-', "__")))
    };
    let is_group = |word: &str| {
        let groups = [
            "auth", "config", "fallback", "kanban", "profile", "sandbox", "sessions",
        ];
        groups.contains(&word)
    };
    let unknown: Vec<&Vec<String>> = commands
        .iter()
        .filter(|words| {
            let needed = if is_group(&words[0]) { 2 } else { 1 };
            !exists(&words[..needed.min(words.len())])
        })
        // Prose about the program itself: "hermes is not on PATH".
        .filter(|words| !PROSE.contains(&words[0].as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for words in &commands {
        let known = (1..=words.len())
            .rev()
            .find(|count| exists(&words[..*count]));
        if let Some(count) = known {
            let args = words[..count].iter().map(String::as_str).chain(["--help"]);
            home.run(args.collect::<Vec<_>>()).succeeds();
        }
    }
}

/// A command as a text names it: its words, and its long flags.
type NamedCommand = (Vec<String>, BTreeSet<String>);

/// The commands in a text: what stands behind `hermes`, up to the end of the quotation or line.
fn commands_with_flags(text: &str, found: &mut BTreeSet<NamedCommand>) {
    for rest in text.split("hermes ").skip(1) {
        let line = rest.split(['`', '\n', '"', '|', '#', ';', ')', '→']).next();
        let mut words = Vec::new();
        let mut flags = BTreeSet::new();
        // A value in quotes is not ours.
        let unquoted: String = line.unwrap_or_default().split('\'').step_by(2).collect();
        for word in unquoted.split_whitespace() {
            // What follows `--` belongs to another program; short flags come before commands.
            if word == "--" || (words.is_empty() && word.starts_with('-')) {
                break;
            }
            if let Some(flag) = word.strip_prefix("--") {
                let flag = flag
                    .split(|c: char| !c.is_ascii_lowercase() && c != '-')
                    .next();
                flags.insert(flag.unwrap_or_default().to_owned());
            } else if flags.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                words.push(word.to_owned());
            } else if flags.is_empty() && words.len() < 2 {
                break;
            }
        }
        if !words.is_empty() {
            found.insert((words, flags));
        }
    }
}

/// The texts of a program's sources: string literals, joined where a line goes on.
fn texts_of_sources(directory: &Path, found: &mut BTreeSet<NamedCommand>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts_of_sources(&path, found);
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        if path.extension().is_none_or(|end| end != "rs") || name.ends_with("_tests.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code: String = product
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(|line| match line.strip_suffix('\\') {
                Some(begun) => begun.to_owned(),
                None => format!("{line}\n"),
            })
            .collect();
        // A command that a message recommends stands in backticks.
        for quoted in code.split('`').skip(1).step_by(2) {
            if quoted.starts_with("hermes ") && !quoted.contains('\n') {
                commands_with_flags(quoted, found);
            }
        }
    }
}

#[test]
fn every_flag_of_a_command_that_a_message_or_a_page_names_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let root = crates.parent().unwrap();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            texts_of_sources(&source, &mut found);
        }
    }
    let pages = std::fs::read_dir(root.join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    // What is said there about the reference's commands is about the reference.
    let pages = pages.filter(|path| !path.ends_with("moving-from-python.md"));
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in text.lines().filter(|line| line.starts_with("hermes ")) {
            commands_with_flags(line, &mut found);
        }
        for line in text.lines().filter(|line| line.contains("`hermes ")) {
            for quoted in line.split('`').skip(1).step_by(2) {
                if quoted.starts_with("hermes ") {
                    commands_with_flags(quoted, &mut found);
                }
            }
        }
    }
    found.retain(|(words, _)| !OF_THE_REFERENCE.contains(&words[0].as_str()));
    assert!(found.len() > 60, "{}: {found:?}", found.len());
    let home = fresh();
    let mut helps = BTreeMap::<Vec<String>, Option<String>>::new();
    let mut help = |words: &[String]| {
        let known = helps.entry(words.to_vec()).or_insert_with(|| {
            let args = words.iter().map(String::as_str).chain(["--help"]);
            let output = home.run(args.collect::<Vec<_>>());
            let is_command = output.code == Some(0)
                && words.last().is_none_or(|last| {
                    let usage = output
                        .stdout
                        .lines()
                        .find(|line| line.starts_with("Usage:"));
                    usage.is_some_and(|usage| usage.contains(&format!(" {last}")))
                });
            is_command.then(|| output.stdout.clone())
        });
        known.clone()
    };
    let mut wrong = Vec::new();
    for (words, flags) in &found {
        let page = (1..=words.len())
            .rev()
            .find_map(|count| help(&words[..count]));
        let Some(page) = page else {
            wrong.push(format!("hermes {}", words.join(" ")));
            continue;
        };
        for flag in flags {
            if !page.contains(&format!("--{flag}")) {
                wrong.push(format!("hermes {} --{flag}", words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn help_is_a_word_too() {
    let home = fresh();
    for (words, flag) in [
        (vec!["help"], vec!["--help"]),
        (vec!["help", "config"], vec!["config", "--help"]),
        (
            vec!["help", "kanban", "create"],
            vec!["kanban", "create", "--help"],
        ),
    ] {
        let by_word = home.run(words).succeeds().stdout.clone();
        home.run(flag).succeeds().prints(&by_word);
    }
    home.run(["help", "nosuch"])
        .exits(2)
        .says_part("unrecognized subcommand 'nosuch'");
}

#[test]
fn a_question_without_a_flag_is_answered_with_the_way_to_ask_it() {
    let home = fresh();
    for (args, hint) in [
        (vec!["what's up?"], "'what'\\''s up?'"),
        (vec!["waht", "is", "up"], "'waht is up'"),
        (vec!["chat", "what", "is", "up"], "'what is up'"),
        (vec!["chat", "hello there"], "'hello there'"),
    ] {
        home.run(args).exits(2).prints("").says_part(&format!(
            "\nhint: to ask the agent, run: hermes chat -q {hint}\n"
        ));
    }
    let typo = home.run(["confg", "get"]);
    typo.exits(2).says_part("'config'");
    assert!(!typo.stderr.contains("to ask the agent"), "{typo}");
}

#[test]
fn a_group_alone_does_something_harmless() {
    let home = fresh();
    home.run(["auth"]).succeeds().prints("No keys\n");
    home.run(["fallback"])
        .succeeds()
        .prints("No fallback providers\n");
    home.run(["fallback", "ls"])
        .succeeds()
        .prints("No fallback providers\n");
    home.run(["sessions"])
        .succeeds()
        .prints_part("Usage: hermes sessions")
        .prints_part("  export ");
    home.run(["kanban"]).succeeds().prints_part("  create ");
    home.run(["tools"]).succeeds().prints_part("read_file");
    home.run(["tools", "--summary"])
        .succeeds()
        .prints_part("cli       18 of 31  browser, ");
}

#[test]
fn a_model_is_shown_chosen_and_checked() {
    let home = fresh();
    home.run(["model"])
        .succeeds()
        .prints("Model:    (not set)\nProvider: (not set)\n")
        .says_part("no model provider is configured");
    home.run(["model", "some/model", "--provider", "nosuch"])
        .refuses(1, "no such provider: `nosuch`");
    assert!(!home.has("config.yaml"));
    home.run(["config", "set", "OPENROUTER_API_KEY", "sk-or-1234567890"])
        .succeeds();
    home.run(["model", "some/model", "--provider", "openrouter"])
        .succeeds()
        .prints("Model:    some/model\nProvider: openrouter\n")
        .says("");
    assert_eq!(
        home.run(["model", "--json"]).json()["host"],
        "openrouter.ai"
    );
    home.run(["model", ""]).exits(2);
    home.run(["model", "--list"])
        .succeeds()
        .prints_part("✓ openrouter\n");
}

#[test]
fn manual_pages_are_made_of_the_commands() {
    let home = fresh();
    home.run(["man"]).succeeds().prints_part(".TH HERMES 1");
    home.run(["man", "kanban", "create"])
        .succeeds()
        .prints_part(".TH HERMES-KANBAN-CREATE 1")
        .prints_part("Title: what to do");
    home.run(["man", "kanban", "nosuch"])
        .exits(2)
        .says_part("no such command: hermes kanban nosuch");
    let dir = home.outside("man");
    home.run(["man", "--dir", dir.to_str().unwrap()]).succeeds();
    for page in [
        "hermes.1",
        "hermes-config-get.1",
        "hermes-kanban-boards-create.1",
    ] {
        assert!(dir.join(page).is_file(), "{page}");
    }
    assert!(!dir.join("hermes-internal.1").exists());
}

#[test]
fn names_of_this_machine_are_completed() {
    let home = fresh();
    home.run(["profile", "create", "coder"]).succeeds();
    let complete = |words: &[&str]| {
        let mut args = vec!["internal", "complete", "--"];
        args.extend(words);
        let found = home.run(args);
        found.succeeds().says("");
        found.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["-p", "co"]), ["coder"]);
    assert_eq!(complete(&["profile", "use", ""]), ["default", "coder"]);
    assert_eq!(
        complete(&["config", "get", "terminal.time"]),
        ["terminal.timeout"]
    );
    assert_eq!(complete(&["auth", "add", "deeps"]), ["deepseek"]);
    assert_eq!(complete(&["kanban", "show", ""]), [""; 0]);
    assert!(!home.has("kanban.db"));
    let card = home.run(["kanban", "create", "a card", "--json"]).json();
    let id = card["id"].as_str().unwrap();
    assert_eq!(complete(&["kanban", "show", "t_"]), [id]);
    assert_eq!(complete(&["chat", ""]), [""; 0]);
    assert_eq!(complete(&[]), [""; 0]);
}

#[test]
fn bash_completes_with_the_script() {
    let home = fresh();
    home.run(["profile", "create", "coder"]).succeeds();
    let script = home.run(["completion", "bash"]).succeeds().stdout.clone();
    let file = home.put_outside("hermes.bash", &script, 0o644);
    let bin = home.program().parent().unwrap().display().to_string();
    let complete = |words: &str| {
        let count = words.split(' ').count() - 1;
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c"])
            .arg(format!(
                "source {}; COMP_WORDS=({}); COMP_CWORD={count}; \
                 _hermes hermes \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
                 printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                file.display(),
                words,
            ))
            .env("HOME", home.user_home())
            .env("PATH", format!("{bin}:/usr/bin:/bin"))
            .env_remove("HERMES_HOME")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("hermes profile use co"), "coder\n");
    assert_eq!(complete("hermes config se"), "set\n");
}

#[test]
fn a_profile_is_described_by_a_model() {
    let answer = ScriptedAnswer::text("{\"description\": \"Reviews Rust code.\"}");
    let server = ModelServer::always(answer);
    let home = configured(&format!(
        "model: {{default: m, provider: custom, base_url: '{}'}}\n",
        server.base_url()
    ));
    home.run(["profile", "create", "coder"]).succeeds();
    home.put("profiles/coder/skills/dev/rust-review/SKILL.md", "x");
    home.run(["profile", "describe", "coder", "--auto"])
        .succeeds()
        .prints("✓ Described 'coder': Reviews Rust code.\n");
    let asked: Value = server.questions()[0].body.clone();
    assert!(asked.to_string().contains("Skills: rust-review"), "{asked}");
    home.run(["profile", "describe", "coder"])
        .prints("[auto] Reviews Rust code.\n");
    home.run(["profile", "describe", "coder", "--text", "mine"])
        .succeeds();
    home.run(["profile", "describe", "coder", "--auto"])
        .refuses(1, "'coder' already has a description");
    home.run(["profile", "describe", "--auto", "--all"])
        .succeeds()
        .prints_part("'coder' keeps its description\n")
        .prints_part("✓ Described 'default'");
    home.run(["profile", "describe", "--all"]).exits(2);
    let list = home.run(["profile", "list", "--json"]).json();
    assert_eq!(list["profiles"][1]["description"], json!("mine"));
}
