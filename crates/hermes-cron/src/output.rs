//! What runs leave: a file each, and whether there is something to tell.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::error::Result;
use crate::home::CronHome;
use crate::job::Job;

/// Largest output that is read again.
const LARGEST: u64 = 16 * 1024 * 1024;
/// What an agent answers that has nothing to tell, and what it makes of that.
const SILENT: [&str; 4] = ["[SILENT]", "SILENT", "NO_REPLY", "NO REPLY"];

/// How a run ended, for its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Silent,
    Failed,
}

/// Whether an answer means that there is nothing to tell: as a whole, or as its first or last line.
pub(crate) fn is_silence(answer: &str) -> bool {
    let is_token = |line: &str| {
        let line = line.trim().to_uppercase();
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        SILENT.contains(&line.as_str())
    };
    let mut lines = answer.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next();
    let last = lines.next_back().or(first);
    first.is_some_and(is_token) || last.is_some_and(is_token)
}

/// Whether the output of a script lets an agent work, or has something to tell. Its last line can say
/// no: `{"wakeAgent": false}`.
pub(crate) fn wakes(output: &str) -> bool {
    let last = output.lines().rfind(|line| !line.trim().is_empty());
    let gate = last.and_then(|line| serde_json::from_str::<Value>(line.trim()).ok());
    gate.and_then(|gate| gate.get("wakeAgent").cloned()) != Some(Value::Bool(false))
}

/// Writes what a run left, and removes what is older than what is kept.
pub(crate) fn save(
    home: &CronHome,
    job: &Job,
    ending: Ending,
    text: &str,
    at: Timestamp,
    zone: &TimeZone,
    keep: Option<usize>,
) -> Result<PathBuf> {
    let directory = home.outputs(job.id())?;
    home.ensure()?;
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let local = at.to_zoned(zone.clone());
    let status = match ending {
        Ending::Done => "ok",
        Ending::Silent => "nothing to report",
        Ending::Failed => "failed",
    };
    let kind = if job.is_script_only() {
        "script"
    } else {
        "agent"
    };
    let document = format!(
        "# {}\n\n- Job: {}\n- Run: {}\n- Kind: {kind}\n- Status: {status}\n\n---\n\n{}\n",
        job.name(),
        job.id(),
        local.strftime("%Y-%m-%d %H:%M:%S %:z"),
        text.trim_end()
    );
    let stem = local.strftime("%Y-%m-%d_%H-%M-%S").to_string();
    let mut path = directory.join(format!("{stem}.md"));
    let mut number = 1;
    // Two runs within a second are two files.
    while hermes_fs::exists_no_follow(&path) {
        number += 1;
        path = directory.join(format!("{stem}_{number}.md"));
    }
    hermes_fs::write_atomic_exact(&path, document.as_bytes(), 0o600)?;
    if let Some(keep) = keep {
        for old in outputs_of(home, job.id())?.into_iter().skip(keep) {
            hermes_fs::remove_file_if_present(&old)?;
        }
    }
    Ok(path)
}

/// The last output of a job; `None` if it has none.
pub fn latest_output(home: &CronHome, id: &str) -> Result<Option<String>> {
    let Some(latest) = outputs_of(home, id)?.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(hermes_fs::read_text_capped(&latest, LARGEST)?))
}

/// The files of a job, newest first.
fn outputs_of(home: &CronHome, id: &str) -> Result<Vec<PathBuf>> {
    let directory = home.outputs(id)?;
    let entries = match hermes_fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .map(|entry| entry.path)
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    files.sort();
    files.reverse();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    // check 36
    #[test]
    fn silence_is_a_line_of_its_own_at_an_end() {
        for silent in [
            "[SILENT]",
            "  [silent]\n",
            "NO_REPLY",
            "no  reply",
            "2 deals filtered\n\n[SILENT]",
            "[SILENT]\nnothing changed",
        ] {
            assert!(is_silence(silent), "{silent}");
        }
        for spoken in [
            "",
            "I considered staying [SILENT] but here is the summary",
            "first\n[SILENT]\nlast",
            "Silent retry succeeded",
        ] {
            assert!(!is_silence(spoken), "{spoken}");
        }
    }

    #[test]
    fn the_last_line_of_a_script_is_its_gate() {
        assert!(!wakes("found nothing\n{\"wakeAgent\": false}\n\n"));
        for awake in [
            "",
            "text",
            "{\"wakeAgent\": true}",
            "{\"wakeAgent\": false}\nmore",
            "[1]",
        ] {
            assert!(wakes(awake), "{awake}");
        }
    }
}
