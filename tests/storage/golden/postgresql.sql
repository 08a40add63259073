CREATE TABLE horae_alembic_version (
    version_num character varying(32) NOT NULL,
    oldest_compatible character varying(32),
    CONSTRAINT horae_alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE horae_audit (
    id bigint NOT NULL DEFAULT nextval('horae_audit_id_seq'::regclass),
    at timestamp with time zone NOT NULL,
    actor character varying(200) NOT NULL,
    action character varying(100) NOT NULL,
    target character varying(300) NOT NULL,
    outcome character varying(100) NOT NULL,
    note text,
    channel character varying(16),
    before jsonb,
    after jsonb,
    CONSTRAINT horae_audit_pkey PRIMARY KEY (id),
    CONSTRAINT horae_audit_readable CHECK (((at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (at <= '9999-12-31 00:00:00+00'::timestamp with time zone)))
);
CREATE INDEX horae_audit_at ON horae_audit USING btree (at);
CREATE INDEX horae_audit_target ON horae_audit USING btree (target, id);
CREATE TABLE horae_backfill_times (
    schedule_id bigint NOT NULL,
    nominal_time timestamp with time zone NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    CONSTRAINT horae_backfill_times_pkey PRIMARY KEY (schedule_id, nominal_time),
    CONSTRAINT horae_backfill_times_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES horae_schedules(id) ON DELETE CASCADE
);
CREATE TABLE horae_bulk_runs (
    job_id bigint NOT NULL,
    lease bigint NOT NULL,
    reached bigint NOT NULL,
    total bigint,
    changed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    CONSTRAINT horae_bulk_runs_pkey PRIMARY KEY (job_id)
);
CREATE TABLE horae_dependencies (
    after_id bigint NOT NULL,
    job_id bigint NOT NULL,
    on_failure character varying(16) NOT NULL,
    ended boolean NOT NULL DEFAULT false,
    CONSTRAINT horae_dependencies_on_failure CHECK (((on_failure)::text = ANY ((ARRAY['cancel'::character varying, 'fail'::character varying, 'run'::character varying])::text[]))),
    CONSTRAINT horae_dependencies_pkey PRIMARY KEY (after_id, job_id)
);
CREATE INDEX horae_dependencies_job_id_ended ON horae_dependencies USING btree (job_id, ended);
CREATE TABLE horae_deployments (
    id bigint NOT NULL DEFAULT nextval('horae_deployments_id_seq'::regclass),
    key character varying(64) NOT NULL,
    module character varying(200) NOT NULL,
    schema text NOT NULL,
    schema_hash character varying(64) NOT NULL,
    min_replicas integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    replaced_by bigint,
    CONSTRAINT horae_deployments_key_key UNIQUE (key),
    CONSTRAINT horae_deployments_min_replicas CHECK ((min_replicas >= 0)),
    CONSTRAINT horae_deployments_pkey PRIMARY KEY (id),
    CONSTRAINT horae_deployments_replaced CHECK (((replaced_by IS NULL) OR (ended_at IS NOT NULL))),
    CONSTRAINT horae_deployments_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES horae_deployments(id) ON DELETE SET NULL
);
CREATE UNIQUE INDEX horae_deployments_current ON horae_deployments USING btree (module) WHERE (ended_at IS NULL);
CREATE TABLE horae_group_parts (
    group_id bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    CONSTRAINT horae_group_parts_pkey PRIMARY KEY (group_id, first_id)
);
CREATE TABLE horae_groups (
    id bigint NOT NULL DEFAULT nextval('horae_groups_id_seq'::regclass),
    owner character varying(200),
    on_failure character varying(16) NOT NULL,
    then_id bigint,
    total bigint NOT NULL DEFAULT 0,
    finished bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    created_at timestamp with time zone NOT NULL,
    inserting_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    cancelled_by character varying(200),
    ended_at timestamp with time zone,
    CONSTRAINT horae_groups_counts CHECK (((finished >= 0) AND (failed >= 0) AND (cancelled >= 0) AND (((finished + failed) + cancelled) <= total))),
    CONSTRAINT horae_groups_ended CHECK (((ended_at IS NULL) OR ((((finished + failed) + cancelled) = total) AND (inserting_at IS NULL)))),
    CONSTRAINT horae_groups_on_failure CHECK (((on_failure)::text = ANY ((ARRAY['continue'::character varying, 'cancel'::character varying])::text[]))),
    CONSTRAINT horae_groups_pkey PRIMARY KEY (id)
);
CREATE INDEX horae_groups_ended_at ON horae_groups USING btree (ended_at);
CREATE UNIQUE INDEX horae_groups_then_id ON horae_groups USING btree (then_id) WHERE (then_id IS NOT NULL);
CREATE INDEX horae_groups_unsettled ON horae_groups USING btree (id) WHERE ((ended_at IS NULL) AND ((cancelled_at IS NOT NULL) OR (inserting_at IS NOT NULL)));
CREATE TABLE horae_history (
    seconds integer NOT NULL,
    start timestamp with time zone NOT NULL,
    everything jsonb NOT NULL,
    queues jsonb NOT NULL,
    types jsonb NOT NULL,
    CONSTRAINT horae_history_pkey PRIMARY KEY (seconds, start),
    CONSTRAINT horae_history_seconds CHECK ((seconds > 0))
);
CREATE TABLE horae_history_state (
    id smallint NOT NULL,
    reached timestamp with time zone NOT NULL,
    behind jsonb NOT NULL,
    CONSTRAINT horae_history_state_only_row CHECK ((id = 1)),
    CONSTRAINT horae_history_state_pkey PRIMARY KEY (id)
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
    CONSTRAINT horae_job_attempts_outcome CHECK ((((outcome)::text = 'finished'::text) OR ((outcome)::text = 'failed'::text) OR ((outcome)::text = 'cancelled'::text) OR ((outcome)::text = 'timed_out'::text) OR ((outcome)::text = 'crashed'::text) OR ((outcome)::text = 'snoozed'::text) OR ((outcome)::text = 'interrupted'::text))),
    CONSTRAINT horae_job_attempts_pkey PRIMARY KEY (job_id, lease)
);
CREATE INDEX horae_job_attempts_failed ON horae_job_attempts USING btree (finished_at) WHERE (((outcome)::text = 'failed'::text) OR ((outcome)::text = 'timed_out'::text) OR ((outcome)::text = 'crashed'::text));
CREATE TABLE horae_job_logs (
    job_id bigint NOT NULL,
    lease bigint NOT NULL,
    line integer NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    level smallint NOT NULL,
    logger character varying(200) NOT NULL,
    message text NOT NULL,
    dropped integer,
    CONSTRAINT horae_job_logs_dropped CHECK ((dropped > 0)),
    CONSTRAINT horae_job_logs_pkey PRIMARY KEY (job_id, lease, line)
);
CREATE INDEX horae_job_logs_at ON horae_job_logs USING btree (at);
CREATE TABLE horae_job_tags (
    tag character varying(200) NOT NULL,
    job_id bigint NOT NULL,
    CONSTRAINT horae_job_tags_pkey PRIMARY KEY (tag, job_id)
);
CREATE INDEX horae_job_tags_job_id ON horae_job_tags USING btree (job_id);
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
    schedule_id bigint,
    nominal_time timestamp with time zone,
    deployment_id bigint,
    max_runtime double precision,
    run_reason character varying(32),
    retry_of bigint,
    hook_owed character varying(32),
    hook_taken_at timestamp with time zone,
    retry_reason text,
    waits_for character varying(16),
    limits jsonb,
    lane_id bigint,
    group_id bigint,
    awaited smallint,
    key_is_shared boolean,
    expires_at timestamp with time zone,
    tags jsonb,
    sent_at timestamp with time zone,
    CONSTRAINT horae_jobs_ended CHECK (((finished_at IS NULL) = (((state)::text = 'pending'::text) OR ((state)::text = 'started'::text)))),
    CONSTRAINT horae_jobs_held CHECK ((((node_id IS NULL) OR (((state)::text <> 'pending'::text) AND ((state)::text <> 'finished'::text))) AND ((node_id IS NOT NULL) OR ((state)::text <> 'started'::text)))),
    CONSTRAINT horae_jobs_pkey PRIMARY KEY (id),
    CONSTRAINT horae_jobs_readable CHECK (((lease < '4611686018427387904'::bigint) AND (attempt < 1073741824) AND (jsonb_typeof(meta) = 'object'::text) AND ((run_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (run_at <= '9999-12-31 00:00:00+00'::timestamp with time zone)) AND ((nominal_time >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (nominal_time <= '9999-12-31 00:00:00+00'::timestamp with time zone)) AND ((expires_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (expires_at <= '9999-12-31 00:00:00+00'::timestamp with time zone)))),
    CONSTRAINT horae_jobs_state CHECK ((((state)::text = 'pending'::text) OR ((state)::text = 'started'::text) OR ((state)::text = 'finished'::text) OR ((state)::text = 'failed'::text) OR ((state)::text = 'cancelled'::text)))
);
CREATE INDEX horae_jobs_ended_values ON horae_jobs USING btree (finished_at, id, type text_pattern_ops, queue, created_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX horae_jobs_expiring ON horae_jobs USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND ((state)::text = 'pending'::text));
CREATE INDEX horae_jobs_held ON horae_jobs USING btree (node_id) WHERE (node_id IS NOT NULL);
CREATE INDEX horae_jobs_hook_owed ON horae_jobs USING btree (id) WHERE (hook_owed IS NOT NULL);
CREATE INDEX horae_jobs_lane ON horae_jobs USING btree (lane_id, run_at, id) WHERE ((lane_id IS NOT NULL) AND ((state)::text = 'pending'::text));
CREATE INDEX horae_jobs_lane_held ON horae_jobs USING btree (lane_id) WHERE ((lane_id IS NOT NULL) AND (node_id IS NOT NULL));
CREATE INDEX horae_jobs_occupying ON horae_jobs USING btree (owner, type) WHERE ((owner IS NOT NULL) AND ((finished_at IS NULL) OR (node_id IS NOT NULL)));
CREATE INDEX horae_jobs_open_runs ON horae_jobs USING btree (schedule_id) WHERE ((schedule_id IS NOT NULL) AND ((finished_at IS NULL) OR (node_id IS NOT NULL)));
CREATE INDEX horae_jobs_owner ON horae_jobs USING btree (owner, id) WHERE (owner IS NOT NULL);
CREATE INDEX horae_jobs_params ON horae_jobs USING gin (params jsonb_path_ops) WITH (gin_pending_list_limit='512') WHERE ((params IS NOT NULL) AND (finished_at IS NOT NULL));
CREATE INDEX horae_jobs_ready ON horae_jobs USING btree (priority DESC, run_at, id, queue, type) WHERE (((state)::text = 'pending'::text) AND (waits_for IS NULL) AND (sent_at IS NULL));
CREATE INDEX horae_jobs_retried_tick ON horae_jobs USING btree (schedule_id, nominal_time) WHERE ((retry_of IS NOT NULL) AND (nominal_time IS NOT NULL));
CREATE INDEX horae_jobs_retry_of ON horae_jobs USING btree (retry_of) WHERE (retry_of IS NOT NULL);
CREATE INDEX horae_jobs_same_key ON horae_jobs USING btree (unique_key, type, id) WHERE (unique_key IS NOT NULL);
CREATE INDEX horae_jobs_schedule ON horae_jobs USING btree (schedule_id, id) WHERE (schedule_id IS NOT NULL);
CREATE INDEX horae_jobs_sent ON horae_jobs USING btree (sent_at, id) WHERE ((sent_at IS NOT NULL) AND ((state)::text = 'pending'::text));
CREATE INDEX horae_jobs_slow ON horae_jobs USING btree (id) WHERE ((finished_at - started_at) > '00:00:01'::interval);
CREATE UNIQUE INDEX horae_jobs_tick ON horae_jobs USING btree (schedule_id, nominal_time) WHERE ((nominal_time IS NOT NULL) AND (retry_of IS NULL));
CREATE INDEX horae_jobs_unfiled ON horae_jobs USING btree (id) WHERE (((waits_for)::text = 'limit'::text) AND (lane_id IS NULL) AND (finished_at IS NULL));
CREATE UNIQUE INDEX horae_jobs_unique_key ON horae_jobs USING btree (type, unique_key) WHERE ((unique_key IS NOT NULL) AND (key_is_shared IS NULL) AND (finished_at IS NULL));
CREATE INDEX horae_jobs_unreported ON horae_jobs USING btree (id) WHERE ((awaited > 0) AND (finished_at IS NOT NULL));
CREATE INDEX horae_jobs_unsuccessful ON horae_jobs USING btree (state, id) WHERE (((state)::text = 'failed'::text) OR ((state)::text = 'cancelled'::text));
CREATE INDEX horae_jobs_waiting ON horae_jobs USING btree (waits_for, run_at, id) WHERE ((waits_for IS NOT NULL) AND ((state)::text = 'pending'::text));
CREATE TABLE horae_lane_buckets (
    lane_id bigint NOT NULL,
    bucket_id bigint NOT NULL,
    CONSTRAINT horae_lane_buckets_pkey PRIMARY KEY (lane_id, bucket_id)
);
CREATE INDEX horae_lane_buckets_bucket_id ON horae_lane_buckets USING btree (bucket_id);
CREATE TABLE horae_lanes (
    id bigint NOT NULL DEFAULT nextval('horae_lanes_id_seq'::regclass),
    identity character varying(64) NOT NULL,
    queue character varying(200) NOT NULL,
    type character varying(200) NOT NULL,
    priority integer NOT NULL,
    owner character varying(200),
    weight integer NOT NULL,
    place bigint,
    turn bigint NOT NULL DEFAULT 0,
    held_by bigint,
    CONSTRAINT horae_lanes_identity_key UNIQUE (identity),
    CONSTRAINT horae_lanes_pkey PRIMARY KEY (id)
);
CREATE INDEX horae_lanes_due ON horae_lanes USING btree (place) WHERE ((held_by IS NULL) AND (place IS NOT NULL));
CREATE INDEX horae_lanes_held ON horae_lanes USING btree (held_by, priority DESC, place, id) WHERE (held_by IS NOT NULL);
CREATE INDEX horae_lanes_next ON horae_lanes USING btree (priority DESC, place, id) WHERE ((held_by IS NULL) AND (place IS NOT NULL));
CREATE INDEX horae_lanes_owner ON horae_lanes USING btree (queue, priority, owner, turn) WHERE (owner IS NOT NULL);
CREATE TABLE horae_limit_buckets (
    id bigint NOT NULL DEFAULT nextval('horae_limit_buckets_id_seq'::regclass),
    limit_name character varying(200) NOT NULL,
    key character varying(200) NOT NULL,
    state jsonb,
    waiting boolean NOT NULL DEFAULT false,
    opens_at bigint,
    fresh_at bigint NOT NULL DEFAULT 0,
    CONSTRAINT horae_limit_buckets_limit_name_key_key UNIQUE (limit_name, key),
    CONSTRAINT horae_limit_buckets_pkey PRIMARY KEY (id)
);
CREATE INDEX horae_limit_buckets_closed ON horae_limit_buckets USING btree (opens_at) WHERE (waiting AND (opens_at IS NOT NULL));
CREATE INDEX horae_limit_buckets_full ON horae_limit_buckets USING btree (id) WHERE (waiting AND (opens_at IS NULL));
CREATE TABLE horae_limits (
    name character varying(200) NOT NULL,
    declared jsonb,
    changed jsonb,
    concurrency integer,
    CONSTRAINT horae_limits_pkey PRIMARY KEY (name)
);
CREATE UNLOGGED TABLE horae_live_cancels (
    job_id bigint NOT NULL,
    requested_by character varying(200),
    requested_at timestamp with time zone NOT NULL,
    forced boolean NOT NULL DEFAULT false,
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
CREATE UNLOGGED TABLE horae_live_waits (
    job_id bigint NOT NULL,
    lease bigint NOT NULL,
    group_id bigint,
    awaited_job bigint,
    awaited_group bigint
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
    process_ended boolean NOT NULL DEFAULT false,
    CONSTRAINT horae_nodes_pkey PRIMARY KEY (id)
);
CREATE TABLE horae_queues (
    name character varying(200) NOT NULL,
    paused_at timestamp with time zone,
    note text,
    concurrency_limit integer,
    opened_at timestamp with time zone,
    fair_by character varying(200),
    limits jsonb,
    declared jsonb,
    backend character varying(200),
    CONSTRAINT horae_queues_limit CHECK ((concurrency_limit > 0)),
    CONSTRAINT horae_queues_pkey PRIMARY KEY (name)
);
CREATE TABLE horae_schedule_statistics (
    schedule_id bigint NOT NULL,
    last_start timestamp with time zone,
    last_finish timestamp with time zone,
    last_successful_finish timestamp with time zone,
    last_run_success boolean,
    total_runs bigint NOT NULL DEFAULT 0,
    total_successes bigint NOT NULL DEFAULT 0,
    total_failures bigint NOT NULL DEFAULT 0,
    total_crashes bigint NOT NULL DEFAULT 0,
    total_duration double precision NOT NULL DEFAULT 0,
    total_duration_failures double precision NOT NULL DEFAULT 0,
    consecutive_failures integer NOT NULL DEFAULT 0,
    consecutive_crashes integer NOT NULL DEFAULT 0,
    CONSTRAINT horae_schedule_statistics_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT horae_schedule_statistics_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES horae_schedules(id) ON DELETE CASCADE,
    CONSTRAINT horae_schedule_statistics_total_runs CHECK ((total_runs = ((total_successes + total_failures) + total_crashes)))
);
CREATE TABLE horae_schedules (
    id bigint NOT NULL DEFAULT nextval('horae_schedules_id_seq'::regclass),
    name character varying(200) NOT NULL,
    module character varying(200) NOT NULL DEFAULT ''::character varying,
    deployment_id bigint,
    job_type character varying(200) NOT NULL,
    params jsonb,
    trigger_kind character varying(16) NOT NULL,
    trigger text NOT NULL,
    timezone character varying(64) NOT NULL,
    queue character varying(200) NOT NULL,
    priority integer NOT NULL,
    rules jsonb NOT NULL,
    enabled boolean NOT NULL,
    disabled_reason character varying(32),
    pause_note text,
    partition smallint NOT NULL,
    state character varying(16) NOT NULL,
    run_token bigint,
    started_at timestamp with time zone,
    next_start timestamp with time zone,
    last_tick timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    version integer NOT NULL DEFAULT 1,
    updated_at timestamp with time zone NOT NULL,
    overrides jsonb,
    calendar_days jsonb,
    skip_until timestamp with time zone,
    skip_reason character varying(32),
    moved_start timestamp with time zone,
    backfill_next timestamp with time zone,
    limits jsonb,
    tags jsonb,
    max_attempts integer,
    next_meta jsonb NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT horae_schedules_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES horae_deployments(id) ON DELETE SET NULL,
    CONSTRAINT horae_schedules_enabled CHECK ((enabled = (disabled_reason IS NULL))),
    CONSTRAINT horae_schedules_partition CHECK (((partition >= 0) AND (partition <= 1023))),
    CONSTRAINT horae_schedules_pkey PRIMARY KEY (id),
    CONSTRAINT horae_schedules_running CHECK (((run_token IS NOT NULL) = ((state)::text = ANY ((ARRAY['executing'::character varying, 'terminating'::character varying])::text[])))),
    CONSTRAINT horae_schedules_state CHECK (((state)::text = ANY ((ARRAY['idle'::character varying, 'executing'::character varying, 'terminating'::character varying, 'disabled'::character varying])::text[]))),
    CONSTRAINT horae_schedules_trigger_kind CHECK (((trigger_kind)::text = ANY ((ARRAY['cron'::character varying, 'interval'::character varying])::text[]))),
    CONSTRAINT horae_schedules_waiting CHECK ((((state)::text <> 'idle'::text) OR (enabled AND (next_start IS NOT NULL))))
);
CREATE INDEX horae_schedules_due ON horae_schedules USING btree (next_start) WHERE (next_start IS NOT NULL);
CREATE UNIQUE INDEX horae_schedules_name ON horae_schedules USING btree (module, name);
CREATE INDEX horae_schedules_options ON horae_schedules USING btree (id) WHERE ((limits IS NOT NULL) OR (tags IS NOT NULL) OR (max_attempts IS NOT NULL));
CREATE INDEX horae_schedules_running ON horae_schedules USING btree (run_token) WHERE (run_token IS NOT NULL);
CREATE INDEX horae_schedules_updated ON horae_schedules USING btree (updated_at);
CREATE TABLE horae_sessions (
    key_hash character varying(64) NOT NULL,
    token_hash character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT horae_sessions_pkey PRIMARY KEY (key_hash)
);
CREATE INDEX horae_sessions_expires_at ON horae_sessions USING btree (expires_at);
CREATE TABLE horae_ticks (
    schedule_id bigint NOT NULL,
    nominal_time timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    count bigint NOT NULL,
    decision character varying(16) NOT NULL,
    reason character varying(32) NOT NULL,
    job_id bigint,
    decided_at timestamp with time zone NOT NULL,
    decided_by character varying(64),
    retried_as bigint,
    CONSTRAINT horae_ticks_decision CHECK (((decision)::text = ANY ((ARRAY['fired'::character varying, 'coalesced'::character varying, 'skipped'::character varying, 'missed'::character varying])::text[]))),
    CONSTRAINT horae_ticks_fired CHECK ((((decision)::text <> 'fired'::text) OR (count = 1))),
    CONSTRAINT horae_ticks_job CHECK ((((decision)::text = 'fired'::text) = (job_id IS NOT NULL))),
    CONSTRAINT horae_ticks_pkey PRIMARY KEY (schedule_id, nominal_time),
    CONSTRAINT horae_ticks_range CHECK (((count >= 1) AND (until >= nominal_time))),
    CONSTRAINT horae_ticks_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES horae_schedules(id) ON DELETE CASCADE
);
