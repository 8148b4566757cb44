//! What is read without the grammar is read as with it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command as Process, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngSeed, TestRunner};

use super::*;
use crate::known_shell::UnknownShell;
use crate::parse::{parse, with_line_end};
use crate::walk::Walker;

/// What later commands see of earlier ones.
fn left_behind(scope: &mut Scope<'_>) -> String {
    let aliases: BTreeMap<_, _> = scope.aliases.clone().into_iter().collect();
    let values =
        ["known", "other", "a", "b", "A", "x", "REPLY", "IFS"].map(|name| scope.value(name));
    format!(
        "{:?} {:?} {aliases:?} {values:?}",
        scope.cwd, scope.positional
    )
}

/// Both readings of a text, if it is plain, with what they leave behind.
fn both(text: &str, template: &Command) -> Option<(String, String)> {
    let source = with_line_end(text.to_owned());
    let (mut scope, mut script) = (Scope::new(&UnknownShell, 1 << 16), Script::default());
    scope.assign("known", &[Word::constant("two words")]);
    read(&source, &mut scope, &mut script, template).then_some(())?;
    let here = format!("{script:#?} {}", left_behind(&mut scope));

    let (mut scope, mut script) = (Scope::new(&UnknownShell, 1 << 16), Script::default());
    scope.assign("known", &[Word::constant("two words")]);
    let tree = parse(&source).expect("a short text");
    let mut walker = Walker {
        source: &source,
        scope: &mut scope,
        script: &mut script,
        template,
        backticks: Vec::new(),
        subshells: Vec::new(),
    };
    walker.walk(&tree);
    assert!(walker.backticks.is_empty(), "{text}");
    script.incomplete |= tree.root_node().has_error();
    let there = format!("{script:#?} {}", left_behind(&mut scope));
    Some((here, there))
}

/// The two readings of a text where it is plain, of a text that was given and of one that another
/// command carries.
fn readings(text: &str) -> [Option<(String, String)>; 2] {
    let inside = Command {
        pipe: Some(PipePosition {
            pipeline: 3,
            stage: 1,
        }),
        depth: 1,
        ..Command::default()
    };
    [Command::default(), inside].map(|template| both(text, &template))
}

/// Whether a text is plain; fails when the two readings differ.
#[track_caller]
fn reads_alike(text: &str) -> bool {
    let readings = readings(text);
    readings.iter().flatten().for_each(|(here, there)| {
        pretty_assertions::assert_eq!(here, there, "{text:?}");
    });
    readings.iter().all(Option::is_some)
}

#[test]
fn everyday_lines_need_no_grammar() {
    for text in [
        "ls -la",
        "git status && git diff --stat | head -50",
        "cd /home/u/work && FOO=1 cargo test -p x | grep -E 'test result|FAILED' | tail -20",
        "git log --since='2 weeks ago' --pretty=format:'%h' | awk '{print $1 \" \" $2}' > out/a.txt 2>&1",
        "make -j4; ./run --fast || echo \"failed in $PWD\"",
        "cp $known \"$known\" ~/x/*.c",
        "A= B=\"$known\" env\n\nls ''\n",
        "find . -name '*.rs' 2>/dev/null | xargs wc -l >> \"out file\" &> log",
        "wc < list > out",
        "cat > f; printf '%s' x",
    ] {
        assert!(reads_alike(text), "{text:?}");
    }
}

