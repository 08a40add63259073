CREATE TABLE horae_alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT horae_alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE horae_job_attempts (
    job_id INTEGER NOT NULL,
    lease BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    node_id VARCHAR(64),
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    outcome VARCHAR(16) NOT NULL,
    error TEXT,
    traceback TEXT,
    CONSTRAINT horae_job_attempts_pkey PRIMARY KEY (job_id, lease),
    CONSTRAINT horae_job_attempts_outcome CHECK (outcome IN ('finished', 'failed', 'cancelled', 'timed_out', 'crashed'))
);
CREATE TABLE horae_jobs (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    type VARCHAR(200) NOT NULL,
    queue VARCHAR(200) NOT NULL,
    priority INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    label VARCHAR(128),
    progress_percentage SMALLINT DEFAULT 0 NOT NULL,
    owner VARCHAR(200),
    params TEXT,
    result TEXT,
    error TEXT,
    human_readable_error TEXT,
    attempt INTEGER DEFAULT 0 NOT NULL,
    max_attempts INTEGER DEFAULT 1 NOT NULL,
    backoff TEXT,
    lease BIGINT DEFAULT 0 NOT NULL,
    node_id VARCHAR(64),
    unique_key VARCHAR(200),
    run_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    cancelled_by VARCHAR(200),
    meta TEXT DEFAULT '{}' NOT NULL,
    CONSTRAINT horae_jobs_state CHECK (state IN ('pending', 'started', 'finished', 'failed', 'cancelled')),
    CONSTRAINT horae_jobs_ended CHECK ((finished_at IS NOT NULL) = (state IN ('finished', 'failed', 'cancelled'))),
    CONSTRAINT horae_jobs_held CHECK (CASE state WHEN 'pending' THEN node_id IS NULL WHEN 'started' THEN node_id IS NOT NULL WHEN 'finished' THEN node_id IS NULL ELSE TRUE END),
    CONSTRAINT horae_jobs_progress CHECK (progress_percentage BETWEEN 0 AND 100),
    CONSTRAINT horae_jobs_attempts CHECK (attempt >= 0 AND max_attempts >= 1 AND lease >= attempt),
    CONSTRAINT horae_jobs_cancelled_by CHECK (cancelled_by IS NULL OR state = 'cancelled')
);
CREATE TABLE horae_nodes (
    id VARCHAR(64) NOT NULL,
    name VARCHAR(200) NOT NULL,
    host VARCHAR(300) NOT NULL,
    pid INTEGER NOT NULL,
    version VARCHAR(50) NOT NULL,
    roles TEXT NOT NULL,
    queues TEXT,
    types TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    lock_key BIGINT,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    CONSTRAINT horae_nodes_pkey PRIMARY KEY (id)
);
CREATE TABLE horae_queues (
    name VARCHAR(200) NOT NULL,
    paused_at BIGINT,
    note TEXT,
    CONSTRAINT horae_queues_pkey PRIMARY KEY (name)
);
CREATE INDEX horae_jobs_ended ON horae_jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX horae_jobs_held ON horae_jobs (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX horae_jobs_occupying ON horae_jobs (owner, type) WHERE owner IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL);
CREATE INDEX horae_jobs_owner ON horae_jobs (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX horae_jobs_ready ON horae_jobs (priority DESC, run_at, id, queue, type) WHERE state = 'pending';
CREATE UNIQUE INDEX horae_jobs_unique_key ON horae_jobs (type, unique_key) WHERE unique_key IS NOT NULL AND finished_at IS NULL;
