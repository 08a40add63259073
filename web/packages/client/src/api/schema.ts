// Generated from tests/api/openapi.json by `npm run api-types`. Do not edit.

export interface paths {
    "/api/audit/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit
         * @description List changes with their actor and time, including refused ones.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/deployments/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Deployments
         * @description List the versions of all modules, the newest first.
         */
        get: operations["list_deployments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/deployments/{key}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Deployment
         * @description Read one deployment.
         */
        get: operations["get_deployment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/deployments/{key}/end/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End Deployment
         * @description End a deployment and its schedules; running jobs continue. Idempotent.
         */
        post: operations["end_deployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/deployments/{key}/scale/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Scale Deployment
         * @description Set the needed nodes: 0 stops the schedules, more starts them again; missed times are not
         *     caught up.
         */
        post: operations["scale_deployment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/errors/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Errors
         * @description Group the failed attempts by job type, class of the exception, and place in the application.
         *
         *     The largest group comes first. To retry or delete the jobs of a group, send its `job_ids` to
         *     `/api/jobs/bulk/`.
         */
        get: operations["list_errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listen
         * @description Stream changes of the jobs and schedules that the user may see.
         *
         *     Polling the lists works too, with more delay.
         */
        get: operations["listen"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/everything/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Pause
         * @description Read whether everything is paused, since when, by whom and why.
         */
        get: operations["read_pause"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/everything/pause/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Everything
         * @description Pause all queues and the firing of schedules; running jobs continue.
         *
         *     Pausing again changes the note.
         */
        post: operations["pause_everything"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/everything/resume/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Everything
         * @description Resume all queues and schedules that are not paused by themselves.
         */
        post: operations["resume_everything"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/groups/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start Group
         * @description Start jobs of public types as a group, all or none; `max_count` holds for each type as for
         *     single jobs.
         */
        post: operations["start_group"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/groups/{group_id}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Group
         * @description Read a group, with the progress of its members.
         */
        get: operations["get_group"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/groups/{group_id}/cancel/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Group
         * @description Cancel the members that have not ended, and the job after them. Idempotent.
         */
        post: operations["cancel_group"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/history/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get History
         * @description Read the figures of all jobs, of one queue or of one type, in equal steps of time.
         *
         *     Without `span` and `from`: of the last hour. Steps of ten seconds are kept for two hours, of a
         *     minute for a day, of ten minutes for a week, and of an hour for a month; an answer has the
         *     shortest that are kept and of which there are at most `points`.
         */
        get: operations["get_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/history/queues/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Queue History
         * @description List the queues that had jobs: how many waited, what ended, and since when one is behind.
         */
        get: operations["list_queue_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/history/types/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Type History
         * @description List the job types: what ended, how long it waited and ran, before and after a deployment.
         */
        get: operations["list_type_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Jobs
         * @description List jobs, newest first: the user's own, or for staff all.
         */
        get: operations["list_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/bulk/{action}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change Jobs
         * @description Start a job that cancels, retries, deletes or reschedules all jobs that meet the filter.
         *
         *     It shows its progress, can be cancelled, and has the counts in its result. Only staff may delete
         *     jobs; owners retry only jobs of public types.
         */
        post: operations["change_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/bulk/{action}/preview/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview Change
         * @description Count the jobs that a change would change now, and show the newest of them.
         */
        post: operations["preview_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/counts/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count Jobs
         * @description Count the jobs in each state that meet a query: the user's own, or for staff all.
         *
         *     Up to 10,000 of each state are counted, for at most about a second.
         */
        get: operations["count_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Job
         * @description Read one job, with its live progress.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Delete Job
         * @description Delete an ended job; for staff.
         */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/attempts/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Attempts
         * @description List how each attempt at a job ended, the oldest first.
         */
        get: operations["list_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/cancel/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Job
         * @description Cancel a job; after the response it is cancelled for good. Idempotent.
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/logs/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Logs
         * @description List the log lines of a job, the oldest first; for staff, because they may contain what its
         *     owner must not see.
         *
         *     To follow a running job, repeat the request with `after` set to `next` of the last answer.
         */
        get: operations["list_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/reschedule/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reschedule Job
         * @description Move a pending job to another time.
         */
        post: operations["reschedule_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/retry/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Job
         * @description Start a new job with the parameters of a failed or cancelled one; owners only if the type is
         *     public.
         */
        post: operations["retry_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{job_id}/why/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain Job
         * @description Say why a job has not started, its place and an estimate, or what has become of it.
         */
        get: operations["explain_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/limits/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Limits
         * @description List every limit by key with its numbers, and the due jobs that it holds back.
         */
        get: operations["list_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/limits/{name}/reset/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset Limit
         * @description Let the declared numbers of a limit be in force again.
         */
        post: operations["reset_limit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/limits/{name}/set/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set Limit
         * @description Replace the numbers of a limit until it is reset; running jobs continue.
         */
        post: operations["set_limit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Nodes
         * @description List the nodes, alive or dead. A live one removes a dead one and rescues its jobs.
         *
         *     For a day it is then listed in `died`.
         */
        get: operations["list_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/overview/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Overview
         * @description Read how many jobs wait and run, what ended in the last hour, the delays, and current
         *     problems.
         */
        get: operations["get_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Queues
         * @description List every queue that has work, is paused, has a limit or is run by another system.
         */
        get: operations["list_queues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/fair/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make Queue Fair
         * @description Let owners, or the values of a parameter, take turns in this queue.
         */
        post: operations["make_queue_fair"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/limit-by-key/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Limit Queue By Key
         * @description Limit the jobs of this queue, in total or by key; without numbers, remove its limits by
         *     key.
         */
        post: operations["limit_queue_by_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/limit/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Limit Queue
         * @description Limit how many jobs of this queue run at a time; running jobs continue.
         */
        post: operations["limit_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/pause/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Queue
         * @description Pause a queue; running jobs continue. Pausing again changes the note.
         */
        post: operations["pause_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/reset/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset Queue
         * @description Give a queue the limits and the turns that the code of a deployed module declares.
         */
        post: operations["reset_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/resume/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Queue
         * @description Resume a paused queue; one that is not paused stays as it is.
         */
        post: operations["resume_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Schedules
         * @description List schedules by module and name; those that this version cannot read are left out.
         */
        get: operations["list_schedules"];
        put?: never;
        /**
         * Add Schedule
         * @description Add a schedule of a job type; for staff.
         */
        post: operations["add_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/by-name/{name}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put Schedule
         * @description Add a schedule, or make the one of this name what the body says; an omitted option has its
         *     default. For staff.
         */
        put: operations["put_schedule"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/lanes/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Lanes
         * @description Read what became of the times of some schedules in the last hours, and what comes next.
         */
        get: operations["list_lanes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/preview/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview Schedule
         * @description Say what a trigger means, in words and as its next times; nothing is stored.
         *
         *     Names in a cron expression, such as `@daily` and `MON-FRI`, are translated.
         */
        post: operations["preview_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/types/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Schedulable Types
         * @description List the job types that a schedule may start, with the schemas of their parameters.
         */
        get: operations["list_schedulable_types"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Schedule
         * @description Read one schedule, with its policies and its next starts.
         */
        get: operations["get_schedule"];
        put?: never;
        post?: never;
        /**
         * Delete Schedule
         * @description Delete a schedule that no module declares, with its ledger; its running job continues.
         *
         *     For staff.
         */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        /**
         * Alter Schedule
         * @description Change the given options and no others; the next start changes only if the times do.
         *
         *     For staff.
         */
        patch: operations["alter_schedule"];
        trace?: never;
    };
    "/api/schedules/{schedule_id}/backfill/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Backfill Schedule
         * @description Run the schedule for its past nominal times in a range, each at most once. For staff.
         */
        post: operations["backfill_schedule"];
        /**
         * Undo Backfill
         * @description Remove the past times that still wait; runs that have begun go on. For staff.
         */
        delete: operations["undo_backfill"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/errors/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Schedule Errors
         * @description List its runs that failed or crashed, the newest first.
         */
        get: operations["list_schedule_errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/pause/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Schedule
         * @description Start no further runs; a run in progress continues. Pausing again changes the note.
         */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/reset/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset Schedule
         * @description Take back what was changed of a declared schedule at run time.
         *
         *     A paused schedule stays paused. For staff.
         */
        post: operations["reset_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/resume/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Schedule
         * @description Enable it: the next start is computed from now on, and missed times are not caught up.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/run/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run Schedule
         * @description Start a run now, even if the schedule is paused; return the ID of its job.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/skip/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Skip Next Time
         * @description Skip the next nominal time, once; repeating the request before that time changes nothing.
         *
         *     For staff.
         */
        post: operations["skip_next_time"];
        /**
         * Undo Skip
         * @description Take back the skipping of the next nominal time, or a next start that was moved.
         *
         *     For staff.
         */
        delete: operations["undo_skip"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/statistics/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Schedule Statistics
         * @description Read the statistics of its runs.
         */
        get: operations["get_schedule_statistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/ticks/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Ticks
         * @description List what was decided about each nominal time, and why; the newest first.
         */
        get: operations["list_ticks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/why/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain Time
         * @description Say why it did or did not run at a moment, or what will happen then.
         */
        get: operations["explain_time"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who Am I
         * @description Read the current user.
         */
        get: operations["who_am_i"];
        put?: never;
        /**
         * Log In
         * @description Exchange a token for a session, in a cookie that scripts cannot read.
         *
         *     Only if the settings have tokens.
         */
        post: operations["log_in"];
        /**
         * Log Out
         * @description End the session and delete the cookie. Idempotent.
         */
        delete: operations["log_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description Report that the process responds.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Read the metrics in the text format of Prometheus.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readiness
         * @description Report whether the database responds and has the tables of this version.
         */
        get: operations["readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AboutItem
         * @description What a problem is about.
         */
        AboutItem: {
            /**
             * Id
             * @description For a schedule and a node; null: its name is its id.
             */
            id: string | null;
            /** Name */
            name: string;
            noun: components["schemas"]["Noun"];
        };
        /**
         * AlteredSchedule
         * @description What to change of a schedule.
         */
        AlteredSchedule: {
            /**
             * Backoff
             * @enum {string}
             */
            backoff?: "exponential" | "linear" | "constant";
            catch_up?: components["schemas"]["CatchUp"];
            /** Catch Up Limit */
            catch_up_limit?: number;
            /**
             * Catch Up Window
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            catch_up_window?: string;
            /**
             * Cron
             * @description When, as a cron expression.
             * @example 0 3 * * *
             */
            cron?: string;
            /**
             * Dst Fold
             * @enum {string}
             */
            dst_fold?: "first" | "second" | "both";
            /**
             * Dst Gap
             * @enum {string}
             */
            dst_gap?: "shift" | "skip";
            /**
             * Every
             * @description How long after the end of the previous run.
             * @example 10m
             */
            every?: string;
            /**
             * Exclude
             * @description Days on which it does not run, by the clock of its zone: dates, ranges, calendar functions.
             * @example [
             *       "2026-12-24..2026-12-26",
             *       "calendar:shop.holidays"
             *     ]
             */
            exclude?: string[];
            /**
             * Fixed
             * @description Count `every` on a grid, not from the end of a run.
             */
            fixed?: boolean;
            /**
             * Initial Start
             * @description First start of `every`, anchor of its grid.
             */
            initial_start?: string | null;
            /**
             * Jitter
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            jitter?: string;
            /**
             * Max Retries
             * @description Retries after a failure; one more failure in a row disables it. Null for no limit.
             */
            max_retries?: number | null;
            /** Max Runtime */
            max_runtime?: string | null;
            /**
             * Next Start
             * Format: date-time
             * @description Moves the next start, once; a time in the past means at once.
             */
            next_start?: string;
            overlap?: components["schemas"]["Overlap"];
            /**
             * Params
             * @description All parameters of its jobs.
             */
            params?: {
                [key: string]: unknown;
            };
            /** Priority */
            priority?: number;
            /** Queue */
            queue?: string;
            /** Retry Period */
            retry_period?: string | null;
            /**
             * Revision
             * @description `revision` of the schedule as it was read: the change is refused if another one was made since.
             */
            revision?: string;
            /**
             * Timezone
             * @description IANA name of the zone; UTC if not given.
             */
            timezone?: string;
        };
        /**
         * AttemptList
         * @description All attempts, the oldest first.
         */
        AttemptList: {
            /** Attempts */
            attempts: components["schemas"]["AttemptView"][];
        };
        /**
         * AttemptView
         * @description How one attempt at a job ended.
         */
        AttemptView: {
            /** Attempt */
            attempt: number;
            /**
             * Error
             * @description Shown to staff.
             */
            error: string | null;
            error_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Finished On
             * Format: date-time
             */
            finished_on: string;
            /** Node */
            node: string | null;
            /**
             * Outcome
             * @description `finished`, `failed`, `cancelled`, `timed_out`, `crashed`, `snoozed` or `interrupted`.
             */
            outcome: string;
            /**
             * Started On
             * Format: date-time
             */
            started_on: string;
            /**
             * Traceback
             * @description Shown to staff.
             */
            traceback: string | null;
        };
        /**
         * AuditItem
         * @description A changing call.
         */
        AuditItem: {
            /**
             * Action
             * @description The requested action.
             * @example job.cancel
             */
            action: string;
            /** Actor */
            actor: string;
            /**
             * After
             * @description The changed values after; null for something deleted.
             */
            after?: unknown;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Before
             * @description The changed values before; null for something new.
             */
            before?: unknown;
            /**
             * Channel
             * @description The channel of the request: `dashboard`, `http`, `cli` or `python`.
             */
            channel: string | null;
            /** Id */
            id: number;
            /** Note */
            note: string | null;
            note_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Outcome
             * @description `done`, or the error code of the response.
             */
            outcome: string;
            /**
             * Target
             * @description The job, job type, queue, schedule or deployment.
             */
            target: string;
            /**
             * Target Name
             * @description The name of a schedule whose id is the target, if it still exists.
             */
            target_name?: string | null;
        };
        /**
         * AuditList
         * @description A page of entries, the newest first.
         */
        AuditList: {
            /** Entries */
            entries: components["schemas"]["AuditItem"][];
            /** Next */
            next: string | null;
        };
        /**
         * BackfillRange
         * @description A range of past nominal times, `start <= time < end`.
         */
        BackfillRange: {
            /**
             * Dry Run
             * @description Count the times and add none.
             * @default false
             */
            dry_run: boolean;
            /**
             * End
             * Format: date-time
             */
            end: string;
            /**
             * Failed
             * @description Also run times again whose last run failed or crashed.
             * @default false
             */
            failed: boolean;
            /**
             * Limit
             * @description Times that it may have at most.
             * @default 1000
             */
            limit: number;
            /**
             * Start
             * Format: date-time
             */
            start: string;
        };
        /**
         * BackfillRemoved
         * @description How many past times are no longer to be run.
         */
        BackfillRemoved: {
            /** Removed */
            removed: number;
        };
        /**
         * BackfillResult
         * @description What a backfill added, or would add.
         */
        BackfillResult: {
            /** Added */
            added: number;
            /**
             * Excluded
             * @description Further times, which the exclusion calendar leaves out.
             */
            excluded: number;
            /** First */
            first: string | null;
            /**
             * Known
             * @description Those that were run before, or wait already.
             */
            known: number;
            /** Last */
            last: string | null;
            /**
             * Times
             * @description The nominal times in the range that are to be run.
             */
            times: number;
        };
        /**
         * BulkAction
         * @description What is done to each of the jobs.
         * @enum {string}
         */
        BulkAction: "cancel" | "retry" | "delete" | "reschedule";
        /**
         * BulkChange
         * @description Which jobs to change: those that meet every filter. Owners change only their own jobs.
         */
        BulkChange: {
            /**
             * All
             * @description Needed if no filter is given.
             * @default false
             */
            all: boolean;
            /**
             * Delay
             * @description The new time, from now; only for `reschedule`.
             * @example 10m
             */
            delay?: string | null;
            /**
             * Ids
             * @description Only these jobs.
             */
            ids?: number[] | null;
            /**
             * Owner
             * @description Owner of the jobs; only for staff.
             */
            owner?: string | null;
            /**
             * Query
             * @description Terms that the jobs must all meet, as in `query` of the list of jobs.
             * @example error:timeout since:2026-11-01
             */
            query?: string | null;
            /** Queues */
            queues?: string[] | null;
            /**
             * Run At
             * @description The new time; only for `reschedule`.
             */
            run_at?: string | null;
            /**
             * Schedule Id
             * @description Only the runs of this schedule.
             */
            schedule_id?: number | null;
            /**
             * States
             * @description States; `!` in front excludes one.
             */
            states?: string[] | null;
            /**
             * Timezone
             * @description The IANA name of the time zone of the days in `query`; UTC by default.
             */
            timezone?: string | null;
            /** Types */
            types?: string[] | null;
            /**
             * Without Hooks
             * @description Call no `before_delete`; only for `delete`.
             */
            without_hooks?: boolean | null;
        };
        /**
         * BulkCount
         * @description What a change would change now.
         */
        BulkCount: {
            /**
             * Complete
             * @description False if there was not enough time to count all of the jobs.
             */
            complete: boolean;
            /** Count */
            count: number;
            /**
             * Newest
             * @description The first of the jobs.
             */
            newest: components["schemas"]["JobView"][];
        };
        /**
         * CatchUp
         * @description What happens to times that passed while no node could run them.
         * @enum {string}
         */
        CatchUp: "last" | "none" | "all";
        /**
         * ClockChangeItem
         * @description A change of the clocks of a zone.
         */
        ClockChangeItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Offset After */
            offset_after: number;
            /**
             * Offset Before
             * @description Seconds ahead of UTC before the change.
             */
            offset_before: number;
            /**
             * Text
             * @description What it does to times of the schedule; null if it concerns none.
             */
            text: string | null;
            text_sentence: components["schemas"]["SentenceItem"] | null;
        };
        /**
         * CountedItem
         * @description The jobs that a problem counted.
         */
        CountedItem: {
            /** Count */
            count: number;
            /**
             * Query
             * @description The search that finds them, as in `q` of the list of jobs.
             */
            query: string;
        };
        /**
         * DeadNodeItem
         * @description A node that died and was removed from the list; other nodes rescued its jobs.
         */
        DeadNodeItem: {
            /**
             * Died On
             * Format: date-time
             * @description When another node found it dead.
             */
            died_on: string;
            /** Host */
            host: string;
            /** Id */
            id: string;
            /**
             * Jobs
             * @description What became of the jobs that it held: their numbers by their next states; `pending` ones run again.
             */
            jobs: {
                [key: string]: number;
            };
            /** Name */
            name: string;
            /** Pid */
            pid: number;
        };
        /**
         * Deed
         * @description What an operator can do at once about a finding; it acts on what the finding is about.
         *
         *     `retry` retries the jobs that were counted.
         * @enum {string}
         */
        Deed: "resume" | "pause" | "retry";
        /**
         * DeployedItem
         * @description A version of the schedules of a module.
         */
        DeployedItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Key */
            key: string;
            /** Module */
            module: string;
        };
        /**
         * DeploymentItem
         * @description One version of the schedules that a module declares.
         */
        DeploymentItem: {
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /**
             * Ended On
             * @description When it was replaced, or ended by hand.
             */
            ended_on: string | null;
            /** Key */
            key: string;
            /**
             * Min Replicas
             * @description Nodes that it needs; 0 stops its schedules.
             */
            min_replicas: number;
            /** Module */
            module: string;
            /**
             * Replaced By
             * @description The key of the version that took its place.
             */
            replaced_by: string | null;
            /**
             * Schema
             * @description The declared schedules as text.
             */
            schema: string;
            /**
             * Types
             * @description The job types of its schedules: a node that runs them knows all of these.
             */
            types: string[];
        };
        /**
         * DeploymentList
         * @description The versions of all modules, the newest first.
         */
        DeploymentList: {
            /** Deployments */
            deployments: components["schemas"]["DeploymentItem"][];
        };
        /**
         * ErrorGroupItem
         * @description Failures of one job type, with one class of exception, at one place.
         */
        ErrorGroupItem: {
            /**
             * Count
             * @description Failed attempts.
             */
            count: number;
            /**
             * Error
             * @description The text of the latest failure.
             */
            error: string | null;
            /**
             * Error Class
             * @description The class of the exception; null if the job failed without one.
             */
            error_class: string | null;
            error_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * First On
             * Format: date-time
             */
            first_on: string;
            /**
             * Job Ids
             * @description The jobs that have failed for good, the latest failure first.
             */
            job_ids: number[];
            /**
             * Key
             * @description Stays the same while type, class, file and function do.
             */
            key: string;
            /**
             * Last On
             * Format: date-time
             */
            last_on: string;
            /** @description The last deployment before the first of these failures; null if they are older than the deployments of the period, or if this is not known. */
            new_since: components["schemas"]["DeployedItem"] | null;
            /**
             * Place
             * @description The last frame of the application in the traceback: file, line and function. Null without a traceback.
             * @example shop/mail.py:41 in send
             */
            place: string | null;
            /**
             * Query
             * @description The search for the jobs of this type that failed for good with this class of exception, at any place, as in `query` of the list of jobs.
             */
            query: string;
            /**
             * Retryable
             * @description How many of `job_ids` have not been retried.
             */
            retryable: number;
            /** Sample Job */
            sample_job: number;
            /**
             * Traceback
             * @description The end of the traceback of the latest failure.
             */
            traceback: string | null;
            /** Type */
            type: string;
        };
        /**
         * ErrorList
         * @description The groups of failures, the largest first.
         */
        ErrorList: {
            /**
             * Complete
             * @description False if there were too many failures to count all; then the oldest lack.
             */
            complete: boolean;
            /** @description The deployment since which failures are counted, if one was asked for. */
            deployment: components["schemas"]["DeployedItem"] | null;
            /**
             * Deployments
             * @description The deployments of the last 90 days, the newest first; at most 100.
             */
            deployments: components["schemas"]["DeployedItem"][];
            /** Groups */
            groups: components["schemas"]["ErrorGroupItem"][];
            /**
             * Since
             * Format: date-time
             */
            since: string;
        };
        /**
         * EverythingItem
         * @description Whether all queues and the firing of schedules are paused.
         */
        EverythingItem: {
            /**
             * By
             * @description Who; null if the audit log no longer says it.
             */
            by: string | null;
            /**
             * Note
             * @description Why.
             */
            note: string | null;
            /** Paused */
            paused: boolean;
            /** Paused On */
            paused_on: string | null;
        };
        /**
         * FailedRunItem
         * @description An attempt at a run that did not succeed.
         */
        FailedRunItem: {
            /** Error */
            error: string | null;
            /**
             * Finished On
             * Format: date-time
             */
            finished_on: string;
            /** Job Id */
            job_id: number;
            /** Nominal Time */
            nominal_time: string | null;
            /**
             * Outcome
             * @description `failed`, `timed_out` or `crashed`.
             */
            outcome: string;
            /**
             * Started On
             * Format: date-time
             */
            started_on: string;
            /** Traceback */
            traceback: string | null;
        };
        /**
         * FailedRunList
         * @description Runs that failed or crashed, the newest first.
         */
        FailedRunList: {
            /** Errors */
            errors: components["schemas"]["FailedRunItem"][];
        };
        /**
         * Fairness
         * @description Who takes turns in a queue.
         */
        Fairness: {
            /**
             * By
             * @description `owner`, or the name of a parameter; null: jobs start as they are due.
             */
            by: string | null;
        };
        /**
         * FieldError
         * @description One error in one field.
         */
        FieldError: {
            /** Code */
            code: string;
            /** Error */
            error: string;
            /** @description The error as a code and values, for a page in another language. */
            sentence?: components["schemas"]["SentenceItem"] | null;
        };
        /**
         * GroupView
         * @description Jobs that are watched and cancelled together.
         */
        GroupView: {
            /** Cancelled */
            cancelled: number;
            /** Cancelled By */
            cancelled_by: string | null;
            /** Cancelled On */
            cancelled_on: string | null;
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /**
             * Ended On
             * @description When the last member ended.
             */
            ended_on: string | null;
            /** Failed */
            failed: number;
            /** Finished */
            finished: number;
            /** Id */
            id: number;
            /**
             * On Failure
             * @description `continue` or `cancel`: what the group does when a member does not finish.
             */
            on_failure: string;
            /** Owner */
            owner: string | null;
            /**
             * Progress Percentage
             * @description The mean of the members; 100 when all have ended.
             */
            progress_percentage: number;
            /**
             * State
             * @description `open` while members may be added, `ended` when all have ended, `cancelled` once it is cancelled.
             */
            state: string;
            /**
             * Then Id
             * @description The job that runs when all members have ended.
             */
            then_id: number | null;
            /**
             * Total
             * @description Members.
             */
            total: number;
        };
        /**
         * Health
         * @description The status of this process.
         */
        Health: {
            /** Status */
            status: string;
        };
        /**
         * HistorySeries
         * @description The figures of a time in equal steps. Each list has an entry for each step, the first at
         *     `start`; null is a gap: nobody recorded this time.
         */
        HistorySeries: {
            /** Cancelled */
            cancelled: (number | null)[];
            /** Failed */
            failed: (number | null)[];
            /** Finished */
            finished: (number | null)[];
            /**
             * Lateness Seconds
             * @description For how long the oldest due job that may start has waited, the longest in each step.
             */
            lateness_seconds: (number | null)[];
            /** Name */
            name: string | null;
            /**
             * Run P50 Seconds
             * @description From started to ended.
             */
            run_p50_seconds: (number | null)[];
            /** Run P95 Seconds */
            run_p95_seconds: (number | null)[];
            scope: components["schemas"]["Scope"];
            /**
             * Seconds
             * @description For how many seconds of each step there are figures; divide by it for a rate.
             */
            seconds: number[];
            /**
             * Slots
             * @description Slots of the living nodes for these jobs, at most the limit of the queue.
             */
            slots: (number | null)[];
            /**
             * Slots Used
             * @description Jobs that nodes held, the highest number in each step.
             */
            slots_used: (number | null)[];
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /** Step Seconds */
            step_seconds: number;
            /**
             * Until
             * Format: date-time
             * @description The end of what is recorded; not yet that of the last step.
             */
            until: string;
            /**
             * Wait P50 Seconds
             * @description From due to started, of the jobs that ended; estimated from a histogram. Null for a queue.
             */
            wait_p50_seconds: (number | null)[];
            /** Wait P95 Seconds */
            wait_p95_seconds: (number | null)[];
            /**
             * Waiting
             * @description Due jobs, the highest number in each step.
             */
            waiting: (number | null)[];
        };
        /**
         * JobCounts
         * @description How many jobs are in each state.
         */
        JobCounts: {
            /** Counts */
            counts: components["schemas"]["StateCount"][];
        };
        /**
         * JobDetail
         * @description A job as on its own page.
         */
        JobDetail: {
            /**
             * Attempt
             * @description Which attempt this is, from 1; 0 before the first.
             */
            attempt: number;
            /** Cancelled By */
            cancelled_by: string | null;
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /**
             * Due On
             * Format: date-time
             * @description The earliest start of the job.
             */
            due_on: string;
            /**
             * Error
             * @description Why the job failed, for its developer; shown to staff.
             */
            error?: string | null;
            /**
             * Error Code
             * @description The limit that has ended the job, for programs: `expired`, `pending_timeout`, `hard_time_limit` or `schedule_time_limit`; null for other jobs.
             */
            error_code?: string | null;
            error_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Expires On
             * @description When the job fails if it has not begun; null: never.
             */
            expires_on?: string | null;
            /**
             * Finished On
             * @description When the job ended, whatever the outcome.
             */
            finished_on: string | null;
            /**
             * Group Id
             * @description The group of which it is a member.
             */
            group_id?: number | null;
            /**
             * Human Readable Error
             * @description Why the job failed, for its owner; empty otherwise.
             */
            human_readable_error: string;
            human_readable_error_sentence?: components["schemas"]["SentenceItem"] | null;
            /** Id */
            id: number;
            /**
             * Label
             * @description The label that the job has set while it runs.
             */
            label: string | null;
            /** Max Attempts */
            max_attempts: number;
            /**
             * Node
             * @description The node that holds the job; briefly also after it was cancelled.
             */
            node: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Params
             * @description The parameters, secret ones masked; null where the type is unknown here.
             */
            params?: unknown;
            /**
             * Priority
             * @description Higher starts first.
             */
            priority: number;
            /** Progress Percentage */
            progress_percentage: number;
            /** Queue */
            queue: string;
            /**
             * Queue Is Paused
             * @description The job is pending, and its queue is paused.
             * @default false
             */
            queue_is_paused: boolean;
            /**
             * Result
             * @description What the job returned.
             */
            result?: unknown;
            /**
             * Retried As
             * @description The newest job that retries this one.
             */
            retried_as?: number | null;
            /**
             * Retry Of
             * @description The job that this one retries.
             */
            retry_of?: number | null;
            /**
             * Retry Reason
             * @description Why the job is pending again; its next attempt is due at `due_on`. Null for other jobs.
             */
            retry_reason?: string | null;
            retry_reason_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Schedule Id
             * @description The schedule that it was started for.
             */
            schedule_id?: number | null;
            /**
             * Started On
             * @description When the latest attempt began.
             */
            started_on: string | null;
            /**
             * State
             * @description `pending`, `finished`, `failed` or `cancelled`; while the job runs `started`, or the label that the job has given itself, which is never one of these words.
             * @example started
             */
            state: string;
            /**
             * Tags
             * @description The tags of the job and of its type, by which it can be found.
             * @default []
             */
            tags: string[];
            /** Type */
            type: string;
            /** Unique Key */
            unique_key?: string | null;
            /**
             * Updated On
             * Format: date-time
             */
            updated_on: string;
            /**
             * Waiting Reason
             * @description Why a pending job has not started, in one sentence.
             */
            waiting_reason?: string | null;
            waiting_reason_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Waits For
             * @description What holds a pending job back even when it is due: `jobs` that must end first, or a `limit`.
             */
            waits_for?: string | null;
            /**
             * Weight
             * @description How much the job counts under the limits of its type.
             * @default 1
             */
            weight: number;
        } & {
            [key: string]: unknown;
        };
        /**
         * JobList
         * @description A page of jobs.
         */
        JobList: {
            /** Jobs */
            jobs: components["schemas"]["ListedJob"][];
            /**
             * Next
             * @description The cursor of the next page; null on the last one.
             */
            next: string | null;
        };
        /**
         * JobState
         * @description The state of a job.
         * @enum {string}
         */
        JobState: "pending" | "started" | "finished" | "failed" | "cancelled";
        /**
         * JobView
         * @description A job; its type may add further fields.
         */
        JobView: {
            /**
             * Attempt
             * @description Which attempt this is, from 1; 0 before the first.
             */
            attempt: number;
            /** Cancelled By */
            cancelled_by: string | null;
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /**
             * Due On
             * Format: date-time
             * @description The earliest start of the job.
             */
            due_on: string;
            /**
             * Error Code
             * @description The limit that has ended the job, for programs: `expired`, `pending_timeout`, `hard_time_limit` or `schedule_time_limit`; null for other jobs.
             */
            error_code?: string | null;
            /**
             * Expires On
             * @description When the job fails if it has not begun; null: never.
             */
            expires_on?: string | null;
            /**
             * Finished On
             * @description When the job ended, whatever the outcome.
             */
            finished_on: string | null;
            /**
             * Group Id
             * @description The group of which it is a member.
             */
            group_id?: number | null;
            /**
             * Human Readable Error
             * @description Why the job failed, for its owner; empty otherwise.
             */
            human_readable_error: string;
            human_readable_error_sentence?: components["schemas"]["SentenceItem"] | null;
            /** Id */
            id: number;
            /**
             * Label
             * @description The label that the job has set while it runs.
             */
            label: string | null;
            /** Max Attempts */
            max_attempts: number;
            /**
             * Node
             * @description The node that holds the job; briefly also after it was cancelled.
             */
            node: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Priority
             * @description Higher starts first.
             */
            priority: number;
            /** Progress Percentage */
            progress_percentage: number;
            /** Queue */
            queue: string;
            /**
             * Retry Reason
             * @description Why the job is pending again; its next attempt is due at `due_on`. Null for other jobs.
             */
            retry_reason?: string | null;
            retry_reason_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Schedule Id
             * @description The schedule that it was started for.
             */
            schedule_id?: number | null;
            /**
             * Started On
             * @description When the latest attempt began.
             */
            started_on: string | null;
            /**
             * State
             * @description `pending`, `finished`, `failed` or `cancelled`; while the job runs `started`, or the label that the job has given itself, which is never one of these words.
             * @example started
             */
            state: string;
            /**
             * Tags
             * @description The tags of the job and of its type, by which it can be found.
             * @default []
             */
            tags: string[];
            /** Type */
            type: string;
            /**
             * Updated On
             * Format: date-time
             */
            updated_on: string;
            /**
             * Waits For
             * @description What holds a pending job back even when it is due: `jobs` that must end first, or a `limit`.
             */
            waits_for?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * JobWhyItem
         * @description Why a job has not started, or what has become of it: the reason that decides first.
         */
        JobWhyItem: {
            /**
             * Ahead
             * @description How many jobs are claimed before it; null if its place is not known.
             */
            ahead: number | null;
            /**
             * Ahead Is Least
             * @description There may be more than `ahead`.
             */
            ahead_is_least: boolean;
            /**
             * Awaited
             * @description The first few jobs that must end first.
             */
            awaited: number[];
            /**
             * By
             * @description Who paused or cancelled; a pause's is shown to staff.
             */
            by: string | null;
            /**
             * Fails On
             * @description When the job fails if it has not begun.
             */
            fails_on: string | null;
            /**
             * Group Id
             * @description The group whose members must end first.
             */
            group_id: number | null;
            /**
             * Holders
             * @description The first few jobs that run under the limit; shown to staff.
             */
            holders: number[];
            /** Job Id */
            job_id: number;
            /**
             * Node
             * @description The node that runs it.
             */
            node: string | null;
            /**
             * Note
             * @description The note of a pause; shown to staff.
             */
            note: string | null;
            /** @description What decides first, for programs. */
            reason: components["schemas"]["WaitReason"];
            /**
             * Reckoned
             * @description What the estimate follows from.
             */
            reckoned: string | null;
            reckoned_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Since
             * @description When a pause began, or when the job started or ended.
             */
            since: string | null;
            /**
             * Starts On
             * @description An estimate of its start; null without ground for one.
             */
            starts_on: string | null;
            /** State */
            state: string;
            /**
             * Text
             * @description The reason in one sentence.
             * @example Queue 'mail' is paused.
             */
            text: string;
            text_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Until
             * @description When the reason ends by itself; null if something has to happen first.
             */
            until: string | null;
        };
        /**
         * LaneItem
         * @description The lane of one schedule.
         */
        LaneItem: {
            /**
             * Coming
             * @description The next starts up to the end of the lanes.
             */
            coming: string[];
            /**
             * Complete From
             * @description Earlier times are left out, because there are too many; null if all are here.
             */
            complete_from: string | null;
            /**
             * Durations
             * @description Of the last ended runs, in seconds, the oldest first.
             */
            durations: number[];
            /**
             * Marks
             * @description What became of its times; those close to each other are put together.
             */
            marks: components["schemas"]["MarkItem"][];
            /** Schedule Id */
            schedule_id: number;
        };
        /**
         * LaneList
         * @description The lanes of some schedules, from `start_on` over `now` to `end_on`.
         */
        LaneList: {
            /**
             * End On
             * Format: date-time
             */
            end_on: string;
            /** Lanes */
            lanes: components["schemas"]["LaneItem"][];
            /**
             * Now
             * Format: date-time
             */
            now: string;
            /**
             * Start On
             * Format: date-time
             */
            start_on: string;
        };
        /**
         * LaneOutcome
         * @description What became of a time; the worst comes first, because it is drawn above the others.
         * @enum {string}
         */
        LaneOutcome: "failed" | "missed" | "waiting" | "skipped" | "cancelled" | "coalesced" | "late" | "running" | "ran" | "paused";
        /**
         * LimitChange
         * @description The numbers of a limit: a rate, or a number of jobs at a time.
         */
        LimitChange: {
            /**
             * Burst
             * @description Starts at once after a pause.
             */
            burst?: number | null;
            /**
             * Concurrency
             * @description Jobs at a time, over all nodes.
             */
            concurrency?: number | null;
            /**
             * Rate
             * @description Starts per period, such as `10/s` or `5/30s`.
             */
            rate?: string | null;
            /**
             * Window
             * @description `bucket`, the default, or `sliding`.
             */
            window?: ("bucket" | "sliding") | null;
        };
        /**
         * LimitItem
         * @description A limit by key.
         */
        LimitItem: {
            /**
             * Allows
             * @description The numbers in force, in words.
             */
            allows: string | null;
            /**
             * Changed
             * @description The numbers that replace them, set at run time.
             */
            changed: {
                [key: string]: unknown;
            } | null;
            /**
             * Declared
             * @description The numbers in the code: `concurrency`; or `amount`, `period` (microseconds), `burst`, `window`.
             */
            declared: {
                [key: string]: unknown;
            } | null;
            /**
             * Held Back
             * @description Due jobs that wait only because of this limit, as far as nodes have looked.
             */
            held_back: number;
            /**
             * Held Back Since
             * @description Since when the one is due that has waited longest.
             */
            held_back_since: string | null;
            /**
             * Keys
             * @description How many keys hold jobs back.
             */
            keys: number;
            /** Name */
            name: string;
        };
        /**
         * LimitList
         * @description All limits by key, by name.
         */
        LimitList: {
            /** Limits */
            limits: components["schemas"]["LimitItem"][];
        };
        /**
         * ListedJob
         * @description A job as in a list.
         */
        ListedJob: {
            /**
             * Attempt
             * @description Which attempt this is, from 1; 0 before the first.
             */
            attempt: number;
            /** Cancelled By */
            cancelled_by: string | null;
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /**
             * Due On
             * Format: date-time
             * @description The earliest start of the job.
             */
            due_on: string;
            /**
             * Error Code
             * @description The limit that has ended the job, for programs: `expired`, `pending_timeout`, `hard_time_limit` or `schedule_time_limit`; null for other jobs.
             */
            error_code?: string | null;
            /**
             * Error Line
             * @description The line of the error that names the exception; shown to staff.
             */
            error_line?: string | null;
            error_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Expires On
             * @description When the job fails if it has not begun; null: never.
             */
            expires_on?: string | null;
            /**
             * Finished On
             * @description When the job ended, whatever the outcome.
             */
            finished_on: string | null;
            /**
             * Group Id
             * @description The group of which it is a member.
             */
            group_id?: number | null;
            /**
             * Human Readable Error
             * @description Why the job failed, for its owner; empty otherwise.
             */
            human_readable_error: string;
            human_readable_error_sentence?: components["schemas"]["SentenceItem"] | null;
            /** Id */
            id: number;
            /**
             * Label
             * @description The label that the job has set while it runs.
             */
            label: string | null;
            /** Max Attempts */
            max_attempts: number;
            /**
             * Node
             * @description The node that holds the job; briefly also after it was cancelled.
             */
            node: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Priority
             * @description Higher starts first.
             */
            priority: number;
            /** Progress Percentage */
            progress_percentage: number;
            /** Queue */
            queue: string;
            /**
             * Retry Reason
             * @description Why the job is pending again; its next attempt is due at `due_on`. Null for other jobs.
             */
            retry_reason?: string | null;
            retry_reason_sentence?: components["schemas"]["SentenceItem"] | null;
            /**
             * Schedule Id
             * @description The schedule that it was started for.
             */
            schedule_id?: number | null;
            /**
             * Started On
             * @description When the latest attempt began.
             */
            started_on: string | null;
            /**
             * State
             * @description `pending`, `finished`, `failed` or `cancelled`; while the job runs `started`, or the label that the job has given itself, which is never one of these words.
             * @example started
             */
            state: string;
            /**
             * Tags
             * @description The tags of the job and of its type, by which it can be found.
             * @default []
             */
            tags: string[];
            /** Type */
            type: string;
            /**
             * Updated On
             * Format: date-time
             */
            updated_on: string;
            /**
             * Waits For
             * @description What holds a pending job back even when it is due: `jobs` that must end first, or a `limit`.
             */
            waits_for?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * LogLineView
         * @description A line that a job has logged.
         */
        LogLineView: {
            /** Attempt */
            attempt: number;
            /** Cursor */
            cursor: string;
            /**
             * Dropped
             * @description If not 0, this stands for so many lines that were not kept.
             */
            dropped: number;
            /**
             * Level
             * @description `debug`, `info`, `warning`, `error` or `critical`.
             */
            level: string;
            /**
             * Logged On
             * Format: date-time
             */
            logged_on: string;
            /** Logger */
            logger: string;
            /** Message */
            message: string;
        };
        /**
         * LogLines
         * @description Log lines of a job, the oldest first.
         */
        LogLines: {
            /**
             * Dropped
             * @description Lines of the whole job that were not kept.
             */
            dropped: number;
            /** Lines */
            lines: components["schemas"]["LogLineView"][];
            /**
             * More
             * @description Whether more lines are there already.
             */
            more: boolean;
            /**
             * Next
             * @description Where to continue, as `after`; null before the first line.
             */
            next: string | null;
        };
        /**
         * Login
         * @description A token from the settings.
         */
        Login: {
            /**
             * Token
             * Format: password
             */
            token: string;
        };
        /**
         * MarkItem
         * @description One or several times of a schedule with one outcome.
         */
        MarkItem: {
            /** Count */
            count: number;
            /**
             * First
             * Format: date-time
             */
            first: string;
            /** Job Id */
            job_id: number | null;
            /**
             * Last
             * Format: date-time
             */
            last: string;
            outcome: components["schemas"]["LaneOutcome"];
            /**
             * Reason
             * @description As in the ledger; null without a decision.
             */
            reason: string | null;
        };
        /**
         * Me
         * @description The current user, with roles and permissions.
         */
        Me: {
            /**
             * Changes All
             * @description May change all of these.
             */
            changes_all: boolean;
            /**
             * Changes Own
             * @description May start jobs, and cancel those it owns.
             */
            changes_own: boolean;
            /** Id */
            id: string;
            /** Roles */
            roles: string[];
            /**
             * Sees All
             * @description May see the jobs of all owners, schedules, queues, nodes, the overview and the audit log.
             */
            sees_all: boolean;
            /**
             * Sees Values
             * @description May see the parameters, results and technical errors of all jobs.
             */
            sees_values: boolean;
        };
        /**
         * MinuteItem
         * @description What ended in one minute.
         */
        MinuteItem: {
            /** Cancelled */
            cancelled: number;
            /** Failed */
            failed: number;
            /** Finished */
            finished: number;
            /** Longest Pick Up Seconds */
            longest_pick_up_seconds: number | null;
            /**
             * Mean Pick Up Seconds
             * @description From due to started, of the jobs that ended then.
             */
            mean_pick_up_seconds: number | null;
            /**
             * Minute
             * Format: date-time
             */
            minute: string;
        };
        /**
         * NewGroup
         * @description The jobs of a new group, and the one that runs after all of them.
         */
        NewGroup: {
            /** Members */
            members: components["schemas"]["NewMember"][];
            /**
             * On Failure
             * @default continue
             * @enum {string}
             */
            on_failure: "continue" | "cancel";
            then?: components["schemas"]["NewMember"] | null;
        };
        /**
         * NewMember
         * @description A job of a group, of a public job type.
         */
        NewMember: {
            /** Params */
            params?: {
                [key: string]: unknown;
            };
            /** Type */
            type: string;
        };
        /**
         * NewSchedule
         * @description A schedule to add.
         */
        NewSchedule: {
            /**
             * Backoff
             * @enum {string}
             */
            backoff?: "exponential" | "linear" | "constant";
            catch_up?: components["schemas"]["CatchUp"];
            /** Catch Up Limit */
            catch_up_limit?: number;
            /**
             * Catch Up Window
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            catch_up_window?: string;
            /**
             * Cron
             * @description When, as a cron expression.
             * @example 0 3 * * *
             */
            cron?: string;
            /**
             * Dst Fold
             * @enum {string}
             */
            dst_fold?: "first" | "second" | "both";
            /**
             * Dst Gap
             * @enum {string}
             */
            dst_gap?: "shift" | "skip";
            /**
             * Enabled
             * @description Whether it is enabled from the start.
             */
            enabled?: boolean;
            /**
             * Every
             * @description How long after the end of the previous run.
             * @example 10m
             */
            every?: string;
            /**
             * Exclude
             * @description Days on which it does not run, by the clock of its zone: dates, ranges, calendar functions.
             * @example [
             *       "2026-12-24..2026-12-26",
             *       "calendar:shop.holidays"
             *     ]
             */
            exclude?: string[];
            /**
             * Fixed
             * @description Count `every` on a grid, not from the end of a run.
             */
            fixed?: boolean;
            /**
             * Initial Start
             * @description First start of `every`, anchor of its grid.
             */
            initial_start?: string | null;
            /**
             * Jitter
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            jitter?: string;
            /** Job Type */
            job_type: string;
            /**
             * Max Retries
             * @description Retries after a failure; one more failure in a row disables it. Null for no limit.
             */
            max_retries?: number | null;
            /** Max Runtime */
            max_runtime?: string | null;
            /**
             * Name
             * @description Its name; by default that of the job type.
             */
            name?: string;
            /**
             * Next Start
             * Format: date-time
             * @description Moves the next start, once; a time in the past means at once.
             */
            next_start?: string;
            overlap?: components["schemas"]["Overlap"];
            /**
             * Params
             * @description All parameters of its jobs.
             */
            params?: {
                [key: string]: unknown;
            };
            /** Priority */
            priority?: number;
            /** Queue */
            queue?: string;
            /** Retry Period */
            retry_period?: string | null;
            /**
             * Timezone
             * @description IANA name of the zone; UTC if not given.
             */
            timezone?: string;
        };
        /**
         * NewTime
         * @description When a pending job may start; exactly one of the two.
         */
        NewTime: {
            /**
             * Delay
             * @description Not before this time has passed.
             * @example 10m
             */
            delay?: string | null;
            /**
             * Run At
             * @description Not before this moment.
             */
            run_at?: string | null;
        };
        /**
         * NodeItem
         * @description A running node, or one that stopped without unregistering.
         */
        NodeItem: {
            /** Alive */
            alive: boolean;
            /** Cause Of Death */
            cause_of_death: string | null;
            cause_of_death_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Heartbeat Age
             * @description Seconds since its last heartbeat.
             */
            heartbeat_age: number;
            /**
             * Heartbeat On
             * Format: date-time
             */
            heartbeat_on: string;
            /** Host */
            host: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Pid */
            pid: number;
            /**
             * Queues
             * @description The queues that it serves; null for all.
             */
            queues: string[] | null;
            /**
             * Ring Share
             * @description The share of all schedules of which it is the first owner.
             */
            ring_share: number;
            /** Roles */
            roles: string[];
            /**
             * Running
             * @description Jobs that it holds; more than it has slots if it has claimed the next ones, or if bodies wait.
             */
            running: number;
            /**
             * Slots
             * @description Jobs that it runs at a time.
             */
            slots: number;
            /**
             * Slots Used
             * @description How many of these are taken.
             */
            slots_used: number;
            /**
             * Started On
             * Format: date-time
             */
            started_on: string;
            /**
             * Types
             * @description The job types that it knows.
             */
            types: string[];
            /** Version */
            version: string;
        };
        /**
         * NodeLifeItem
         * @description A node that was up at a moment.
         */
        NodeLifeItem: {
            /**
             * Died
             * @description Whether it ended without unregistering.
             */
            died: boolean;
            /** Ended On */
            ended_on: string | null;
            /** Host */
            host: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Pid */
            pid: number;
            /**
             * Started On
             * Format: date-time
             */
            started_on: string;
        };
        /**
         * NodeList
         * @description All nodes, the oldest first.
         */
        NodeList: {
            /**
             * Died
             * @description Nodes that died in the last day, latest first.
             */
            died: components["schemas"]["DeadNodeItem"][];
            /** Nodes */
            nodes: components["schemas"]["NodeItem"][];
        };
        /**
         * Noun
         * @description What a finding may be about.
         * @enum {string}
         */
        Noun: "everything" | "queue" | "schedule" | "type" | "node" | "limit";
        /**
         * Overlap
         * @description What happens to a time that comes due while a run is executing.
         * @enum {string}
         */
        Overlap: "skip" | "buffer_one" | "buffer_all" | "cancel_other" | "terminate_other" | "allow_all";
        /**
         * OverviewItem
         * @description The state of the whole system; cached for up to two seconds.
         */
        OverviewItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** @description From started to ended. */
            duration: components["schemas"]["PercentilesItem"];
            /** @description Of scheduled jobs: from the nominal time to fired. */
            lateness: components["schemas"]["PercentilesItem"];
            /** Nodes Alive */
            nodes_alive: number;
            /** Nodes Dead */
            nodes_dead: number;
            /**
             * Notable
             * @description How many others deserve a look.
             */
            notable: number;
            /** @description From due to started. */
            pick_up: components["schemas"]["PercentilesItem"];
            /**
             * Problems
             * @description Worst first; empty if there are none.
             */
            problems: components["schemas"]["ProblemItem"][];
            /** Queues */
            queues: components["schemas"]["QueueItem"][];
            /**
             * Ready
             * @description Jobs that wait only for a free slot: they are due and their queue is not paused.
             */
            ready: number;
            /**
             * Running
             * @description How many of these are taken.
             */
            running: number;
            /** Slots */
            slots: number;
            states: components["schemas"]["StateCounts"];
            /**
             * Summary
             * @description Whether anything is wrong, in a sentence.
             * @example 3 things are wrong
             */
            summary: string;
            /**
             * Throughput
             * @description The last hour by minutes; those without an end are left out.
             */
            throughput: components["schemas"]["MinuteItem"][];
            /**
             * Well
             * @description Whether nothing needs action.
             */
            well: boolean;
            /**
             * Wrong
             * @description How many things need action.
             */
            wrong: number;
        };
        /**
         * PercentilesItem
         * @description The distribution of a duration over the latest jobs that ended in the last hour, at most
         *     1,000.
         */
        PercentilesItem: {
            /** Count */
            count: number;
            /** P50 Seconds */
            p50_seconds: number | null;
            /** P99 Seconds */
            p99_seconds: number | null;
        };
        /**
         * PreviewItem
         * @description What a trigger means.
         */
        PreviewItem: {
            /**
             * Clock Changes
             * @description The changes of the clocks up to the last of these times.
             */
            clock_changes: components["schemas"]["ClockChangeItem"][];
            /**
             * Daylight Saving
             * @description What happens to times that daylight saving skips or repeats.
             */
            daylight_saving: string | null;
            daylight_saving_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Instead
             * @description The expression to store in place of one with names, such as `@daily` or `MON-FRI`.
             */
            instead: string | null;
            /** Next Clock Change */
            next_clock_change: string | null;
            /**
             * Skipped
             * @description How many times between them the calendar excludes.
             */
            skipped: number;
            /**
             * Times
             * @description The next starts, with the offset of the zone; for an interval that is counted from the end of a run only the first.
             */
            times: string[];
            /** Timezone */
            timezone: string;
            trigger: components["schemas"]["TriggerItem"];
            /** Words */
            words: string;
            /**
             * Words In
             * @description The same sentence in other languages, by their tags.
             * @example {
             *       "de": "Um 03:00 (Europe/Berlin)."
             *     }
             */
            words_in: {
                [key: string]: string;
            };
        };
        /**
         * Problem
         * @description The body of every error response.
         */
        Problem: {
            /**
             * Detail
             * @description Message for people; for invalid fields, the errors by field.
             */
            detail: string | {
                [key: string]: components["schemas"]["FieldError"][];
            };
            /**
             * Error
             * @description Error code for programs.
             * @example ERROR_JOB_DOES_NOT_EXIST
             */
            error: string;
            /**
             * Instead
             * @description With `ERROR_CRON_SYNTAX`, the whole expression to write, where one means the same.
             */
            instead?: string | null;
            /**
             * Length
             * @description With `ERROR_JOB_QUERY`, the number of characters of that term.
             */
            length?: number | null;
            /**
             * Position
             * @description With `ERROR_JOB_QUERY`, the first character of the term that is wrong, from 1.
             */
            position?: number | null;
            /** @description The message as a code and values, for a page in another language. */
            sentence?: components["schemas"]["SentenceItem"] | null;
        };
        /**
         * ProblemItem
         * @description A problem or warning, in words.
         */
        ProblemItem: {
            about: components["schemas"]["AboutItem"] | null;
            /** Advice */
            advice: string | null;
            advice_sentence: components["schemas"]["SentenceItem"] | null;
            counted: components["schemas"]["CountedItem"] | null;
            /**
             * Deeds
             * @description What staff can do about it at once.
             */
            deeds: components["schemas"]["Deed"][];
            /**
             * Kind
             * @description The same for all problems of one cause.
             * @example queue_unserved
             */
            kind: string;
            /**
             * Level
             * @description `problem` needs action; `warning` is for information.
             * @enum {string}
             */
            level: "problem" | "warning";
            /** Message */
            message: string;
            message_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Since
             * @description Since when it has lasted, at least; null if that is unknown.
             */
            since: string | null;
            /** Subject */
            subject: string;
        };
        /**
         * PutResult
         * @description A schedule that was put.
         */
        PutResult: {
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "created" | "changed" | "unchanged";
            schedule: components["schemas"]["ScheduleDetail"];
        };
        /**
         * QueueCourseItem
         * @description The course of one queue.
         */
        QueueCourseItem: {
            /**
             * Behind Since
             * @description When the queue fell behind, if its oldest job that may start has waited for 30 seconds or more.
             */
            behind_since: string | null;
            /** Name */
            name: string;
            /** @description The last five minutes. */
            recent: components["schemas"]["TotalsItem"];
            /**
             * Slots
             * @description Slots of the living nodes for its jobs; null: unknown.
             */
            slots: number | null;
            totals: components["schemas"]["TotalsItem"];
            /**
             * Waiting
             * @description Due jobs, the highest number in each step.
             */
            waiting: (number | null)[];
        };
        /**
         * QueueHistoryList
         * @description The courses of the queues that had jobs, by name.
         */
        QueueHistoryList: {
            /**
             * Complete
             * @description False if less busy queues were left out.
             */
            complete: boolean;
            /** Queues */
            queues: components["schemas"]["QueueCourseItem"][];
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /** Step Seconds */
            step_seconds: number;
            /**
             * Until
             * Format: date-time
             */
            until: string;
        };
        /**
         * QueueItem
         * @description A queue, with what waits and runs in it.
         */
        QueueItem: {
            /**
             * Backend
             * @description What runs its jobs unless their type names something else: `horae`, `celery` or `celery:QUEUE`.
             */
            backend: string;
            /**
             * Concurrency Limit
             * @description Jobs that may run at a time, over all nodes; null for no limit.
             */
            concurrency_limit: number | null;
            /**
             * Declared
             * @description What the code of a deployed module declares for these; changes at run time stay until it changes.
             */
            declared: {
                [key: string]: unknown;
            } | null;
            /**
             * Due
             * @description Pending jobs that are due.
             */
            due: number;
            /**
             * Fair By
             * @description Who takes turns in it; null: its jobs start in the order they are due.
             */
            fair_by: string | null;
            /**
             * Limits
             * @description Its limits by key, with their keys and numbers, by name.
             */
            limits: {
                [key: string]: unknown;
            } | null;
            /** Name */
            name: string;
            /**
             * Note
             * @description Why it is paused.
             */
            note: string | null;
            /**
             * Oldest Seconds
             * @description How long its longest waiting job has been due; null for none.
             */
            oldest_seconds: number | null;
            /** Paused */
            paused: boolean;
            /** Paused On */
            paused_on: string | null;
            /**
             * Pending
             * @description Pending jobs, including those that are due later.
             */
            pending: number;
            /** Started */
            started: number;
        };
        /**
         * QueueLimit
         * @description How many jobs of a queue may run at a time.
         */
        QueueLimit: {
            /**
             * Concurrency Limit
             * @description Jobs that may run at a time, over all nodes; null for no limit.
             */
            concurrency_limit: number | null;
        };
        /**
         * QueueLimitByKey
         * @description A limit by key of a queue.
         */
        QueueLimitByKey: {
            /**
             * Burst
             * @description Starts at once after a pause.
             */
            burst?: number | null;
            /**
             * Concurrency
             * @description Jobs at a time, over all nodes.
             */
            concurrency?: number | null;
            /**
             * Key
             * @description A format over the parameters, such as `{customer_id}`.
             */
            key?: string | null;
            /**
             * Rate
             * @description Starts per period, such as `10/s` or `5/30s`.
             */
            rate?: string | null;
            /**
             * Window
             * @description `bucket`, the default, or `sliding`.
             */
            window?: ("bucket" | "sliding") | null;
        };
        /**
         * QueueList
         * @description Every queue that has work, is paused, has a limit or is run by another system, by name.
         */
        QueueList: {
            /** Queues */
            queues: components["schemas"]["QueueItem"][];
        };
        /**
         * QueuePause
         * @description Why a queue is paused.
         */
        QueuePause: {
            /**
             * Note
             * @description Why; shown in the list.
             */
            note?: string | null;
        };
        /**
         * Scale
         * @description How many nodes a deployment needs.
         */
        Scale: {
            /**
             * Min Replicas
             * @description Needed nodes; 0 stops the schedules.
             */
            min_replicas: number;
        };
        /**
         * SchedulableType
         * @description A job type that a schedule may start.
         */
        SchedulableType: {
            /** Description */
            description: string | null;
            /**
             * Parameters
             * @description Their JSON schema.
             */
            parameters: {
                [key: string]: unknown;
            };
            /** Queue */
            queue: string;
            /** Type */
            type: string;
        };
        /**
         * SchedulableTypes
         * @description The job types that a schedule may start, by name; empty if this process knows none.
         */
        SchedulableTypes: {
            /** Types */
            types: components["schemas"]["SchedulableType"][];
        };
        /**
         * ScheduleDetail
         * @description A schedule as on its own page.
         */
        ScheduleDetail: {
            /**
             * Backfill Next
             * @description The first past time that waits to be run.
             */
            backfill_next: string | null;
            /** Backoff */
            backoff: string;
            /** Catch Up */
            catch_up: string;
            /** Catch Up Limit */
            catch_up_limit: number;
            /** Catch Up Window Seconds */
            catch_up_window_seconds: number;
            /**
             * Created On
             * Format: date-time
             */
            created_on: string;
            /** Disabled Reason */
            disabled_reason: string | null;
            /**
             * Enabled
             * @description Whether new runs start; a run in progress continues.
             */
            enabled: boolean;
            /**
             * Exclude
             * @description Days on which it does not run, by the clock of its zone: dates, ranges, calendar functions.
             */
            exclude: string[];
            /** Id */
            id: number;
            /** Jitter Seconds */
            jitter_seconds: number;
            /**
             * Job Id
             * @description The job of the run in progress.
             */
            job_id: number | null;
            /** Job Type */
            job_type: string;
            /**
             * Max Retries
             * @description Retries after a failure; one more failure in a row disables it. Null for no limit.
             */
            max_retries: number | null;
            /** Max Runtime Seconds */
            max_runtime_seconds: number | null;
            /**
             * Module
             * @description The module that declares it; empty for one that was added at run time.
             */
            module: string;
            /**
             * Moved Start
             * @description When the next run starts once, instead.
             */
            moved_start: string | null;
            /** Name */
            name: string;
            /**
             * Next Runs
             * @description The next starts, as far as they are known; none if it is disabled.
             */
            next_runs: string[];
            /**
             * Next Skips
             * @description The nominal times up to the last of these that will be skipped.
             */
            next_skips: components["schemas"]["SkipItem"][];
            /** Next Start On */
            next_start_on: string | null;
            /** Overlap */
            overlap: string;
            /**
             * Overrides
             * @description What was changed of a declared schedule at run time: the declared value of each changed field.
             */
            overrides: {
                [key: string]: unknown;
            };
            /**
             * Params
             * @description The parameters of its jobs, secret ones masked; null if unknown here.
             */
            params?: unknown;
            /** Pause Note */
            pause_note: string | null;
            /** Priority */
            priority: number;
            /** Queue */
            queue: string;
            /** Retry Period */
            retry_period: string | null;
            /**
             * Revision
             * @description Another text as soon as the definition is changed; send it with a change, so that it does not undo that of somebody else.
             */
            revision: string;
            /**
             * Runs Wait
             * @description Whether a run is open, and none has begun.
             */
            runs_wait: boolean;
            /**
             * Skip Reason
             * @description Why a nominal time is skipped once: on request, or because the next start was moved.
             */
            skip_reason: ("requested" | "replaced") | null;
            /**
             * Skip Until
             * @description The last nominal time that is skipped for this reason.
             */
            skip_until: string | null;
            /**
             * Started On
             * @description When the run in progress started.
             */
            started_on: string | null;
            /**
             * State
             * @description `idle`, `executing`, `terminating` or `disabled`.
             */
            state: string;
            statistics: components["schemas"]["StatisticsItem"];
            /** Timezone */
            timezone: string;
            trigger: components["schemas"]["TriggerItem"];
            /**
             * Version
             * @description Increases with each change, so that clients can order responses.
             */
            version: number;
            /**
             * Waiting Reason
             * @description Why the run in progress has not started, if it is pending.
             */
            waiting_reason: string | null;
            waiting_reason_sentence: components["schemas"]["SentenceItem"] | null;
            /**
             * Words
             * @description The trigger in a sentence.
             * @example At 03:00 (Europe/Berlin).
             */
            words: string;
            /**
             * Words In
             * @description The same sentence in other languages, by their tags.
             * @example {
             *       "de": "Um 03:00 (Europe/Berlin)."
             *     }
             */
            words_in: {
                [key: string]: string;
            };
        };
        /**
         * ScheduleItem
         * @description A schedule as in a list.
         */
        ScheduleItem: {
            /** Disabled Reason */
            disabled_reason: string | null;
            /**
             * Enabled
             * @description Whether new runs start; a run in progress continues.
             */
            enabled: boolean;
            /** Id */
            id: number;
            /**
             * Job Id
             * @description The job of the run in progress.
             */
            job_id: number | null;
            /** Job Type */
            job_type: string;
            /**
             * Module
             * @description The module that declares it; empty for one that was added at run time.
             */
            module: string;
            /** Name */
            name: string;
            /** Next Start On */
            next_start_on: string | null;
            /** Pause Note */
            pause_note: string | null;
            /** Priority */
            priority: number;
            /** Queue */
            queue: string;
            /**
             * Runs Wait
             * @description Whether a run is open, and none has begun.
             */
            runs_wait: boolean;
            /**
             * State
             * @description `idle`, `executing`, `terminating` or `disabled`.
             */
            state: string;
            statistics: components["schemas"]["StatisticsItem"];
            /** Timezone */
            timezone: string;
            trigger: components["schemas"]["TriggerItem"];
            /**
             * Version
             * @description Increases with each change, so that clients can order responses.
             */
            version: number;
            /**
             * Words
             * @description The trigger in a sentence.
             * @example At 03:00 (Europe/Berlin).
             */
            words: string;
            /**
             * Words In
             * @description The same sentence in other languages, by their tags.
             * @example {
             *       "de": "Um 03:00 (Europe/Berlin)."
             *     }
             */
            words_in: {
                [key: string]: string;
            };
        };
        /**
         * ScheduleList
         * @description A page of schedules, by module and name.
         */
        ScheduleList: {
            /**
             * Next
             * @description The cursor of the next page; null on the last one.
             */
            next: string | null;
            /** Schedules */
            schedules: components["schemas"]["ScheduleItem"][];
        };
        /**
         * SchedulePause
         * @description Why a schedule is paused.
         */
        SchedulePause: {
            /**
             * Note
             * @description Why; shown in the list.
             */
            note?: string | null;
        };
        /**
         * SchedulePreview
         * @description A trigger to look at: either `cron` or `every`, and the days without a run.
         */
        SchedulePreview: {
            /**
             * After
             * Format: date-time
             * @description From when on; now if not given.
             */
            after?: string;
            /**
             * Count
             * @description How many times; 10.
             */
            count?: number;
            /**
             * Cron
             * @description When, as a cron expression.
             * @example 0 3 * * *
             */
            cron?: string;
            /**
             * Dst Fold
             * @enum {string}
             */
            dst_fold?: "first" | "second" | "both";
            /**
             * Dst Gap
             * @enum {string}
             */
            dst_gap?: "shift" | "skip";
            /**
             * Every
             * @description How long after the end of the previous run.
             * @example 10m
             */
            every?: string;
            /** Exclude */
            exclude?: string[];
            /**
             * Fixed
             * @description Count `every` on a grid, not from the end of a run.
             */
            fixed?: boolean;
            /**
             * Initial Start
             * @description First start of `every`, anchor of its grid.
             */
            initial_start?: string | null;
            /**
             * Timezone
             * @description IANA name of the zone; UTC if not given.
             */
            timezone?: string;
        };
        /**
         * Scope
         * @description Of what a series is.
         * @enum {string}
         */
        Scope: "everything" | "queue" | "type";
        /**
         * SentenceCode
         * @description What a sentence says. A text of the dashboard in each language belongs to each code.
         * @enum {string}
         */
        SentenceCode: "job_cancelled" | "job_cancelled_stopping" | "job_deleted" | "job_ended_stopping" | "job_expired" | "job_failed" | "job_finished" | "job_held_by_limit" | "job_in_full_queue" | "job_limits_elsewhere" | "job_needs_node" | "job_needs_queue_served" | "job_needs_type_known" | "job_next" | "job_next_attempt" | "job_planned" | "job_queue_paused" | "job_runs" | "job_sent" | "job_stopping" | "job_unfiled" | "job_unsent" | "job_waits_for_group" | "job_waits_for_jobs" | "job_waits_for_slot" | "everything_paused" | "reckoned_by_free_slot" | "reckoned_by_limit" | "reckoned_by_pace" | "reckoned_by_plan" | "until_job_ends" | "until_jobs_end" | "until_moment" | "clock_set_back" | "due_work" | "everything_paused_since" | "hooks_left" | "limit_late" | "many" | "more_schedules_paused" | "node_dead" | "node_dead_unrescued" | "node_died" | "nodes_without_scheduler" | "nodes_without_worker" | "nothing_claimed" | "queue_late" | "queue_paused_since" | "rows_unreadable" | "schedule_failing" | "schedule_gave_up" | "schedule_missed" | "schedule_overdue" | "schedule_paused_since" | "schedule_until" | "schedules_type_unknown" | "schema_newer" | "schema_old" | "type_failing" | "waits_in_circle" | "waits_take_up_limit" | "work_queue_unserved" | "work_type_unknown" | "work_unsent" | "work_without_node" | "work_without_worker" | "fate_no_job" | "fate_of_jobs" | "fate_part" | "death_by_lock" | "death_by_lock_and_silence" | "death_by_process" | "death_by_silence" | "do_add_slots" | "do_cancel_a_wait" | "do_check_broker" | "do_list_schedules" | "do_look_at_failures" | "do_migrate" | "do_migrate_file" | "do_nothing_jobs_move" | "do_nothing_row_goes" | "do_raise_limit" | "do_read_last_lines" | "do_read_logs" | "do_read_logs_of_queue" | "do_repair_rows" | "do_replace_program" | "do_resume_everything" | "do_resume_queue" | "do_resume_schedule" | "do_run_declaring_node" | "do_run_or_clean" | "do_run_or_delete_schedules" | "do_run_schedule" | "do_see_errors" | "do_see_errors_and_resume" | "do_serve_queue" | "do_set_clock" | "do_start_node" | "do_start_node_for_intervals" | "do_start_scheduler" | "do_start_worker" | "do_upgrade_program" | "clocks_follow_wall" | "clocks_in_gap_and_fold" | "times_left_out" | "times_twice" | "cron_characters" | "cron_field" | "cron_fields" | "cron_item" | "cron_names" | "cron_never" | "cron_never_again" | "cron_out_of_range" | "cron_range_reversed" | "cron_step_too_long" | "cron_step_zero" | "cron_whole" | "cron_words" | "group_not_cancellable" | "job_missing" | "job_not_cancellable" | "job_not_deletable" | "job_not_reschedulable" | "job_not_retryable" | "job_retried_already" | "max_job_count" | "query_after_today" | "query_at" | "query_character" | "query_duration" | "query_empty" | "query_field_unknown" | "query_group" | "query_job" | "query_longer_first" | "query_minus" | "query_name_missing" | "query_no_such_number" | "query_number" | "query_one_value" | "query_operator" | "query_parameter_unknown" | "query_path" | "query_path_too_long" | "query_quotes" | "query_range_empty" | "query_range_reversed" | "query_parameter_secret" | "query_star" | "query_star_alone" | "query_state" | "query_time" | "query_too_long" | "query_too_many" | "query_value_missing" | "refused_database_down" | "refused_database_refuses" | "refused_database_unusable" | "refused_deployment_ended" | "refused_duplicate" | "refused_group_not_open" | "refused_internal" | "refused_limit_missing" | "refused_no_tokens" | "refused_not_logged_in" | "refused_not_logged_in_there" | "refused_queue_undeclared" | "refused_read_only" | "refused_search_of_viewers" | "refused_to_others_than_staff" | "refused_token_unknown" | "refused_too_large" | "refused_type_not_public" | "refused_type_not_startable" | "schedule_changed" | "schedule_declared" | "schedule_exists" | "schedule_missing" | "schedule_running" | "deployment_missing" | "group_missing" | "stored_crashed" | "stored_dependency_failed" | "stored_died" | "stored_failed" | "stored_interrupted" | "stored_node_died" | "stored_node_stopped" | "stored_not_set_up" | "stored_out_of_contact" | "stored_time_limit" | "stored_unstorable" | "value_above" | "value_at_least" | "value_at_most" | "value_below" | "value_backfill_later" | "value_backfill_needs_fixed" | "value_backfill_reversed" | "value_backfill_too_many" | "value_between" | "value_burst_of_sliding" | "value_calendar" | "value_calendar_elsewhere" | "value_calendar_failed" | "value_cron_or_every" | "value_exclude" | "value_exclude_reversed" | "value_filter_missing" | "value_id" | "value_interval" | "value_interval_mixed" | "value_interval_too_long" | "value_interval_zero" | "value_job_type" | "value_job_type_not_schedulable" | "value_kind_of_limit" | "value_length" | "value_missing" | "value_multiple" | "value_name" | "value_needs_fixed" | "value_no_next_run" | "value_not_boolean" | "value_not_date" | "value_not_duration" | "value_not_in_form" | "value_not_integer" | "value_not_json" | "value_not_list" | "value_not_number" | "value_not_object" | "value_not_one_of" | "value_not_storable" | "value_not_text" | "value_not_time" | "value_not_url" | "value_not_uuid" | "value_not_with" | "value_only_of_rate" | "value_rate" | "value_rate_or_concurrency" | "value_rate_too_small" | "value_run_at_or_delay" | "value_too_long" | "value_too_short" | "value_unknown" | "value_while_disabled" | "value_while_running" | "value_year" | "value_zone";
        /**
         * SentenceItem
         * @description The text beside it as a code and its values, for a page in another language.
         */
        SentenceItem: {
            code: components["schemas"]["SentenceCode"];
            /**
             * Values
             * @description What stands in the text, by name; a value that is a sentence has a code and values of its own, and its `text`.
             */
            values: {
                [key: string]: unknown;
            };
        };
        /**
         * SkipItem
         * @description Nominal times in a row that will be skipped.
         */
        SkipItem: {
            /** Count */
            count: number;
            /**
             * Nominal Time
             * Format: date-time
             */
            nominal_time: string;
            /**
             * Reason
             * @description `excluded`, `requested` or `replaced`.
             */
            reason: string;
            /**
             * Until
             * Format: date-time
             * @description The last of these nominal times.
             */
            until: string;
        };
        /**
         * Started
         * @description The job of a manual run.
         */
        Started: {
            /** Id */
            id: number;
        };
        /**
         * StateCount
         * @description How many jobs are in a state.
         */
        StateCount: {
            /**
             * Complete
             * @description False if there are more, or not enough time to count all.
             */
            complete: boolean;
            /** Count */
            count: number;
            state: components["schemas"]["JobState"];
        };
        /**
         * StateCounts
         * @description How many jobs are in each state, of those that are kept.
         */
        StateCounts: {
            /** Cancelled */
            cancelled: number;
            /** Failed */
            failed: number;
            /** Finished */
            finished: number;
            /** Pending */
            pending: number;
            /** Started */
            started: number;
        };
        /**
         * StatisticsItem
         * @description The statistics of the ended runs of a schedule: each was a success, a failure or a crash.
         */
        StatisticsItem: {
            /** Consecutive Crashes */
            consecutive_crashes: number;
            /** Consecutive Failures */
            consecutive_failures: number;
            /** Last Finish On */
            last_finish_on: string | null;
            /** Last Run Success */
            last_run_success: boolean | null;
            /** Last Start On */
            last_start_on: string | null;
            /** Last Successful Finish On */
            last_successful_finish_on: string | null;
            /**
             * Mean Duration Seconds
             * @description Mean of the successful runs; null without any.
             */
            mean_duration_seconds: number | null;
            /**
             * Open Runs
             * @description Runs in progress or pending, which no other count includes.
             */
            open_runs: number;
            /** Total Crashes */
            total_crashes: number;
            /** Total Failures */
            total_failures: number;
            /** Total Runs */
            total_runs: number;
            /** Total Successes */
            total_successes: number;
        };
        /**
         * TickItem
         * @description What was decided about one nominal time, or about several in a row.
         */
        TickItem: {
            /** Count */
            count: number;
            /**
             * Decided By
             * @description The node that decided; null for a decision by a user.
             */
            decided_by: string | null;
            /**
             * Decided On
             * Format: date-time
             */
            decided_on: string;
            /**
             * Decision
             * @description `fired`, `coalesced`, `skipped` or `missed`.
             */
            decision: string;
            /** Job Id */
            job_id: number | null;
            /**
             * Nominal Time
             * Format: date-time
             */
            nominal_time: string;
            /** Reason */
            reason: string;
            /**
             * Retried As
             * @description The newest job that repeats its run.
             */
            retried_as: number | null;
            /**
             * Until
             * Format: date-time
             * @description The last of these nominal times.
             */
            until: string;
            /**
             * Waiting Reason
             * @description Why its run has not started, if it is pending.
             */
            waiting_reason: string | null;
            waiting_reason_sentence: components["schemas"]["SentenceItem"] | null;
        };
        /**
         * TickList
         * @description A part of the ledger, the newest first.
         */
        TickList: {
            /**
             * Next
             * @description `before` of the next part; null on the last one.
             */
            next: string | null;
            /** Ticks */
            ticks: components["schemas"]["TickItem"][];
        };
        /**
         * TotalsItem
         * @description What ended in a time, and how long it waited and ran: estimated from a histogram, and null
         *     for a queue.
         */
        TotalsItem: {
            /** Cancelled */
            cancelled: number;
            /** Failed */
            failed: number;
            /** Finished */
            finished: number;
            /**
             * Per Minute
             * @description How many jobs ended in a minute.
             */
            per_minute: number | null;
            /** Run P50 Seconds */
            run_p50_seconds: number | null;
            /** Run P95 Seconds */
            run_p95_seconds: number | null;
            /**
             * Seconds
             * @description For how many seconds of the time there are figures.
             */
            seconds: number;
            /** Wait P50 Seconds */
            wait_p50_seconds: number | null;
            /** Wait P95 Seconds */
            wait_p95_seconds: number | null;
        };
        /**
         * TriggerItem
         * @description What makes a schedule due.
         */
        TriggerItem: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "cron" | "interval";
            /**
             * Text
             * @description The expression or interval, and after semicolons what differs from the default.
             */
            text: string;
        };
        /**
         * TypeCourseItem
         * @description The course of one job type.
         */
        TypeCourseItem: {
            /** @description After it. */
            after: components["schemas"]["TotalsItem"] | null;
            /** @description Before the deployment that was asked for. */
            before: components["schemas"]["TotalsItem"] | null;
            /**
             * Ended
             * @description How many jobs ended in each step.
             */
            ended: (number | null)[];
            /** Name */
            name: string;
            totals: components["schemas"]["TotalsItem"];
        };
        /**
         * TypeHistoryList
         * @description The courses of the job types that had jobs, or that this program knows, by name.
         */
        TypeHistoryList: {
            /**
             * Complete
             * @description False if less busy types were left out.
             */
            complete: boolean;
            deployment: components["schemas"]["DeployedItem"] | null;
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /** Step Seconds */
            step_seconds: number;
            /** Types */
            types: components["schemas"]["TypeCourseItem"][];
            /**
             * Until
             * Format: date-time
             */
            until: string;
        };
        /**
         * WaitReason
         * @description What a pending job waits for, or what another job does.
         * @enum {string}
         */
        WaitReason: "jobs" | "planned" | "retry" | "expired" | "everything_paused" | "queue_paused" | "limits_elsewhere" | "limit" | "queue_limit" | "sent" | "unsent" | "no_node" | "unknown_type" | "unserved_queue" | "unfiled" | "slot" | "next" | "gone" | "running" | "stopping" | "ended";
        /**
         * WantedSchedule
         * @description What a schedule is to be.
         */
        WantedSchedule: {
            /**
             * Backoff
             * @enum {string}
             */
            backoff?: "exponential" | "linear" | "constant";
            catch_up?: components["schemas"]["CatchUp"];
            /** Catch Up Limit */
            catch_up_limit?: number;
            /**
             * Catch Up Window
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            catch_up_window?: string;
            /**
             * Cron
             * @description When, as a cron expression.
             * @example 0 3 * * *
             */
            cron?: string;
            /**
             * Dst Fold
             * @enum {string}
             */
            dst_fold?: "first" | "second" | "both";
            /**
             * Dst Gap
             * @enum {string}
             */
            dst_gap?: "shift" | "skip";
            /**
             * Enabled
             * @description Whether it is enabled; if not given, a paused schedule stays paused.
             */
            enabled?: boolean;
            /**
             * Every
             * @description How long after the end of the previous run.
             * @example 10m
             */
            every?: string;
            /**
             * Exclude
             * @description Days on which it does not run, by the clock of its zone: dates, ranges, calendar functions.
             * @example [
             *       "2026-12-24..2026-12-26",
             *       "calendar:shop.holidays"
             *     ]
             */
            exclude?: string[];
            /**
             * Fixed
             * @description Count `every` on a grid, not from the end of a run.
             */
            fixed?: boolean;
            /**
             * Initial Start
             * @description First start of `every`, anchor of its grid.
             */
            initial_start?: string | null;
            /**
             * Jitter
             * @description A duration.
             * @example 90s
             * @example 5m
             * @example 1 day
             */
            jitter?: string;
            /** Job Type */
            job_type: string;
            /**
             * Max Retries
             * @description Retries after a failure; one more failure in a row disables it. Null for no limit.
             */
            max_retries?: number | null;
            /** Max Runtime */
            max_runtime?: string | null;
            /**
             * Next Start
             * Format: date-time
             * @description Moves the next start, once; a time in the past means at once.
             */
            next_start?: string;
            overlap?: components["schemas"]["Overlap"];
            /**
             * Params
             * @description All parameters of its jobs.
             */
            params?: {
                [key: string]: unknown;
            };
            /** Priority */
            priority?: number;
            /** Queue */
            queue?: string;
            /** Retry Period */
            retry_period?: string | null;
            /**
             * Timezone
             * @description IANA name of the zone; UTC if not given.
             */
            timezone?: string;
        };
        /**
         * WhyItem
         * @description Why a schedule did or did not run at a moment.
         */
        WhyItem: {
            /**
             * After
             * @description The nearest time after it.
             */
            after: string | null;
            /**
             * Before
             * @description The nearest time before the moment.
             */
            before: string | null;
            /**
             * Blocked By
             * @description The job of the run that was in progress.
             */
            blocked_by: number | null;
            /** Count */
            count: number | null;
            /** Decided By */
            decided_by: string | null;
            /** Decided On */
            decided_on: string | null;
            /** Decision */
            decision: string | null;
            /** Disabled Reason */
            disabled_reason: string | null;
            /** Job Error */
            job_error: string | null;
            /** Job Id */
            job_id: number | null;
            /** Job State */
            job_state: string | null;
            kind: components["schemas"]["WhyKind"];
            /**
             * Moment
             * Format: date-time
             */
            moment: string;
            /** Name */
            name: string;
            /**
             * No Node From
             * @description When the last node ended, if none was up at the moment.
             */
            no_node_from: string | null;
            /** No Node Until */
            no_node_until: string | null;
            /**
             * Nodes
             * @description The nodes that were up, where the answer depends on them.
             */
            nodes: components["schemas"]["NodeLifeItem"][];
            /**
             * Nominal Time
             * @description Of the row of the ledger, as are the fields up to `decided_by`.
             */
            nominal_time: string | null;
            /**
             * Note
             * @description Why it is, or was, paused.
             */
            note: string | null;
            /** Paused By */
            paused_by: string | null;
            /** Paused On */
            paused_on: string | null;
            /**
             * Reason
             * @description Also why a time to come will be skipped.
             */
            reason: string | null;
            /** Schedule Id */
            schedule_id: number;
            /**
             * Start On
             * @description When a time that is due or to come starts.
             */
            start_on: string | null;
            /**
             * Text
             * @description The reason in a sentence or two.
             */
            text: string;
            /** Timezone */
            timezone: string;
            /** Until */
            until: string | null;
            /** Waiting Reason */
            waiting_reason: string | null;
            waiting_reason_sentence: components["schemas"]["SentenceItem"] | null;
        };
        /**
         * WhyKind
         * @description What the answer is made of.
         * @enum {string}
         */
        WhyKind: "decided" | "to_come" | "will_be_skipped" | "wait_after_crash" | "run_in_progress" | "overdue" | "everything_paused" | "disabled" | "not_a_time" | "no_fixed_times" | "not_created_yet" | "other_rules" | "forgotten";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_audit: {
        parameters: {
            query?: {
                /** @description The user who made the change. */
                actor?: string | null;
                /** @description The changed job, job type, queue or schedule. With `kind=schedule`, changes are found by the id of the schedule and by its name. */
                target?: string | null;
                /** @description The first part of the action, such as `schedule` or `queue`. */
                kind?: string | null;
                /** @description One or more actions, separated by commas. */
                action?: string | null;
                /** @description `python`, `cli`, `http` or `dashboard`. */
                channel?: string | null;
                /** @description Only changes from this moment on. */
                since?: string | null;
                /** @description Only changes before this moment. */
                until?: string | null;
                limit?: number;
                /** @description `next` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_deployments: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentList"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_deployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key of a deployment. */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_deployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key of a deployment. */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    scale_deployment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key of a deployment. */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Scale"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_errors: {
        parameters: {
            query?: {
                /** @description How far to look back, at most 90 days. */
                since?: string;
                /** @description Only failures of this job type. */
                type?: string | null;
                /** @description Only failures since this deployment, by its key, or `latest`. A group is new if it did not happen in the time `since` before the deployment. */
                deployment?: string | null;
                /** @description Only groups that first happened after a deployment. */
                only_new?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listen: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ID of the last event received, to resume after it. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of server-sent events. `hello` comes first: `{"resumed": false}` means that changes may have been missed, so read your data again. `job` is a job as in the list, with its `change`: `created`, `started`, `progress`, `waiting` (for another attempt) or `ended`. `reset` means that too many changes happened at a time to send each: read your data again. Users who may see schedules also get their changes: `schedule` is a schedule as in the list, after any change, and `schedule_gone` the ID of one that was deleted. The data of `job` is a `JobStreamEvent`, of `schedule` a `ScheduleItem`, of `schedule_gone` a `ScheduleGone`. A comment is sent after 15 seconds without another message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests, or too many at a time. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_pause: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EverythingItem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_everything: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueuePause"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EverythingItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_everything: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EverythingItem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_group: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewGroup"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupView"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_group: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the group. */
                group_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupView"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_group: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the group. */
                group_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupView"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_history: {
        parameters: {
            query?: {
                scope?: components["schemas"]["Scope"];
                /** @description The name of the queue or type. */
                name?: string | null;
                span?: string | null;
                /** @description In place of `span`. */
                from?: string | null;
                /** @description With `from`; default: now. */
                until?: string | null;
                /** @description Maximum number of steps, which are as short. */
                points?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistorySeries"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_queue_history: {
        parameters: {
            query?: {
                /** @description How far to look back: 10 minutes to 30 days, such as `6h`. */
                span?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueHistoryList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_type_history: {
        parameters: {
            query?: {
                /** @description How far to look back: 10 minutes to 30 days, such as `6h`. */
                span?: string;
                /** @description The key of a deployment of the last 30 days: compares `span` before it with the same time after it. */
                deployment?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypeHistoryList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description IDs, separated by commas; at most 10,000. All of these jobs are on one page; jobs that do not exist, or belong to another user, are left out. */
                job_ids?: string | null;
                /** @description States, separated by commas; `!` in front excludes one. The order does not matter. A job that shows a label is `started`. */
                states?: string | null;
                /** @description Job types, separated by commas. */
                types?: string | null;
                /** @description Queues, separated by commas. */
                queues?: string | null;
                /** @description Owner of the jobs; only for staff. */
                owner?: string | null;
                /** @description Only the runs of this schedule. */
                schedule_id?: number | null;
                /** @description Terms, separated by spaces, that the jobs must all meet; `-` in front of one excludes. Fields are `id`, `type` (with `*` at the end for a beginning), `state`, `queue`, `owner`, `key`, `tag`, `schedule`, `group`, `error`, `text`, `created`, `finished`, `since`, `until`, `duration`, `wait`, `attempts` and parameters, as `NAME` or `params.NAME`. Names, states and ids may be several, separated by commas. A word without a field is an id, or a text that the job contains. A page of a search may have fewer jobs than `limit`: if `next` is not null, there is more to search. */
                query?: string | null;
                /** @description The IANA name of the time zone of the days in `query`. */
                timezone?: string;
                /** @description Only the members of this group. */
                group_id?: number | null;
                /** @description Which jobs come first. `last_ended` and `first_ended` list only jobs that have ended. */
                order?: "newest" | "oldest" | "last_ended" | "first_ended";
                /** @description Jobs on a page, at most; does not apply to `job_ids`. */
                limit?: number;
                /** @description `next` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                action: components["schemas"]["BulkAction"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    preview_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                action: components["schemas"]["BulkAction"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkCount"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    count_jobs: {
        parameters: {
            query?: {
                /** @description Terms that the jobs must all meet, as in the list of jobs. */
                query?: string | null;
                /** @description The IANA name of the time zone of the days in `query`. */
                timezone?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCounts"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_job: {
        parameters: {
            query?: {
                /** @description Whether large parameters and a large result are read from their store. Otherwise they are objects with `$stored`, `size` and `sha256`. */
                large_values?: boolean;
            };
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This server does not have the type of the job; the next node that has it deletes the job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_logs: {
        parameters: {
            query?: {
                /** @description `next` of an earlier answer, or the cursor of a line. */
                after?: string | null;
                /** @description The lowest level. */
                level?: "debug" | "info" | "warning" | "error" | "critical";
                /** @description Lines in an answer, at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogLines"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reschedule_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTime"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explain_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobWhyItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_limits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitList"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reset_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a limit. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a limit. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_nodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeList"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_overview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewItem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_queues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueList"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    make_queue_fair: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Fairness"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limit_queue_by_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueLimitByKey"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limit_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueLimit"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueuePause"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reset_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description The declaring module; blank for schedules without one. */
                module?: string | null;
                job_type?: string | null;
                /** @description Part of the name. */
                name?: string | null;
                enabled?: boolean | null;
                /** @description Begin with schedules whose last run failed, and those that gave up. */
                failing_first?: boolean;
                /** @description Schedules on a page, at most. */
                limit?: number;
                /** @description `next` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WantedSchedule"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutResult"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutResult"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_lanes: {
        parameters: {
            query: {
                /** @description IDs, separated by commas; at most 100. */
                ids: string;
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LaneList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    preview_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SchedulePreview"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedulable_types: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulableTypes"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alter_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlteredSchedule"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    backfill_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BackfillRange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillResult"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    undo_backfill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillRemoved"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedule_errors: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailedRunList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SchedulePause"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reset_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    skip_next_time: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    undo_skip: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetail"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_schedule_statistics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatisticsItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_ticks: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only nominal times before this; `next` of the last part. */
                before?: string | null;
                /** @description Only these, separated by commas; a part may then be empty and still have a `next`. */
                decisions?: string | null;
            };
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TickList"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explain_time: {
        parameters: {
            query?: {
                /** @description The last time that the schedule had, if not given. */
                at?: string | null;
            };
            header?: never;
            path: {
                /** @description The ID of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyItem"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found, or owned by another user. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    who_am_i: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    log_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description The request is invalid, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests, or too many at a time. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Authentication required. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not permitted, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Not ready. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
}
