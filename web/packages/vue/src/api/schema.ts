// Made from tests/api/openapi.json by `npm run api-types`; not to be edited.

export interface paths {
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
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
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
}
