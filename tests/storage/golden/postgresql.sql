CREATE TABLE horae_alembic_version (
    version_num character varying(32) NOT NULL,
    CONSTRAINT horae_alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE horae_job_attempts (
    job_id bigint NOT NULL,
    lease bigint NOT NULL,
    attempt integer NOT NULL,
    node_id character varying(64),
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    outcome character varying(16) NOT NULL,
    error text,
    traceback text,
    CONSTRAINT horae_job_attempts_outcome CHECK (((outcome)::text = ANY ((ARRAY['finished'::character varying, 'failed'::character varying, 'cancelled'::character varying, 'timed_out'::character varying, 'crashed'::character varying])::text[]))),
    CONSTRAINT horae_job_attempts_pkey PRIMARY KEY (job_id, lease)
);
CREATE TABLE horae_jobs (
    id bigint NOT NULL DEFAULT nextval('horae_jobs_id_seq'::regclass),
    type character varying(200) NOT NULL,
    queue character varying(200) NOT NULL,
    priority integer NOT NULL,
    state character varying(16) NOT NULL,
    label character varying(128),
    progress_percentage smallint NOT NULL DEFAULT 0,
    owner character varying(200),
    params jsonb,
    result jsonb,
    error text,
    human_readable_error text,
    attempt integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 1,
    backoff jsonb,
    lease bigint NOT NULL DEFAULT 0,
    node_id character varying(64),
    unique_key character varying(200),
    run_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    cancelled_by character varying(200),
    meta jsonb NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT horae_jobs_attempts CHECK (((attempt >= 0) AND (max_attempts >= 1) AND (lease >= attempt))),
    CONSTRAINT horae_jobs_cancelled_by CHECK (((cancelled_by IS NULL) OR ((state)::text = 'cancelled'::text))),
    CONSTRAINT horae_jobs_ended CHECK (((finished_at IS NOT NULL) = ((state)::text = ANY ((ARRAY['finished'::character varying, 'failed'::character varying, 'cancelled'::character varying])::text[])))),
    CONSTRAINT horae_jobs_held CHECK (
CASE state
    WHEN 'pending'::text THEN (node_id IS NULL)
    WHEN 'started'::text THEN (node_id IS NOT NULL)
    WHEN 'finished'::text THEN (node_id IS NULL)
    ELSE true
END),
    CONSTRAINT horae_jobs_pkey PRIMARY KEY (id),
    CONSTRAINT horae_jobs_progress CHECK (((progress_percentage >= 0) AND (progress_percentage <= 100))),
    CONSTRAINT horae_jobs_state CHECK (((state)::text = ANY ((ARRAY['pending'::character varying, 'started'::character varying, 'finished'::character varying, 'failed'::character varying, 'cancelled'::character varying])::text[])))
);
CREATE INDEX horae_jobs_ended ON horae_jobs USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX horae_jobs_held ON horae_jobs USING btree (node_id) WHERE (node_id IS NOT NULL);
CREATE INDEX horae_jobs_occupying ON horae_jobs USING btree (owner, type) WHERE ((owner IS NOT NULL) AND ((finished_at IS NULL) OR (node_id IS NOT NULL)));
CREATE INDEX horae_jobs_owner ON horae_jobs USING btree (owner, id) WHERE (owner IS NOT NULL);
CREATE INDEX horae_jobs_ready ON horae_jobs USING btree (priority DESC, run_at, id, queue, type) WHERE ((state)::text = 'pending'::text);
CREATE UNIQUE INDEX horae_jobs_unique_key ON horae_jobs USING btree (type, unique_key) WHERE ((unique_key IS NOT NULL) AND (finished_at IS NULL));
CREATE UNLOGGED TABLE horae_live_cancels (
    job_id bigint NOT NULL,
    requested_by character varying(200),
    requested_at timestamp with time zone NOT NULL,
    CONSTRAINT horae_live_cancels_pkey PRIMARY KEY (job_id)
);
CREATE UNLOGGED TABLE horae_live_jobs (
    job_id bigint NOT NULL,
    lease bigint NOT NULL,
    label character varying(128),
    progress_percentage smallint NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT horae_live_jobs_pkey PRIMARY KEY (job_id)
);
CREATE TABLE horae_nodes (
    id character varying(64) NOT NULL,
    name character varying(200) NOT NULL,
    host character varying(300) NOT NULL,
    pid integer NOT NULL,
    version character varying(50) NOT NULL,
    roles jsonb NOT NULL,
    queues jsonb,
    types jsonb NOT NULL,
    concurrency integer NOT NULL,
    lock_key bigint,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    CONSTRAINT horae_nodes_pkey PRIMARY KEY (id)
);
CREATE TABLE horae_queues (
    name character varying(200) NOT NULL,
    paused_at timestamp with time zone,
    note text,
    CONSTRAINT horae_queues_pkey PRIMARY KEY (name)
);
