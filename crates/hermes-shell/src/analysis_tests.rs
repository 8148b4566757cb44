//! What is found in command lines of all sorts.

use pretty_assertions::assert_eq;

use super::*;

fn rendered(command: &str) -> Vec<String> {
    let analysis = Analysis::of(command);
    analysis
        .script
        .commands
        .iter()
        .filter(|command| !command.words.is_empty())
        .map(|command| command.render(false))
        .collect()
}

#[test]
fn commands_are_found_in_every_position() {
    for (text, expected) in [
        ("rm -rf /", "rm -rf /"),
        ("a; (rm x)", "rm x"),
        ("a && { b || rm x; }", "rm x"),
        ("if a; then rm x; fi", "rm x"),
        ("while a; do rm x; done", "rm x"),
        ("case y in a) rm x;; esac", "rm x"),
        ("f() { rm x; }", "rm x"),
        ("echo \"$(rm x)\"", "rm x"),
        ("echo `rm x`", "rm x"),
        ("echo `echo \\`rm x\\``", "rm x"),
        ("echo $(( $(rm x) ))", "rm x"),
        ("[[ $(rm x) == y ]]", "rm x"),
        ("diff <(rm x) y", "rm x"),
        ("export A=$(rm x)", "rm x"),
        ("A=$(rm x)", "rm x"),
        ("cat <<E\n$(rm x)\nE", "rm x"),
        ("cat <<E && rm x\ny\nE", "rm x"),
        ("cat <<E\n`rm x`\nE", "rm x"),
        ("cat <<E\na $y `rm x` b\nE", "rm x"),
        ("cat <<E\n'`rm x`'\nE", "rm x"),
        ("cat <<E\n`echo \\`rm x\\``\nE", "rm x"),
        ("cat <<-E\n\t`rm x`\n\tE", "rm x"),
        ("cat <<E | wc\n`rm x`\nE", "rm x"),
        ("{ cat; } <<E\n`rm x`\nE", "rm x"),
        ("if a; then cat <<E\n`rm x`\nE\nfi", "rm x"),
        ("f() { cat <<E\n`rm x`\nE\n}", "rm x"),
        // The grammar does not fit these; the tolerant reader finds it.
        ("cat <<E ) ( |\n`rm x`\nE", "rm x"),
        ("cat <<E ) ( |\n$(rm x)\nE", "rm x"),
        ("cat > $(rm x)", "rm x"),
        ("! rm x", "rm x"),
        (">f rm x", "rm x"),
        ("rm x &", "rm x"),
        ("rm \\\n x", "rm x"),
        ("r\\\nm x", "rm x"),
        ("coproc n { rm x; }", "rm x"),
        ("then rm x", "rm x"),
        ("unbalanced ( rm x", "rm x"),
        ("rm x; echo 'open", "rm x"),
    ] {
        let found = rendered(text);
        assert!(
            found.iter().any(|c| c == expected),
            "{text:?} gave {found:?}"
        );
    }
}

