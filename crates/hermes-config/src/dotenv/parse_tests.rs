use super::*;
use pretty_assertions::assert_eq;

#[test]
fn lines_of_every_kind() {
    let text = "\
# comment
export A=1
B = two words   # note
C=\"q # not a comment \\\"x\\\"\\n\" # note
D='s \\n'
E=a#b
F=
not an assignment
G=\"multi
line\"
'1X'=quoted name
A=2
H=\"never closed
";
    let env = DotEnv::parse(text);
    assert_eq!(env.to_text(), text);
    let pairs: Vec<_> = env
        .names()
        .map(|name| (name, env.get(name).unwrap()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("A", "2"),
            ("B", "two words"),
            ("C", "q # not a comment \"x\"\n"),
            ("D", "s \\n"),
            ("E", "a#b"),
            ("F", ""),
            ("G", "multi\nline"),
            ("1X", "quoted name"),
            ("A", "2"),
        ]
    );
    assert_eq!(env.line_of("A"), Some(12));
}

#[test]
fn a_lone_carriage_return_ends_a_line() {
    let text = "A=1\rB=\"x\ry\"\r\rC=3\r\nD=4";
    let env = DotEnv::parse(text);
    assert_eq!(env.to_text(), text);
    let value = |name| env.get(name).unwrap();
    assert_eq!(["A", "B", "C", "D"].map(value), ["1", "x\ny", "3", "4"]);
    assert_eq!(env.line_of("D"), Some(6));
}

#[test]
fn encodings() {
    let le: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("A=é\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    assert_eq!(decode(&le).unwrap(), "A=é\n");
    assert_eq!(decode(b"\xef\xbb\xbfA=1").unwrap(), "A=1");
    assert_eq!(decode(b"A=\x001").unwrap(), "A=1");
    assert_eq!(decode(b"A=Stra\xdfe").unwrap(), "A=Straße");
    assert!(matches!(
        decode(&[0xff, 0xfe, 0, 0, 65, 0, 0, 0]),
        Err(DotEnvError::Encoding("UTF-32"))
    ));
    assert!(decode(&[0xff, 0xfe, 65]).is_err());
}
