use pretty_assertions::assert_eq;

use super::*;

const SHORT: Duration = Duration::from_millis(200);

/// What is read when somebody writes this and waits.
fn read_of(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    writer.write_all(bytes).unwrap();
    read_line(&reader, SHORT)
}

#[test]
fn a_line_is_read_to_its_end() {
    assert_eq!(read_of(b"register coder\n"), Ok(b"register coder".to_vec()));
    assert_eq!(
        read_of(b"register coder\nmore"),
        Ok(b"register coder".to_vec())
    );
}

#[test]
fn a_message_that_never_ends_is_given_up() {
    let begun = Instant::now();
    let said = read_of(b"register co");
    assert_eq!(said, Err("the message did not end in time".to_owned()));
    assert!(begun.elapsed() < SHORT * 10);
}

#[test]
fn a_message_that_drips_is_given_up_too() {
    let (writer, reader) = UnixStream::pair().unwrap();
    let dripping = std::thread::spawn(move || {
        let mut writer = writer;
        while writer.write_all(b"x").is_ok() {
            std::thread::sleep(SHORT / 10);
        }
    });
    let said = read_line(&reader, SHORT);
    assert_eq!(said, Err("the message did not end in time".to_owned()));
    drop(reader);
    dripping.join().unwrap();
}

#[test]
fn a_message_without_measure_is_refused() {
    let said = read_of(&vec![b'x'; LONGEST + 1]);
    assert_eq!(said, Err("the message is too long".to_owned()));
    let said = read_of(&[vec![b'x'; LONGEST + 1], vec![b'\n']].concat());
    assert_eq!(said, Err("the message is too long".to_owned()));
}

#[test]
fn a_message_that_breaks_off_is_refused() {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    writer.write_all(b"register").unwrap();
    drop(writer);
    let said = read_line(&reader, SHORT);
    assert_eq!(said, Err("the message broke off".to_owned()));
}
