//! The machine: disks, accounts, settings, packages, privileges.

use super::{Case, case};
use crate::command::keys;

pub(super) const CASES: &[Case] = &[
    case(
        keys::FORMAT,
        &[
            "mkfs /dev/x",
            "mkfs.ext4 -F disk.img",
            "mke2fs img",
            "wipefs -a img",
            "wipefs --all img",
            "wipefs --a img",
        ],
        &["man mkfs", "wipefs img", "echo mkfs.ext4"],
    ),
    case(
        keys::DISK_COPY,
        &["dd if=/dev/zero of=x bs=1M", "sudo dd of=b if=a"],
        &["dd --help", "echo dd if=x", "dd of=x"],
    ),
    case(
        keys::BLOCK_DEVICE,
        &[
            "echo x > /dev/sda",
            "cat i > /dev/nvme0n1",
            "tee /dev/vda",
            "cp i /dev/mmcblk0",
            "ddrescue i /dev/sda map",
            "qemu-img convert -O raw i.qcow2 /dev/sda",
            "bmaptool copy i.img /dev/sdb",
            "e2image -r i /dev/sda1",
            "debugfs -w /dev/sda1",
            "partclone.ext4 -r -s i -o /dev/sda1",
            "ntfsclone --overwrite /dev/sda1 i",
        ],
        &[
            "echo x > /dev/null",
            "cat /dev/sda",
            "echo /dev/sda",
            "ddrescue /dev/sda i map",
            "qemu-img info /dev/sda",
            "qemu-img convert -O qcow2 /dev/sda i",
            "e2image /dev/sda1 i",
            "debugfs /dev/sda1",
        ],
    ),
    case(
        keys::SYSTEM_CONFIG,
        &[
            "echo x > /etc/hosts",
            "echo x >> /private/etc/y",
            "{ a; b; } > /etc/x",
            "cat <<E > /etc/x\na\nE",
            ">/etc/x",
            "a && b > /etc/x",
        ],
        &[
            "cat /etc/hosts",
            "echo '> /etc/x'",
            "echo x > etc/y",
            "cat < /etc/x",
            "ls 2>/dev/null",
        ],
    ),
    case(
        keys::SYSTEM_SERVICE,
        &[
            "systemctl stop nginx",
            "sudo systemctl --now disable x",
            "systemctl --user restart x",
            "service nginx restart",
        ],
        &[
            "systemctl status stop",
            "service nginx status",
            "systemctl list-units",
        ],
    ),
    case(
        keys::COPY_TO_SYSTEM,
        &[
            "cp x /etc/y",
            "mv x /private/etc/y",
            "install -m 644 a /etc/b",
            "cp -t /etc a b",
        ],
        &["cp /etc/hosts .", "mv a b", "install -t dst /etc/a"],
    ),
    case(
        keys::EDIT_SYSTEM,
        &[
            "sed -i s/a/b/ /etc/x",
            "sed -i.bak -e s/a/b/ /etc/x",
            "sed -Ei s/a/b/ /etc/x",
        ],
        &[
            "sed s/a/b/ /etc/x",
            "sed -i s/a/b/ x",
            "sed -n -e /i/p /etc/x",
            "sed -i s,/etc/a,b, x",
        ],
    ),
    case(
        keys::EDIT_SYSTEM_LONG,
        &[
            "sed --in-place s/a/b/ /etc/x",
            "sed --in-place=.b s/a/b/ /etc/x",
            "sed --i --e s/a/b/ /etc/x",
        ],
        &["sed --in-place s/a/b/ x", "sed --quiet p /etc/x"],
    ),
    case(
        keys::SYSTEM_TEE,
        &[
            "echo x | tee /etc/hosts",
            "echo x | sudo tee -a ~/.bashrc",
            "tee $HOME/.ssh/config",
        ],
        &["tee out.log", "tee < /etc/hosts"],
    ),
    case(
        keys::SYSTEM_REDIRECT,
        &[
            "echo x >> ~/.bashrc",
            "echo k > $HOME/.ssh/authorized_keys",
            "echo > /home/u/.netrc",
            "cat > ~/.hermes/.env",
            "echo x > ~/.hermes/config.yaml",
            "echo > ~/.hermes/profiles/p/.env",
        ],
        &["cat ~/.bashrc", "echo x > ~/notes", "echo x > '~/.bashrc'"],
    ),
    case(
        keys::SUDO_FLAG,
        &[
            "sudo -S id",
            "sudo -s",
            "sudo --askpass id",
            "sudo -u x -A id",
            "sudo --a id",
            "sudo --us x --lo",
            "sudo --st id",
        ],
        &[
            "sudo id",
            "sudo -n id",
            "sudo id -S",
            "sudo -u s id",
            "sudo --n id",
            "sudo --us x id --a",
        ],
    ),
    case(
        keys::SUDO_COMBINED,
        &["sudo -nS id", "sudo -ns"],
        &["sudo -nk id", "sudo -nu root id"],
    ),
    case(
        keys::WINDOWS_CMD,
        &["cmd.exe /c 'del /s /q x'", "cmd /c rd /s /q x"],
        &["cmd.exe /c dir", "rmdir x"],
    ),
    case(
        keys::WINDOWS_POWERSHELL,
        &[
            "powershell.exe -Command 'Remove-Item -Recurse -Force x'",
            "pwsh -c 'rm -r x'",
        ],
        &["powershell.exe -Command Get-Item x", "pwsh x.ps1"],
    ),
    case(
        keys::POWERSHELL_ENCODED,
        &[
            "powershell -EncodedCommand aQBk",
            "powershell.exe -NoP -enc aQBk",
        ],
        &[
            "powershell -File x.ps1",
            "powershell -ExecutionPolicy Bypass x",
        ],
    ),
    case(
        keys::PARTITIONS,
        &[
            "fdisk /dev/sda",
            "swapoff -a",
            "lvremove -f vg/lv",
            "zpool destroy x",
            "parted /dev/sda mklabel gpt",
        ],
        &["fdisk -l", "parted -l", "zpool list", "lsblk"],
    ),
    case(
        keys::POWER,
        &[
            "systemctl suspend",
            "init 1",
            "telinit u",
            "loginctl suspend",
            "systemctl rescue",
        ],
        &["systemctl status", "git init 1", "loginctl list-sessions"],
    ),
    case(
        keys::ACCOUNTS,
        &[
            "passwd root",
            "usermod -aG sudo x",
            "visudo -f x",
            "echo root:x | chpasswd",
            "sudo useradd x",
        ],
        &[
            "passwd -S root",
            "getent passwd root",
            "id root",
            "man useradd",
        ],
    ),
    case(
        keys::SCHEDULE,
        &[
            "echo '* * * * * x' | crontab -",
            "crontab -r",
            "at now <<< x",
            "batch <<< x",
            "systemd-run --on-active=1 x",
        ],
        &["crontab -l", "at -l", "atq", "systemd-run ls"],
    ),
    case(
        keys::NETWORK,
        &[
            "iptables -F",
            "nft flush ruleset",
            "ufw disable",
            "ip link set eth0 down",
            "ip route del default",
        ],
        &[
            "iptables -L",
            "ip addr",
            "ip route",
            "ufw status",
            "nft list ruleset",
        ],
    ),
    case(
        keys::MOUNTS,
        &["umount -a", "mount -o remount,ro /", "sudo umount -l /home"],
        &["mount", "mount -l", "findmnt", "echo mount x"],
    ),
    case(
        keys::KERNEL,
        &[
            "sysctl -w kernel.panic=1",
            "modprobe -r x",
            "insmod x.ko",
            "setenforce 0",
        ],
        &["sysctl kernel.panic", "lsmod", "sysctl -a"],
    ),
    case(
        keys::PACKAGES,
        &[
            "apt-get purge -y x",
            "sudo apt remove x",
            "dpkg -P x",
            "pacman -Rns x",
        ],
        &["apt-get install x", "dpkg -l", "apt list", "pacman -Q"],
    ),
];
