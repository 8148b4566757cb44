//! Walking through the files of a review at a terminal: a letter and Enter.

use hermes_board::model::{DiffSide, OnApprove};
use hermes_board::review::{self, CommentRequest, Diff, DiffFile};

use super::super::session::{BoardSession, Kanban};
use super::comments::line_range;
use super::render::totals;
use super::verdict::{Wanted, approve_card, report, send_back};
use super::{Reviewed, action_text, base_text, comment_text, file_text, name_omitted};
use crate::error::Result;
use crate::ui::{ask_line, confirm, one_line};

/// Lines of a file that are printed at once.
const SHOWN: usize = 400;
const KEYS: &str = "n next, p previous, c comment, l comments, a approve, s send back, q quit";

/// What to do after a key.
enum Then {
    Show,
    Ask,
    Leave,
}

struct Walk<'w, 'a> {
    session: &'w mut BoardSession<'a>,
    kanban: &'w Kanban<'a>,
    reviewed: Reviewed,
    diff: Diff,
    action: &'w OnApprove,
    at: usize,
}

pub(super) fn walk<'a>(
    session: &mut BoardSession<'a>,
    kanban: &Kanban<'a>,
    reviewed: Reviewed,
    diff: Diff,
    action: &OnApprove,
) -> Result<()> {
    let task = &reviewed.task;
    kanban.line(format!("{}  {}", task.id, one_line(&task.title, 200)))?;
    kanban.line(format!("{}; {}", totals(&diff), base_text(&diff.base)))?;
    name_omitted(kanban, &diff.omitted)?;
    let mut walk = Walk {
        session,
        kanban,
        reviewed,
        diff,
        action,
        at: 0,
    };
    walk.show()?;
    loop {
        let place = match walk.diff.files.len() {
            0 => "no files".to_owned(),
            all => format!("{}/{all}", walk.at + 1),
        };
        let Some(key) = ask_line(kanban.printer, &format!("[{place}] {KEYS}: "))? else {
            return Ok(());
        };
        match walk.key(&key) {
            Ok(Then::Show) => walk.show()?,
            Ok(Then::Ask) => {}
            Ok(Then::Leave) => return Ok(()),
            Err(error) if error.is_broken_pipe() => return Err(error),
            // What is refused is said, and the walk goes on.
            Err(error) => {
                kanban.printer.report(&error);
            }
        }
    }
}

impl Walk<'_, '_> {
    fn file(&self) -> Option<&DiffFile> {
        self.diff.files.get(self.at)
    }

    fn show(&self) -> Result<()> {
        let Some(file) = self.file() else {
            return Ok(());
        };
        self.kanban.out(&file_text(self.kanban, file, SHOWN))?;
        let of_file = self.reviewed.review.open().filter(|comment| {
            comment.lines.file == file.path || Some(&comment.lines.file) == file.old_path.as_ref()
        });
        for comment in of_file {
            self.kanban.out(&comment_text(self.kanban, comment))?;
        }
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<Then> {
        match key {
            "n" | "" if self.at + 1 < self.diff.files.len() => self.at += 1,
            "n" | "" => {
                self.kanban.note("That was the last file.")?;
                return Ok(Then::Ask);
            }
            "p" if self.at > 0 => self.at -= 1,
            "p" => {
                self.kanban.note("This is the first file.")?;
                return Ok(Then::Ask);
            }
            "c" => return self.comment(),
            "l" => {
                for comment in self.reviewed.review.open() {
                    self.kanban.out(&comment_text(self.kanban, comment))?;
                }
                return Ok(Then::Ask);
            }
            "a" => return self.approve(),
            "s" => return self.send_back(),
            "q" => return Ok(Then::Leave),
            _ => {
                self.kanban.note(KEYS)?;
                return Ok(Then::Ask);
            }
        }
        Ok(Then::Show)
    }

    fn ask(&self, question: &str) -> Result<Option<String>> {
        let answer = ask_line(self.kanban.printer, question)?;
        Ok(answer.filter(|answer| !answer.is_empty()))
    }

    fn comment(&mut self) -> Result<Then> {
        let Some(file) = self.file() else {
            return Ok(Then::Ask);
        };
        let path = file.path.clone();
        let question = "Line, or first-last (with o before it: lines of before): ";
        let Some(answer) = self.ask(question)? else {
            return Ok(Then::Ask);
        };
        let (side, numbers) = match answer.strip_prefix('o') {
            Some(numbers) => (DiffSide::Old, numbers),
            None => (DiffSide::New, answer.as_str()),
        };
        let Some(lines) = line_range(numbers) else {
            self.kanban
                .note("Lines are numbers, such as 12 or 12-20.")?;
            return Ok(Then::Ask);
        };
        let Some(body) = self.ask("Comment: ")? else {
            return Ok(Then::Ask);
        };
        let id = self.reviewed.task.id.clone();
        self.session.caller()?.may_change(&id, "review")?;
        let author = self.session.author(None)?;
        let request = CommentRequest {
            file: &path,
            side,
            lines,
            author: &author,
            body: &body,
        };
        review::comment(&mut self.session.store, &id, &self.reviewed.work, &request)?;
        self.reviewed.review = self.session.store.review(&id)?;
        Ok(Then::Show)
    }

    fn approve(&mut self) -> Result<Then> {
        let question = format!("Approve? {}.", capitalised(&action_text(self.action)));
        if confirm(self.kanban.printer, &question)? != Some(true) {
            return Ok(Then::Ask);
        }
        let id = self.reviewed.task.id.clone();
        let wanted = Wanted {
            action: Some(self.action.clone()),
            reviewed: Some(&self.diff.fingerprint),
            author: None,
        };
        let approved = approve_card(self.session, &id, &wanted)?;
        report(self.kanban, &approved)?;
        Ok(Then::Leave)
    }

    fn send_back(&mut self) -> Result<Then> {
        let text = self.ask("What to change, besides the comments: ")?;
        let id = self.reviewed.task.id.clone();
        let text = text.unwrap_or_default();
        send_back(self.session, self.kanban, &id, &text, None)?;
        Ok(Then::Leave)
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), chars.as_str())
}
