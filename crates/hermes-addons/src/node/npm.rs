//! Node and npm: which there are, and how npm is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::find_on_path;

use super::OLDEST_NODE;
use super::account::settings_for_npm;
use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::install::{Runner, of_failure, report};

const VERSION_TIMEOUT: Duration = Duration::from_secs(15);

/// Node and its installer.
pub(super) struct Tools {
    pub(super) node: PathBuf,
    pub(super) node_version: String,
    npm: PathBuf,
    pub(super) npm_version: String,
}

impl Tools {
    pub(super) fn find(runner: &Runner<'_>) -> Result<Self> {
        let missing = |what: String| {
            AddonError::new(Code::NoInterpreter, what)
                .hint(format!("install Node {OLDEST_NODE} or newer, with npm"))
        };
        let find = |name: &str| {
            let found = find_on_path(name.as_ref(), Some(&runner.settings.search_path));
            found
                .filter(|path| path.is_absolute())
                .ok_or_else(|| missing(format!("{name} was not found on PATH")))
        };
        let version = |program: &Path| -> Result<String> {
            let args = vec![OsString::from("--version")];
            let ran = runner
                .run(program, args, VERSION_TIMEOUT)
                .map_err(|error| runner.stopped(error))?;
            let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
            Ok(text.trim_start_matches('v').to_owned())
        };
        let (node, npm) = (find("node")?, find("npm")?);
        let (node_version, npm_version) = (version(&node)?, version(&npm)?);
        let major = node_version.split('.').next();
        let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or(0);
        if major < OLDEST_NODE {
            let what = format!("needs Node {OLDEST_NODE} or newer; found: {node_version}");
            return Err(missing(what));
        }
        Ok(Self {
            node,
            node_version,
            npm,
            npm_version,
        })
    }

    /// The settings that npm gets, with the registry of the account or the mirror.
    pub(super) fn settings(&self, runner: &Runner<'_>, mirror: Option<&str>) -> String {
        let args = ["config", "get", "globalconfig"].map(OsString::from);
        let asked = runner.run(&self.npm, args.into(), VERSION_TIMEOUT).ok();
        let global = asked.filter(|asked| asked.status.success()).map(|asked| {
            let path = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
            PathBuf::from(path)
        });
        let settings = runner.settings;
        settings_for_npm(
            global.filter(|path| path.is_absolute()).as_deref(),
            &settings.places.user_home,
            &settings.npm,
            mirror,
        )
    }
}

/// npm at work in a stage.
pub(super) struct Npm<'a> {
    pub(super) addons: &'a Addons,
    pub(super) runner: &'a Runner<'a>,
    pub(super) tools: &'a Tools,
    pub(super) site: &'a Path,
    /// The only file of settings that it reads.
    pub(super) settings: &'a Path,
    pub(super) feature: &'a str,
    pub(super) spec: String,
}

impl Npm<'_> {
    /// Runs npm. Nothing of a package runs with it.
    pub(super) fn run(&self, words: &[&str]) -> Result<()> {
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache"];
        let args = words.iter().chain(&quiet).map(OsString::from);
        let cache = self.addons.settings.places.home.join("cache/npm");
        let site = self.site.as_os_str().to_owned();
        let args = args.chain([
            cache.into(),
            "--userconfig".into(),
            self.settings.into(),
            "--globalconfig".into(),
            "/dev/null".into(),
            "--prefix".into(),
            site,
        ]);
        let output = self
            .runner
            .run(
                &self.tools.npm,
                args.collect(),
                self.addons.settings.install_timeout,
            )
            .map_err(|error| self.runner.stopped(error))?;
        if output.status.success() {
            return Ok(());
        }
        let mut error = of_failure(&output, &[&self.spec]);
        let home = &self.addons.settings.places.home;
        let name = self.feature.replace(['/', ':'], "+");
        let version = &self.tools.npm_version;
        if error.code == Code::Offline {
            error.hint = Some("try again, or name another registry with --mirror".to_owned());
        }
        error.installer = Some(Box::new(report(home, &name, "npm", version, &output)));
        Err(error)
    }
}
