//! What others keep: repositories, databases, clouds.

use super::{Case, case};
use crate::command::keys;

pub(super) const CASES: &[Case] = &[
    case(
        keys::SQL_DROP,
        &[
            "psql -c 'drop table x'",
            "echo 'DROP DATABASE x;' | mysql",
            "sqlite3 a.db \"DROP TABLE t\"",
            "dropdb x",
        ],
        &[
            "echo DROP TABLE x",
            "psql -c \"select 'drop table x'\"",
            "psql -c 'select 1 -- drop table x'",
        ],
    ),
    case(
        keys::SQL_DELETE,
        &[
            "mysql -e 'DELETE FROM t'",
            "psql <<E\ndelete from t;\nselect 1 where 2;\nE",
        ],
        &[
            "mysql -e 'DELETE FROM t WHERE id=1'",
            "git commit -m 'DELETE FROM t'",
        ],
    ),
    case(
        keys::SQL_TRUNCATE,
        &["psql -c 'TRUNCATE TABLE t'", "mysql -e'truncate t'"],
        &["truncate -s 0 x", "psql -c 'select truncate(1)'"],
    ),
    case(
        keys::GIT_RESET,
        &[
            "git reset --hard",
            "git -C x reset --hard HEAD~1",
            "git reset --h",
            "git --work-t x reset --har",
        ],
        &[
            "git reset --soft HEAD~1",
            "git commit -m 'git reset --hard'",
            "git reset -- --hard",
        ],
    ),
    case(
        keys::GIT_FORCE_PUSH,
        &[
            "git push --force",
            "git push --force-with-lease origin x",
            "git push --forc",
            "git push origin +main",
        ],
        &["git push", "git push origin force"],
    ),
    case(
        keys::GIT_FORCE_PUSH_SHORT,
        &["git push -f", "git -c a=b push -uf origin x"],
        &["git push -u origin x", "git fetch -f"],
    ),
    case(
        keys::GIT_CLEAN,
        &["git clean -fdx", "git clean --force", "git clean --f -d"],
        &["git clean -n", "git clean -nd", "git clean --dry"],
    ),
    case(
        keys::GIT_BRANCH_D,
        &["git branch -D x", "git branch -rD x"],
        &["git branch -d x", "git branch x"],
    ),
    case(
        keys::GIT_BRANCH_LONG,
        &[
            "git branch --delete --force x",
            "git branch -d -f x",
            "git branch --d --forc x",
        ],
        &["git branch --delete x", "git branch --force x y"],
    ),
    case(
        keys::GIT_BRANCH_FORCE_FIRST,
        &["git branch --force --delete x", "git branch -f -d x"],
        &["git branch --force x", "git branch -d x"],
    ),
    case(
        keys::GIT_STASH,
        &["git stash drop", "git -C x stash clear"],
        &["git stash", "git stash pop", "git commit -m 'stash drop'"],
    ),
    case(
        keys::GIT_DISCARD,
        &[
            "git checkout -- .",
            "git checkout .",
            "git restore .",
            "git checkout -f",
            "git worktree remove --force x",
        ],
        &[
            "git checkout main",
            "git checkout -- a.rs",
            "git restore --staged .",
            "git switch -c x",
        ],
    ),
    case(
        keys::GIT_HISTORY,
        &[
            "git update-ref -d refs/heads/main",
            "git filter-branch -f",
            "git reflog expire --expire=now --all",
            "git gc --prune=now",
        ],
        &[
            "git gc",
            "git reflog",
            "git tag v1",
            "git update-ref refs/x y",
        ],
    ),
    case(
        keys::GIT_PUSH_DELETE,
        &[
            "git push origin :main",
            "git push --delete origin x",
            "git push --mirror",
        ],
        &[
            "git push origin main",
            "git push origin a:b",
            "git push --tags",
        ],
    ),
    case(
        keys::GIT_SETTING,
        &[
            "git config --global core.hooksPath /tmp/h",
            "git config alias.x '!id'",
            "git config core.sshCommand x",
        ],
        &[
            "git config user.name x",
            "git config --get core.editor",
            "git config alias.st status",
            "git config core.editor vim",
        ],
    ),
    case(
        keys::CLOUD,
        &[
            "terraform destroy -auto-approve",
            "kubectl delete ns x",
            "aws s3 rb s3://x",
            "gh repo delete x",
            "redis-cli FLUSHALL",
        ],
        &[
            "terraform plan",
            "kubectl get pods",
            "aws s3 ls",
            "gh pr list",
            "redis-cli get x",
        ],
    ),
];
