//! Decides line by line what is shown. A line without a stamp shares the verdict of its record.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::query::LogQuery;
use crate::record_head::{LogTime, RecordHead};

/// A query made ready, and the verdict on the record being read.
#[derive(Debug, Clone)]
pub(super) struct LineFilter {
    query: LogQuery,
    since: Option<LogTime>,
    verdict: bool,
}

impl LineFilter {
    pub(super) fn new(query: &LogQuery, now: Timestamp, zone: &TimeZone) -> Self {
        let since = query.since.map(|age| {
            let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
            let start = now.checked_sub(age).unwrap_or(Timestamp::MIN);
            LogTime::new(start, zone)
        });
        Self {
            query: query.clone(),
            since,
            // The record that the first lines continue is unknown, and so not known to be wanted.
            verdict: query.is_unfiltered(),
        }
    }

    /// Since when records are wanted.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since.map(|moment| moment.timestamp())
    }

    pub(super) fn accepts(&mut self, line: &str) -> bool {
        if !self.query.is_unfiltered()
            && let Some(head) = RecordHead::parse(line)
        {
            self.verdict = self.judge(&head, line);
        }
        self.verdict
    }

    fn judge(&self, head: &RecordHead<'_>, line: &str) -> bool {
        let LogQuery {
            level,
            session,
            component,
            ..
        } = &self.query;
        level.is_none_or(|least| head.level.is_some_and(|level| level >= least))
            && component.is_none_or(|part| head.logger.is_some_and(|logger| part.owns(logger)))
            && session
                .as_ref()
                .is_none_or(|session| line.contains(session))
            && self.since.is_none_or(|since| !head.is_before(&since))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{Component, Level};

    const LOG: &str = "\
left over from an older file
2026-11-02 10:00:00,000 INFO [tg:1] agent.turn: one
  more of one
2026-11-02 11:00:00,000 ERROR gateway.run: two
Traceback
2026-11-02 12:00:00,000 WARNING [tg:2] tools.files: three
2026-11-02T12:30:00+0000 profile=x action=started
";

    fn shown(query: &LogQuery) -> Vec<&'static str> {
        let now = "2026-11-02T12:45:00Z".parse().unwrap();
        let mut filter = LineFilter::new(query, now, &TimeZone::UTC);
        LOG.lines().filter(|line| filter.accepts(line)).collect()
    }

    fn numbers(query: &LogQuery) -> Vec<usize> {
        let shown = shown(query);
        let lines = LOG.lines().enumerate();
        lines
            .filter(|(_, line)| shown.contains(line))
            .map(|(number, _)| number)
            .collect()
    }

    #[test]
    fn continuation_lines_share_the_verdict_of_their_record() {
        assert_eq!(numbers(&LogQuery::default()), [0, 1, 2, 3, 4, 5, 6]);
        let level = LogQuery {
            level: Some(Level::Warning),
            ..LogQuery::default()
        };
        assert_eq!(numbers(&level), [3, 4, 5]);
        let session = LogQuery {
            session: Some("tg:1".to_owned()),
            ..LogQuery::default()
        };
        assert_eq!(numbers(&session), [1, 2]);
        let component = LogQuery {
            component: Some(Component::Gateway),
            ..LogQuery::default()
        };
        assert_eq!(numbers(&component), [3, 4]);
        let since = LogQuery {
            since: Some(Duration::from_hours(1)),
            ..LogQuery::default()
        };
        assert_eq!(numbers(&since), [5, 6]);
        let both = LogQuery {
            level: Some(Level::Error),
            component: Some(Component::Tools),
            ..LogQuery::default()
        };
        assert_eq!(numbers(&both), Vec::<usize>::new());
    }
}
