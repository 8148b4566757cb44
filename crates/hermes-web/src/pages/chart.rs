//! Charts as SVG, drawn here: no library, no script, colours by class.

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 54.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 8.0;

/// One day: its label, and the parts that are stacked.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<f64>,
}

/// Stacked bars over days. Only numbers and dates go in; labels are escaped all the same.
pub(super) fn bars(name: &str, bars: &[Bar], classes: &[&str], unit: fn(f64) -> String) -> String {
    let most = bars.iter().map(|bar| bar.parts.iter().sum::<f64>());
    let most = most.fold(0.0_f64, f64::max);
    let top = nice(most);
    let height = HEIGHT - TOP - BOTTOM;
    #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let width = (step * 0.7).clamp(1.0, 26.0);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escaped(name)
    );
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let y = TOP + height * (1.0 - share);
        let label = escaped(&unit(top * share));
        append(
            &mut svg,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
            ),
        );
    }
    let every = (bars.len() / 8).max(1);
    for (index, bar) in bars.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
        let x = LEFT + step * index as f64;
        let mut y = TOP + height;
        let said: Vec<String> = bar.parts.iter().map(|part| unit(*part)).collect();
        append(
            &mut svg,
            format_args!(
                "<g><title>{}: {}</title>",
                escaped(&bar.label),
                escaped(&said.join(" + "))
            ),
        );
        for (part, class) in bar.parts.iter().zip(classes) {
            let tall = if top > 0.0 { height * part / top } else { 0.0 };
            y -= tall;
            append(
                &mut svg,
                format_args!(
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>",
                    x + (step - width) / 2.0,
                    width
                ),
            );
        }
        svg.push_str("</g>");
        if index % every == 0 {
            append(
                &mut svg,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    x + step / 2.0,
                    HEIGHT - 6.0,
                    escaped(bar.label.get(5..).unwrap_or(&bar.label))
                ),
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// A line of the last values, and the area under it, in a box of 100 by 30.
pub(super) struct Spark {
    pub(super) line: String,
    pub(super) area: String,
}

pub(super) fn spark(values: &[f64], ceiling: Option<f64>) -> Option<Spark> {
    if values.len() < 2 {
        return None;
    }
    let most = ceiling.unwrap_or_else(|| values.iter().copied().fold(0.0, f64::max));
    let most = if most > 0.0 { most } else { 1.0 };
    let mut line = String::new();
    #[expect(clippy::cast_precision_loss, reason = "at most some hundred values")]
    let step = 100.0 / (values.len() - 1) as f64;
    for (index, value) in values.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "at most some hundred values")]
        let x = step * index as f64;
        let y = 28.0 - 26.0 * (value / most).clamp(0.0, 1.0);
        let verb = if index == 0 { 'M' } else { 'L' };
        append(&mut line, format_args!("{verb}{x:.1} {y:.1}"));
    }
    let area = format!("{line}L100 30L0 30Z");
    Some(Spark { line, area })
}

/// The next number that is easy to read.
fn nice(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 4.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|top| *top >= most)
        .unwrap_or(most)
}

fn append(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.push_str(&what.to_string());
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_chart_names_its_values_and_escapes_labels() {
        let drawn = bars(
            "Tokens <b>",
            &[Bar {
                label: "2026-11-17".to_owned(),
                parts: vec![3.0, 1.0],
            }],
            &["in", "out"],
            |value| format!("{value:.0}"),
        );
        assert!(
            drawn.contains("<title>2026-11-17: 3 + 1</title>"),
            "{drawn}"
        );
        assert!(drawn.contains("Tokens &lt;b&gt;"), "{drawn}");
        assert!(!drawn.contains("<b>"), "{drawn}");
    }

    #[test]
    fn a_spark_needs_two_values_and_stays_in_its_box() {
        assert!(spark(&[1.0], None).is_none());
        let drawn = spark(&[0.0, 50.0, 400.0], Some(100.0)).map(|spark| spark.line);
        assert_eq!(drawn.as_deref(), Some("M0.0 28.0L50.0 15.0L100.0 2.0"));
    }

    #[test]
    fn scales_end_at_round_numbers() {
        for (most, top) in [(0.0, "1"), (37.0, "40"), (1_001.0, "2000")] {
            assert_eq!(nice(most).to_string(), top);
        }
    }
}
