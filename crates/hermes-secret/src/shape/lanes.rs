//! An automaton over a long text, in several places at once.
//!
//! One step of an automaton has to wait for the one before it; steps in different parts of the text
//! do not. Each lane reads its own part and begins a little before it, so that what lies across the
//! border of two lanes is found by the second.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, PatternID};

pub(super) const LANES: usize = 4;

/// Where a pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) pattern: usize,
    /// Hits of one lane come in order, those of different lanes do not.
    pub(super) lane: usize,
}

/// Calls `found` for every occurrence of every pattern, overlapping ones included.
pub(super) fn find(automaton: &DFA, bytes: &[u8], found: &mut impl FnMut(Hit)) {
    let Ok(start) = automaton.start_state(Anchored::No) else {
        return;
    };
    let reader = Reader { automaton, start };
    let length = bytes.len() / LANES;
    let part = |lane: usize| {
        bytes
            .get(lane * length..(lane + 1) * length)
            .unwrap_or_default()
    };
    let mut states: [StateID; LANES] =
        std::array::from_fn(|lane| reader.state_before(bytes, lane * length));
    let [mut a, mut b, mut c, mut d] = states;
    let steps = part(0).iter().zip(part(1)).zip(part(2)).zip(part(3));
    for (at, (((one, two), three), four)) in steps.enumerate() {
        a = automaton.next_state(Anchored::No, a, *one);
        b = automaton.next_state(Anchored::No, b, *two);
        c = automaton.next_state(Anchored::No, c, *three);
        d = automaton.next_state(Anchored::No, d, *four);
        let special = automaton.is_special(a)
            | automaton.is_special(b)
            | automaton.is_special(c)
            | automaton.is_special(d);
        if special {
            for (lane, state) in [a, b, c, d].into_iter().enumerate() {
                reader.report(state, lane * length + at + 1, lane, found);
            }
        }
    }
    states = [a, b, c, d];
    // What does not divide evenly belongs to the last lane.
    let rest = LANES * length;
    let mut state = states.last().copied().unwrap_or(start);
    for (at, byte) in bytes.get(rest..).unwrap_or_default().iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, *byte);
        reader.report(state, rest + at + 1, LANES - 1, found);
    }
}

struct Reader<'a> {
    automaton: &'a DFA,
    start: StateID,
}

impl Reader<'_> {
    /// The state in which a reader of the whole text would arrive here, as far as it matters: what it
    /// remembers is never longer than the longest pattern.
    fn state_before(&self, bytes: &[u8], place: usize) -> StateID {
        let lead = self.automaton.max_pattern_len();
        let before = bytes
            .get(place.saturating_sub(lead)..place)
            .unwrap_or_default();
        before.iter().fold(self.start, |state, byte| {
            self.automaton.next_state(Anchored::No, state, *byte)
        })
    }

    fn report(&self, state: StateID, end: usize, lane: usize, found: &mut impl FnMut(Hit)) {
        if !self.automaton.is_match(state) {
            return;
        }
        for index in 0..self.automaton.match_len(state) {
            let pattern: PatternID = self.automaton.match_pattern(state, index);
            found(Hit {
                start: end - self.automaton.pattern_len(pattern),
                end,
                pattern: pattern.as_usize(),
                lane,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    use super::*;

    const PATTERNS: [&str; 6] = ["ab", "abc", "bca", "c", "aabca", "+1"];

    proptest! {
        #[test]
        fn everything_is_found_wherever_the_lanes_part(text in "[abc+1 ]{0,80}") {
            let plain = AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(PATTERNS)
                .unwrap();
            let mut expected: Vec<(usize, usize, usize)> = plain
                .find_overlapping_iter(&text)
                .map(|hit| (hit.start(), hit.end(), hit.pattern().as_usize()))
                .collect();
            expected.sort_unstable();
            let automaton = DFA::new(PATTERNS).unwrap();
            let mut hits = Vec::new();
            find(&automaton, text.as_bytes(), &mut |hit| {
                hits.push((hit.start, hit.end, hit.pattern));
            });
            hits.sort_unstable();
            prop_assert_eq!(hits, expected);
        }
    }
}
