//! Styles as the sequences that terminals know.

use ratatui::style::{Color, Modifier, Style};

/// Appends the sequence that sets exactly this style.
pub(super) fn set(out: &mut Vec<u8>, style: Style) {
    out.extend_from_slice(b"\x1b[0");
    let modifiers = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
        (Modifier::CROSSED_OUT, 9),
    ];
    for (modifier, code) in modifiers {
        if style.add_modifier.contains(modifier) {
            out.extend_from_slice(format!(";{code}").as_bytes());
        }
    }
    for (colour, base) in [(style.fg, 30), (style.bg, 40)] {
        match colour {
            Some(Color::Rgb(red, green, blue)) => {
                let code = format!(";{};2;{red};{green};{blue}", base + 8);
                out.extend_from_slice(code.as_bytes());
            }
            Some(Color::Indexed(index)) => {
                out.extend_from_slice(format!(";{};5;{index}", base + 8).as_bytes());
            }
            Some(colour) => {
                if let Some(code) = number(colour, base) {
                    out.extend_from_slice(format!(";{code}").as_bytes());
                }
            }
            None => {}
        }
    }
    out.push(b'm');
}

/// The sixteen colours of the palette.
fn number(colour: Color, base: u8) -> Option<u8> {
    let code = match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    };
    Some(base + code)
}
