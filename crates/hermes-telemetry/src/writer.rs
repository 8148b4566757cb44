//! Which record goes into which file. Failures are counted, not reported.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::line::{self, LogRecord};
use crate::logger_name::is_gui_logger;
use crate::rotating::{RotatingFile, Rotation};
use crate::{Component, Level, LogMode, LogSettings};

const MIB: u64 = 1024 * 1024;

/// The log files of a home, from the writing side. Clones share them.
#[derive(Debug, Clone)]
pub struct LogWriter {
    shared: Arc<SharedFiles>,
}

#[derive(Debug)]
struct SharedFiles {
    settings: LogSettings,
    zone: OnceLock<TimeZone>,
    sinks: Vec<LogSink>,
    failed: AtomicU64,
    unredacted_reported: AtomicBool,
}

/// One file and what it takes.
#[derive(Debug)]
struct LogSink {
    least: Level,
    takes_logger: fn(&str) -> bool,
    file: RotatingFile,
}

impl LogSink {
    fn takes(&self, level: Level, logger: &str) -> bool {
        level >= self.least && (self.takes_logger)(logger)
    }
}

impl LogWriter {
    /// Prepares the files; touches none.
    pub fn new(settings: LogSettings) -> Self {
        let sink = |name, least, takes_logger, max_bytes, backups| LogSink {
            least,
            takes_logger,
            file: RotatingFile::new(settings.dir.join(name), Rotation { max_bytes, backups }),
        };
        let all: fn(&str) -> bool = |_| true;
        let of_gateway: fn(&str) -> bool = |logger| Component::Gateway.owns(logger);
        let (level, max_bytes, backups) = (settings.level, settings.max_bytes, settings.backups);
        let mut sinks = vec![
            sink("agent.log", level, all, max_bytes, backups),
            sink("errors.log", Level::Warning, all, 2 * MIB, 2),
        ];
        sinks.extend(match settings.mode {
            LogMode::Cli => None,
            LogMode::Gateway => Some(sink("gateway.log", Level::Info, of_gateway, 5 * MIB, 3)),
            LogMode::Dashboard => Some(sink("gui.log", Level::Info, is_gui_logger, 5 * MIB, 3)),
        });
        Self {
            shared: Arc::new(SharedFiles {
                settings,
                zone: OnceLock::new(),
                sinks,
                failed: AtomicU64::new(0),
                unredacted_reported: AtomicBool::new(false),
            }),
        }
    }

    /// Logs one record, stamped now.
    pub fn append(&self, level: Level, logger: &str, session: Option<&str>, message: &str) {
        if !self.takes(level, logger) {
            return;
        }
        let record = LogRecord {
            time: Timestamp::now(),
            level,
            logger,
            session,
            message,
        };
        let shared = &*self.shared;
        if !shared.settings.redactor.is_enabled()
            && !shared.unredacted_reported.swap(true, Ordering::Relaxed)
        {
            // Logged in the files themselves, and only before the first record.
            self.write(&LogRecord {
                level: Level::Warning,
                logger: "telemetry",
                session: None,
                message: "secrets are written unmasked: redaction is switched off by \
                          security.redact_secrets or HERMES_REDACT_SECRETS",
                ..record
            });
        }
        self.write(&record);
    }

    /// Lines that no file took so far.
    pub fn failed(&self) -> u64 {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Whether any file wants such a record.
    pub(crate) fn takes(&self, level: Level, logger: &str) -> bool {
        let mut sinks = self.shared.sinks.iter();
        sinks.any(|sink| sink.takes(level, logger)) || self.echoes(level)
    }

    fn echoes(&self, level: Level) -> bool {
        self.shared
            .settings
            .echo
            .is_some_and(|least| level >= least)
    }

    /// Least level that any file takes.
    pub(crate) fn least_level(&self) -> Level {
        let levels = self.shared.sinks.iter().map(|sink| sink.least);
        let levels = levels.chain(self.shared.settings.echo);
        levels.min().unwrap_or(Level::Warning)
    }

    fn write(&self, record: &LogRecord<'_>) {
        let shared = &*self.shared;
        let zone = shared.zone.get_or_init(|| shared.settings.zone.resolve());
        let line = line::format(record, zone, &shared.settings.redactor);
        if self.echoes(record.level) {
            // Standard error may be closed; the files have the line.
            drop(std::io::stderr().write_all(line.as_bytes()));
        }
        for sink in &shared.sinks {
            if sink.takes(record.level, record.logger) && sink.file.append(line.as_bytes()).is_err()
            {
                // There is nowhere left to report it.
                shared.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use std::collections::BTreeMap;
    use std::path::Path;

    use hermes_secret::Redactor;
    use pretty_assertions::assert_eq;

    use super::*;

    fn lines(dir: &Path) -> BTreeMap<String, usize> {
        std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, text.lines().count())
            })
            .collect()
    }

    fn counts(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
        pairs
            .iter()
            .map(|&(name, count)| (name.to_owned(), count))
            .collect()
    }

    fn log_one_of_each(mode: LogMode, level: Level) -> BTreeMap<String, usize> {
        let dir = tempfile::tempdir().unwrap();
        let writer = LogWriter::new(LogSettings {
            level,
            mode,
            ..LogSettings::new(dir.path().join("logs"), Redactor::default())
        });
        for &level in Level::ALL {
            for logger in ["agent", "gateway.run", "hermes_plugins", "gui.ws"] {
                writer.append(level, logger, None, "x");
            }
        }
        assert_eq!(writer.failed(), 0);
        lines(&dir.path().join("logs"))
    }

    #[test]
    fn each_file_takes_its_levels_and_loggers() {
        assert_eq!(
            log_one_of_each(LogMode::Cli, Level::Info),
            counts(&[("agent.log", 16), ("errors.log", 12)])
        );
        assert_eq!(
            log_one_of_each(LogMode::Gateway, Level::Debug),
            counts(&[("agent.log", 20), ("errors.log", 12), ("gateway.log", 8)])
        );
        assert_eq!(
            log_one_of_each(LogMode::Dashboard, Level::Error),
            counts(&[("agent.log", 8), ("errors.log", 12), ("gui.log", 4)])
        );
    }

    #[test]
    fn a_record_below_every_level_touches_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let writer = LogWriter::new(LogSettings::new(
            dir.path().join("logs"),
            Redactor::default(),
        ));
        writer.append(Level::Debug, "agent", None, "x");
        assert!(!dir.path().join("logs").exists());
    }

    #[test]
    fn switched_off_redaction_is_said_once_and_first() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("logs");
        let writer = LogWriter::new(LogSettings::new(&logs, Redactor::disabled()));
        assert!(!logs.exists());
        writer.append(Level::Info, "agent", None, "token=abcdefgh");
        writer.append(Level::Info, "agent", None, "again");
        let text = std::fs::read_to_string(logs.join("agent.log")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("WARNING telemetry: secrets are written unmasked"));
        assert!(lines[1].ends_with("INFO agent: token=abcdefgh"));
    }
}
