//! A cron expression: five fields, or six of which the last counts seconds, as the reference has it.
//!
//! What the reference accepts and the parser does not, such as a range over midnight (`22-2`), is
//! written out before; names of days and months become numbers, so that both read what is stored.

use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct CronPattern {
    expression: String,
    cron: Box<Cron>,
}

impl PartialEq for CronPattern {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression
    }
}

/// A field of an expression.
struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    /// Names of the values from `least` on.
    names: &'static [&'static str],
}

const FIELDS: [Field; 6] = [
    Field::new("minute", 0, 59, &[]),
    Field::new("hour", 0, 23, &[]),
    Field::new("day of the month", 1, 31, &[]),
    Field::new(
        "month",
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    Field::new(
        "day of the week",
        0,
        7,
        &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ),
    Field::new("second", 0, 59, &[]),
];

impl CronPattern {
    /// Parses an expression; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !(5..=6).contains(&words.len()) {
            return Err(format!("it has {} fields instead of 5 or 6", words.len()));
        }
        let mut expression = Vec::new();
        let mut written_out = Vec::new();
        for (word, field) in words.iter().zip(&FIELDS) {
            let word = field.without_names(word)?;
            written_out.push(field.written_out(&word)?);
            expression.push(word);
        }
        // The parser has seconds first.
        if written_out.len() == 6 {
            written_out.rotate_right(1);
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let cron = parser
            .parse(&written_out.join(" "))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            expression: expression.join(" "),
            cron: Box::new(cron),
        })
    }

    /// The expression as it is stored.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The first matching moment after this one.
    pub(crate) fn next_after(&self, moment: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let start = moment.to_zoned(zone.clone());
        // No match within the years the parser searches.
        let next = self.cron.find_next_occurrence(&start, false).ok()?;
        Some(next.timestamp()).filter(|next| *next > moment)
    }
}

impl Field {
    const fn new(
        name: &'static str,
        least: u32,
        most: u32,
        names: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            least,
            most,
            names,
        }
    }

    /// The field with numbers instead of names.
    fn without_names(&self, word: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut letters = String::new();
        // One more character, so that the last name ends as well.
        for character in word.chars().chain([' ']) {
            if character.is_ascii_alphabetic() {
                letters.push(character.to_ascii_lowercase());
                continue;
            }
            if !letters.is_empty() {
                let names = self.names.iter();
                let number = names.zip(self.least..).find(|(name, _)| {
                    letters == **name || letters.len() > 3 && letters.starts_with(*name)
                });
                let (_, number) = number.ok_or_else(|| format!("{letters} is no {}", self.name))?;
                out.push_str(&number.to_string());
                letters.clear();
            }
            match character {
                ' ' => {}
                '0'..='9' | '*' | ',' | '-' | '/' => out.push(character),
                other => return Err(format!("'{other}' has no meaning in it")),
            }
        }
        Ok(out)
    }

    /// The field without what the parser does not know: steps from a single number, and ranges that
    /// go past the end of the field and on from its beginning.
    fn written_out(&self, word: &str) -> Result<String, String> {
        let mut parts = Vec::new();
        for part in word.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(self.step(step)?)),
                None => (part, None),
            };
            if range == "*" {
                // A step past the end of the field leaves its first value.
                parts.push(match step {
                    Some(step) if step > self.most => self.least.to_string(),
                    Some(step) => format!("*/{step}"),
                    None => "*".to_owned(),
                });
                continue;
            }
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (self.number(first)?, self.number(last)?),
                None => {
                    let number = self.number(range)?;
                    (number, if step.is_some() { self.most } else { number })
                }
            };
            let step = step.unwrap_or(1);
            parts.extend(self.values(first, last, step));
        }
        Ok(parts.join(","))
    }

    /// The numbers of a range, which may go past the end of the field.
    fn values(&self, first: u32, last: u32, step: u32) -> Vec<String> {
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        let range: Vec<u32> = if first <= last {
            (first..=last).collect()
        } else {
            // Sunday is there twice.
            let most = if self.most == 7 { 6 } else { self.most };
            (first..=most).chain(self.least..=last).collect()
        };
        let values = range.into_iter().step_by(step);
        values.map(|value| value.to_string()).collect()
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let number: Option<u32> = text.parse().ok();
        number
            .filter(|number| (self.least..=self.most).contains(number))
            .ok_or_else(|| {
                let shown: String = text.chars().take(20).collect();
                format!(
                    "'{shown}' is no {} ({} to {})",
                    self.name, self.least, self.most
                )
            })
    }

    fn step(&self, text: &str) -> Result<u32, String> {
        let step: Option<u32> = text.parse().ok();
        step.filter(|step| *step > 0).ok_or_else(|| {
            let shown: String = text.chars().take(20).collect();
            format!("'{shown}' is no step for the {}", self.name)
        })
    }
}
