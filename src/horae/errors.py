"""Every error of Horae, sorted by what the caller can do about it.

HoraeError
├── InvalidRequest               fix the call
│   ├── ConfigurationError
│   ├── CronSyntaxError
│   ├── InvalidInterval
│   ├── InvalidJobType
│   ├── InvalidLabel
│   ├── InvalidParameters
│   ├── InvalidProgress
│   ├── InvalidQuery
│   ├── JobTypeAlreadyRegistered
│   ├── SchemaError
│   └── UnknownJobType
├── NotFound                     it does not exist, or belongs to another owner
│   ├── DeploymentDoesNotExist
│   ├── GroupDoesNotExist
│   ├── JobDoesNotExist
│   └── ScheduleDoesNotExist
├── Conflict                     reread, then decide
│   ├── DuplicateJob
│   ├── GroupNotCancellable
│   ├── GroupNotOpen
│   ├── JobNotCancellable
│   ├── JobNotDeletable
│   ├── JobNotReschedulable
│   ├── JobNotRetryable
│   ├── MaxJobCountExceeded
│   ├── ScheduleAlreadyExists
│   ├── ScheduleIsDeclared
│   ├── ScheduleIsRunning
│   ├── ScheduleWasChanged
│   └── WaitRefused
├── JobError                     the job itself did not finish
│   ├── JobFailed
│   ├── JobWasCancelled
│   └── SoftTimeLimitExceeded
├── WaitTimeout                  ask again later
└── Unavailable                  retry, or repair the database
    ├── DatabaseAccessDenied
    ├── DatabaseBusy
    ├── DatabaseReadOnly
    ├── DatabaseUnavailable
    ├── EndNotWritten
    ├── SchemaMismatch
    └── UnreadableRow

JobStopped (BaseException)       raised inside a body to end it; let it pass
├── JobCancelled
└── LeaseLost
"""

from collections.abc import Iterable

from typing_extensions import override

from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode, Value


class HoraeError(Exception):
    """Base of every error that Horae raises to a caller."""

    def __init__(
        self, text: str = "", code: SentenceCode | None = None, /, **values: Value
    ) -> None:
        """`code` and `values` make the text a `Sentence`, for pages in other languages."""
        super().__init__(text if code is None else Sentence(text, code, **values))


class InvalidRequest(HoraeError, ValueError):
    """The call is wrong; repeating it cannot help."""


class ConfigurationError(InvalidRequest):
    """A setting has a value that is not allowed; the message names both and what is allowed."""


class CronSyntaxError(InvalidRequest):
    """A cron expression that cannot be read, or can never fire.

    `instead` is the whole expression to write, where one means the same as what was written; `hint`
    says it in words, or what else to do.
    """

    def __init__(
        self,
        problem: str,
        *,
        field: str | None = None,
        text: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
        instead: str | None = None,
    ) -> None:
        if instead is not None:
            hint = f"write {instead}"
        message = f"{problem}; {hint}" if hint else problem
        if isinstance(problem, Sentence):
            values = {"instead": instead, "hint": None if instead is not None else hint}
            message = Sentence(message, problem.code, **{**problem.values, **values})
        super().__init__(message)
        self.problem = problem
        self.field = field
        self.text = text
        self.allowed = allowed
        self.hint = hint
        self.instead = instead


class InvalidInterval(InvalidRequest):
    """An interval that is zero, negative, or mixes months with days or time."""


class InvalidJobType(InvalidRequest):
    """A job type is declared in a way that cannot work."""


class InvalidLabel(InvalidRequest):
    """A label is empty, longer than 128 characters, or one of the reserved states."""


class InvalidParameters(InvalidRequest):
    """The parameters of a call do not fit the job type."""

    def __init__(self, job_type: str, problems: Iterable[tuple[str, str]]) -> None:
        self.job_type = job_type
        self.problems = list(problems)
        listed = "; ".join(f"{where or 'parameters'}: {what}" for where, what in self.problems)
        super().__init__(f"job type {job_type!r} does not accept these parameters: {listed}")

    def within(self, place: str) -> "InvalidParameters":
        """Return the error for parameters that are one of several; `place`: as in `values[3]`."""
        problems = [(f"{place}.{where}" if where else place, what) for where, what in self.problems]
        return InvalidParameters(self.job_type, problems)


