use pretty_assertions::assert_eq;

use super::*;

fn decoded(pieces: &[&[u8]]) -> Vec<Input> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut out);
    }
    decoder.settle(&mut out);
    out
}

fn key(key: Key) -> Input {
    Input::Key(key, Mods::NONE)
}

#[test]
fn common_keys_are_known() {
    let shift = Mods {
        shift: true,
        ..Mods::NONE
    };
    for (bytes, expected) in [
        (&b"a"[..], key(Key::Char('a'))),
        ("é".as_bytes(), key(Key::Char('é'))),
        ("日".as_bytes(), key(Key::Char('日'))),
        (b"\r", key(Key::Enter)),
        (b"\x1b[A", key(Key::Up)),
        (b"\x1bOB", key(Key::Down)),
        (b"\x1b[1;5C", Input::Key(Key::Right, Mods::CTRL)),
        (b"\x1b[3~", key(Key::Delete)),
        (b"\x1b[Z", key(Key::BackTab)),
        (b"\x03", Input::Key(Key::Char('c'), Mods::CTRL)),
        (b"\x1f", Input::Key(Key::Char('_'), Mods::CTRL)),
        (b"\x1b[99;5u", Input::Key(Key::Char('c'), Mods::CTRL)),
        (b"\x1b[13;2u", Input::Key(Key::Enter, shift)),
        (b"\x1b[27;2;13~", Input::Key(Key::Enter, shift)),
        (b"\x1b[27u", key(Key::Escape)),
        (b"\x1bf", Input::Key(Key::Char('f'), Mods::ALT)),
        (b"\x1b\r", Input::Key(Key::Enter, Mods::ALT)),
        (b"\x1b", key(Key::Escape)),
        (b"\xff", key(Key::Char('\u{fffd}'))),
    ] {
        assert_eq!(decoded(&[bytes]), vec![expected.clone()], "{bytes:?}");
        // The same byte by byte, except that a lone escape is then followed by something.
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decoded(&single), [expected], "{bytes:?} in pieces");
    }
}

#[test]
fn two_escapes_are_two_keys() {
    assert_eq!(
        decoded(&[b"\x1b\x1b"]),
        [key(Key::Escape), key(Key::Escape)]
    );
}

#[test]
fn paste_arrives_whole_in_any_pieces() {
    let mut bytes = PASTE_START.to_vec();
    bytes.extend_from_slice("one\r\ntwo\x1b[31m\rdrei ü".as_bytes());
    bytes.extend_from_slice(PASTE_END);
    bytes.push(b'x');
    let expected = [
        Input::Paste("one\ntwo\x1b[31m\ndrei ü".to_owned()),
        key(Key::Char('x')),
    ];
    for size in 1..=bytes.len() {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        assert_eq!(decoded(&pieces), expected, "pieces of {size}");
    }
}

#[test]
fn reports_and_broken_sequences_are_no_text() {
    assert_eq!(decoded(&[b"\x1b[I\x1b[O"]), []);
    assert_eq!(decoded(&[b"\x1b[?62;c"]), []);
    assert_eq!(decoded(&[b"\x1b[12;"]), []);
    let long = [b"\x1b[".as_slice(), &[b'1'; 100], b"a"].concat();
    assert_eq!(decoded(&[&long]), []);
}
