//! Which profile a command is about, decided before any other argument is looked at.
//!
//! Pure over arguments, environment and files; the caller exports the result to its children. The
//! command line is only read as far as that question needs: everything that is not our flag stays
//! where it was, byte for byte.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use hermes_config::{Environment, vars};

use crate::location::is_below_profiles;
use crate::sticky::{Sticky, sticky_profile};
use crate::{Location, LocationError, NameError, ProfileName, SystemFacts};

/// Options whose next argument is a value, whatever it looks like.
const VALUE_OPTIONS: &[&str] = &[
    "-z",
    "--oneshot",
    "-m",
    "--model",
    "--provider",
    "-t",
    "--toolsets",
    "-r",
    "--resume",
    "-s",
    "--skills",
    "--usage-file",
];

/// Options whose next argument is a value unless it starts with a dash.
const OPTIONAL_VALUE_OPTIONS: &[&str] = &["-c", "--continue"];

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionSource {
    Flag,
    /// `HERMES_HOME` names the home of a profile.
    Environment,
    Sticky,
    /// Nothing: the root, or whatever `HERMES_HOME` says.
    Default,
}

/// The outcome: a home, and the arguments that are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub location: Location,
    /// The arguments without our flag.
    pub args: Vec<OsString>,
    pub source: SelectionSource,
}

impl Selection {
    /// The profile that commands other than `profile …` would be about: the selected one, or the
    /// sticky one where nothing was selected. `None` for a custom home.
    pub fn current_profile(&self) -> Option<ProfileName> {
        let location = &self.location;
        match (self.source, sticky_profile(location)) {
            (SelectionSource::Default, Sticky::Named(name))
                if location.profile_home(&name).is_dir() =>
            {
                Some(name)
            }
            _ => location.profile_name(),
        }
    }
}

/// A command that is about no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(transparent)]
    Location(#[from] LocationError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{file} does not name a profile: {source}")]
    StickyName { file: String, source: NameError },
    /// The flag names a profile that is not there.
    #[error("Profile '{name}' does not exist. Create it with: hermes profile create {name}")]
    Missing { name: ProfileName },
    /// The file `active_profile` names a profile that is not there.
    #[error("Profile '{name}' does not exist. Create it with: hermes profile create {name}")]
    StickyMissing { name: ProfileName, file: String },
}

impl SelectError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Location(error) => error.hint(),
            Self::Name(error) => error.hint(),
            Self::StickyName { .. } => Some("reset it with: hermes profile use default".to_owned()),
            Self::Missing { .. } => Some("list the profiles with: hermes profile list".to_owned()),
            Self::StickyMissing { file, .. } => Some(format!(
                "{file} selects it; go back with: hermes profile use default"
            )),
        }
    }
}

/// Selects the profile for a command line given without the program's own name.
pub fn select(
    args: &[OsString],
    env: &Environment,
    system: &SystemFacts,
) -> Result<Selection, SelectError> {
    let base = Location::resolve(env, system)?;
    if let Some(flag) = find_flag(args) {
        let name = ProfileName::parse(&flag.value)?;
        let location = existing(&base, &name, env, system)
            .ok_or_else(|| SelectError::Missing { name: name.clone() })?;
        return Ok(Selection {
            location,
            args: without(args, &flag),
            source: SelectionSource::Flag,
        });
    }
    let unchanged = |location, source| Selection {
        location,
        args: args.to_vec(),
        source,
    };
    if env.is_set(&vars::HERMES_HOME) && is_below_profiles(&base.home) {
        return Ok(unchanged(base, SelectionSource::Environment));
    }
    if env.is_set(&vars::HERMES_S6_SUPERVISED_CHILD) || is_about_all_profiles(args) {
        return Ok(unchanged(base, SelectionSource::Default));
    }
    let name = match sticky_profile(&base) {
        Sticky::Unset => return Ok(unchanged(base, SelectionSource::Default)),
        Sticky::Named(name) => name,
        Sticky::Bad(source) => {
            return Err(SelectError::StickyName {
                file: base.display(&base.root.join("active_profile")),
                source,
            });
        }
    };
    match existing(&base, &name, env, system) {
        Some(location) => Ok(unchanged(location, SelectionSource::Sticky)),
        None => Err(SelectError::StickyMissing {
            name,
            file: base.display(&base.root.join("active_profile")),
        }),
    }
}

