//! How far an install is: one line that changes on a terminal, one line per step elsewhere.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_addons::{Addons, InstallObserver, InstallRequest, InstallStep, Installed};
use hermes_proc::Wake;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::interruptible;
use crate::ui::{Printer, human_size};

/// How often the line is painted anew.
const PERIOD: Duration = Duration::from_millis(250);

/// Shows the steps of the install of one feature.
struct Progress<'a> {
    printer: Printer,
    feature: &'a str,
    begun: Instant,
    on_terminal: bool,
    /// What is being done, and the directory that fills up meanwhile.
    step: Mutex<(String, Option<PathBuf>)>,
}

impl<'a> Progress<'a> {
    /// Calls `work` with an observer whose steps are shown until it returns.
    fn shown<T>(context: &Context, feature: &'a str, work: impl FnOnce(&Self) -> T) -> Result<T> {
        let progress = Self {
            printer: context.printer,
            feature,
            begun: Instant::now(),
            on_terminal: std::io::stderr().is_terminal(),
            step: Mutex::new(("preparing".to_owned(), None)),
        };
        if !progress.on_terminal {
            return Ok(work(&progress));
        }
        let finished = Wake::new()
            .map_err(|error| CommandError::environment(format!("no descriptors left: {error}")))?;
        Ok(std::thread::scope(|scope| {
            scope.spawn(|| {
                while !finished.wait(PERIOD) {
                    progress.paint();
                }
            });
            let done = work(&progress);
            finished.raise();
            done
        }))
        .inspect(|_| drop(context.printer.replace_line("")))
    }

    fn paint(&self) {
        let (text, site) = self
            .step
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let size = site.map_or_else(String::new, |site| {
            format!(", {}", human_size(bytes_below(&site)))
        });
        let seconds = self.begun.elapsed().as_secs();
        let line = format!("{}: {text}{size} ({seconds} s)", self.feature);
        // A terminal that has gone is found out when the result is printed.
        drop(self.printer.replace_line(&line));
    }
}

/// Installs, shows how far it is, and stops on Ctrl-C.
pub(crate) fn install_with_progress(
    context: &Context,
    addons: &Addons,
    request: InstallRequest,
) -> Result<hermes_addons::Result<Installed>> {
    let feature = request.feature.clone();
    interruptible(|interrupt| {
        let request = InstallRequest {
            cancel: Some(Arc::clone(interrupt)),
            ..request
        };
        Progress::shown(context, &feature, |progress| {
            addons.install(&request, progress)
        })
    })?
}

impl InstallObserver for Progress<'_> {
    fn step(&self, step: InstallStep) {
        let (text, site) = match step {
            InstallStep::Waiting { pid, feature } => {
                (format!("waiting for {pid} installing {feature}"), None)
            }
            InstallStep::Resolving { tool } => (
                format!("{tool} finds out which versions fit together"),
                None,
            ),
            InstallStep::Installing {
                tool,
                packages,
                site,
            } => {
                let packages = crate::ui::counted(packages, "package");
                (
                    format!("{tool} downloads and unpacks {packages}"),
                    Some(site),
                )
            }
            InstallStep::Checking => ("checking what was installed".to_owned(), None),
        };
        if !self.on_terminal {
            drop(self.printer.note(format!("{}: {text}", self.feature)));
        }
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = (text, site);
        if self.on_terminal {
            self.paint();
        }
    }
}

/// Bytes of all files below a directory; of what cannot be read, none.
fn bytes_below(path: &Path) -> u64 {
    let mut bytes = 0;
    let Ok(()) = hermes_fs::walk(path, &mut |_, entry| {
        if let Ok(entry) = entry {
            bytes += hermes_fs::symlink_metadata(&entry.path).map_or(0, |meta| meta.len());
        }
        Ok::<bool, std::convert::Infallible>(true)
    });
    bytes
}
