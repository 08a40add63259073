"""How a job is created.

`new_job` makes one value of a type, options and parameters, without the database; `creation` guards
its rules and inserts it in one transaction; `contention` repeats that while another transaction is
in the way. A job that a rule forbids leaves nothing behind.
"""

from horae.client.jobs.creating.contention import TryAgain, once, with_retries, with_retries_async
from horae.client.jobs.creating.creation import (
    create,
    create_many,
    create_once,
    create_plain,
    job_of,
)
from horae.client.jobs.creating.inline import RunsInline, run_retries
from horae.client.jobs.creating.members import (
    INSERTED_AT_ONCE,
    Batch,
    Member,
    MemberParser,
    add_members,
    add_to_open,
    count_members,
    create_chain,
    create_group,
)
from horae.client.jobs.creating.new_job import (
    NewJob,
    NewJobs,
    has_large_values,
    max_count_of,
    new_job,
    new_jobs,
    repetition_of,
    take_batch,
    with_large_values,
)
from horae.client.jobs.creating.observing import observed, with_meta_of
from horae.client.jobs.creating.rules import check_startable
from horae.client.jobs.creating.shared_inserts import SharedInserts
from horae.client.jobs.creating.wrong_calls import refusal_of_session

__all__ = [
    "INSERTED_AT_ONCE",
    "Batch",
    "Member",
    "MemberParser",
    "NewJob",
    "NewJobs",
    "RunsInline",
    "SharedInserts",
    "TryAgain",
    "add_members",
    "add_to_open",
    "check_startable",
    "count_members",
    "create",
    "create_chain",
    "create_group",
    "create_many",
    "create_once",
    "create_plain",
    "has_large_values",
    "job_of",
    "max_count_of",
    "new_job",
    "new_jobs",
    "observed",
    "once",
    "refusal_of_session",
    "repetition_of",
    "run_retries",
    "take_batch",
    "with_large_values",
    "with_meta_of",
    "with_retries",
    "with_retries_async",
]
