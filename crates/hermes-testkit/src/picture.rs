//! A picture of a screen, as SVG: for pages that show what a person sees.

/// Pixels of a column and of a row.
const COLUMN: f64 = 8.4;
const ROW: u16 = 18;
const MARGIN: f64 = 16.0;
const BACKGROUND: &str = "#16181d";
const TEXT: &str = "#d5d9e0";
/// The sixteen colours of a usual theme.
const COLOURS: [&str; 16] = [
    "#16181d", "#ef6b73", "#8cc570", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d9e0",
    "#7d8590", "#ff7a85", "#a5e075", "#f0d197", "#6cbcff", "#de8cf2", "#67cdda", "#ffffff",
];

#[derive(Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an attribute of a cell"
)]
struct Look {
    colour: &'static str,
    fill: Option<&'static str>,
    bold: bool,
    italic: bool,
    dim: bool,
    underlined: bool,
}

/// The first rows of the screen, down to the last that is not blank.
pub fn picture(screen: &vt100::Screen) -> String {
    let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
    let filled = screen
        .rows(0, columns)
        .enumerate()
        .filter(|(_, row)| !row.trim().is_empty());
    let last = filled.map(|(index, _)| index).last().unwrap_or(0);
    let height = u16::try_from(last + 1).unwrap().min(rows);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{}\" \
         font-family=\"ui-monospace,Menlo,DejaVu Sans Mono,monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n",
        MARGIN.mul_add(2.0, f64::from(columns) * COLUMN),
        height * ROW + 28,
    );
    for row in 0..height {
        let mut run: Option<(u16, String, Look, u16)> = None;
        for column in 0..columns {
            let Some(cell) = screen.cell(row, column) else {
                continue;
            };
            if cell.is_wide_continuation() {
                if let Some((_, _, _, width)) = &mut run {
                    *width += 1;
                }
                continue;
            }
            let look = look(cell);
            let text = if cell.contents().is_empty() {
                " "
            } else {
                cell.contents()
            };
            match &mut run {
                Some((_, shown, known, width)) if *known == look => {
                    shown.push_str(text);
                    *width += 1;
                }
                _ => {
                    put(&mut out, row, run.take());
                    run = Some((column, text.to_owned(), look, 1));
                }
            }
        }
        put(&mut out, row, run.take());
    }
    out.push_str("</svg>\n");
    out
}

fn look(cell: &vt100::Cell) -> Look {
    let (front, back) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    let (colour, fill) = if cell.inverse() {
        (back.unwrap_or(BACKGROUND), Some(front.unwrap_or(TEXT)))
    } else {
        (front.unwrap_or(TEXT), back)
    };
    Look {
        colour,
        fill,
        bold: cell.bold(),
        italic: cell.italic(),
        dim: cell.dim(),
        underlined: cell.underline(),
    }
}

fn colour(colour: vt100::Color) -> Option<&'static str> {
    match colour {
        vt100::Color::Idx(index) => COLOURS.get(usize::from(index)).copied(),
        vt100::Color::Default | vt100::Color::Rgb(..) => None,
    }
}

fn put(out: &mut String, row: u16, run: Option<(u16, String, Look, u16)>) {
    let Some((column, text, look, width)) = run else {
        return;
    };
    let is_blank = text.trim().is_empty();
    if is_blank && look.fill.is_none() {
        return;
    }
    let left = f64::from(column).mul_add(COLUMN, MARGIN);
    let width = f64::from(width) * COLUMN;
    if let Some(fill) = look.fill {
        let top = 16 + row * ROW;
        out.push_str(&format!(
            "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{fill}\"/>\n"
        ));
    }
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut more = String::new();
    for (is_set, attribute) in [
        (look.bold, " font-weight=\"bold\""),
        (look.italic, " font-style=\"italic\""),
        (look.dim, " opacity=\"0.6\""),
        (look.underlined, " text-decoration=\"underline\""),
    ] {
        if is_set {
            more.push_str(attribute);
        }
    }
    let base = 30 + row * ROW;
    out.push_str(&format!(
        "<text x=\"{left:.1}\" y=\"{base}\" fill=\"{}\"{more} xml:space=\"preserve\" \
         textLength=\"{width:.1}\">{text}</text>\n",
        look.colour
    ));
}
