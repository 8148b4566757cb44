//! Processes, services and containers, Hermes among them.

use super::{Case, case};
use crate::command::keys;

pub(super) const CASES: &[Case] = &[
    case(
        keys::KILL_ALL,
        &["kill -9 -1", "kill -s TERM -1", "kill -- -1"],
        &["kill -1 77", "kill -9 77", "kill -l"],
    ),
    case(
        keys::FORCE_KILL,
        &["pkill -9 x", "pkill --signal KILL x", "pkill -KILL -f x"],
        &["pkill x", "pkill -15 x"],
    ),
    case(
        keys::KILLALL_KILL,
        &["killall -9 x", "killall -SIGKILL x", "killall -q -KILL x"],
        &["killall x", "killall -TERM x"],
    ),
    case(
        keys::KILLALL_S_KILL,
        &["killall -s KILL x", "killall -s 9 x", "killall --s KILL x"],
        &["killall -s TERM x", "killall KILL"],
    ),
    case(
        keys::KILLALL_REGEX,
        &["killall -r '^x'", "killall -vr x", "killall --r x"],
        &["killall x", "killall -v r"],
    ),
    case(
        keys::FORK_BOMB,
        &[":(){ :|:& };:", "f() { f | f & }; f", "b() { b & b & }; b"],
        &[
            "f() { g | h & }; f",
            "f() { f; }; f",
            "echo ':(){ :|:& };:'",
        ],
    ),
    case(
        keys::KILL_HERMES,
        &[
            "pkill hermes",
            "killall gateway",
            "pkill -f 'hermes gateway run'",
            "pkill -f cli.py",
        ],
        &["pkill nginx", "pkill -f hermesx", "echo pkill hermes"],
    ),
    case(
        keys::KILL_PGREP,
        &[
            "kill $(pgrep x)",
            "kill -9 \"$(pgrep -f x)\"",
            "pgrep x | xargs kill",
        ],
        &["kill 5", "pgrep x", "echo $(pgrep x)"],
    ),
    case(
        keys::KILL_PGREP_BACKTICK,
        &["kill `pgrep x`", "kill -9 `pgrep -f x`"],
        &["kill `cat pid`", "echo `pgrep x`"],
    ),
    case(
        keys::KILL_PIDOF,
        &["kill $(pidof x)", "kill -TERM $(pidof x)"],
        &["kill $(cat pid)", "pidof x"],
    ),
    case(
        keys::KILL_PIDOF_BACKTICK,
        &["kill `pidof x`", "kill -9 `pidof x`"],
        &["echo `pidof x`", "kill `cat p`"],
    ),
    case(
        keys::GATEWAY_STOP,
        &["hermes gateway stop", "hermes -p work gateway restart"],
        &["hermes gateway status", "echo hermes gateway stop"],
    ),
    case(
        keys::HERMES_UPDATE,
        &["hermes update", "hermes --profile x update --yes"],
        &["hermes status", "hermes kanban update"],
    ),
    case(
        keys::GATEWAY_OUTSIDE,
        &[
            "hermes gateway run &",
            "nohup hermes gateway run",
            "setsid hermes gateway run",
        ],
        &["hermes gateway run", "nohup x"],
    ),
    case(
        keys::LAUNCHD,
        &[
            "launchctl stop ai.hermes.gateway",
            "launchctl kickstart -k gui/501/ai.hermes.gateway",
        ],
        &["launchctl list", "launchctl stop com.apple.x"],
    ),
    case(
        keys::DOCKER,
        &[
            "docker stop x",
            "docker container kill x",
            "podman restart x",
        ],
        &["docker ps", "docker logs stop", "docker start x"],
    ),
    case(
        keys::DOCKER_COMPOSE,
        &[
            "docker compose down",
            "docker-compose -f a.yml restart",
            "docker compose -p x stop",
        ],
        &[
            "docker compose ps",
            "docker compose up -d",
            "docker compose logs down",
        ],
    ),
    case(
        keys::KILL_USER,
        &[
            "pkill -u root",
            "killall -u me",
            "pkill --euid 0",
            "pkill .",
        ],
        &["pkill node", "pkill -f 'a -u b'", "killall node"],
    ),
    case(
        keys::HERMES_AGENT,
        &[
            "hermes config set command_allowlist x",
            "hermes -z x",
            "hermes --yolo chat -q x",
            "HERMES_YOLO_MODE=1 hermes kanban list",
        ],
        &[
            "hermes kanban list",
            "hermes config show",
            "hermes status",
            "hermes chat --help",
        ],
    ),
    case(
        keys::DOCKER_PRUNE,
        &[
            "docker system prune -af --volumes",
            "docker volume rm x",
            "docker rm -f x",
            "podman image prune",
        ],
        &[
            "docker ps",
            "docker rm x",
            "docker volume ls",
            "docker run --rm x",
        ],
    ),
    case(
        keys::DOCKER_HOST,
        &[
            "docker run -v /:/h alpine ls",
            "docker run --privileged x",
            "docker run --mount type=bind,src=/etc,dst=/e x",
            "docker run -v /var/run/docker.sock:/s x",
            "docker run -v ~/.hermes:/h x",
            "podman run --mount type=bind,src=/home/u/.hermes,dst=/h x",
        ],
        &[
            "docker run -v $PWD:/app x",
            "docker run -v data:/data x",
            "docker run --rm x",
            "docker run -v ./x:/x y",
        ],
    ),
];
