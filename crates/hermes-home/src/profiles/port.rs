//! The port on which the gateway of a named profile answers when nobody chose one.
//!
//! It follows from the name, so that it is the same on every machine. A name whose port another
//! profile has takes the next free one. Once given, a port stands in `profile.yaml` and never moves.

use std::collections::BTreeSet;

use hermes_fs::{FileLock, LockOptions};
use sha2::{Digest as _, Sha256};

use crate::profiles::meta::{load_meta, remove_gateway_port, write_gateway_port};
use crate::profiles::{existing, names};
use crate::{Location, ProfileName, Result};

/// The first port of the range.
const FIRST: u16 = 9200;
/// How many ports there are.
const COUNT: u16 = 600;

/// The port that follows from a name.
pub(crate) fn port_of_name(name: &ProfileName) -> u16 {
    let digest = Sha256::digest(name.as_str().as_bytes());
    let head = digest.iter().take(8);
    let number = head.fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    // Below 600.
    FIRST + u16::try_from(number % u64::from(COUNT)).unwrap_or_default()
}

/// The first port from the one of the name on, beginning anew at the end of the range, that is not
/// taken. With more profiles than ports two of them share one.
fn free_port(name: &ProfileName, taken: &BTreeSet<u16>) -> u16 {
    let own = port_of_name(name);
    let all = (0..COUNT).map(|step| FIRST + (own - FIRST + step) % COUNT);
    all.into_iter()
        .find(|port| !taken.contains(port))
        .unwrap_or(own)
}

/// The port of a profile: the stored one, or the one it would be given now. `None` for the default
/// profile, which has the port everybody knows. Changes nothing.
pub fn gateway_port(location: &Location, name: &ProfileName) -> Option<u16> {
    if name.is_default() {
        return None;
    }
    let own = load_meta(&location.profile_home(name)).gateway_port;
    Some(own.unwrap_or_else(|| free_port(name, &stored(location, |other| other != name))))
}

/// Gives each of these profiles a port that stays, if it has none.
pub fn assign_gateway_ports(location: &Location, profiles: &[ProfileName]) -> Result<()> {
    let lacks_port = |name: &&ProfileName| {
        !name.is_default()
            && load_meta(&location.profile_home(name))
                .gateway_port
                .is_none()
    };
    if profiles.iter().find(lacks_port).is_none() {
        return Ok(());
    }
    // Two profiles made at once must not take one port.
    let lock = location.profiles_dir().join(".gateway-ports.lock");
    let _lock = FileLock::acquire(&lock, &LockOptions::new("the ports of the gateways"))?;
    let mut taken = stored(location, |_| true);
    for name in profiles.iter().filter(lacks_port) {
        let port = free_port(name, &taken);
        write_gateway_port(&existing(location, name)?.home, port)?;
        taken.insert(port);
    }
    Ok(())
}

/// Gives a profile that came from elsewhere a port of its own, if another one has the port it brought.
pub fn settle_gateway_port(location: &Location, name: &ProfileName) -> Result<()> {
    let home = existing(location, name)?.home;
    let others = stored(location, |other| other != name);
    if load_meta(&home)
        .gateway_port
        .is_some_and(|port| others.contains(&port))
    {
        remove_gateway_port(&home)?;
    }
    assign_gateway_ports(location, std::slice::from_ref(name))
}

/// The ports that profiles have.
fn stored(location: &Location, is_meant: impl Fn(&ProfileName) -> bool) -> BTreeSet<u16> {
    // Profiles that cannot be listed have no ports that could be known.
    let all = names(location).unwrap_or_default().into_iter();
    let meant = all.filter(|name| !name.is_default() && is_meant(name));
    meant
        .filter_map(|name| load_meta(&location.profile_home(&name)).gateway_port)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    fn name(text: &str) -> ProfileName {
        ProfileName::parse(text).unwrap()
    }

    fn installation(root: &Path, names: &[&str]) -> Location {
        for name in names {
            hermes_fs::create_dir_all(&root.join("profiles").join(name), 0o700).unwrap();
        }
        Location::new(root.to_owned(), root.to_owned(), root.to_owned())
    }

    // check 29
    #[test]
    fn ports_follow_from_names() {
        let ports = ["coder", "writer", "assistant", "work"].map(|text| port_of_name(&name(text)));
        assert_eq!(ports, [9653, 9298, 9223, 9598]);
    }

    // check 29
    #[test]
    fn a_port_that_is_held_leads_to_the_next_and_both_stay() {
        let directory = tempfile::tempdir().unwrap();
        let location = installation(directory.path(), &["coder", "holder", "next"]);
        let holder = location.profile_home(&name("holder"));
        write_gateway_port(&holder, 9653).unwrap();
        write_gateway_port(&location.profile_home(&name("next")), 9654).unwrap();
        let coder = [name("coder")];
        assert_eq!(gateway_port(&location, &coder[0]), Some(9655));
        assign_gateway_ports(&location, &coder).unwrap();
        // The others go away, and the port stays.
        hermes_fs::remove_tree(&holder).unwrap();
        assert_eq!(gateway_port(&location, &coder[0]), Some(9655));
        assign_gateway_ports(&location, &coder).unwrap();
        assert_eq!(gateway_port(&location, &coder[0]), Some(9655));
    }

    #[test]
    fn a_port_that_came_along_gives_way_to_the_one_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let location = installation(directory.path(), &["coder", "copy", "other"]);
        let port = |text: &str| load_meta(&location.profile_home(&name(text))).gateway_port;
        for text in ["coder", "copy"] {
            write_gateway_port(&location.profile_home(&name(text)), 9653).unwrap();
        }
        settle_gateway_port(&location, &name("copy")).unwrap();
        assert_eq!(port("coder"), Some(9653));
        assert_eq!(port("copy"), Some(port_of_name(&name("copy"))));
        write_gateway_port(&location.profile_home(&name("other")), 9700).unwrap();
        settle_gateway_port(&location, &name("other")).unwrap();
        assert_eq!(port("other"), Some(9700));
    }

    #[test]
    fn the_search_begins_anew_at_the_end_of_the_range() {
        let own = port_of_name(&name("coder"));
        let taken: BTreeSet<u16> = (own..FIRST + COUNT).collect();
        assert_eq!(free_port(&name("coder"), &taken), FIRST);
        let all: BTreeSet<u16> = (FIRST..FIRST + COUNT).collect();
        assert_eq!(free_port(&name("coder"), &all), own);
    }

    #[test]
    fn the_default_profile_has_no_port_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let location = installation(directory.path(), &[]);
        let default = ProfileName::default_profile();
        assert_eq!(gateway_port(&location, &default), None);
        assign_gateway_ports(&location, &[default]).unwrap();
        assert!(!directory.path().join("profile.yaml").exists());
    }
}
