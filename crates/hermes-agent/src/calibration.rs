//! Corrects estimated token counts by those of the provider.

/// Larger ratios have other causes than a different tokenizer.
const MAX_RATIO: f64 = 4.0;

/// The ratio of real to estimated tokens in the latest response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calibration {
    ratio: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { ratio: 1.0 }
    }
}

impl Calibration {
    /// Learns from a response.
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below what a float holds exactly"
    )]
    pub(crate) fn learn(&mut self, estimated: u64, real: u64) {
        if estimated > 0 && real > 0 {
            self.ratio = (real as f64 / estimated as f64).clamp(1.0 / MAX_RATIO, MAX_RATIO);
        }
    }

    /// The corrected estimate.
    pub(crate) fn correct(self, estimated: u64) -> u64 {
        share(estimated, self.ratio)
    }
}

/// A part of a number of tokens.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "token counts are far below what a float holds exactly, parts are positive"
)]
pub(crate) fn share(tokens: u64, part: f64) -> u64 {
    (tokens as f64 * part) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_the_counts_of_the_provider() {
        let mut calibration = Calibration::default();
        assert_eq!(calibration.correct(1_000), 1_000);
        calibration.learn(1_000, 500);
        assert_eq!(calibration.correct(1_000), 500);
        calibration.learn(1_000, 0);
        assert_eq!(calibration.correct(1_000), 500);
        calibration.learn(10, 1_000_000);
        assert_eq!(calibration.correct(1_000), 4_000);
    }
}