/// Whether a command is about the installation and not about a profile. The `profile` commands repair
/// the pointer to the active profile, so they cannot depend on it; neither can the boot of a container.
fn is_about_all_profiles(args: &[OsString]) -> bool {
    let Some(index) = command_index(args) else {
        return false;
    };
    let word = |index: usize| args.get(index).and_then(|word| word.to_str());
    match word(index) {
        Some("profile") => true,
        Some("internal") => matches!(word(index + 1), Some("reconcile" | "registrar")),
        _ => false,
    }
}

/// The profile a command line asks for by flag. A text that is no name counts as none.
pub(crate) fn flag_in(args: &[OsString]) -> Option<ProfileName> {
    ProfileName::parse(&find_flag(args)?.value).ok()
}

/// The first argument that is neither an option nor the value of one.
pub fn command_of(args: &[OsString]) -> Option<&str> {
    args.get(command_index(args)?)?.to_str()
}

/// Where that argument stands.
pub(crate) fn command_index(args: &[OsString]) -> Option<usize> {
    let mut rest = Scan::over(args);
    while let Some((index, arg)) = rest.next() {
        if arg == "--" {
            return None;
        }
        if arg.as_encoded_bytes().first() != Some(&b'-') {
            return Some(index);
        }
        if arg == "-p" || arg == "--profile" {
            rest.skip_value();
        }
    }
    None
}

/// Where the flag stands and what it says.
struct Flag {
    index: usize,
    count: usize,
    value: String,
}

fn find_flag(args: &[OsString]) -> Option<Flag> {
    for (index, arg) in Scan::over(args) {
        if arg == "--" || (arg == "--args" && is_mcp_add(args.get(..index)?)) {
            return None;
        }
        if let Some(value) = arg.as_encoded_bytes().strip_prefix(b"--profile=") {
            return Some(Flag {
                index,
                count: 1,
                value: String::from_utf8_lossy(value).into_owned(),
            });
        }
        if arg != "-p" && arg != "--profile" {
            continue;
        }
        // `-p no:xdist` is somebody else's: it stays, and we look on.
        if let Some(value) = args.get(index + 1).and_then(|value| value.to_str())
            && ProfileName::parse(value).is_ok()
        {
            return Some(Flag {
                index,
                count: 2,
                value: value.to_owned(),
            });
        }
    }
    None
}

fn is_mcp_add(before: &[OsString]) -> bool {
    let mut words = before.iter();
    words.any(|word| word == "mcp") && words.any(|word| word == "add")
}

fn without(args: &[OsString], flag: &Flag) -> Vec<OsString> {
    let removed = flag.index..flag.index + flag.count;
    args.iter()
        .enumerate()
        .filter(|(index, _)| !removed.contains(index))
        .map(|(_, arg)| arg.clone())
        .collect()
}

/// Walks over arguments, leaving out values of options that take one.
struct Scan<'a> {
    args: &'a [OsString],
    next: usize,
}

impl<'a> Scan<'a> {
    fn over(args: &'a [OsString]) -> Self {
        Self { args, next: 0 }
    }

    fn skip_value(&mut self) {
        self.next += 1;
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = (usize, &'a OsStr);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        let arg = self.args.get(index)?;
        self.next += 1;
        let is_one_of = |options: &[&str]| options.iter().any(|option| arg == option);
        let takes_next = is_one_of(VALUE_OPTIONS)
            || (is_one_of(OPTIONAL_VALUE_OPTIONS)
                && self
                    .args
                    .get(self.next)
                    .is_some_and(|value| value.as_encoded_bytes().first() != Some(&b'-')));
        if takes_next {
            self.skip_value();
        }
        Some((index, arg))
    }
}

fn existing(
    base: &Location,
    name: &ProfileName,
    env: &Environment,
    system: &SystemFacts,
) -> Option<Location> {
    let location = base.for_profile(name);
    // The root need not exist yet: the first command creates it.
    if name.is_default() || location.home.is_dir() {
        return Some(location);
    }
    of_sudo_user(name, env, system, &base.user_home)
}

/// `sudo hermes -p x`: root acts for the user who typed it, and the profile is that user's.
fn of_sudo_user(
    name: &ProfileName,
    env: &Environment,
    system: &SystemFacts,
    user_home: &Path,
) -> Option<Location> {
    let user = env.text(&vars::SUDO_USER)?;
    if system.uid != 0 || user == "root" {
        return None;
    }
    let root = system.home_by_name(user)?.join(".hermes");
    let location = Location::new(root.clone(), root, user_home.to_owned()).for_profile(name);
    location.home.is_dir().then_some(location)
}
