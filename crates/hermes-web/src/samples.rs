//! What the status page has measured, for its sparklines.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Values behind a sparkline.
const MOST_SAMPLES: usize = 100;
/// Two looks within this many seconds are one sample.
const LEAST_APART: i64 = 2;

/// What the machine used while somebody looked. Nothing is measured for nobody.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    taken: Mutex<VecDeque<Sample>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Seconds of the clock.
    pub(crate) at: i64,
    /// Share of the memory in use.
    pub(crate) memory: f64,
    pub(crate) load: f64,
    pub(crate) workers: f64,
}

impl Samples {
    /// Adds a sample and gives those of the last minutes.
    pub(crate) fn add(&self, sample: Sample) -> Vec<Sample> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = taken
            .back()
            .is_none_or(|last| sample.at - last.at >= LEAST_APART);
        if is_news {
            taken.push_back(sample);
        }
        while taken.len() > MOST_SAMPLES {
            taken.pop_front();
        }
        taken.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn samples_are_bounded_and_apart() {
        let samples = Samples::default();
        let sample = |at| Sample {
            at,
            memory: 0.5,
            load: 0.0,
            workers: 0.0,
        };
        assert_eq!(samples.add(sample(0)).len(), 1);
        assert_eq!(samples.add(sample(1)).len(), 1);
        for at in 0..300 {
            samples.add(sample(at * 2));
        }
        assert_eq!(samples.add(sample(900)).len(), MOST_SAMPLES);
    }
}
