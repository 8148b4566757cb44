//! Which job people mean.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::jobs_file::JobList;

/// The job with this id, or the only one with this name, whatever its case.
pub fn find_job<'l>(list: &'l JobList, named: &str) -> Result<&'l Job> {
    if let Some(job) = list.get(named) {
        return Ok(job);
    }
    let wanted = named.trim().to_lowercase();
    let mut found = list
        .jobs
        .iter()
        .filter(|job| !wanted.is_empty() && job.name().to_lowercase() == wanted);
    match (found.next(), found.next()) {
        (Some(job), None) => Ok(job),
        (None, _) => Err(Error::NoSuchJob(named.to_owned())),
        (Some(first), Some(second)) => Err(Error::Ambiguous {
            name: named.to_owned(),
            ids: [first, second]
                .into_iter()
                .chain(found)
                .map(|job| job.id().to_owned())
                .collect(),
        }),
    }
}
