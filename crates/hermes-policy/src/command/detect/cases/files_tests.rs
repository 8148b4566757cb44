//! Deleting, moving and changing files.

use super::{Case, case};
use crate::command::keys;

pub(super) const CASES: &[Case] = &[
    case(
        keys::DELETE_IN_ROOT,
        &[
            "rm /tmp/x",
            "rm -f -- /opt/y",
            "sudo rm /srv/a",
            "/bin/rm /a",
            "rm -rf /opt/x",
            "tar --remove-files -cf /dev/null /etc",
            "zip -rm a.zip ~",
            "gio trash /",
            "trash-put /home/u",
        ],
        &[
            "rm x",
            "rm ./a/b",
            "ls /tmp/x",
            "echo rm /tmp/x",
            "rm -f /tmp/hermes-verify-1.py",
            "tar -cf /tmp/a.tar /etc",
            "tar --remove-files -cf a.tar build",
            "zip -r a.zip src",
            "gio info /",
            "trash-put build",
        ],
    ),
    case(
        keys::RECURSIVE_DELETE,
        &[
            "rm -rf build",
            "rm build -r",
            "rm -fR x",
            "bash -c 'rm -rf ./x'",
            "rm -rf ./x &",
        ],
        &[
            "rm -f x",
            "rm -- -r",
            "git rm -r x",
            "grep -r x",
            "rmdir -r",
        ],
    ),
    case(
        keys::RECURSIVE_DELETE_LONG,
        &["rm --recursive x", "rm --force --recurs x"],
        &["rm --force x", "rm -- --recursive"],
    ),
    case(
        keys::XARGS_RM,
        &["ls | xargs rm", "find . -print0 | xargs -0 -n 1 /bin/rm -f"],
        &["ls | xargs echo rm", "xargs grep x"],
    ),
    case(
        keys::FIND_EXEC_RM,
        &["find . -exec rm {} \\;", "find . -execdir /bin/rm -f {} +"],
        &["find . -exec ls {} \\;", "find . -name rm"],
    ),
    case(
        keys::FIND_DELETE,
        &["find . -name '*.o' -delete", "find x -type f -delete"],
        &["find . -name -deleted", "echo find -delete"],
    ),
    case(
        keys::WORLD_WRITABLE,
        &[
            "chmod 777 x",
            "chmod -R 666 x",
            "chmod o+w x",
            "chmod u+x,a+rw x",
            "chmod 0777 x",
            "chmod ugo+w x",
        ],
        &[
            "chmod 755 x",
            "chmod u+w x",
            "chmod o+r x",
            "chmod +x x",
            "chmod o-w x",
            "echo chmod 777",
        ],
    ),
    case(
        keys::WORLD_WRITABLE_LONG,
        &["chmod --recursive 777 x", "chmod --recurs o+w ."],
        &["chmod --recursive 755 x", "chmod --reference=a 700"],
    ),
    case(
        keys::CHOWN_ROOT,
        &["chown -R root x", "chown -hR root:root x", "chown -R 0:0 x"],
        &["chown -R me x", "chown root x", "chown -R me:root x"],
    ),
    case(
        keys::CHOWN_ROOT_LONG,
        &["chown --recursive root x", "chown --recursive root: x"],
        &["chown --recursive me x", "chown --reference=a root"],
    ),
    case(
        keys::PROJECT_TEE,
        &["echo x | tee .env", "tee -a app/config.yaml"],
        &["tee env", "tee my-config.yaml"],
    ),
    case(
        keys::PROJECT_REDIRECT,
        &[
            "echo A=1 > .env",
            "cat x >> ./a/.env.local",
            "echo > config.yaml",
        ],
        &["cat .env", "echo > .envrc", "echo > config.json"],
    ),
    case(
        keys::PROJECT_COPY,
        &[
            "cp .env.example .env",
            "mv x app/config.yaml",
            "cp x ~/.hermes/config.yaml",
        ],
        &["cp .env backup", "mv config.yaml old"],
    ),
    case(
        keys::COPY_TO_SENSITIVE,
        &[
            "cp k ~/.ssh/authorized_keys",
            "mv x $HOME/.bashrc",
            "install k /home/u/.netrc",
        ],
        &["cp ~/.ssh/id.pub .", "cp a ~/notes"],
    ),
    case(
        keys::EDIT_SENSITIVE,
        &["sed -i s/a/b/ ~/.bashrc", "sed -i -e s/a/b/ ~/.ssh/config"],
        &["sed -n p ~/.bashrc", "sed -i s/a/b/ bashrc"],
    ),
    case(
        keys::EDIT_SENSITIVE_LONG,
        &[
            "sed --in-place s/a/b/ ~/.zshrc",
            "sed --in-place=x s/a/b/ ~/.npmrc",
        ],
        &["sed --in-place s/a/b/ x", "sed --quiet p ~/.zshrc"],
    ),
    case(
        keys::EDIT_SENSITIVE_PERL,
        &[
            "perl -pi -e s/a/b/ ~/.bashrc",
            "ruby -i.bak -pe x ~/.profile",
        ],
        &["perl -pe s/a/b/ ~/.bashrc", "perl -pi -e s/a/b/ x"],
    ),
    case(
        keys::EDIT_HERMES,
        &[
            "sed -i s/a/b/ ~/.hermes/config.yaml",
            "sed -i s/a/b/ $HERMES_HOME/.env",
            "sed -i s/a/b/ /home/u/.hermes/.env",
        ],
        &["sed -i s/a/b/ ~/.hermes/notes.md", "sed p ~/.hermes/.env"],
    ),
    case(
        keys::EDIT_HERMES_LONG,
        &[
            "sed --in-place s/a/b/ ~/.hermes/config.yaml",
            "sed --in-place s/a/b/ ~/.hermes/.env",
        ],
        &[
            "sed --in-place s/a/b/ ~/.hermes/x",
            "sed -n p ~/.hermes/.env",
        ],
    ),
    case(
        keys::EDIT_HERMES_PERL,
        &[
            "perl -i -pe s/a/b/ ~/.hermes/.env",
            "ruby -i -pe x ~/.hermes/config.yaml",
        ],
        &["perl -pe x ~/.hermes/.env", "perl -i -pe x ~/.hermes/y"],
    ),
    case(
        keys::DELETE_SENSITIVE,
        &[
            "rm ~/.ssh/id_rsa",
            "rm -f ~/.hermes/config.yaml",
            "cd ~; unlink .bashrc",
        ],
        &["rm ~/notes", "rm .env.example", "ls ~/.ssh"],
    ),
    case(
        keys::SHRED,
        &["shred -u x", "sudo shred /etc/passwd"],
        &["echo shred", "grep shred x"],
    ),
    case(
        keys::MOVE_ROOT,
        &["mv / /x", "mv ~ /tmp/x", "mv /usr/bin /x", "cd /; mv etc x"],
        &["mv a b", "mv ~/a ~/b", "mv x /tmp", "mv /etc/x ."],
    ),
    case(
        keys::SYNC_DELETE,
        &[
            "rsync -a --delete empty/ /",
            "rsync --delete-after -r x/ ~/",
        ],
        &[
            "rsync -a --delete a/ b/",
            "rsync -a x/ ~/",
            "rsync --delete -a x/ ~/backup/",
        ],
    ),
    case(
        keys::ROOT_MODE,
        &[
            "chmod -R 000 /",
            "chown -R nobody ~",
            "chgrp --recursive x /etc",
            "cd / && chmod -R a-w usr",
        ],
        &["chmod -R u+w .", "chown -R me ./data", "chmod 755 /usr"],
    ),
    case(
        keys::SETUID,
        &["chmod u+s x", "chmod 4755 x", "setcap cap_setuid+ep x"],
        &["chmod 0755 x", "chmod u+x x", "chmod +t x"],
    ),
    case(
        keys::UNPACK_ROOT,
        &[
            "tar -C / -xf x.tar",
            "tar xf x --directory=/etc",
            "unzip -o x.zip -d /",
            "tar xPf x.tar",
        ],
        &[
            "tar xf x.tar -C build",
            "tar -C / -cf x etc",
            "unzip x.zip -d ~/out",
        ],
    ),
];