class InvalidProgress(InvalidRequest):
    """A progress call with an amount that is negative or not a finite number."""


class InvalidQuery(InvalidRequest):
    """A query of jobs that cannot be read.

    `position`: the first character of the term in `text`, from 1; `length`: that of the term.
    """

    def __init__(self, problem: str, *, text: str, position: int = 1, length: int = 1) -> None:
        super().__init__(problem)
        self.text = text
        self.position = position
        self.length = length


class JobTypeAlreadyRegistered(InvalidRequest):
    """Two different job types share one name."""


class SchemaError(InvalidRequest):
    """A scheduled function returns something, or has parameters that its schedule does not give."""


class UnknownJobType(InvalidRequest):
    """No job type of this name is registered here."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        listed = ", ".join(self.known) or "none; is the module that declares it imported?"
        super().__init__(
            f"unknown job type {quoted(name)} (known: {listed})",
            SentenceCode.VALUE_JOB_TYPE,
            type=name,
        )


class NotFound(HoraeError, LookupError):
    """The requested item does not exist, or belongs to another owner."""


class JobDoesNotExist(NotFound):
    """No job of this id, or it belongs to another owner."""

    def __init__(self, job_id: int, why: str | None = None) -> None:
        if why is None:
            super().__init__(f"job {job_id} does not exist", SentenceCode.JOB_MISSING, job=job_id)
        else:
            super().__init__(f"job {job_id} {why}")
        self.job_id = job_id


class GroupDoesNotExist(NotFound):
    """No group of this id, or it belongs to another owner."""

    def __init__(self, group_id: int) -> None:
        super().__init__(
            f"group {group_id} does not exist", SentenceCode.GROUP_MISSING, group=group_id
        )
        self.group_id = group_id


class ScheduleDoesNotExist(NotFound):
    """No schedule of this id or name."""

    def __init__(self, reference: int | str, meant: str = "") -> None:
        super().__init__(
            f"schedule {quoted(reference)} does not exist{meant}",
            SentenceCode.SCHEDULE_MISSING,
            schedule=reference,
        )
        self.reference = reference


class DeploymentDoesNotExist(NotFound):
    """No deployment of this key."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"deployment {quoted(key)} does not exist",
            SentenceCode.DEPLOYMENT_MISSING,
            deployment=key,
        )
        self.key = key


class Conflict(HoraeError):
    """The stored state does not allow it now; reread and decide again."""


class DuplicateJob(Conflict):
    """A job with the same unique key, or with the same parameters, blocks another one."""

    def __init__(self, job_type: str, unique_key: str, job_id: int, why: str | None = None) -> None:
        active = f"is already active with unique key {unique_key!r}"
        super().__init__(
            f"job {job_id} of type {job_type!r} {why or active}",
            SentenceCode.REFUSED_DUPLICATE,
            job=job_id,
            type=job_type,
        )
        self.job_id = job_id
        self.unique_key = unique_key


class GroupNotOpen(Conflict):
    """Members can be added to a group only until it has ended or is cancelled."""

    def __init__(self, group_id: int, why: str) -> None:
        super().__init__(
            f"no members can be added to group {group_id}: {why}",
            SentenceCode.REFUSED_GROUP_NOT_OPEN,
            group=group_id,
        )
        self.group_id = group_id


class GroupNotCancellable(Conflict):
    """All members and the job that runs after them have ended already."""

    def __init__(self, group_id: int) -> None:
        super().__init__(
            f"group {group_id} cannot be cancelled: all of its jobs have ended",
            SentenceCode.GROUP_NOT_CANCELLABLE,
            group=group_id,
        )
        self.group_id = group_id


