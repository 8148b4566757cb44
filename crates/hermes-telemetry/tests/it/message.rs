//! What the writers of these tests log.

/// The message of one line; its tail proves that the line is whole.
pub(crate) fn message(writer: usize, number: usize) -> String {
    let padding = "abcdefghijklmnopqrstuvwxyz";
    let length = number % 60;
    format!(
        "writer {writer} line {number} {} end{number}",
        padding.repeat(3).get(..length).unwrap()
    )
}