#[test]
fn words_have_quotes_and_expansions_resolved() {
    for (text, expected) in [
        ("r\\m x", "rm x"),
        ("'r'm x", "rm x"),
        ("r''m x", "rm x"),
        ("\"rm\" x", "rm x"),
        ("$'\\x72m' x", "rm x"),
        ("$'r\\155' x", "rm x"),
        ("rm${IFS}x", "rm x"),
        ("rm$IFS'x'", "rm x"),
        ("rm${IFS%??}x", "rm x"),
        ("$(echo rm) x", "rm x"),
        ("`echo rm` x", "rm x"),
        ("$(printf %s rm) x", "rm x"),
        ("$(printf 'r%s' m) x", "rm x"),
        ("$(which rm) x", "rm x"),
        ("a=rm; $a x", "rm x"),
        ("a=rm b=x; $a ${b}", "rm x"),
        ("a=(rm x); \"${a[@]}\"", "rm x"),
        ("for i in x y; do rm \"$i\"; done", "rm x y"),
        ("{rm,x}", "rm x"),
        ("rm {a,b}/c", "rm a/c b/c"),
        ("rm \"$HOME\"", "rm ~"),
        ("rm ${HOME:?}/x", "rm ~/x"),
        ("rm '$HOME'", "rm $HOME"),
        ("rm \"~\"", "rm ./~"),
        ("rm ${X:-/}", "rm /"),
        ("rm ${PATH:0:1}", "rm /"),
        ("rm 'a b'\"c\"", "rm a bc"),
        ("a=xm; ${a/x/r} x", "rm x"),
        ("a=rmx; ${a%x} x", "rm x"),
        ("a=xrm; ${a#x} x", "rm x"),
        ("a=bin/rm; ${a##*/} x", "rm x"),
        ("a=rm/y/z; ${a%%/*} x", "rm x"),
        ("a=RM; ${a,,} x", "rm x"),
        ("a=RM; \"${a@L}\" x", "rm x"),
        ("a=r-m; ${a//-} x", "rm x"),
        ("a=xm b=x; ${a/$b/r} x", "rm x"),
        ("a=ry b=y; ${a%${b}}m x", "rm x"),
        ("a=(xm xm); rm ${a[@]/m/}", "rm x x"),
        ("a=rm b=a; ${!b} x", "rm x"),
        ("rm ${a/x/y}", "rm ${a/x/y}"),
    ] {
        let found = rendered(text);
        assert!(
            found.iter().any(|c| c == expected),
            "{text:?} gave {found:?}"
        );
    }
}

