//! How much of a result goes into the conversation. What is too long is put into a file where the
//! session works, and the model gets the way there and a beginning; the session store keeps the
//! whole of it all the same.

use hermes_tools::{CallContext, keep_result, readable};

/// Most characters of one result, whatever the window.
const MOST_PER_RESULT: usize = 100_000;
/// Most characters of all results of one answer, whatever the window.
const MOST_PER_ANSWER: usize = 200_000;
/// A result may always be this long.
const LEAST_PER_RESULT: usize = 8_000;
/// The results of one answer may always be this long.
const LEAST_PER_ANSWER: usize = 16_000;
/// From this window on, the longest output of a command fits as it is.
const ROOMY_WINDOW: u64 = 64_000;
/// The longest output of a command, with its frame.
const COMMAND_OUTPUT: usize = 52_000;
/// Characters of a long result that the model sees at once.
const PREVIEW: usize = 1_500;
/// Characters of a token, roughly.
const CHARS_PER_TOKEN: u64 = 4;

/// Sizes that follow from the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most characters of one result.
    pub(crate) per_result: usize,
    /// Most characters of the results of one answer.
    pub(crate) per_answer: usize,
}

impl Limits {
    /// 15 and 30 percent of the window, within bounds.
    pub(crate) fn of_window(tokens: u64) -> Self {
        let share = |percent: u64| {
            let characters = tokens.saturating_mul(CHARS_PER_TOKEN) / 100;
            usize::try_from(characters.saturating_mul(percent)).unwrap_or(usize::MAX)
        };
        let least = if tokens >= ROOMY_WINDOW {
            COMMAND_OUTPUT
        } else {
            LEAST_PER_RESULT
        };
        Self {
            per_result: share(15).clamp(least, MOST_PER_RESULT),
            per_answer: share(30).clamp(LEAST_PER_ANSWER.max(least), MOST_PER_ANSWER),
        }
    }
}

/// One result on its way to the model.
pub(crate) struct Sized<'a> {
    /// Name of the tool.
    pub(crate) tool: &'a str,
    /// Id of the call.
    pub(crate) call: &'a str,
    /// The whole result.
    pub(crate) text: &'a str,
}

/// For each result what is sent instead of it; `None` where it goes as it is.
pub(crate) fn as_sent(
    results: &[Sized<'_>],
    limits: Limits,
    context: &CallContext,
) -> Vec<Option<String>> {
    let lengths: Vec<usize> = results
        .iter()
        .map(|result| result.text.chars().count())
        .collect();
    let moved = to_move(results, &lengths, limits);
    results
        .iter()
        .zip(lengths)
        .zip(moved)
        .map(|((result, length), moved)| moved.then(|| moved_away(result, length, context)))
        .collect()
}

/// Which results are too long, alone or together; of the latter the longest go first.
fn to_move(results: &[Sized<'_>], lengths: &[usize], limits: Limits) -> Vec<bool> {
    // A reading is bounded already; moving it would make the model read it again.
    let exempt = |tool: &str| tool == "read_file";
    let mut moved: Vec<bool> = results
        .iter()
        .zip(lengths)
        .map(|(result, length)| *length > limits.per_result && !exempt(result.tool))
        .collect();
    loop {
        let rest = lengths
            .iter()
            .zip(&moved)
            .map(|(length, moved)| if *moved { PREVIEW } else { *length });
        if rest.sum::<usize>() <= limits.per_answer {
            return moved;
        }
        let longest = (0..lengths.len())
            .filter(|at| moved.get(*at) == Some(&false))
            .filter(|at| lengths.get(*at).is_some_and(|length| *length > PREVIEW))
            .max_by_key(|at| lengths.get(*at));
        match longest.and_then(|at| moved.get_mut(at)) {
            Some(one) => *one = true,
            None => return moved,
        }
    }
}

fn moved_away(result: &Sized<'_>, length: usize, context: &CallContext) -> String {
    let text = readable(result.text);
    let preview: String = text.chars().take(PREVIEW).collect();
    let where_it_is = match keep_result(result.call, &text, context) {
        Ok(path) => format!(
            "The whole of it is in {} ({} lines; long ones are folded): read the parts you need with \
             read_file, or find them with search_files.",
            path.display(),
            text.lines().count()
        ),
        Err(error) => format!("It could not be kept in a file: {error}"),
    };
    format!(
        "<persisted-output>\nThis result has {length} characters, too many for the conversation. \
         {where_it_is}\nIt begins:\n{preview}\n</persisted-output>"
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn limits_follow_the_window_within_bounds() {
        let of = |tokens| {
            let limits = Limits::of_window(tokens);
            (limits.per_result, limits.per_answer)
        };
        assert_eq!(of(4_000), (8_000, 16_000));
        assert_eq!(of(32_000), (19_200, 38_400));
        assert_eq!(of(64_000), (52_000, 76_800));
        assert_eq!(of(1_000_000), (100_000, 200_000));
        assert_eq!(of(u64::MAX), (100_000, 200_000));
    }

    #[test]
    fn the_longest_results_leave_first() {
        let texts = ["a".repeat(60_000), "b".repeat(90_000), "c".repeat(70_000)];
        let results: Vec<Sized<'_>> = texts
            .iter()
            .map(|text| Sized {
                tool: "terminal",
                call: "c",
                text,
            })
            .collect();
        let lengths = [60_000, 90_000, 70_000];
        let limits = Limits {
            per_result: 100_000,
            per_answer: 140_000,
        };
        assert_eq!(to_move(&results, &lengths, limits), [false, true, false]);
        let tight = Limits {
            per_result: 65_000,
            per_answer: 20_000,
        };
        assert_eq!(to_move(&results, &lengths, tight), [true, true, true]);
        let reading = [Sized {
            tool: "read_file",
            call: "c",
            text: &texts[1],
        }];
        let one = Limits {
            per_result: 65_000,
            per_answer: 140_000,
        };
        assert_eq!(to_move(&reading, &[90_000], one), [false]);
    }
}