class JobNotCancellable(Conflict):
    """The job has finished or failed already."""

    def __init__(self, job_id: int, state: str) -> None:
        super().__init__(
            f"job {job_id} cannot be cancelled: it has {state}",
            SentenceCode.JOB_NOT_CANCELLABLE,
            job=job_id,
            state=state,
        )
        self.job_id = job_id
        self.state = state


class JobNotDeletable(Conflict):
    """The job has not ended, or its body has not stopped yet."""

    def __init__(self, job_id: int, state: str) -> None:
        why = {
            "pending": "while it is pending; cancel it and wait for its body to stop",
            "started": "while it is started; cancel it and wait for its body to stop",
            "being deleted": "now: another caller is deleting it",
        }
        reason = why.get(state, f"yet: it is {state}, but its body has not stopped")
        super().__init__(
            f"job {job_id} cannot be deleted {reason}",
            SentenceCode.JOB_NOT_DELETABLE,
            job=job_id,
            state=state,
        )
        self.job_id = job_id
        self.state = state


class JobNotReschedulable(Conflict):
    """Only a pending job can be moved to another time."""

    def __init__(self, job_id: int, state: str) -> None:
        super().__init__(
            f"job {job_id} cannot be rescheduled: it is {state}, not pending",
            SentenceCode.JOB_NOT_RESCHEDULABLE,
            job=job_id,
            state=state,
        )
        self.job_id = job_id
        self.state = state


class JobNotRetryable(Conflict):
    """A job can be retried only if it failed or was cancelled, and only once; `retried_as` is the
    repetition.
    """

    def __init__(self, job_id: int, state: str, *, retried_as: int | None = None) -> None:
        cannot = f"job {job_id} cannot be retried"
        if retried_as is None:
            super().__init__(
                f"{cannot}: it is {state}, not failed or cancelled",
                SentenceCode.JOB_NOT_RETRYABLE,
                job=job_id,
                state=state,
            )
        else:
            super().__init__(
                f"{cannot}: job {retried_as} has repeated it and did not finish either; retry that"
                " one",
                SentenceCode.JOB_RETRIED_ALREADY,
                job=job_id,
                repetition=retried_as,
            )
        self.job_id = job_id
        self.state = state
        self.retried_as = retried_as


class MaxJobCountExceeded(Conflict):
    """The owner has as many pending or running jobs of this type as it allows."""

    def __init__(self, job_type: str, owner: str, max_count: int) -> None:
        super().__init__(
            f"{owner!r} already has {max_count} pending or running job(s) of type"
            f" {job_type!r}, the most it allows",
            SentenceCode.MAX_JOB_COUNT,
            owner=owner,
            most=max_count,
            type=job_type,
        )
        self.job_type = job_type
        self.owner = owner
        self.max_count = max_count


class ScheduleAlreadyExists(Conflict):
    """A schedule of this name exists."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"schedule {quoted(name)} already exists; alter it, or choose another name",
            SentenceCode.SCHEDULE_EXISTS,
            schedule=name,
        )
        self.name = name


class ScheduleIsDeclared(Conflict):
    """The schedule belongs to a module's code: change and deploy it, or pause the schedule."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(
            f"schedule {name!r} is declared by module {module!r}: change its code and deploy,"
            " or pause it",
            SentenceCode.SCHEDULE_DECLARED,
            schedule=name,
            module=module,
        )
        self.name = name
        self.module = module


class ScheduleIsRunning(Conflict):
    """The schedule is executing, and its overlap policy allows no second run."""

    def __init__(self, name: str, job_id: int) -> None:
        super().__init__(
            f"schedule {name!r} is running as job {job_id}",
            SentenceCode.SCHEDULE_RUNNING,
            schedule=name,
            job=job_id,
        )
        self.name = name
        self.job_id = job_id