/// Texts with something that is left to the grammar.
const NOT_PLAIN: &[&str] = &[
    "",
    " ",
    "\n",
    "a &",
    "a & b",
    "a |",
    "a |& b",
    "a &&",
    "| a",
    "a ;; b",
    "if a; then b; fi",
    "a; fi",
    "export A=1",
    "A=1",
    "A=1 > f",
    "> f",
    "> f a",
    "a > f b",
    "a >",
    "a >&f",
    "a >& 1",
    "a 2>&-",
    "a <<E",
    "a <<<b",
    "a <(b)",
    "a$(b)",
    "`a`",
    "a \\ b",
    "\"a",
    "'a",
    "\"`a`\"",
    "\"$(a)\"",
    "$1",
    "$",
    "\"$\"",
    "${a}",
    "a {b,c}",
    "a [b]",
    "[ a ]",
    "! a",
    "a # b",
    "(a)",
    "f() { a; }",
    "a+=1 b",
    "a[1]=2 b",
    "1a=2 b",
    "é",
    "a\rb",
    "a == b",
    "a2>f",
    "a | b > f | c",
    "a && b > f | c",
    "a >f<g2>h",
    "\0",
    "a '\r'",
    "a '\0'",
    "a 12>f",
    "a 0<f",
    "a 2<f",
    "a 0>f",
    "a 3>&1",
    "a ''$known",
    "a $known$known",
    "a b~",
    "a 2>&10",
    "a > 2",
    "a@b",
    "a%b",
    "g++ x",
    "'a' b",
    "$a b",
    "if'' a",
    "- 2>&1",
    "a - 2>&1",
    "~/a",
    "a \"!\"`b`",
    "a $'b'",
    "a $\"b\"",
    "a b\\",
    "a b\\\nc",
    "[[ a ]]",
    "((a))",
    "a=(b) c",
    "a=1 then",
    "time a",
    "coproc a",
    "a ?(b)",
    "a | time b",
    "a | ! b",
    "a && cd b 2>&1 | c",
    "a >|f",
    "a <>f",
    "a >>(b)",
    "a {fd}>f",
];

#[test]
fn what_is_not_plain_is_left_to_the_grammar() {
    for &text in NOT_PLAIN {
        let source = with_line_end(text.to_owned());
        assert!(scan(&source).is_none(), "{text:?}");
    }
    assert!(scan(&"a\n".repeat(MAX_COMMANDS + 1)).is_none());
    assert!(scan(&"a".repeat(MAX_TEXT + 1)).is_none());
}

/// Pieces of commands, those that the reader takes and some that it must not.
fn piece() -> impl Strategy<Value = String> {
    let word = "[a-zA-Z0-9_./,:@%+=^~*?-]{1,8}";
    let any = "[ -~\t\n]{1,3}";
    prop_oneof![
        8 => word,
        1 => any,
        4 => Just(" ".to_owned()),
        2 => "'[ -&(-~\n]{0,6}'",
        2 => "\"[ -!#%-\\[\\]-_a-~\n]{0,6}\"",
        2 => prop::sample::select(vec!["$known", "$other", "\"$known x\"", "\"a$other\"", "A=1 ", "x=$known ", "a ", "\na-b "])
            .prop_map(str::to_owned),
        6 => prop::sample::select(vec![" | ", " && ", " || ", "; ", "\n", "|", ";", "&&"]).prop_map(str::to_owned),
        4 => prop::sample::select(vec![" > f", " 2>&1", " < g", " 2>/dev/null", " &> l", " >> \"h i\"", ">f", " 1>&2", "&>f", "2>f", ">&2", ">g "])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            "cd ", "cd /x", "alias a=b", "set a b", "shift ", "unalias a", "printf -v a b", "popd", "hash -p /b x", "command ", "then", "do", "in", "export ", "[", "!", "{", "}", "#", "$", "\\", "&",
            "(", ")", "time ", "test ", "let ", "eval ", "read a", "unset b", "=", "==", "=~", "-", "--", "2", "\t",
        ])
            .prop_map(str::to_owned),
    ]
}

