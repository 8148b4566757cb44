//! Commands that change the machine itself: accounts, power, schedules, network, mounts, kernel,
//! partitions, packages.

use super::super::keys::{self, Key};
use super::{Call, Keys, has_letter};
use hermes_shell::{is_one_of, operands};

/// Programs that change something whatever they are given, and what that is.
const ALWAYS: &[(&str, Key)] = &[
    (
        "useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup gpasswd \
         chpasswd newusers vipw vigr visudo chsh chfn passwd dseditgroup sysadminctl pwconv",
        keys::ACCOUNTS,
    ),
    (
        "fdisk cfdisk sfdisk gdisk sgdisk parted partprobe",
        keys::PARTITIONS,
    ),
    (
        "lvremove vgremove pvremove lvreduce vgreduce pvcreate mkswap swapoff swapon blkdiscard dmsetup \
         tune2fs resize2fs cryptsetup badblocks fsfreeze hdparm flashrom efibootmgr grub-install",
        keys::PARTITIONS,
    ),
    (
        "umount mount losetup pivot_root switch_root fusermount",
        keys::MOUNTS,
    ),
    ("insmod rmmod modprobe kexec setenforce", keys::KERNEL),
    ("batch", keys::SCHEDULE),
    ("pm-suspend pm-hibernate rtcwake", keys::POWER),
];

/// Those of them that show something when they are asked to, or given nothing.
const LISTING: &str = "fdisk cfdisk sfdisk gdisk sgdisk parted mount swapon losetup passwd chsh dmsetup tune2fs visudo at efibootmgr";

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let name = call.name();
    let texts = call.texts();
    let first = operands(texts.iter().copied(), "").next();
    // `mount` alone, `fdisk -l`, `passwd -S` and the like only show.
    let shows = |options: &str| texts.iter().any(|text| is_one_of(text, options));
    let only_asks = shows("--help --version -V")
        || is_one_of(name, LISTING)
            && ((texts.is_empty() && !is_one_of(name, "passwd visudo chsh"))
                || shows("-l --list --show -S -h -c print"));
    for (names, key) in ALWAYS {
        if is_one_of(name, names) && !only_asks {
            keys.push(*key);
        }
    }
    if changes_power(name, first, texts) {
        keys.push(keys::POWER);
    }
    if schedules(call, texts, only_asks) {
        keys.push(keys::SCHEDULE);
    }
    if changes_network(name, first, texts) {
        keys.push(keys::NETWORK);
    }
    if changes_volumes(name, texts) {
        keys.push(keys::PARTITIONS);
    }
    if removes_packages(name, first, texts) {
        keys.push(keys::PACKAGES);
    }
    let sets = |text: &&str| text.contains('=') || is_one_of(text, "-w --write -p --load");
    if name == "sysctl" && texts.iter().any(sets) {
        keys.push(keys::KERNEL);
    }
}

fn has_any(texts: &[&str], list: &str) -> bool {
    texts.iter().any(|text| is_one_of(text, list))
}

fn changes_power(name: &str, first: Option<&str>, texts: &[&str]) -> bool {
    match name {
        "init" | "telinit" => first.is_some(),
        "loginctl" => first.is_some_and(|verb| {
            is_one_of(
                verb,
                "suspend hibernate hybrid-sleep terminate-session terminate-user kill-session kill-user",
            )
        }),
        "busctl" | "dbus-send" | "gdbus" => texts.iter().any(|text| {
            let method = text.rsplit('.').next().unwrap_or_default();
            is_one_of(
                method,
                "Suspend Hibernate HybridSleep SuspendThenHibernate KillUser TerminateUser StopUnit",
            )
        }),
        _ => false,
    }
}

fn schedules(call: &Call<'_>, texts: &[&str], only_asks: bool) -> bool {
    match call.name() {
        "crontab" => {
            let fed = call.script.is_fed_by_a_pipe(call.command);
            (fed || !texts.is_empty()) && !texts.contains(&"-l")
        }
        "at" => !only_asks && !texts.is_empty(),
        "systemd-run" => texts.iter().any(|text| text.starts_with("--on-")),
        _ => false,
    }
}

fn changes_network(name: &str, first: Option<&str>, texts: &[&str]) -> bool {
    match name {
        "iptables" | "ip6tables" | "ebtables" | "arptables" => {
            let long =
                "--flush --append --insert --delete --policy --replace --zero --delete-chain";
            let short = ["-F", "-A", "-I", "-D", "-P", "-R", "-X", "-Z"];
            let changes = |text: &&str| short.iter().any(|flag| text.starts_with(flag));
            has_any(texts, long) || texts.iter().any(changes)
        }
        "iptables-restore" | "ip6tables-restore" | "ifdown" => true,
        "nft" | "ufw" | "firewall-cmd" | "pfctl" | "route" | "ip" | "ifconfig" | "nmcli"
        | "networksetup" => {
            let verbs = "flush delete del disable reset down deny allow reject replace add --panic-on \
                --remove-service --add-service --add-port --reload off -F -d -f change";
            let shows = matches!(first, Some("netns" | "status" | "show" | "list"));
            has_any(texts, verbs) && !shows
        }
        _ => false,
    }
}

fn changes_volumes(name: &str, texts: &[&str]) -> bool {
    match name {
        "mdadm" => has_any(
            texts,
            "--stop -S --zero-superblock --fail --remove --create -C",
        ),
        "zpool" | "zfs" | "btrfs" | "nvme" | "diskutil" | "lvm" => has_any(
            texts,
            "destroy delete rollback format labelclear remove erase eraseDisk eraseVolume reformat \
             lvremove vgremove sanitize secure-erase partitionDisk",
        ),
        _ => false,
    }
}

fn removes_packages(name: &str, first: Option<&str>, texts: &[&str]) -> bool {
    match name {
        "apt" | "apt-get" | "aptitude" | "yum" | "dnf" | "zypper" | "apk" | "snap" | "flatpak"
        | "brew" => {
            let verbs = "remove purge autoremove erase del uninstall rm";
            first.is_some_and(|verb| is_one_of(verb, verbs))
        }
        "dpkg" | "rpm" => has_any(texts, "-r -P -e --remove --purge --erase"),
        "pacman" => has_letter(texts, 'R'),
        _ => false,
    }
}
