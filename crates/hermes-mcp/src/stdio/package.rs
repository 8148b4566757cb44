//! Which package of a public registry a server's command would fetch and run.

use hermes_http::{PublicPackage, Registry};

/// Options of the programs that take a value which is not the package.
const WITH_VALUE: [&str; 15] = [
    "--with",
    "--python",
    "--index",
    "--index-url",
    "--default-index",
    "--extra-index-url",
    "--constraints",
    "--directory",
    "--pip-args",
    "--registry",
    "--cache",
    "--prefix",
    "--userconfig",
    "--workspace",
    "-w",
];

/// The package that `npx`, `uvx`, `pipx run` and the like would run; `None` for other programs, and for
/// what comes from no registry.
pub(crate) fn public_package(command: &str, args: &[String]) -> Option<PublicPackage> {
    let program = command.rsplit('/').next()?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (registry, rest) = match (program, words.as_slice()) {
        ("npx", rest) | ("npm", ["exec" | "x", rest @ ..]) => (Registry::Npm, rest),
        ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) | ("pipx", ["run", rest @ ..]) => {
            (Registry::PyPi, rest)
        }
        _ => return None,
    };
    let name = named(registry, rest)?;
    match registry {
        Registry::Npm => of_npm(name),
        Registry::PyPi => of_pypi(name),
    }
}

/// The word that names the package: an option's value, or the first that is no option.
fn named<'a>(registry: Registry, words: &[&'a str]) -> Option<&'a str> {
    let names_package: &[&str] = match registry {
        Registry::Npm => &["-p", "--package"],
        Registry::PyPi => &["--from", "--spec"],
    };
    // `-p` of uvx is a version of Python.
    let is_value_of =
        |word: &str| WITH_VALUE.contains(&word) || registry == Registry::PyPi && word == "-p";
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if names_package.contains(&word) {
            return words.next();
        }
        if let Some((option, value)) = word.split_once('=')
            && names_package.contains(&option)
        {
            return Some(value);
        }
        if is_value_of(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// `name`, `name@version` or `@scope/name@version`.
fn of_npm(word: &str) -> Option<PublicPackage> {
    let after_scope = word.char_indices().skip(1).find(|(_, c)| *c == '@');
    let (name, version) = match after_scope {
        Some((at, _)) => (word.get(..at)?, word.get(at + 1..)),
        None => (word, None),
    };
    let slashes = usize::from(name.starts_with('@'));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '/' | '-' | '_' | '.');
    if name.is_empty()
        || !name.chars().all(is_name)
        || name.matches('/').count() != slashes
        || name.starts_with('.')
    {
        return None;
    }
    Some(PublicPackage {
        registry: Registry::Npm,
        name: name.to_owned(),
        version: version
            .filter(|version| is_exact(version))
            .map(str::to_owned),
    })
}

/// `name`, `name[extra]==version` or, as uvx has it, `name@version`.
fn of_pypi(word: &str) -> Option<PublicPackage> {
    let (name, version) = match word.split_once("==").or_else(|| word.split_once('@')) {
        Some((name, version)) => (name, Some(version)),
        None => (word, None),
    };
    let name = name.split(['[', '<', '>', '~', '!', '=']).next()?.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with('.') {
        return None;
    }
    Some(PublicPackage {
        registry: Registry::PyPi,
        name: name.to_owned(),
        version: version
            .filter(|version| is_exact(version))
            .map(str::to_owned),
    })
}

/// Whether it is a version, not a range or a tag.
fn is_exact(version: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '!');
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.contains('.')
        && version.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn found(line: &str) -> Option<(Registry, String, Option<String>)> {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next()?;
        let package = public_package(&command, &words.collect::<Vec<_>>())?;
        Some((package.registry, package.name, package.version))
    }

    #[test]
    fn the_package_is_found_among_the_options() {
        let npm = |name: &str, version: Option<&str>| {
            Some((Registry::Npm, name.to_owned(), version.map(str::to_owned)))
        };
        let pypi = |name: &str, version: Option<&str>| {
            Some((Registry::PyPi, name.to_owned(), version.map(str::to_owned)))
        };
        for (line, package) in [
            (
                "npx -y @scope/server@1.2.3 /data",
                npm("@scope/server", Some("1.2.3")),
            ),
            ("/usr/bin/npx --yes server", npm("server", None)),
            ("npx server@latest", npm("server", None)),
            ("npx -p tool@2.0.0 run-it", npm("tool", Some("2.0.0"))),
            ("npx --package=tool run-it", npm("tool", None)),
            ("npm exec -- server", npm("server", None)),
            ("uvx mcp-server-git", pypi("mcp-server-git", None)),
            ("uvx --from mcp[cli]==1.2.0 mcp", pypi("mcp", Some("1.2.0"))),
            (
                "uvx --python 3.12 server@1.0.0",
                pypi("server", Some("1.0.0")),
            ),
            ("uvx -p 3.12 server>=1.0", pypi("server", None)),
            ("uv tool run server", pypi("server", None)),
            ("pipx run --spec pkg==1.0 prog", pypi("pkg", Some("1.0"))),
            ("pipx run server", pypi("server", None)),
        ] {
            assert_eq!(found(line), package, "{line}");
        }
    }

    #[test]
    fn what_comes_from_no_registry_is_not_looked_up() {
        for line in [
            "node server.js",
            "python3 -m server",
            "npm start",
            "npx ./local",
            "npx github:user/repository",
            "npx -y",
            "uvx --from git+https://host/x.git tool",
            "uvx ./directory",
            "pipx install x",
            "uv run server.py",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
