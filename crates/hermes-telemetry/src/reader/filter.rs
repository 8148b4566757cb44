//! Decides line by line what is shown. A line without a stamp shares the verdict of its record.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::query::Query;
use crate::head::{Head, Moment};
use crate::{Component, Level};

/// A query made ready, and the verdict on the record being read.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    level: Option<Level>,
    session: Option<String>,
    component: Option<Component>,
    since: Option<Moment>,
    unfiltered: bool,
    verdict: bool,
}

impl Filter {
    pub(super) fn new(query: &Query, now: Timestamp, zone: &TimeZone) -> Self {
        let since = query.since.map(|age| {
            let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
            let start = now.checked_sub(age).unwrap_or(Timestamp::MIN);
            Moment::new(start, zone)
        });
        let unfiltered = query.is_unfiltered();
        Self {
            level: query.level,
            session: query.session.clone(),
            component: query.component,
            since,
            unfiltered,
            // The record that the first lines continue is unknown, and so not known to be wanted.
            verdict: unfiltered,
        }
    }

    /// Whether every line is wanted.
    pub(super) fn is_unfiltered(&self) -> bool {
        self.unfiltered
    }

    /// Since when records are wanted.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since.map(|moment| moment.timestamp())
    }

    pub(super) fn accepts(&mut self, line: &str) -> bool {
        if self.unfiltered {
            return true;
        }
        if let Some(head) = Head::parse(line) {
            self.verdict = self.judge(&head, line);
        }
        self.verdict
    }

    fn judge(&self, head: &Head<'_>, line: &str) -> bool {
        let level = self
            .level
            .is_none_or(|least| head.level.is_some_and(|level| level >= least));
        let component = self
            .component
            .is_none_or(|component| head.logger.is_some_and(|logger| component.owns(logger)));
        let session = self
            .session
            .as_ref()
            .is_none_or(|session| line.contains(session.as_str()));
        let recent = self.since.is_none_or(|since| !head.is_before(&since));
        level && component && session && recent
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;

    const LOG: &str = "\
left over from an older file
2026-11-02 10:00:00,000 INFO [tg:1] agent.turn: one
  more of one
2026-11-02 11:00:00,000 ERROR gateway.run: two
Traceback
2026-11-02 12:00:00,000 WARNING [tg:2] tools.files: three
2026-11-02T12:30:00+0000 profile=x action=started
";

    fn shown(query: &Query) -> Vec<&'static str> {
        let now = "2026-11-02T12:45:00Z".parse().unwrap();
        let mut filter = Filter::new(query, now, &TimeZone::UTC);
        LOG.lines().filter(|line| filter.accepts(line)).collect()
    }

    fn numbers(query: &Query) -> Vec<usize> {
        let shown = shown(query);
        let lines = LOG.lines().enumerate();
        lines
            .filter(|(_, line)| shown.contains(line))
            .map(|(number, _)| number)
            .collect()
    }

    #[test]
    fn continuation_lines_share_the_verdict_of_their_record() {
        assert_eq!(numbers(&Query::default()), [0, 1, 2, 3, 4, 5, 6]);
        let level = Query {
            level: Some(Level::Warning),
            ..Query::default()
        };
        assert_eq!(numbers(&level), [3, 4, 5]);
        let session = Query {
            session: Some("tg:1".to_owned()),
            ..Query::default()
        };
        assert_eq!(numbers(&session), [1, 2]);
        let component = Query {
            component: Some(Component::Gateway),
            ..Query::default()
        };
        assert_eq!(numbers(&component), [3, 4]);
        let since = Query {
            since: Some(Duration::from_hours(1)),
            ..Query::default()
        };
        assert_eq!(numbers(&since), [5, 6]);
        let both = Query {
            level: Some(Level::Error),
            component: Some(Component::Tools),
            ..Query::default()
        };
        assert_eq!(numbers(&both), Vec::<usize>::new());
    }
}
