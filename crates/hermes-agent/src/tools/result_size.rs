//! Limits the size of results in the conversation. A result that is too long is saved to a file on
//! the backend, and the model gets its path and beginning; the session store has the whole result.

use hermes_tools::{CallContext, keep_result, readable};

use super::execute::ExecutedCall;

const MAX_PER_RESULT: usize = 100_000;
const MAX_PER_ANSWER: usize = 200_000;
const MIN_PER_RESULT: usize = 8_000;
const MIN_PER_ANSWER: usize = 16_000;
/// From this window on, the longest output of a command fits.
const LARGE_WINDOW: u64 = 64_000;
/// The longest output of a command as JSON.
const COMMAND_OUTPUT: usize = 52_000;
/// Characters shown of a long result.
const PREVIEW: usize = 1_500;
const CHARS_PER_TOKEN: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultLimits {
    pub(crate) per_result: usize,
    /// Maximum characters of the results of one answer.
    pub(crate) per_answer: usize,
}

impl ResultLimits {
    /// 15 and 30 percent of the window, within limits.
    pub(crate) fn of_window(tokens: u64) -> Self {
        let share = |percent: u64| {
            let characters = tokens.saturating_mul(CHARS_PER_TOKEN) / 100;
            usize::try_from(characters.saturating_mul(percent)).unwrap_or(usize::MAX)
        };
        let min = if tokens >= LARGE_WINDOW {
            COMMAND_OUTPUT
        } else {
            MIN_PER_RESULT
        };
        Self {
            per_result: share(15).clamp(min, MAX_PER_RESULT),
            per_answer: share(30).clamp(MIN_PER_ANSWER.max(min), MAX_PER_ANSWER),
        }
    }
}

/// For each result the text to send instead; `None` if it is sent unchanged.
pub(crate) fn as_sent(
    results: &[ExecutedCall],
    limits: ResultLimits,
    context: &CallContext,
) -> Vec<Option<String>> {
    let lengths: Vec<usize> = results
        .iter()
        .map(|result| result.text.chars().count())
        .collect();
    let tools: Vec<&str> = results.iter().map(|one| &*one.call.name).collect();
    let saved = to_save(&tools, &lengths, limits);
    results
        .iter()
        .zip(lengths)
        .zip(saved)
        .map(|((result, length), save)| save.then(|| saved_result(result, length, context)))
        .collect()
}

/// Which results are too long, alone or together; the longest are saved first.
fn to_save(tools: &[&str], lengths: &[usize], limits: ResultLimits) -> Vec<bool> {
    // File reads are limited already; the model would only read the file again.
    let mut saved: Vec<bool> = tools
        .iter()
        .zip(lengths)
        .map(|(tool, length)| *length > limits.per_result && *tool != "read_file")
        .collect();
    loop {
        let rest = lengths
            .iter()
            .zip(&saved)
            .map(|(length, saved)| if *saved { PREVIEW } else { *length });
        if rest.sum::<usize>() <= limits.per_answer {
            return saved;
        }
        let longest = (0..lengths.len())
            .filter(|at| saved.get(*at) == Some(&false))
            .filter(|at| lengths.get(*at).is_some_and(|length| *length > PREVIEW))
            .max_by_key(|at| lengths.get(*at));
        match longest.and_then(|at| saved.get_mut(at)) {
            Some(one) => *one = true,
            None => return saved,
        }
    }
}

fn saved_result(result: &ExecutedCall, length: usize, context: &CallContext) -> String {
    let text = readable(&result.text);
    let preview = hermes_text::cut(&text, PREVIEW);
    let location = match keep_result(&result.call.id, &text, context) {
        Ok(path) => format!(
            "The whole result is in {} ({} lines; long ones are folded): read the parts you need with \
             read_file, or find them with search_files.",
            path.display(),
            text.lines().count()
        ),
        Err(error) => format!("It could not be saved to a file: {error}"),
    };
    format!(
        "<persisted-output>\nThis result has {length} characters, too many for the conversation. \
         {location}\nIt begins:\n{preview}\n</persisted-output>"
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn limits_follow_the_window() {
        let of = |tokens| {
            let limits = ResultLimits::of_window(tokens);
            (limits.per_result, limits.per_answer)
        };
        assert_eq!(of(4_000), (8_000, 16_000));
        assert_eq!(of(32_000), (19_200, 38_400));
        assert_eq!(of(64_000), (52_000, 76_800));
        assert_eq!(of(1_000_000), (100_000, 200_000));
        assert_eq!(of(u64::MAX), (100_000, 200_000));
    }

    #[test]
    fn longest_results_are_saved_first() {
        let tools = ["terminal"; 3];
        let lengths = [60_000, 90_000, 70_000];
        let limits = ResultLimits {
            per_result: 100_000,
            per_answer: 140_000,
        };
        assert_eq!(to_save(&tools, &lengths, limits), [false, true, false]);
        let tight = ResultLimits {
            per_result: 65_000,
            per_answer: 20_000,
        };
        assert_eq!(to_save(&tools, &lengths, tight), [true, true, true]);
        let one = ResultLimits {
            per_result: 65_000,
            per_answer: 140_000,
        };
        assert_eq!(to_save(&["read_file"], &[90_000], one), [false]);
    }
}