/// A command that is plain but for rare words.
fn simple() -> impl Strategy<Value = String> {
    let owned =
        |words: &'static [&'static str]| prop::sample::select(words).prop_map(str::to_owned);
    let word = prop_oneof![
        6 => "[a-zA-Z0-9_./,:@%+^*?-][a-zA-Z0-9_./,:@%+=^*?-]{0,6}",
        2 => "'[ -&(-~\n]{0,6}'",
        2 => "\"[ -!#%-\\[\\]-_a-~\n]{0,6}\"",
        1 => "[a-z=/-]{0,3}'[ -&(-~]{0,3}'[a-z/*]{0,3}\"[a-z;|& ]{0,3}\"[a-z.]{0,2}",
        2 => owned(&["$known", "$other", "\"$known x\"", "\"a$other\"", "-o=$known/x", "$other.c", "~/x", "~", "/etc"]),
        1 => piece(),
    ];
    let program = prop_oneof![
        4 => "[a-z./_][a-z0-9./_-]{0,4}",
        2 => owned(&["cd", "rm", "sh", "set", "alias", "read", "eval", "test", "sudo", "A=1 env", "x=$known a", "B= C='d e' f"]),
    ];
    let redirects = owned(&[
        "",
        "",
        "",
        "",
        "",
        " > f",
        " 2>&1",
        " < g",
        " 2>/dev/null",
        " &> l",
        " >> \"h i\"",
        " >f 2>&1",
        " 1>&2",
        "&>f",
        " >&2",
    ]);
    let words = prop::collection::vec(word, 0..5);
    (program, words, redirects).prop_map(|(program, words, redirects)| {
        let words = [vec![program], words].concat().join(" ");
        format!("{words}{redirects}")
    })
}

fn line() -> impl Strategy<Value = String> {
    let joint = prop::sample::select(vec![
        " | ", " | ", "|", " && ", "&&", " || ", "||", "; ", ";", "\n", " ;\n\n ",
    ]);
    let commands = prop::collection::vec((simple(), joint), 0..6);
    prop_oneof![
        1 => prop::collection::vec(piece(), 1..14).prop_map(|pieces| pieces.concat()),
        3 => (commands, simple()).prop_map(|(commands, last)| {
            let commands = commands.iter().map(|(command, joint)| format!("{command}{joint}"));
            commands.chain([last]).collect()
        }),
    ]
}

/// Every line of three pieces that might be taken for something else, alone and as arguments.
#[test]
fn short_lines_are_read_as_the_grammar_reads_them() {
    let pieces = [
        "a", "B", "2", "0", "_", ".", "/", ",", ":", "@", "%", "+", "=", "^", "-", "~", "*", "?",
        " ", "\n", ";", "|", "&", "<", ">", "'", "\"", "$a", "''", "\"\"", "&&", "2>&1", "if", "{",
        "!", "[", "#", "\\", "(",
    ];
    let (mut plain, mut different) = (0_usize, Vec::new());
    for first in pieces {
        for second in pieces {
            for third in pieces {
                for text in [
                    format!("{first}{second}{third}"),
                    format!("a {first}{second}{third} b"),
                ] {
                    let readings = readings(&text);
                    plain += readings.iter().flatten().count();
                    if readings.iter().flatten().any(|(here, there)| here != there) {
                        different.push(text);
                    }
                }
            }
        }
    }
    assert_eq!(different, Vec::<String>::new());
    assert!(plain > 20_000, "{plain}");
}

/// Whether something follows three commands with pipes between them: `a | b | c && d` is `a | b |
/// { c && d; }` to the grammar. Such lines are compared with what bash says.
fn has_more_behind_a_long_pipeline(text: &str) -> bool {
    let source = with_line_end(text.to_owned());
    let commands = scan(&source).unwrap_or_default();
    let joints: Vec<Joint> = commands.iter().map(|(_, joint)| *joint).collect();
    let mut windows = joints.windows(4);
    windows.any(|four| {
        matches!(
            four,
            [Joint::Pipe, Joint::Pipe, Joint::List | Joint::End, _]
        )
    })
}

proptest! {
    // `PROPTEST_CASES` asks for more.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2048),
        rng_seed: RngSeed::Fixed(12),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn plain_lines_are_read_as_the_grammar_reads_them(text in line()) {
        if !has_more_behind_a_long_pipeline(&text) {
            reads_alike(&text);
        }
    }
}

