//! The accounts of the image as its password and group files have them, and the changes that a start
//! makes to them: other numbers for the runtime user, a group that may use the engine's socket.
//!
//! Texts in, texts out. `usermod` is not used: it would walk through the whole home of the user whose
//! number changes, and that is the volume.

/// Name of the user that everything runs as, and of its group.
pub(crate) const NAME: &str = "hermes";

/// Group of the engine's socket where no group has its number.
const SOCKET_GROUP: &str = "hostdocker";

/// The runtime user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeUser {
    pub uid: u32,
    pub gid: u32,
    /// All its groups, the first included, in ascending order.
    pub groups: Vec<u32>,
    pub home: String,
}

/// The two files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accounts {
    pub(crate) passwd: String,
    pub(crate) group: String,
}

impl Accounts {
    /// The runtime user; `None` if the files do not have it.
    pub(crate) fn runtime_user(&self) -> Option<RuntimeUser> {
        let line = self.passwd.lines().find(|line| is_of(line, NAME))?;
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, uid, gid, _, home, ..] = fields.as_slice() else {
            return None;
        };
        let gid: u32 = gid.parse().ok()?;
        let mut groups = vec![gid];
        for line in self.group.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [_, _, number, members] = fields.as_slice() else {
                continue;
            };
            if members.split(',').any(|member| member == NAME) {
                groups.extend(number.parse::<u32>());
            }
        }
        groups.sort_unstable();
        groups.dedup();
        Some(RuntimeUser {
            uid: uid.parse().ok()?,
            gid,
            groups,
            home: (*home).to_owned(),
        })
    }

    /// The runtime user and its group with other numbers. Another account may have the same ones.
    #[must_use]
    pub(crate) fn with_ids(&self, uid: Option<u32>, gid: Option<u32>) -> Self {
        let passwd = edited(&self.passwd, NAME, |fields| {
            if let (Some(uid), Some(field)) = (uid, fields.get_mut(2)) {
                *field = uid.to_string();
            }
            if let (Some(gid), Some(field)) = (gid, fields.get_mut(3)) {
                *field = gid.to_string();
            }
        });
        let group = edited(&self.group, NAME, |fields| {
            if let (Some(gid), Some(field)) = (gid, fields.get_mut(2)) {
                *field = gid.to_string();
            }
        });
        Self { passwd, group }
    }

    /// The runtime user as a member of the group with this number, which is made if there is none.
    #[must_use]
    pub(crate) fn with_socket_group(&self, gid: u32) -> Self {
        let number = gid.to_string();
        let group = self
            .group
            .lines()
            .find(|line| line.split(':').nth(2) == Some(&number))
            .and_then(|line| line.split(':').next());
        let mut changed = self.clone();
        match group {
            Some(name) => {
                changed.group = edited(&self.group, name, |fields| {
                    if let Some(members) = fields.get_mut(3)
                        && !members.split(',').any(|member| member == NAME)
                    {
                        if !members.is_empty() {
                            members.push(',');
                        }
                        members.push_str(NAME);
                    }
                });
            }
            None => {
                let line = format!("{SOCKET_GROUP}:x:{gid}:{NAME}\n");
                changed.group.push_str(&line);
            }
        }
        changed
    }
}

fn is_of(line: &str, name: &str) -> bool {
    line.split(':').next() == Some(name)
}

/// The text with the fields of one name changed; everything else stays as it is.
fn edited(text: &str, name: &str, change: impl Fn(&mut Vec<String>)) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, ""),
        };
        if !is_of(content, name) {
            return line.to_owned();
        }
        let mut fields: Vec<String> = content.split(':').map(str::to_owned).collect();
        change(&mut fields);
        format!("{}{end}", fields.join(":"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn image() -> Accounts {
        Accounts {
            passwd: "root:x:0:0:root:/root:/bin/bash\nhermes:x:10000:10000::/opt/data:/bin/bash\n"
                .to_owned(),
            group: "root:x:0:\nusers:x:100:\ndocker:x:998:joe\nhermes:x:10000:\n".to_owned(),
        }
    }

    #[test]
    fn ids_of_the_runtime_user_change_and_nobody_elses() {
        let changed = image().with_ids(Some(99), Some(100));
        assert_eq!(
            changed.passwd,
            "root:x:0:0:root:/root:/bin/bash\nhermes:x:99:100::/opt/data:/bin/bash\n"
        );
        assert_eq!(
            changed.group,
            "root:x:0:\nusers:x:100:\ndocker:x:998:joe\nhermes:x:100:\n"
        );
        let user = changed.runtime_user().unwrap();
        assert_eq!((user.uid, user.gid, user.groups), (99, 100, vec![100]));
        assert_eq!(image().with_ids(None, None), image());
    }

    #[test]
    fn socket_group_is_joined_or_made() {
        let joined = image().with_socket_group(998);
        assert!(
            joined.group.contains("docker:x:998:joe,hermes\n"),
            "{}",
            joined.group
        );
        assert_eq!(joined.runtime_user().unwrap().groups, [998, 10_000]);
        assert_eq!(joined.with_socket_group(998), joined);

        let made = image().with_socket_group(997);
        assert!(
            made.group.ends_with("hostdocker:x:997:hermes\n"),
            "{}",
            made.group
        );
        assert_eq!(made.runtime_user().unwrap().groups, [997, 10_000]);

        let root = image().with_socket_group(0);
        assert_eq!(root.runtime_user().unwrap().groups, [0, 10_000]);
    }

    #[test]
    fn files_without_the_user_have_none() {
        let mut none = image();
        none.passwd = "root:x:0:0:root:/root:/bin/bash\nhermes:broken".to_owned();
        assert_eq!(none.runtime_user(), None);
    }
}
