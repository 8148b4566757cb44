//! What it means that a goal is reached, in up to five parts.

use serde::{Deserialize, Serialize};

/// Optional details of a goal; parts that are empty do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GoalContract {
    /// What is true in the end.
    pub outcome: String,
    /// What proves it.
    pub verification: String,
    /// What must not change.
    pub constraints: String,
    /// What may be touched.
    pub boundaries: String,
    /// When to ask instead of going on.
    pub stop_when: String,
}

/// Words before a colon that begin a part, as people type them.
const WORDS: &[(&[&str], usize)] = &[
    (&["outcome", "goal", "done", "done when"], 0),
    (
        &["verification", "verify", "verified by", "evidence", "proof"],
        1,
    ),
    (
        &[
            "constraints",
            "constraint",
            "preserve",
            "must not",
            "do not change",
        ],
        2,
    ),
    (&["boundaries", "boundary", "scope", "allowed", "files"], 3),
    (
        &[
            "stop when",
            "stop_when",
            "blocked",
            "stop if blocked",
            "give up when",
        ],
        4,
    ),
];

impl GoalContract {
    /// Whether no part says anything.
    pub fn is_empty(&self) -> bool {
        self.parts().all(|(_, text)| text.trim().is_empty())
    }

    /// The parts with their names, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("Outcome", self.outcome.as_str()),
            ("Verification", &self.verification),
            ("Constraints", &self.constraints),
            ("Boundaries", &self.boundaries),
            ("Stop when", &self.stop_when),
        ]
        .into_iter()
    }

    /// The parts that say something, one to a line.
    pub(super) fn lines(&self) -> String {
        let said = self.parts().filter(|(_, text)| !text.trim().is_empty());
        let lines: Vec<String> = said
            .map(|(name, text)| format!("{name}: {}", text.trim()))
            .collect();
        lines.join("\n")
    }

    /// Splits a typed goal into its text and the lines that begin with the name of a part.
    pub fn parse(typed: &str) -> (String, Self) {
        let mut texts: [Vec<&str>; 5] = Default::default();
        let mut goal = Vec::new();
        let mut part = None;
        for line in typed.lines() {
            let (at, text) = match begins_part(line) {
                Some((found, rest)) => (Some(found), rest),
                None => (part, line.trim()),
            };
            part = at;
            match at.and_then(|at| texts.get_mut(at)) {
                Some(lines) => lines.push(text),
                None => goal.push(line),
            }
        }
        let [outcome, verification, constraints, boundaries, stop_when] =
            texts.map(|lines| lines.join(" ").trim().to_owned());
        let contract = Self {
            outcome,
            verification,
            constraints,
            boundaries,
            stop_when,
        };
        let goal = goal.join("\n").trim().to_owned();
        if goal.is_empty() && !contract.outcome.is_empty() {
            let goal = contract.outcome.clone();
            let outcome = String::new();
            return (
                goal,
                Self {
                    outcome,
                    ..contract
                },
            );
        }
        (goal, contract)
    }
}

fn begins_part(line: &str) -> Option<(usize, &str)> {
    let (word, rest) = line.split_once(':')?;
    let word = word.trim().to_ascii_lowercase();
    let found = WORDS
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()))?;
    Some((found.1, rest.trim()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parts_are_told_from_the_goal() {
        let typed = "Port the parser\nverify: cargo test passes\n  on both\nmust not: touch docs";
        let (goal, contract) = GoalContract::parse(typed);
        assert_eq!(goal, "Port the parser");
        assert_eq!(
            contract.lines(),
            "Verification: cargo test passes on both\nConstraints: touch docs"
        );
        let (goal, contract) = GoalContract::parse("Fix http: it hangs");
        assert_eq!(goal, "Fix http: it hangs");
        assert!(contract.is_empty());
        let (goal, contract) = GoalContract::parse("done when: all is green");
        assert_eq!((goal.as_str(), contract.is_empty()), ("all is green", true));
    }
}
