"""What a simulation adds to a PostgreSQL database: its clock, the tables of the bodies, and a history kept by triggers."""

from typing import Final

CLOCK: Final = "sim.clock"
"""The setting of a session that holds the virtual time of the server's clock when the running statement arrived."""
MOMENT: Final = "sim.moment"
"""The setting of a session that holds the virtual seconds since the begin."""
PATH: Final = "sim, pg_catalog, public"
"""The search path of simulated sessions: the clock of `sim` stands in front of PostgreSQL's own."""

OWN_TABLES: Final = f"""
CREATE SCHEMA sim;
CREATE FUNCTION sim.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT current_setting('{CLOCK}')::timestamptz $$;
CREATE FUNCTION sim.moment() RETURNS float8 LANGUAGE sql STABLE AS $$ SELECT current_setting('{MOMENT}')::float8 $$;
CREATE FUNCTION sim.microseconds(moment timestamptz) RETURNS bigint LANGUAGE sql STABLE AS
    $$ SELECT (extract(epoch FROM moment) * 1000000)::bigint $$;

CREATE TABLE sim_effects (job bigint NOT NULL, attempt int NOT NULL, lease bigint NOT NULL, part int NOT NULL);
CREATE TABLE sim_history (
    number bigint GENERATED ALWAYS AS IDENTITY, job_id bigint NOT NULL, type text, queue text, schedule_id bigint,
    old_state text, state text, old_lease bigint, lease bigint, node_id text, attempt int, progress int, lane bigint,
    started_at bigint, at float8
);

CREATE FUNCTION sim.created() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.sim_history (job_id, type, queue, schedule_id, state, lease, node_id, attempt, progress, lane, started_at,
                                    at)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, NEW.state, NEW.lease, NEW.node_id, NEW.attempt,
            NEW.progress_percentage, NEW.lane_id, sim.microseconds(NEW.started_at), sim.moment());
    RETURN NULL;
END $$;
CREATE TRIGGER sim_created AFTER INSERT ON public.horae_jobs FOR EACH ROW EXECUTE FUNCTION sim.created();

CREATE FUNCTION sim.changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.sim_history (job_id, type, queue, schedule_id, old_state, state, old_lease, lease, node_id, attempt,
                                    progress, lane, started_at, at)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, OLD.state, NEW.state, OLD.lease, NEW.lease, NEW.node_id,
            NEW.attempt, NEW.progress_percentage, NEW.lane_id, sim.microseconds(NEW.started_at), sim.moment());
    RETURN NULL;
END $$;
CREATE TRIGGER sim_changed AFTER UPDATE OF state, lease, node_id, attempt, progress_percentage, lane_id
    ON public.horae_jobs FOR EACH ROW EXECUTE FUNCTION sim.changed();
"""
IN_ORDER_OF_COMMITS: Final = "pg_xact_commit_timestamp(xmin), number"
"""The order of the history: another transaction sees a change when it is committed, not when it is made."""
