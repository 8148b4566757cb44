//! The sandbox of a background process, as its supervisor is told of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_proc::sandbox::{KernelSupport, SandboxPlan};

/// What a supervisor prepares the sandbox of its process from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxRequest {
    pub(crate) plan: SandboxPlan,
    pub(crate) support: KernelSupport,
    /// Where the process gets a directory for temporary files.
    pub(crate) temp_directory: PathBuf,
}

impl SandboxRequest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let KernelSupport {
            landlock,
            namespaces,
        } = self.support;
        let mut out = format!("{landlock}\0{}\0", u8::from(namespaces)).into_bytes();
        out.extend_from_slice(self.temp_directory.as_os_str().as_bytes());
        out.push(0);
        out.extend(self.plan.encode());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.splitn(4, |byte| *byte == 0);
        let landlock = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        let namespaces = parts.next()? == b"1";
        let temp_directory = PathBuf::from(OsStr::from_bytes(parts.next()?));
        Some(Self {
            plan: SandboxPlan::decode(parts.next()?)?,
            support: KernelSupport {
                landlock,
                namespaces,
            },
            temp_directory,
        })
    }
}

/// The variables by which programs find a temporary directory.
pub(crate) fn temporary_variables(directory: Option<&Path>) -> Vec<(OsString, OsString)> {
    let names = ["TMPDIR", "TMP", "TEMP"];
    let named = directory.map(|path| names.map(|name| (name.into(), path.into())));
    named.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_as_it_was() {
        let request = SandboxRequest {
            plan: SandboxPlan {
                writable: vec!["/w".into()],
                ..SandboxPlan::default()
            },
            support: KernelSupport::without("namespaces"),
            temp_directory: "/t mp".into(),
        };
        assert_eq!(SandboxRequest::decode(&request.encode()), Some(request));
        assert_eq!(SandboxRequest::decode(b"1\x001\0/t\0maybe"), None);
    }
}
