//! Pushing the branch of approved work.

use hermes_proc::GitError;

use crate::Result;
use crate::repository::{push_words, with_credentials};
use crate::review::land::LIMITS;
use crate::review::{Landed, ReviewedWork};
use crate::review_error::ReviewError;

impl ReviewedWork {
    /// The remote to push to: the one that is named, that of the branch the work came from, or the
    /// only one.
    pub(super) fn remote(&self, named: Option<&str>) -> Result<String> {
        let all = self
            .git
            .run(&self.top, ["remote"])
            .map_err(ReviewError::from)?;
        let all: Vec<&str> = all.lines().collect();
        let of_branch = self.base.branch.as_ref().and_then(|branch| {
            let key = format!("branch.{branch}.remote");
            self.git.run(&self.top, ["config", "--get", &key]).ok()
        });
        let only = match all.as_slice() {
            [only] => Some((*only).to_owned()),
            _ => None,
        };
        let origin = || all.contains(&"origin").then(|| "origin".to_owned());
        let wanted = named
            .map(str::to_owned)
            .or(of_branch)
            .or(only)
            .or_else(origin);
        match wanted {
            Some(remote) if all.contains(&remote.as_str()) => Ok(remote),
            Some(remote) => Err(self.cannot(
                "pushed",
                format!(
                    "its repository has no remote '{}'",
                    crate::shown(&remote, 100)
                ),
                format!("`git remote add` adds one in {}", self.top.display()),
            )),
            None => Err(self.cannot(
                "pushed",
                "it is not clear to which remote",
                "name one with --push=REMOTE",
            )),
        }
    }

    pub(super) fn push(&self, named: Option<&str>, commit: &str) -> Result<Landed> {
        let remote = self.remote(named)?;
        let branch = self.own_branch("pushed")?.to_owned();
        let reference = format!("{commit}:refs/heads/{branch}");
        let words = push_words(&remote, &reference);
        let git = with_credentials(&self.git, &self.top);
        match git.run_within(&self.top, words, LIMITS) {
            Ok(_) => Ok(Landed::Pushed {
                remote,
                branch,
                commit: commit.to_owned(),
            }),
            Err(GitError::Refused { message, .. }) => Err(self.cannot(
                "pushed",
                format!("the remote '{remote}' did not take it: {message}"),
                "mend that and approve again",
            )),
            Err(error) => Err(ReviewError::from(error).into()),
        }
    }
}