#[test]
fn shell_payloads_are_followed() {
    for (text, expected) in [
        ("sh -c 'rm x'", "rm x"),
        ("bash -lc 'rm x'", "rm x"),
        ("bash -o pipefail -c 'rm x'", "rm x"),
        ("bash -c \"bash -c 'rm x'\"", "rm x"),
        ("eval rm x", "rm x"),
        ("eval 'rm' 'x'", "rm x"),
        ("sudo -u root rm x", "rm x"),
        ("sudo -nu root A=1 rm x", "rm x"),
        ("sudo --us root rm x", "rm x"),
        ("env --uns Y rm x", "rm x"),
        ("timeout --sig KILL 5 rm x", "rm x"),
        ("su root --comm 'rm x'", "rm x"),
        ("su root --session-command='rm x'", "rm x"),
        ("env --split='rm x'", "rm x"),
        ("bash <<E\necho $USER\nrm x\nE", "rm x"),
        ("bash <<E\n\\`echo rm\\` x\nE", "rm x"),
        ("bash <<E\n\\rm x\nE", "rm x"),
        ("bash <<E\necho \\\"$A\nrm x\nE", "rm x"),
        ("cat <<E | bash\necho $USER\nrm x\nE", "rm x"),
        ("echo \"$A; rm x\" | sh", "rm x"),
        ("env -u Y A=1 rm x", "rm x"),
        ("timeout -k 5 10 rm x", "rm x"),
        ("nice -n 5 nohup rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("command rm x", "rm x"),
        ("exec -a n rm x", "rm x"),
        ("busybox rm x", "rm x"),
        ("find . -exec rm x \\;", "rm x"),
        ("find . -execdir rm x {} +", "rm x {}"),
        ("ls | xargs -n 1 rm x", "rm x"),
        ("echo x | xargs rm", "rm x"),
        ("echo rm x | sh", "rm x"),
        ("printf 'rm x\\n' | sudo bash", "rm x"),
        ("bash <<'E'\nrm x\nE", "rm x"),
        ("cat <<'E' | bash\nrm x\nE", "rm x"),
        ("bash <<< 'rm x'", "rm x"),
        ("(bash) <<< 'rm x'", "rm x"),
        ("trap 'rm x' EXIT", "rm x"),
        ("alias l='rm x'", "rm x"),
        ("ssh -p 22 host rm x", "rm x"),
        ("docker exec -u 0 c rm x", "rm x"),
        ("rg --pre 'rm x' y", "rm x"),
        ("env -S 'rm x'", "rm x"),
        ("su root -c 'rm x'", "rm x"),
        ("uv run --with a rm x", "rm x"),
        ("git -c alias.z='!rm x' z", "rm x"),
    ] {
        let found = rendered(text);
        assert!(
            found.iter().any(|c| c == expected),
            "{text:?} gave {found:?}"
        );
    }
}

#[test]
fn data_is_not_read_as_commands() {
    for text in [
        "echo 'rm x'",
        "echo \"rm x\"",
        "git commit -m 'rm x'",
        "cat <<'E'\nrm x\n$(rm x)\nE",
        "cat <<'E'\n`rm x`\nE",
        "cat <<\\E\n`rm x`\nE",
        "cat <<E\n\\`rm x\\`\nE",
        "echo a # ; rm x",
        "command -v rm x",
        "echo a\\; rm x",
        "grep 'a|rm x' f",
    ] {
        let found = rendered(text);
        assert!(
            !found.iter().any(|c| c == "rm x"),
            "{text:?} gave {found:?}"
        );
        assert!(!Analysis::of(text).script.incomplete, "{text:?}");
    }
}

#[test]
fn background_ampersand_is_distinguished_from_others() {
    for (text, expected) in [
        ("sleep 1 &", true),
        ("sleep 1 & wait", true),
        ("(sleep 1 &)", true),
        ("a && b", false),
        ("a &> f", false),
        ("a 2>&1", false),
        ("curl 'x?a=1&b=2'", false),
        ("cat <<E\na & b\nE", false),
        ("cat <<E &\na\nE", true),
        ("echo $((1 & 2))", false),
        ("bash -c 'sleep 20 & echo started'", false),
        ("[[ a & b ]]", false),
        ("echo a \\& b", false),
    ] {
        assert_eq!(Analysis::of(text).script.background, expected, "{text:?}");
    }
}

#[test]
fn spans_point_into_the_source() {
    let text = "A=1 env sudo id && s\\udo -n x";
    let analysis = Analysis::of(text);
    let spans: Vec<&str> = analysis
        .script
        .commands
        .iter()
        .filter(|command| command.name() == "sudo")
        .filter_map(|command| text.get(command.words.first()?.span.clone()?))
        .collect();
    assert_eq!(spans, ["s\\udo", "sudo"]);
}

#[test]
fn non_ascii_characters_are_plain_word_characters() {
    for (text, expected) in [
        ("{\u{e8904}; rm x", "rm x"),
        ("f(){{\u{65fb2} l; rm x", "rm x"),
        ("${\u{ee5eb}!f}; rm x", "rm x"),
        ("cat <<\u{e9}\n\u{e9}\nrm x", "rm x"),
        ("rm \u{e9}\u{4e2d}", "rm \u{e9}\u{4e2d}"),
        (
            "rm '\u{1f600}'\"\u{e9}\"$'\\u4e2d'",
            "rm \u{1f600}\u{e9}\u{4e2d}",
        ),
    ] {
        let found = rendered(text);
        assert!(
            found.iter().any(|c| c == expected),
            "{text:?} gave {found:?}"
        );
    }
}

#[test]
fn doubling_variables_stop_at_the_budget() {
    let mut text = "a=xxxxxxxxxxxxxxxx;".to_owned();
    for _ in 0..200 {
        text.push_str("a=$a$a;");
    }
    text.push_str(&"echo $a;".repeat(5000));
    drop(Analysis::of(&text));
}

#[test]
fn long_and_deep_texts_are_parsed_in_bounded_time() {
    for text in [
        "a&&".repeat(42_000),
        "(".repeat(100_000),
        "$(".repeat(60_000),
        "${a:-".repeat(20_000),
        "x=([".repeat(30_000),
        "a() ".repeat(30_000),
        "<<a ".repeat(30_000),
        "{a,{a,".repeat(20_000),
        "{a,b}".repeat(25_000),
        "sudo ".repeat(25_000),
        "sh|".repeat(40_000),
        "sh|sh;".repeat(20_000),
        "`\"".repeat(60_000),
        "[[ ( ".repeat(25_000),
        "\"$(".repeat(40_000),
        "if ".repeat(40_000),
        "eval ".repeat(25_000),
        "a=b;$a ".repeat(18_000),
        format!("a={};", "x".repeat(120)) + &"${a//x*y/z} ".repeat(10_000),
        "cat <<E\n$(".repeat(12_000),
        "cat <<E\n`x`\nE\n".repeat(9_000),
        "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}; ".repeat(3_000),
    ] {
        let started = std::time::Instant::now();
        drop(Analysis::of(&text));
        let shown: String = text.chars().take(12).collect();
        // Far above what a debug build on a busy machine needs, far below anything quadratic.
        assert!(
            started.elapsed().as_secs() < 15,
            "{shown}: {:?}",
            started.elapsed()
        );
    }
}

/// A shell that was left with something by earlier commands.
struct Session;

impl KnownShell for Session {
    fn directory(&self) -> Option<String> {
        Some("/srv/app".to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "TARGET").then(|| "/etc".to_owned())
    }

    fn alias(&self, name: &str) -> Option<String> {
        match name {
            "wipe" => Some("rm -rf".to_owned()),
            "ls" => Some("ls --color".to_owned()),
            _ => None,
        }
    }

    fn function(&self, name: &str) -> Option<String> {
        match name {
            "drop" => Some("drop () \n{ \n    rm -rf \"$1\"\n}\ndeclare -fx drop\n".to_owned()),
            "again" => Some("again () \n{ \n    again \"$@\"\n}\n".to_owned()),
            _ => None,
        }
    }
}

#[test]
fn what_the_shell_already_knows_is_filled_in() {
    for (text, expected) in [
        ("rm -rf $TARGET", "rm -rf /etc"),
        ("TARGET=x; rm -rf $TARGET", "rm -rf x"),
        ("read TARGET < f; rm -rf $TARGET", "rm -rf $TARGET"),
        ("wipe /", "rm -rf /"),
        ("wipe 'a b'", "rm -rf a b"),
        ("ls x", "ls --color x"),
        ("drop /", "rm -rf /"),
        ("sudo drop y", "rm -rf y"),
        ("drop() { echo $1; }; drop /", "echo /"),
        ("again x", "again x"),
        ("rm \"$PWD\"", "rm /srv/app"),
    ] {
        let analysis = Analysis::within(text, &Session);
        let found: Vec<String> = analysis
            .script
            .commands
            .iter()
            .map(|command| command.render(false))
            .collect();
        assert!(
            found.iter().any(|command| command == expected),
            "{text:?} gave {found:?}"
        );
    }
    let shadowed = Analysis::within("drop() { echo $1; }; drop /", &Session);
    let mut commands = shadowed.script.commands.iter();
    assert!(!commands.any(|command| command.name() == "rm"));
}

#[test]
fn commands_know_the_directory_they_run_in() {
    for (text, expected) in [
        ("rm x", Some("/srv/app")),
        ("cd /; rm x", Some("/")),
        ("cd y && rm x", Some("/srv/app/y")),
        ("cd ~/.ssh; rm x", Some("~/.ssh")),
        ("cd; rm x", Some("~")),
        ("cd $X; rm x", None),
        ("cd -; rm x", None),
        ("(cd /; ls); rm x", Some("/srv/app")),
        ("(cd /; rm x)", Some("/")),
        ("echo $(cd /); rm x", Some("/srv/app")),
        ("f() { cd /; }; rm x", Some("/srv/app")),
        ("cd /; bash -c 'rm x'", Some("/")),
        ("bash -c 'cd /'; rm x", Some("/srv/app")),
    ] {
        let analysis = Analysis::within(text, &Session);
        let mut commands = analysis.script.commands.iter();
        let removal = commands.find(|command| command.name() == "rm" && !command.lexical);
        let cwd = removal.and_then(|command| command.cwd.as_deref());
        assert_eq!(cwd, expected, "{text}");
    }
}

#[test]
fn parameters_of_calls_are_filled_in() {
    for (text, expected) in [
        ("set -- a b; rm \"$@\"", "rm a b"),
        ("set -e; set a b; shift; rm $1", "rm b"),
        ("f() { rm \"$1\"; }; f x", "rm x"),
        ("f() { \"$@\"; }; f rm x", "rm x"),
        ("f() { g y \"$1\"; }; g() { rm $2; }; f x", "rm x"),
        ("f() { rm ${@:2}; }; f a x", "rm x"),
        ("bash -c 'rm $1' _ x", "rm x"),
        ("printf -v d %s x; rm $d", "rm x"),
        ("read -r a d <<< 'y x'; rm $d", "rm x"),
        ("while read d; do rm $d; done <<< x", "rm x"),
        ("mapfile -t a <<< x; rm \"${a[@]}\"", "rm x"),
        ("alias w='rm'\nw x", "rm x"),
        ("hash -p /bin/rm w; w x", "/bin/rm x"),
        ("IFS=_; a=rm_x; $a", "rm x"),
        ("echo 'rm x' > s; sh s", "rm x"),
        ("cat > s.sh <<'E'\nrm x\nE\nbash ./s.sh", "rm x"),
        ("echo 'rm x' | xargs -I% sh -c %", "rm x"),
        ("sh <(echo rm x)", "rm x"),
        ("sh < <(echo rm x)", "rm x"),
    ] {
        let found = rendered(text);
        assert!(
            found.iter().any(|c| c == expected),
            "{text:?} gave {found:?}"
        );
    }
}

#[test]
fn copied_descriptors_are_neither_words_nor_commands() {
    for text in [
        "a -x 2>&1 | b",
        "a -x >&2 | b",
        "a -x 2>&- | b",
        "a -x <&3 | b",
    ] {
        assert_eq!(rendered(text), ["a -x", "b"], "{text}");
    }
    // A file is one, and what is behind it is no other command's.
    assert_eq!(rendered("a >&f x"), ["a x", "a f x"]);
}

/// The grammar joins what follows three commands with pipes between them to the last of these.
#[test]
fn what_follows_a_long_pipeline_is_no_part_of_it() {
    let read = |text: &str| -> Vec<_> {
        let script = Analysis::of(text).script;
        let commands = script.commands.iter();
        commands
            .map(|command| {
                let cwd = command.cwd.clone();
                (command.render(false), command.pipe, cwd, command.background)
            })
            .collect()
    };
    for text in [
        "a $(x) | b | c && rm -rf .",
        "a $x | b | c || rm x && rm y",
        "a $x | b | c || d | e | f && rm x",
        "a $x | b | c | d | e && cd /etc && rm -rf .",
        "a $(x) | b | c\ncd /etc && rm -rf .",
        "a $(x) | b | c # no end\n# none\n\n  cd /etc && rm -rf .",
        "a $(x) | b | c d \\\n e\ncd /etc && rm -rf . || rm x",
        "{ a $x | b | c && cd /etc; }; rm x",
        "( a $x | b | c\n cd /etc && rm -rf . ); rm x",
        "! a $x |& b |& c && rm x",
        "x=$(a | b | c && rm x)",
        "a $x | b | c && rm x > f",
        "a $x | b | { c && d; } && rm x",
        "a $x | b | while read l; do c && d; done && rm x",
        "f() { a $x | b | c && cd /etc; }; f; rm x",
    ] {
        // What ends with a semicolon is read rightly; those in braces are none of ours.
        let mut ended = text.replace(" c && ", " c ; ").replace(" c || ", " c ; ");
        ended = ended.replace(" e && ", " e ; ").replace(" f && ", " f ; ");
        ended = ended.replace(" c\n", " c ;\n").replace(" c #", " c ; #");
        ended = ended
            .replace(" e\n", " e ;\n")
            .replace("done && ", "done ; ");
        ended = ended.replace("} && ", "} ; ");
        assert_ne!(ended, text);
        assert_eq!(read(text), read(&ended), "{text:?}");
        let commands = read(text);
        let last = commands.iter().rfind(|(shown, ..)| shown.starts_with("rm"));
        let (_, pipe, ..) = last.unwrap();
        assert_eq!(*pipe, None, "{text:?}");
    }
}
