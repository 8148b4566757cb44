//! Fetching a skill from wherever it is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Hub;
use super::fetched::{FetchTools, FetchedSkill, read_files};
use super::identifier::{Origin, github_name};
use crate::bundled;
use crate::error::{Error, Result};
use crate::guard::Trust;

impl Hub {
    /// Fetches a skill. Installs nothing.
    pub fn fetch(&self, identifier: &str, tools: &FetchTools) -> Result<FetchedSkill> {
        match Origin::parse(identifier, &tools.user_home)? {
            Origin::Bundled(name) => bundled_skill(name),
            Origin::Directory(directory) => {
                let directory = hermes_fs::canonicalize(&directory)?;
                let place = directory.file_name().unwrap_or_default().to_string_lossy();
                let identifier = directory.display().to_string();
                FetchedSkill::new(
                    read_files(&directory)?,
                    &place,
                    "local",
                    identifier,
                    Trust::Community,
                )
            }
            Origin::Git { address, path } => self.fetch_git(&address, &path, identifier, tools),
            Origin::Page(address) => super::web::fetch_page(&address, tools),
            Origin::WellKnown { base, name } => super::web::fetch_well_known(&base, &name, tools),
            Origin::Name(name) => {
                let found = self.named(&name, tools)?;
                self.fetch(&found.identifier, tools)
            }
        }
    }

    fn fetch_git(
        &self,
        address: &str,
        path: &str,
        identifier: &str,
        tools: &FetchTools,
    ) -> Result<FetchedSkill> {
        if let Some(message) = tools.downloads.refusal(address) {
            return Err(Error::Source { message });
        }
        let clone = self.clone_repository(address, &tools.git)?;
        let directory = super::git::skill_directory(clone.path(), path)?;
        let place = directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let repository = github_name(address);
        let trust = repository.map_or(Trust::Community, Trust::of_repository);
        let source = if repository.is_some() {
            "github"
        } else {
            "git"
        };
        let files = read_files(&directory)?;
        FetchedSkill::new(files, &place, source, identifier.trim().to_owned(), trust)
    }
}

fn bundled_skill(name: &'static str) -> Result<FetchedSkill> {
    let text = bundled::text_of(name).unwrap_or_default();
    let files = BTreeMap::from([(PathBuf::from("SKILL.md"), text.as_bytes().to_vec())]);
    FetchedSkill::new(
        files,
        name,
        "official",
        format!("official/{name}"),
        Trust::Builtin,
    )
}
