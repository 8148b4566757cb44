//! The features of this build, compiled in: nothing outside of this table can name a package.
//!
//! Every requirement is checked by the compiler, every lock by a test. A feature that needs no package
//! keeps its name here, so that who asks for it learns that there is nothing to install; so does one that
//! this version cannot do, and says so.

use crate::closure::Closure;
use crate::spec::is_pinned;

/// The newest and oldest interpreters that closures are resolved for.
pub(crate) const OLDEST_PYTHON: (u32, u32) = (3, 11);
pub(crate) const NEWEST_PYTHON: (u32, u32) = (3, 13);

/// One feature.
#[derive(Debug, Clone, Copy)]
pub struct Feature {
    /// Dotted: an area and a backend.
    pub name: &'static str,
    /// The pins of the packages that the feature is about.
    pub specs: &'static [&'static str],
    pub support: Support,
}

/// How a feature is supported.
#[derive(Debug, Clone, Copy)]
pub enum Support {
    /// By the program itself.
    Native,
    /// Not by this version: neither by the program nor by packages.
    Planned,
    /// By packages in an environment of their own.
    Python(PythonAddon),
}

/// A feature of Python packages.
#[derive(Debug, Clone, Copy)]
pub struct PythonAddon {
    lock: &'static str,
    /// Imported once before an environment goes into service.
    pub(crate) modules: &'static [&'static str],
    /// What it does: `scripts` for a user's own, until something of Hermes uses it.
    pub roles: &'static [&'static str],
    /// Settings of the user that it works with.
    pub secrets: &'static [&'static str],
    /// Megabytes on disk, as measured.
    pub size_mb: u64,
    /// Whether only `--all` lists it.
    pub hidden: bool,
    /// Whether a call that a crash cut short may simply be made again.
    pub(crate) idempotent: bool,
    /// Whether a gateway keeps its worker running, calls or none.
    pub(crate) resident: bool,
}

