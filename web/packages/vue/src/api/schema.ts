// Made from tests/api/openapi.json by `npm run api-types`; not to be edited.

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
         * @description List who changed what, and when; calls that were refused for what they asked too.
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
    "/api/events/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listen
         * @description Listen to the changes of the jobs that one may see. Polling alone also works: this only makes it sooner.
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
    "/api/jobs/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Jobs
         * @description List jobs, the newest first: one's own, or for staff everybody's.
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
         * @description Delete a job that has ended; for staff.
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
         * @description Cancel a job: it is cancelled when this answers, and final. Cancelling twice is no error.
         */
        post: operations["cancel_job"];
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
         * @description Start a new job with the parameters of one that failed or was cancelled; its owner may if the type is public.
         */
        post: operations["retry_job"];
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
         * @description List the nodes, alive or dead. A dead one is struck off by the next live one, which rescues its jobs.
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
         * @description Read how much waits and runs, what the last hour brought, how prompt it was, and what is wrong.
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
         * @description List every queue that has work or was ever paused.
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
         * @description Let no node begin a job of this queue; what has started goes on. Pausing again changes the note.
         */
        post: operations["pause_queue"];
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
         * @description Open a paused queue again.
         */
        post: operations["resume_queue"];
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
         * @description Read who one is.
         */
        get: operations["who_am_i"];
        put?: never;
        /**
         * Log In
         * @description Put the token into a cookie that no script can read. Only where the settings have tokens.
         */
        post: operations["log_in"];
        /**
         * Log Out
         * @description Take the cookie back; harmless without one.
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
         * @description Tell that the process answers.
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
         * @description Read the figures in the text format of Prometheus.
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
         * @description Tell that the database answers and has the tables that this program needs.
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
            /**
             * Finished On
             * Format: date-time
             */
            finished_on: string;
            /** Node */
            node: string | null;
            /**
             * Outcome
             * @description `finished`, `failed`, `cancelled`, `timed_out` or `crashed`.
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
             * @description What was asked for.
             * @example job.cancel
             */
            action: string;
            /** Actor */
            actor: string;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Id */
            id: number;
            /** Note */
            note: string | null;
            /**
             * Outcome
             * @description `done`, or the code of the error that it was answered with.
             */
            outcome: string;
            /**
             * Target
             * @description Of which job, job type or queue.
             */
            target: string;
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
         * Complaint
         * @description One thing that is wrong with one field.
         */
        Complaint: {
            /** Code */
            code: string;
            /** Error */
            error: string;
        };
        /**
         * Health
         * @description Whether all is well.
         */
        Health: {
            /** Status */
            status: string;
        };
        /**
         * JobDetail
         * @description A job with what only its own page needs.
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
             * @description When the job may start, or might have started.
             */
            due_on: string;
            /**
             * Error
             * @description Why the job failed, for its developer; shown to staff.
             */
            error?: string | null;
            /**
             * Finished On
             * @description When the job ended, in whichever way.
             */
            finished_on: string | null;
            /**
             * Human Readable Error
             * @description Why the job failed, for its owner; empty if it did not.
             */
            human_readable_error: string;
            /** Id */
            id: number;
            /**
             * Label
             * @description What the job says of itself, while it runs.
             */
            label: string | null;
            /** Max Attempts */
            max_attempts: number;
            /**
             * Node
             * @description The node that holds the job; also for a moment after it was cancelled.
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
             * @description Higher goes first.
             */
            priority: number;
            /** Progress Percentage */
            progress_percentage: number;
            /** Queue */
            queue: string;
            /**
             * Result
             * @description What the job returned.
             */
            result?: unknown;
            /**
             * Retry Of
             * @description The job that this one repeats.
             */
            retry_of?: number | null;
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
            /** Type */
            type: string;
            /** Unique Key */
            unique_key?: string | null;
            /**
             * Updated On
             * Format: date-time
             */
            updated_on: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * JobList
         * @description A page of jobs, the newest first.
         */
        JobList: {
            /** Jobs */
            jobs: components["schemas"]["JobView"][];
            /**
             * Next
             * @description The cursor of the next page; null on the last one.
             */
            next: string | null;
        };
        /**
         * JobView
         * @description A job, and beside these fields what its type adds.
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
             * @description When the job may start, or might have started.
             */
            due_on: string;
            /**
             * Finished On
             * @description When the job ended, in whichever way.
             */
            finished_on: string | null;
            /**
             * Human Readable Error
             * @description Why the job failed, for its owner; empty if it did not.
             */
            human_readable_error: string;
            /** Id */
            id: number;
            /**
             * Label
             * @description What the job says of itself, while it runs.
             */
            label: string | null;
            /** Max Attempts */
            max_attempts: number;
            /**
             * Node
             * @description The node that holds the job; also for a moment after it was cancelled.
             */
            node: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Priority
             * @description Higher goes first.
             */
            priority: number;
            /** Progress Percentage */
            progress_percentage: number;
            /** Queue */
            queue: string;
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
            /** Type */
            type: string;
            /**
             * Updated On
             * Format: date-time
             */
            updated_on: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * Login
         * @description A token of the settings.
         */
        Login: {
            /**
             * Token
             * Format: password
             */
            token: string;
        };
        /**
         * Me
         * @description Who one is, and what that means.
         */
        Me: {
            /**
             * Changes All
             * @description All of it may be changed.
             */
            changes_all: boolean;
            /**
             * Changes Own
             * @description Jobs may be started, and one's own cancelled.
             */
            changes_own: boolean;
            /** Id */
            id: string;
            /** Roles */
            roles: string[];
            /**
             * Sees All
             * @description Everybody's jobs, queues, nodes, the overview and the audit are shown.
             */
            sees_all: boolean;
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
         * NodeItem
         * @description One running process, or one that has stopped without leaving.
         */
        NodeItem: {
            /** Alive */
            alive: boolean;
            /** Cause Of Death */
            cause_of_death: string | null;
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
            /** Roles */
            roles: string[];
            /**
             * Running
             * @description Jobs that it holds.
             */
            running: number;
            /**
             * Slots
             * @description Jobs that it runs at a time.
             */
            slots: number;
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
         * NodeList
         * @description All nodes, the oldest first.
         */
        NodeList: {
            /** Nodes */
            nodes: components["schemas"]["NodeItem"][];
        };
        /**
         * OverviewItem
         * @description The state of the whole at one moment; made anew every other second at most.
         */
        OverviewItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** @description From started to ended. */
            duration: components["schemas"]["SpreadItem"];
            /** Nodes Alive */
            nodes_alive: number;
            /** Nodes Dead */
            nodes_dead: number;
            /** @description From due to started. */
            pick_up: components["schemas"]["SpreadItem"];
            /**
             * Problems
             * @description The worst first; empty if all is well.
             */
            problems: components["schemas"]["ProblemItem"][];
            /** Queues */
            queues: components["schemas"]["QueueItem"][];
            /** Running */
            running: number;
            /** Slots */
            slots: number;
            states: components["schemas"]["StateCounts"];
            /**
             * Throughput
             * @description The last hour by minutes; those without an end are left out.
             */
            throughput: components["schemas"]["MinuteItem"][];
        };
        /**
         * Pause
         * @description Why a queue is held.
         */
        Pause: {
            /**
             * Note
             * @description Why; shown in the list.
             */
            note?: string | null;
        };
        /**
         * Problem
         * @description How every error is answered.
         */
        Problem: {
            /**
             * Detail
             * @description What went wrong, for people; for a field that is wrong, by the field.
             */
            detail: string | {
                [key: string]: components["schemas"]["Complaint"][];
            };
            /**
             * Error
             * @description What went wrong, for programs.
             * @example ERROR_JOB_DOES_NOT_EXIST
             */
            error: string;
        };
        /**
         * ProblemItem
         * @description Something that somebody should know, in words.
         */
        ProblemItem: {
            /** Advice */
            advice: string | null;
            /**
             * Level
             * @description `problem`: somebody should act; `warning`: it should be known.
             */
            level: string;
            /** Message */
            message: string;
            /** Subject */
            subject: string;
        };
        /**
         * QueueItem
         * @description A queue, with what waits and runs in it.
         */
        QueueItem: {
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
             * @description Jobs that wait, those that are due later too.
             */
            pending: number;
            /** Started */
            started: number;
        };
        /**
         * QueueList
         * @description Every queue that has work or was ever paused, by name.
         */
        QueueList: {
            /** Queues */
            queues: components["schemas"]["QueueItem"][];
        };
        /**
         * SpreadItem
         * @description How some seconds are spread over the latest jobs that ended in the last hour, at most 1,000.
         */
        SpreadItem: {
            /** Count */
            count: number;
            /** P50 Seconds */
            p50_seconds: number | null;
            /** P99 Seconds */
            p99_seconds: number | null;
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
                /** @description By whom. */
                actor?: string | null;
                limit?: number;
                /** @description `next` of the page before. */
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                /** @description The id of the last event that came, to go on from there. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of server-sent events. `hello` comes first: `{"resumed": false}` says that changes may have been missed, so read what you show. `job` is a job as in the list, with its `change`: `created`, `started`, `progress`, `waiting` (for another attempt) or `ended`. `reset` says that too much happened to tell: read what you show. The data of `job` is a `JobEvent`. A comment comes when nothing else has for 15 seconds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description Ids, separated by commas; at most 10,000. The answer is never cut short, so it has no next page; jobs that do not exist, or belong to somebody else, are left out. */
                job_ids?: string | null;
                /** @description States, separated by commas; `!` in front leaves one out. The order does not matter. A job that shows a label is `started`. */
                states?: string | null;
                /** @description Job types, separated by commas. */
                types?: string | null;
                /** @description Queues, separated by commas. */
                queues?: string | null;
                /** @description Whose jobs; for staff. */
                owner?: string | null;
                /** @description How many jobs a page has at most; not counting for `job_ids`. */
                limit?: number;
                /** @description `next` of the page before. */
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            query?: never;
            header?: never;
            path: {
                /** @description The id of a job. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                /** @description The id of a job. */
                job_id: number;
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                /** @description The id of a job. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                /** @description The id of a job. */
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                /** @description The id of a job. */
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
                "application/json": components["schemas"]["Pause"];
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
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
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description It does not exist, or belongs to somebody else. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description The request is wrong, or the state does not allow it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
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
            /** @description The database cannot serve this now. */
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
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description Figures. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Nobody that is known here. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed, or a request from another site. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot serve this now. */
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
            /** @description It cannot serve now. */
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
