//! Every way in which the program starts another one, looked at from inside that other one: what the
//! kernel handed over, before anything could mask or forget it.

use std::path::PathBuf;

use super::Place;

/// Markers of activated environments, by whom they are set.
const MARKERS: [(&str, &str); 21] = [
    ("VIRTUAL_ENV", "OWN"),
    ("VIRTUAL_ENV_PROMPT", "hermes"),
    ("UV_PROJECT_ENVIRONMENT", "OWN"),
    ("UV_RUN_RECURSION_DEPTH", "1"),
    ("POETRY_ACTIVE", "1"),
    ("PIPENV_ACTIVE", "1"),
    ("CONDA_PREFIX", "OWN"),
    ("CONDA_PREFIX_1", "/opt/conda"),
    ("CONDA_DEFAULT_ENV", "hermes"),
    ("CONDA_PROMPT_MODIFIER", "(hermes) "),
    ("CONDA_SHLVL", "2"),
    ("PYENV_VERSION", "3.11.7"),
    ("PYENV_VIRTUAL_ENV", "OWN"),
    ("HATCH_ENV_ACTIVE", "default"),
    ("PIXI_PROJECT_ROOT", "OWN"),
    ("PYTHONHOME", "OWN"),
    ("PIP_TARGET", "OWN/lib"),
    ("PYTHONUSERBASE", "OWN"),
    ("UV_PYTHON", "OWN/bin/python"),
    ("SSL_CERT_FILE", "OWN/lib/certifi/cacert.pem"),
    ("LD_LIBRARY_PATH", "OWN/lib"),
];

/// Ways to start a child, by the name of the file it leaves.
const WAYS: [&str; 10] = [
    "foreground",
    "background",
    "terminal",
    "script",
    "of-script",
    "git",
    "editor",
    "docker",
    "python3",
    "sudo",
];

/// A home in which the reference is installed and activated in every way at once.
struct Activated {
    place: Place,
    own: PathBuf,
}

impl Activated {
    fn new() -> Self {
        let place = Place::that_approves();
        let own = place.home.path("hermes-agent/venv");
        for name in ["bin/python", "bin/pip", "lib/certifi/cacert.pem"] {
            let path = format!("user/.hermes/hermes-agent/venv/{name}");
            place.home.put_outside(&path, "#!/bin/sh\n", 0o755);
        }
        let dumps = place.home.outside("dumps");
        std::fs::create_dir(&dumps).unwrap();
        for (name, then) in [
            ("git", "exit 1"),
            ("editor", "exit 0"),
            ("docker", "exit 1"),
            ("python3", "exec /usr/bin/env python3.real \"$@\""),
            ("sudo", "exit 1"),
        ] {
            let script = format!(
                "#!/bin/sh\ncat /proc/$$/environ > '{}/{name}'\n{then}\n",
                dumps.display()
            );
            place
                .home
                .put_outside(&format!("fake/{name}"), script, 0o755);
        }
        let python = which_python();
        let link = place.home.outside("fake/python3.real");
        std::os::unix::fs::symlink(python, link).unwrap();
        let fake = place.home.outside("fake");
        let path = format!("{}/bin:{}:/usr/bin:/bin", own.display(), fake.display());
        // What a login does for everybody on this machine must not put the real ones in front.
        let profile = place.home.user_home().join(".profile");
        std::fs::write(profile, format!("PATH={path}\n")).unwrap();
        let place = MARKERS.iter().fold(place, |place, (name, value)| {
            place.env(name, value.replace("OWN", &own.display().to_string()))
        });
        let python_path = format!("{}/lib:/foreign/lib", own.display());
        let place = place
            .env("PATH", path)
            .env("PYTHONPATH", python_path)
            .env("CONDA_EXE", "/opt/conda/bin/conda")
            .env("EDITOR", fake.join("editor"));
        Self { place, own }
    }

    fn dump(&self, name: &str) -> PathBuf {
        self.place.home.outside("dumps").join(name)
    }

    /// Starts a child in every way there is.
    fn start_all(&self) {
        let place = &self.place;
        let save = |name: &str| format!("cat /proc/self/environ > {}", self.dump(name).display());
        let mut talk = place.talk();
        talk.output(&save("foreground"));
        talk.background(&save("background"), false);
        talk.background(&save("terminal"), true);
        talk.printed(&format!(
            "from hermes_tools import terminal\n\
             open('{}', 'wb').write(open('/proc/self/environ', 'rb').read())\n\
             print(terminal({:?}))",
            self.dump("script").display(),
            save("of-script")
        ));
        drop(talk);
        let install = [
            "profile",
            "install",
            "https://example.invalid/team.git",
            "--yes",
        ];
        place.hermes(&install).run().exits(3);
        place.hermes(&["config", "edit"]).run().succeeds();
        place.hermes(&["sandbox", "list"]).run().exits(3);
        let mut hermes = place
            .hermes(&["exec", "--", "sudo true"])
            .start_at_terminal();
        hermes.wait_for("continue without): ");
        hermes.press("\r");
        hermes.wait();
    }

    /// What the child that was started in this way has, as lines.
    fn environment(&self, way: &str) -> Vec<String> {
        let path = self.dump(way);
        let bytes = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("nothing was started as {way}: {error}"));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_terminator('\0').map(str::to_owned).collect()
    }
}

fn which_python() -> PathBuf {
    let output = std::process::Command::new("python3")
        .args([
            "-c",
            "import os, sys; print(os.path.realpath(sys.executable))",
        ])
        .output()
        .unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn no_way_to_start_a_program_hands_an_activated_environment_on() {
    // check 1, 3
    let home = Activated::new();
    home.start_all();
    let own = home.own.display().to_string();
    for way in WAYS {
        let lines = home.environment(way);
        assert!(
            lines.iter().any(|line| line.starts_with("HOME=")),
            "{way}: {lines:?}"
        );
        for (name, _) in MARKERS {
            let start = format!("{name}=");
            let found = lines.iter().find(|line| line.starts_with(&start));
            assert_eq!(found, None, "{way}");
        }
        for line in &lines {
            assert!(!line.contains(&own), "{way} has {line}");
        }
        let python_path = lines.iter().find(|line| line.starts_with("PYTHONPATH="));
        assert!(
            python_path.is_none_or(|line| line == "PYTHONPATH=/foreign/lib"),
            "{way}: {python_path:?}"
        );
    }
    // The same dump shows what is there: what is the user's own comes through.
    for way in ["foreground", "background", "terminal", "git", "editor"] {
        let lines = home.environment(way);
        assert!(
            lines.contains(&"CONDA_EXE=/opt/conda/bin/conda".to_owned()),
            "{way}: {lines:?}"
        );
    }
}

#[test]
fn a_marker_that_is_named_reaches_shells_and_scripts() {
    // check 2
    let home = Activated::new();
    home.place.home.put(
        "config.yaml",
        "approvals: {noninteractive_mode: approve}\n\
         terminal: {env_passthrough: [POETRY_ACTIVE, CONDA_DEFAULT_ENV]}\n",
    );
    home.start_all();
    for way in [
        "foreground",
        "background",
        "terminal",
        "script",
        "of-script",
    ] {
        let lines = home.environment(way);
        for (line, wanted) in [
            ("POETRY_ACTIVE=1", true),
            ("CONDA_DEFAULT_ENV=hermes", true),
            ("PIPENV_ACTIVE=1", false),
        ] {
            assert_eq!(lines.contains(&line.to_owned()), wanted, "{way}: {line}");
        }
    }
}
