//! Containers, clusters and clouds: what is deleted there does not come back, and what a container is
//! given of this machine is this machine's.

use super::super::keys;
use super::super::paths::{is_irreplaceable, located, sensitivity};
use super::{Call, Keys, has_letter};
use hermes_shell::{Word, is_one_of, operands};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let texts = call.texts();
    let mut words = operands(
        texts.iter().copied(),
        "-n --namespace --context -f --file -p --profile --region -C --chdir --host -H",
    );
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let has = |list: &str| texts.iter().any(|text| is_one_of(text, list));
    let deletes = match call.name() {
        "docker" | "podman" | "nerdctl" => {
            containers(call, first, second, texts, keys);
            false
        }
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "cdktf" | "vagrant" | "packer"
        | "sam" => {
            has("destroy delete")
                || first.starts_with("apply") && has("-auto-approve --auto-approve -destroy")
                || (first == "state" && second == "rm")
        }
        "kubectl" | "oc" | "k3s" | "helm" | "eksctl" | "kops" | "kind" | "minikube" | "k3d"
        | "argocd" => {
            is_one_of(first, "delete drain uninstall del") || is_one_of(second, "delete uninstall")
        }
        "aws" => {
            let verb = |text: &&str| {
                ["delete-", "terminate-", "deregister-", "purge-", "remove-"]
                    .iter()
                    .any(|prefix| text.starts_with(prefix))
            };
            texts.iter().any(verb)
                || (first == "s3"
                    && (second == "rb" || has("--recursive") && second == "rm" || has("--delete")))
        }
        "gcloud" | "az" | "doctl" | "fly" | "flyctl" | "heroku" | "vercel" | "netlify"
        | "hcloud" | "linode-cli" | "ibmcloud" | "oci" | "scw" | "supabase" | "firebase"
        | "wrangler" | "railway" => has(
            "delete destroy remove rm purge terminate apps:destroy pg:reset apps:delete addons:destroy db:reset",
        ),
        "gh" | "glab" => {
            is_one_of(second, "delete archive") || (first == "api" && has("DELETE -XDELETE"))
        }
        "gsutil" | "s3cmd" | "rclone" | "mc" | "b2" | "azcopy" => {
            is_one_of(first, "rb purge delete del rmdirs")
                || (is_one_of(first, "rm remove")
                    && (has_letter(texts, 'r') || has("--recursive --force")))
        }
        "redis-cli" | "valkey-cli" => texts
            .iter()
            .any(|text| is_one_of(&text.to_ascii_lowercase(), "flushall flushdb")),
        "mongo" | "mongosh" => texts.iter().any(|text| {
            text.contains("dropDatabase")
                || text.contains(".drop(")
                || text.contains("deleteMany({})")
        }),
        "etcdctl" | "consul" | "vault" | "nomad" => has("del delete destroy purge"),
        "restic" | "borg" => is_one_of(first, "forget delete prune"),
        _ => false,
    };
    if deletes {
        keys.push(keys::CLOUD);
    }
}

fn containers(call: &Call<'_>, first: &str, second: &str, texts: &[&str], keys: &mut Keys) {
    let forced = has_letter(texts, 'f') || texts.contains(&"--force");
    let deletes = first == "prune"
        || second == "prune"
        || (first == "volume" && matches!(second, "rm" | "remove"))
        || (matches!(first, "rm" | "rmi") && forced)
        || (matches!(first, "container" | "image") && second == "rm" && forced)
        || (first == "stack" && second == "rm");
    if deletes {
        keys.push(keys::DOCKER_PRUNE);
    }
    if !texts
        .iter()
        .any(|text| matches!(*text, "run" | "create" | "exec"))
    {
        return;
    }
    let privileged = texts.iter().any(|text| {
        matches!(
            *text,
            "--privileged"
                | "--privileged=true"
                | "--pid=host"
                | "--cap-add=ALL"
                | "--cap-add=SYS_ADMIN"
                | "--userns=host"
        ) || text.starts_with("--device=/dev/sd")
    }) || texts.windows(2).any(|pair| {
        matches!(
            pair,
            ["--pid" | "--ipc", "host"] | ["--cap-add", "ALL" | "SYS_ADMIN"]
        )
    });
    if privileged || mounts(call).iter().any(|source| is_host(call, source)) {
        keys.push(keys::DOCKER_HOST);
    }
}

/// Sources of the mounts a container is given.
fn mounts(call: &Call<'_>) -> Vec<Word> {
    let args = call.command.args();
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        let value = match text {
            "-v" | "--volume" | "--mount" => args.get(at + 1).map(|word| word.text.as_str()),
            _ => ["--volume=", "--mount=", "-v"]
                .iter()
                .find_map(|option| text.strip_prefix(option)),
        };
        let Some(value) = value else { continue };
        let source = value
            .split(',')
            .find_map(|part| {
                part.strip_prefix("source=")
                    .or_else(|| part.strip_prefix("src="))
            })
            .or_else(|| value.split(':').next());
        found.extend(
            source
                .filter(|source| source.starts_with(['/', '~', '.']))
                .map(Word::constant),
        );
    }
    found
}

fn is_host(call: &Call<'_>, source: &Word) -> bool {
    let homes = &call.paths.homes;
    is_irreplaceable(call.command, source, homes)
        || located(call.command, source, homes) == "~/.hermes"
        || sensitivity(call.command, source, homes).is_some()
}