const fn native(name: &'static str, specs: &'static [&'static str]) -> Feature {
    checked(name, specs, Support::Native)
}

const fn planned(name: &'static str, specs: &'static [&'static str]) -> Feature {
    checked(name, specs, Support::Planned)
}

const fn python(name: &'static str, specs: &'static [&'static str], addon: PythonAddon) -> Feature {
    checked(name, specs, Support::Python(addon))
}

/// Fails the build for a requirement that is not pinned.
const fn checked(name: &'static str, specs: &'static [&'static str], support: Support) -> Feature {
    let mut index = 0;
    while index < specs.len() {
        assert!(is_pinned(specs[index]), "a requirement is not pinned");
        index += 1;
    }
    Feature {
        name,
        specs,
        support,
    }
}

/// All features, sorted by name.
pub const FEATURES: &[Feature] = &[
    python(
        "debug.selftest",
        &["isodate==0.7.2"],
        PythonAddon {
            lock: include_str!("../locks/debug.selftest.txt"),
            modules: &["isodate"],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 1,
            hidden: true,
            idempotent: false,
            resident: true,
        },
    ),
    planned("image.fal", &["fal-client==0.13.1"]),
    planned("memory.hindsight", &["hindsight-client==0.6.1"]),
    planned("memory.honcho", &["honcho-ai==2.2.0"]),
    planned("memory.mem0", &["mem0ai==2.0.10"]),
    planned("memory.supermemory", &["supermemory==3.50.0"]),
    planned(
        "platform.dingtalk",
        &[
            "dingtalk-stream==0.24.3",
            "alibabacloud-dingtalk==2.2.42",
            "qrcode==7.4.2",
        ],
    ),
    planned(
        "platform.discord",
        &[
            "discord.py[voice]==2.7.1",
            "brotlicffi==1.2.0.1",
            "aiohttp==3.14.1",
        ],
    ),
    python(
        "platform.feishu",
        &["lark-oapi==1.6.8", "qrcode==7.4.2"],
        PythonAddon {
            lock: include_str!("../locks/platform.feishu.txt"),
            modules: &["lark_oapi", "qrcode"],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 131,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
    planned(
        "platform.matrix",
        &[
            "mautrix[encryption]==0.21.0",
            "aiosqlite==0.22.1",
            "asyncpg==0.31.0",
            "aiohttp-socks==0.11.0",
            "aiohttp==3.14.1",
        ],
    ),
    planned(
        "platform.slack",
        &["slack-bolt==1.29.0", "slack-sdk==3.43.0", "aiohttp==3.14.1"],
    ),
    planned(
        "platform.teams",
        &["microsoft-teams-apps==2.0.13.4", "aiohttp==3.14.1"],
    ),
    planned(
        "platform.telegram",
        &["python-telegram-bot[webhooks]==22.6"],
    ),
    planned("platform.wecom_callback", &["defusedxml==0.7.1"]),
    native("provider.anthropic", &["anthropic==0.87.0"]),
    planned("provider.azure_identity", &["azure-identity==1.25.3"]),
    planned("provider.bedrock", &["boto3==1.42.89"]),
    planned("provider.vertex", &["google-auth==2.55.1"]),
    planned("search.exa", &["exa-py==2.10.2"]),
    planned("search.firecrawl", &["firecrawl-py==4.17.0"]),
    planned("search.parallel", &["parallel-web==0.4.2"]),
    python(
        "skill.google_workspace",
        &[
            "google-api-python-client==2.194.0",
            "google-auth-oauthlib==1.3.1",
            "google-auth-httplib2==0.3.1",
        ],
        PythonAddon {
            lock: include_str!("../locks/skill.google_workspace.txt"),
            modules: &[
                "googleapiclient.discovery",
                "google_auth_oauthlib",
                "google_auth_httplib2",
            ],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 134,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
    python(
        "skill.youtube",
        &["youtube-transcript-api==1.2.4"],
        PythonAddon {
            lock: include_str!("../locks/skill.youtube.txt"),
            modules: &["youtube_transcript_api"],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 7,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
    python(
        "stt.faster_whisper",
        &[
            "faster-whisper==1.2.1",
            "sounddevice==0.5.5",
            "numpy==2.4.3",
        ],
        PythonAddon {
            lock: include_str!("../locks/stt.faster_whisper.txt"),
            modules: &["faster_whisper"],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 439,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
    planned("stt.mistral", &["mistralai==2.4.8"]),
    planned("terminal.daytona", &["daytona==0.155.0"]),
    python(
        "terminal.modal",
        &["modal==1.3.4"],
        PythonAddon {
            lock: include_str!("../locks/terminal.modal.txt"),
            modules: &["modal"],
            roles: &["scripts"],
            secrets: &["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"],
            size_mb: 58,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
    planned("tool.acp", &["agent-client-protocol==0.9.0"]),
    planned("tool.computer_use", &["mcp==1.26.0", "starlette==1.0.1"]),
    native(
        "tool.dashboard",
        &[
            "fastapi==0.133.1",
            "uvicorn[standard]==0.41.0",
            "starlette==1.0.1",
            "python-multipart==0.0.27",
        ],
    ),
    planned("tool.trace_upload", &["huggingface-hub==1.2.3"]),
    native("tool.vision", &["Pillow==12.2.0"]),
    planned("tts.edge", &["edge-tts==7.2.7"]),
    planned("tts.elevenlabs", &["elevenlabs==1.59.0"]),
    python(
        "tts.espeak",
        &["espeakng-loader==0.2.4"],
        PythonAddon {
            lock: include_str!("../locks/tts.espeak.txt"),
            modules: &["espeakng_loader"],
            roles: &["tts"],
            secrets: &[],
            size_mb: 21,
            hidden: false,
            idempotent: true,
            resident: false,
        },
    ),
    planned("tts.mistral", &["mistralai==2.4.8"]),
    python(
        "tts.piper",
        &["piper-tts==1.3.0"],
        PythonAddon {
            lock: include_str!("../locks/tts.piper.txt"),
            modules: &["piper"],
            roles: &["scripts"],
            secrets: &[],
            size_mb: 168,
            hidden: false,
            idempotent: false,
            resident: false,
        },
    ),
];

impl Feature {
    /// The feature of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FEATURES.iter().find(|feature| feature.name == name)
    }

    /// The name that was probably meant.
    pub fn nearest(name: &str) -> Option<&'static str> {
        hermes_text::closest(name, FEATURES.iter().map(|feature| feature.name))
    }

    /// Its packages, if it is an add-on.
    pub fn addon(&self) -> Option<&PythonAddon> {
        match &self.support {
            Support::Python(addon) => Some(addon),
            Support::Native | Support::Planned => None,
        }
    }
}

impl PythonAddon {
    /// The closure that was compiled in. A test reads them all.
    pub(crate) fn closure(&self) -> Option<Closure> {
        Closure::parse(self.lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closure::normal_name;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(FEATURES.is_sorted_by(|one, other| one.name < other.name));
    }

    #[test]
    fn every_lock_pins_what_the_requirements_say() {
        for feature in FEATURES {
            let Some(addon) = feature.addon() else {
                continue;
            };
            let closure = addon
                .closure()
                .unwrap_or_else(|| panic!("{}", feature.name));
            for spec in feature.specs {
                let (name, version) = spec.split_once("==").unwrap();
                let name = normal_name(name.split('[').next().unwrap());
                assert!(
                    closure
                        .packages()
                        .iter()
                        .any(|package| package.name == name && package.version == version),
                    "{}: {spec}",
                    feature.name
                );
            }
        }
    }

    #[test]
    fn the_selftest_pins_the_published_wheel() {
        let addon = Feature::named("debug.selftest").unwrap().addon().unwrap();
        assert!(
            addon.lock.contains(
                "sha256:28009937d8031054830160fce6d409ed342816b543597cece116d966c6d99e15"
            )
        );
    }

    /// A role that no worker has an operation for would promise what nothing keeps.
    #[test]
    fn every_role_but_scripts_has_a_worker() {
        for feature in FEATURES {
            let Some(addon) = feature.addon() else {
                continue;
            };
            assert!(!addon.roles.is_empty(), "{}", feature.name);
            let adapter = crate::worker::shim::adapter(feature.name);
            for role in addon.roles.iter().filter(|role| **role != "scripts") {
                let operation = format!("\"{role}.");
                assert!(
                    adapter.is_some_and(|(_, code)| code.contains(&operation)),
                    "{} as {role}",
                    feature.name
                );
            }
        }
    }

    #[test]
    fn a_misspelt_name_is_recognised() {
        assert_eq!(Feature::nearest("platform.fieshu"), Some("platform.feishu"));
        assert_eq!(Feature::nearest("evil; rm -rf x"), None);
    }
}
