//! One command's output on its way to the result.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_secret::Redactor;

use super::ansi::AnsiStripper;
use super::capture::BoundedText;
use super::decode::Utf8Decoder;
use super::live::LiveOutput;
use super::spill::Spill;
use super::truncate::{cut, truncate};

/// While reading, this many times the shown length is kept.
const KEPT_SHARE: usize = 4;

/// How an output is treated.
#[derive(Debug, Clone)]
pub struct CollectorOptions {
    /// Characters shown at most.
    pub most: usize,
    /// Where the whole goes if it does not fit; `None` keeps no file.
    pub full_output: Option<PathBuf>,
    pub redactor: Arc<Redactor>,
}

/// Takes bytes as they come.
#[derive(Debug)]
pub struct Collector {
    options: CollectorOptions,
    decoder: Utf8Decoder,
    stripper: AnsiStripper,
    sink: Sink,
}

#[derive(Debug)]
struct Sink {
    text: BoundedText,
    /// The beginning, until it is known whether a file is needed.
    early: String,
    spill: Option<Spill>,
    wants_spill: bool,
    /// Somebody watches the output as it comes.
    live: Option<Arc<LiveOutput>>,
}

/// What a result shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The text, redacted and cut.
    pub text: String,
    pub full_output: Option<PathBuf>,
}

impl Collector {
    /// Begins with nothing.
    pub fn new(options: CollectorOptions) -> Self {
        let sink = Sink {
            text: BoundedText::new(options.most.saturating_mul(KEPT_SHARE)),
            early: String::new(),
            spill: None,
            wants_spill: options.full_output.is_some(),
            live: None,
        };
        Self {
            options,
            decoder: Utf8Decoder::default(),
            stripper: AnsiStripper::default(),
            sink,
        }
    }

    /// Shows the end of the output there as it comes.
    pub(crate) fn watched_by(mut self, live: Arc<LiveOutput>) -> Self {
        self.sink.live = Some(live);
        self
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self {
            options,
            decoder,
            stripper,
            sink,
        } = self;
        decoder.feed(bytes, &mut |text| {
            stripper.feed(text, &mut |text| sink.push(text, options));
        });
    }

    /// Gives the text for a result.
    pub fn finish(mut self) -> Collected {
        let Self {
            options,
            decoder,
            stripper,
            sink,
        } = &mut self;
        decoder.finish(&mut |text| {
            stripper.feed(text, &mut |text| sink.push(text, options));
        });
        stripper.finish(&mut |text| sink.push(text, options));
        let full_output = self.sink.spill.take().and_then(|spill| {
            spill
                .finish()
                .inspect_err(|error| tracing::warn!(%error, "the full output was not kept"))
                .ok()
        });
        let kept = self.sink.text.finish();
        let redactor = &self.options.redactor;
        let most = self.options.most;
        // The two parts are one text as long as nothing lies between them.
        let text = if kept.omitted == 0 {
            let text = kept.head + &kept.tail;
            truncate(&redactor.redact(text.trim()), most)
        } else {
            let head = redactor.redact(kept.head.trim_start());
            let tail = redactor.redact(kept.tail.trim_end());
            cut(&head, &tail, kept.omitted, most).unwrap_or_else(|| format!("{head}{tail}"))
        };
        Collected { text, full_output }
    }
}

impl Sink {
    fn push(&mut self, text: &str, options: &CollectorOptions) {
        self.text.push(text);
        if let Some(live) = &self.live {
            live.push(text);
        }
        if !self.wants_spill {
            return;
        }
        if self.spill.is_none() {
            self.early.push_str(text);
            if self.text.total() <= options.most {
                return;
            }
            self.open_spill(options);
            return;
        }
        self.spill_out(text);
    }

    fn open_spill(&mut self, options: &CollectorOptions) {
        let early = std::mem::take(&mut self.early);
        let Some(path) = options.full_output.clone() else {
            return;
        };
        match Spill::create(path, Arc::clone(&options.redactor)) {
            Ok(spill) => {
                self.spill = Some(spill);
                self.spill_out(&early);
            }
            Err(error) => {
                tracing::warn!(%error, "the full output is not being kept");
                self.wants_spill = false;
            }
        }
    }

    fn spill_out(&mut self, text: &str) {
        if let Some(spill) = &mut self.spill
            && let Err(error) = spill.push(text)
        {
            // A full disk must not stop the command.
            tracing::warn!(%error, "the full output is not being kept");
            self.spill = None;
            self.wants_spill = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn collect(pieces: &[&[u8]], most: usize) -> Collected {
        let mut collector = Collector::new(CollectorOptions {
            most,
            full_output: None,
            redactor: Arc::new(Redactor::new(["correct-horse-battery"])),
        });
        for piece in pieces {
            collector.feed(piece);
        }
        collector.finish()
    }

    #[test]
    fn odd_bytes_colours_and_blanks_are_cleaned() {
        let collected = collect(
            &[b"\n\x1b[3", b"1mred\x1b[0m \xff\xe2\x82", b"\xac\0 \n\n"],
            100,
        );
        assert_eq!(collected.text, "red \u{fffd}€\0");
    }

    #[test]
    fn a_secret_across_the_cut_is_masked_before_the_cut() {
        for index in 0..60 {
            let text = format!(
                "{}correct-horse-battery{}",
                "x ".repeat(index),
                " y".repeat(60 - index)
            );
            let collected = collect(&[text.as_bytes()], 40);
            assert!(collected.text.contains("OUTPUT TRUNCATED"), "{index}");
            for part in ["correct", "horse", "battery", "orse", "atter"] {
                assert!(
                    !collected.text.contains(part),
                    "{index}: {}",
                    collected.text
                );
            }
        }
    }
}
