//! Packages of plugins with the real installers: resolved from wheels of the test and from PyPI.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hermes_testkit::ProgramOutput;
use pretty_assertions::assert_eq;

use super::{BOTH, Desk, Installer, error_code, of_account};

/// A wheel of one module that has a `VERSION` and this mark, and needs these packages.
fn wheel(directory: &Path, (name, version): (&str, &str), mark: &str, needs: &[&str]) {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(format!("{name}-{version}-py3-none-any.whl"));
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    let info = format!("{name}-{version}.dist-info");
    let needs = needs.iter().map(|one| format!("Requires-Dist: {one}\n"));
    let needs = needs.collect::<Vec<_>>().concat();
    let code = format!("{name}/__init__.py");
    let wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    let files = [
        (
            code.clone(),
            format!("VERSION = '{version}'\nMARK = '{mark}'\n"),
        ),
        (
            format!("{info}/METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"),
        ),
        (format!("{info}/WHEEL"), wheel.to_owned()),
        (
            format!("{info}/RECORD"),
            format!("{code},,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"),
        ),
    ];
    for (name, content) in files {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
}

impl Desk {
    /// Wheels of `greet`, which needs `tone`, of which there are two.
    fn greetings(&self) -> PathBuf {
        let directory = self.home.outside("greetings");
        wheel(&directory, ("greet", "1.0"), "first", &["tone"]);
        wheel(&directory, ("tone", "1.0"), "first", &[]);
        wheel(&directory, ("tone", "2.0"), "first", &[]);
        directory
    }

    /// A plugin in the home whose packages scripts can use.
    fn plugin(&self, packages: &str) {
        let manifest = format!("name: notes\nversion: '1'\npython_dependencies: {packages}\n");
        self.home.put("plugins/notes/plugin.yaml", manifest);
    }

    fn packages(&self, installer: Installer, more: &[&str]) -> ProgramOutput {
        let words = ["install", "plugin:notes", "--json"].into_iter();
        let words: Vec<&str> = words.chain(more.iter().copied()).collect();
        self.call(installer, &words).run()
    }

    /// What a script of the plugin finds.
    fn finds(&self, installer: Installer) -> String {
        let code = "import greet, tone; print(greet.VERSION, tone.VERSION, tone.MARK)";
        let run = self.call(installer, &["python", "plugin:notes", "-c", code]);
        run.run().succeeds().stdout.trim().to_owned()
    }
}

#[test]
fn packages_of_a_plugin_are_resolved_once_and_pinned_by_the_hashes_found_then() {
    for installer in BOTH {
        let desk = Desk::new();
        desk.plugin("['greet==1.0']");
        let wheels = desk.greetings();
        let from = ["--wheelhouse", wheels.to_str().unwrap()];
        desk.packages(installer, &from).succeeds();
        assert_eq!(desk.finds(installer), "1.0 2.0 first");
        // Nobody has to be asked about what is there.
        let enable = ["plugins", "enable", "notes"];
        desk.home.run(enable).succeeds();
        // Another file under the same name is refused, and what was there serves.
        wheel(&wheels, ("tone", "2.0"), "second", &[]);
        // What uv keeps of the first one would do; pip keeps nothing of a directory.
        drop(fs::remove_dir_all(desk.home.path("cache")));
        let again = desk.packages(installer, &[from[0], from[1], "--force"]);
        again.exits(1);
        assert_eq!(error_code(&again), "hash_mismatch", "{again}");
        assert_eq!(desk.finds(installer), "1.0 2.0 first");
        desk.call(installer, &["verify"]).run().succeeds();
        // Forgotten, it is resolved anew.
        desk.call(installer, &["remove", "plugin:notes"])
            .run()
            .succeeds();
        desk.packages(installer, &from).succeeds();
        assert_eq!(desk.finds(installer), "1.0 2.0 second");
    }
}

// part 4: constraints
#[test]
fn real_installers_obey_the_constraints_and_tell_of_conflicts() {
    for installer in BOTH {
        let desk = Desk::new();
        desk.plugin("['greet==1.0']");
        desk.home
            .put_outside("locks/constraints.txt", "tone==1.0\n", 0o644);
        let wheels = desk.greetings();
        let from = ["--wheelhouse", wheels.to_str().unwrap()];
        desk.packages(installer, &from).succeeds();
        assert_eq!(desk.finds(installer), "1.0 1.0 first");
        desk.plugin("['greet==1.0', 'tone==2.0']");
        let conflict = desk.packages(installer, &from);
        conflict.exits(1);
        assert_eq!(error_code(&conflict), "conflict", "{conflict}");
        assert_eq!(desk.finds(installer), "1.0 1.0 first");
    }
}

#[test]
fn packages_that_cannot_be_had_are_named_and_nothing_is_left() {
    for installer in BOTH {
        let desk = Desk::new();
        let wheels = desk.greetings();
        let from = ["--wheelhouse", wheels.to_str().unwrap()];
        desk.plugin("['greet==9.9']");
        let missing = desk.packages(installer, &from);
        missing.exits(1);
        assert_eq!(error_code(&missing), "index_error", "{missing}");
        desk.has_nothing();
        // Nobody listens there.
        desk.plugin("['greet==1.0']");
        let call = desk.call(installer, &["install", "plugin:notes", "--json"]);
        let call = call.env("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
        let call = call.env("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple");
        let offline = call
            .env("OSV_ENDPOINT", "http://127.0.0.1:9/v1/query")
            .run();
        offline.exits(3);
        assert_eq!(error_code(&offline), "offline", "{offline}");
        desk.has_nothing();
    }
}

#[test]
fn a_package_of_pypi_is_installed_for_a_plugin_when_it_is_enabled() {
    for installer in BOTH {
        let desk = Desk::new();
        desk.plugin("['python-dateutil==2.9.0.post0']");
        let words = ["plugins", "enable", "notes", "--install-packages"];
        let enable = desk.with_installer(desk.home.hermes(words), installer);
        of_account(enable).run().succeeds();
        let code = "import dateutil, six; print(dateutil.__file__)";
        let used = desk
            .call(installer, &["python", "plugin:notes", "-c", code])
            .run();
        let place = desk.home.path("lazy-packages/@envs/plugin:notes");
        used.succeeds().prints_part(place.to_str().unwrap());
    }
}