/// A plain text as `declare -f` of bash prints the body of a function, with `&&` for `||` too.
fn as_bash_prints_it(source: &str) -> Option<String> {
    let text = |range: &Range<usize>| source.get(range.clone()).unwrap().to_owned();
    let commands = scan(source)?;
    let mut out = String::new();
    for (at, (simple, joint)) in commands.iter().enumerate() {
        let assignments = simple.assignments.iter();
        let assignments = assignments.map(|(name, value)| text(&(name.start..value.end)));
        let redirects = simple.redirects.iter().map(|(writes, target)| {
            let before = source
                .get(..target.start)
                .unwrap()
                .trim_end_matches([' ', '\t']);
            let words = before.trim_end_matches(['<', '>', '&']);
            let operator = before.get(words.len()..).unwrap();
            assert_eq!(*writes, operator != "<", "{source:?}");
            let number = match words.as_bytes().last() {
                Some(b'2') if operator.starts_with('>') && words.ends_with([' ', '\t', '2']) => "2",
                _ if operator == ">&" => "1",
                _ => "",
            };
            let blank = if operator == ">&" { "" } else { " " };
            format!("{number}{operator}{blank}{}", text(target))
        });
        let words = assignments
            .chain(simple.words.iter().map(text))
            .chain(redirects);
        out.push_str(&words.collect::<Vec<_>>().join(" "));
        match joint {
            Joint::Pipe => out.push_str(" | "),
            Joint::List => out.push_str(" && "),
            Joint::End if at + 1 < commands.len() => out.push_str(";\n    "),
            Joint::End => {}
        }
    }
    Some(out.replace("||", "&&"))
}

/// What bash makes of each text.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate starts nothing but here"
)]
fn printed_by_bash(texts: &[String]) -> Vec<String> {
    let script = "while IFS= read -r -d '' text; do\nunset -f f\neval \"f() {\n$text\n}\"\ndeclare -f f\nprintf '\\0'\ndone";
    // Restricted, should a text ever end the function it is put into.
    let mut bash = Process::new("bash")
        .args(["--norc", "--noprofile", "-r", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash");
    let mut input = bash.stdin.take().expect("its input");
    let sent: String = texts.iter().flat_map(|text| [text, "\0"]).collect();
    let writer = std::thread::spawn(move || input.write_all(sent.as_bytes()));
    let output = bash.wait_with_output().expect("bash ends");
    writer.join().expect("no panic").expect("all is read");
    let output = String::from_utf8(output.stdout).expect("text");
    output.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn plain_lines_are_taken_apart_as_bash_takes_them_apart() {
    let mut runner = TestRunner::deterministic();
    let lines = line();
    let sampled = (0..ProptestConfig::default().cases.max(3000)).map(|_| {
        let line = lines.new_tree(&mut runner).expect("a line");
        line.current()
    });
    // The grammar joins lines or pipelines in these.
    let misread = [
        "curl http://127.0.0.1/x | tac | sh\ncd /etc && rm -rf .",
        "curl x 2>/dev/null | tee f | bash || passwd root",
        "echo ez | tr a-z b-za | sh || pkill -9 hermes",
        "ls | grep -v '^\\.' | sort || rm --no-preserve-root -rf /",
    ];
    let (texts, expected): (Vec<_>, Vec<_>) = sampled
        .chain(misread.map(str::to_owned))
        .map(with_line_end)
        .filter_map(|text| as_bash_prints_it(&text).map(|expected| (text, expected)))
        .unzip();
    assert!(texts.len() > 1000, "{}", texts.len());
    let printed = printed_by_bash(&texts);
    assert_eq!(printed.len(), texts.len());
    for ((text, expected), printed) in texts.iter().zip(expected).zip(printed) {
        let body = printed
            .strip_prefix("f () \n{ \n    ")
            .and_then(|body| body.strip_suffix("\n}\n"))
            .unwrap_or(&printed);
        assert_eq!(body.replace("||", "&&"), expected, "{text:?}");
    }
}
