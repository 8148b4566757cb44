-- Machines that share the board, which of them a card asks for, and which one an attempt ran on.
ALTER TABLE tasks ADD COLUMN host_labels TEXT COLLATE "C";
ALTER TABLE tasks ADD COLUMN host_name TEXT COLLATE "C";
ALTER TABLE task_runs ADD COLUMN host_id TEXT COLLATE "C";
ALTER TABLE task_runs ADD COLUMN host_name TEXT COLLATE "C";

-- Rewritten every few seconds by each host, so that there is room for it on the page.
CREATE TABLE hermes_hosts (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    slots BIGINT,
    version TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    beat_seconds BIGINT NOT NULL,
    left_at BIGINT,
    machine TEXT COLLATE "C" NOT NULL,
    boot_id TEXT COLLATE "C" NOT NULL,
    home TEXT COLLATE "C" NOT NULL,
    home_mark TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