class ScheduleWasChanged(Conflict):
    """Somebody has changed the schedule since the caller read it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"schedule {name!r} has been changed since you read it: read it again, then decide",
            SentenceCode.SCHEDULE_CHANGED,
            schedule=name,
        )
        self.name = name


class WaitRefused(Conflict):
    """A body may not wait for another job, because too many bodies of its node already do."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} bodies of this node wait for other jobs already; instead of waiting in a body,"
            " start the next job with after=[...], or a group with then"
        )


class JobError(HoraeError):
    """The job that was waited for, or run inline, did not finish, or not with what it promises."""


class JobFailed(JobError):
    """The job failed; `error` is the technical text, the message the human readable one.

    A traceback shows both.
    """

    def __init__(self, job_id: int, error: str, human_readable_error: str) -> None:
        super().__init__(human_readable_error or error)
        if human_readable_error:
            self.add_note(error)
        self.job_id = job_id
        self.error = error
        self.human_readable_error = human_readable_error


class JobWasCancelled(JobError):
    """The job that was waited for was cancelled."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"job {job_id} was cancelled")
        self.job_id = job_id


class SoftTimeLimitExceeded(JobError):
    """Raised inside a body that exceeded its soft time limit: clean up and return.

    A coroutine is cancelled instead.
    """


class WaitTimeout(HoraeError, TimeoutError):
    """The job, or the group, had not ended when the timeout was over; it continues."""

    def __init__(self, job_id: int, seconds: float, *, what: str = "job") -> None:
        super().__init__(f"{what} {job_id} has not ended after {seconds:g} s")
        self.job_id = job_id


class Unavailable(HoraeError):
    """The database cannot serve this now."""


class DatabaseAccessDenied(Unavailable):
    """The role of this program lacks a privilege that the call needs; nothing has changed.

    An operator has to grant it.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}; `horae grants` prints the privileges that a role needs")


class DatabaseBusy(Unavailable):
    """Another transaction blocked this one for longer than the time limit; try again later."""


class DatabaseReadOnly(Unavailable):
    """The database answers, but accepts no writes, as during a fail-over; it can be read.

    Try again later.
    """


class DatabaseUnavailable(Unavailable):
    """The database does not answer, or cannot do what it was asked, as when its disk is full.

    If the connection was lost during a call, the call may have taken effect. `horae doctor` helps
    to find the cause, and `__cause__` is the error of the driver.
    """

    def __init__(self, database: str, reason: str, *, answers: bool = True) -> None:
        super().__init__(
            f"{database} {'cannot be used now' if answers else 'does not answer'}: {reason}"
        )
        self.reason, self.answers = reason, answers


class EndNotWritten(Unavailable):
    """The body of an inline job has ended, but its result could not be written in time.

    The process keeps trying: wait for the job, and do not start it again.
    """

    def __init__(self, job_id: int) -> None:
        super().__init__(
            f"the body of job {job_id} has ended, but its result cannot be written to the database"
            " yet. This process keeps trying: wait for the job, do not start it again"
        )
        self.job_id = job_id


class SchemaMismatch(Unavailable):
    """The database has another version of the schema; the message names the command to run."""


class UnreadableRow(Unavailable):
    """A requested row has a value that cannot be read; an operator has to repair or delete it."""

    def __init__(self, table: str, key: str, why: str) -> None:
        super().__init__(f"row {key} of {table} cannot be read: {why}; repair or delete it")
        self.table = table
        self.key = key


class JobStopped(BaseException):
    """Raised inside a body to end it. Let it pass."""


class JobCancelled(JobStopped):
    """The job was cancelled: its work is discarded.

    `forced`: the body is stopped by force, where that can be done.
    """

    def __init__(self, by: str | None = None, *, forced: bool = False) -> None:
        super().__init__()
        self.by = by
        self.forced = forced

    @override
    def __str__(self) -> str:
        return "the job was cancelled" if self.by is None else f"the job was cancelled by {self.by}"


class LeaseLost(JobStopped):
    """Another node owns the job now: drop the result."""

    @override
    def __str__(self) -> str:
        return "another node owns the job now"
