use pretty_assertions::assert_eq;

use super::*;

const LIMITS: PasteLimits = PasteLimits {
    lines: 5,
    characters: 2_000,
};

fn typed(text: &str) -> Composer {
    let mut composer = Composer::default();
    composer.insert(text);
    composer
}

fn shown(composer: &Composer, width: usize) -> (Vec<String>, (u16, u16)) {
    let sign = Span::from("> ".to_owned());
    let blank = Span::from("  ".to_owned());
    let (rows, cursor) = composer.rows(width, Palette::plain_theme(true), &sign, &blank);
    let rows = rows.iter().map(ToString::to_string).collect();
    (rows, (cursor.row, cursor.column))
}

#[test]
fn editing_moves_by_graphemes() {
    let mut composer = typed("ae\u{301}日");
    composer.left();
    composer.backspace();
    assert_eq!(composer.text(), "a日");
    composer.delete();
    assert_eq!(composer.text(), "a");
    composer.delete();
    composer.backspace();
    composer.backspace();
    assert_eq!(composer.text(), "");
}

#[test]
fn words_and_lines_are_cut_and_put_back() {
    let mut composer = typed("one two\nthree four");
    composer.cut_word_before();
    assert_eq!(composer.text(), "one two\nthree ");
    composer.put_back();
    composer.home();
    composer.cut_to_end();
    assert_eq!(composer.text(), "one two\n");
    composer.put_back();
    composer.cut_to_start();
    assert_eq!(composer.text(), "one two\n");
    composer.left();
    composer.word_left();
    assert_eq!(composer.before(), "one ");
    composer.cut_word_after();
    assert_eq!(composer.text(), "one \n");
}

#[test]
fn rows_wrap_and_the_cursor_follows() {
    let composer = typed("abcdef日本\nx");
    let (rows, cursor) = shown(&composer, 8);
    assert_eq!(rows, ["> abcdef", "  日本", "  x"]);
    assert_eq!(cursor, (2, 3));
    let (rows, cursor) = shown(&typed("abcdef"), 8);
    assert_eq!(
        (rows, cursor),
        (vec!["> abcdef".to_owned(), "  ".to_owned()], (1, 2))
    );
}

#[test]
fn vertical_moves_keep_the_column() {
    let mut composer = typed("abcdef\nxy\nlonger");
    assert!(composer.vertical(false, 20));
    assert_eq!(composer.before(), "abcdef\nxy");
    assert!(composer.vertical(false, 20));
    assert_eq!(composer.before(), "ab");
    assert!(!composer.vertical(false, 20));
    assert!(composer.vertical(true, 20));
    assert!(composer.vertical(true, 20));
    assert!(!composer.vertical(true, 20));
}

#[test]
fn large_paste_is_one_label_and_arrives_whole() {
    let big = "0123456789 line\n".repeat(131_072);
    let mut composer = typed("look: ");
    composer.paste(&big, LIMITS, Path::new("/"));
    composer.insert(" ok");
    let (rows, _) = shown(&composer, 80);
    assert_eq!(rows, ["> look: [pasted 2 MB, 131072 lines] ok"]);
    let sent = composer.take();
    assert_eq!(sent.text.len(), big.len() + 9);
    assert!(sent.text.starts_with("look: 0123") && sent.text.ends_with("line\n ok"));
    assert_eq!(sent.shown, "look: [pasted 2 MB, 131072 lines] ok");
    composer.paste(&big, LIMITS, Path::new("/"));
    composer.backspace();
    assert!(composer.is_empty());
}

#[test]
fn short_paste_is_text() {
    let mut composer = typed("");
    composer.paste("a\r\nb\u{F0000}", LIMITS, Path::new("/"));
    assert_eq!(composer.take().text, "a\nb\u{fffd}");
}

#[test]
fn path_of_an_image_becomes_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my photo.PNG");
    hermes_fs::write_atomic(&path, b"x", 0o600).unwrap();
    let mut composer = typed("see ");
    let escaped = path.display().to_string().replace(' ', "\\ ");
    composer.paste(&escaped, LIMITS, Path::new("/"));
    let sent = composer.take();
    assert_eq!(sent.images, [path]);
    assert_eq!(
        (sent.text.as_str(), sent.shown.as_str()),
        ("see ", "see [image my photo.PNG]")
    );
    hermes_fs::write_atomic(&directory.path().join("b.jpg"), b"x", 0o600).unwrap();
    let mut composer = typed("see b.jpg");
    assert!(composer.attach_path_before(directory.path()));
    assert_eq!(composer.take().shown, "see [image b.jpg]");
    assert!(!typed("see c.jpg").attach_path_before(directory.path()));
}
