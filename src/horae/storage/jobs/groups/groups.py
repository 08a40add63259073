"""Groups: create one, add members while it is open, and read it with its members."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)

from horae.domain.jobs import Group, GroupId, Job, JobId, JobState, OnFailure, WaitsFor
from horae.storage.engine import PerDialect, database_now, read, readable, seconds_ago
from horae.storage.jobs.group_tables import group_parts, groups
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import IS_HELD, IS_UNREPORTED, jobs, nodes


class Unsettled(NamedTuple):
    """The unfinished work on groups that a process which died may have left.

    `unreported`: whether jobs have ended whose ends are not reported; `cancelled`: groups with
    members that have not ended; `abandoned`: groups whose members were not inserted completely.
    """

    unreported: bool
    cancelled: list[GroupId]
    abandoned: list[GroupId]


class RunningMember(NamedTuple):
    """A member that a node is running; `progress_percentage` is the stored value."""

    id: JobId
    lease: int
    progress_percentage: int


GROUP_COLUMNS: Final = tuple(
    groups.c[field.name] for field in fields(Group) if field.name in groups.c
)
_group_id: Final = bindparam("group_id", type_=BigInteger())
_job_id: Final = bindparam("job_id", type_=BigInteger())
_size: Final = bindparam("size", type_=BigInteger())

CREATE: Final = (
    insert(groups)
    .values(
        owner=bindparam("owner"),
        on_failure=bindparam("on_failure"),
        then_id=bindparam("then_id"),
        created_at=database_now(),
        inserting_at=database_now(),
    )
    .returning(groups.c.id)
)
GET: Final = select(*GROUP_COLUMNS).where(groups.c.id == _group_id)
LIST: Final = (
    select(*GROUP_COLUMNS)
    .where(groups.c.id < bindparam("before"))
    .order_by(groups.c.id.desc())
    .limit(bindparam("limit"))
)
LIST_OF_OWNER: Final = LIST.where(groups.c.owner == bindparam("owner"))
_its_group = select(jobs.c.group_id).where(jobs.c.id == _job_id).scalar_subquery()
_repeats = (
    select(jobs.c.retry_of.label("id")).where(jobs.c.id == _job_id).cte("repeats", recursive=True)
)
REPEATED: Final = select(
    _repeats.union(select(jobs.c.retry_of).where(jobs.c.id == _repeats.c.id)).c.id
)
"""The jobs that a job repeats. It gets what they got, such as the results of a group."""
OF_JOB: Final = union_all(
    select(groups.c.id).where(or_(groups.c.then_id == _job_id, groups.c.id == _its_group)),
    select(groups.c.id).where(groups.c.then_id.in_(REPEATED), groups.c.ended_at.is_not(None)),
)
_is_open: Final = and_(
    groups.c.id == _group_id, groups.c.ended_at.is_(None), groups.c.cancelled_at.is_(None)
)
_add = update(groups).values(total=groups.c.total + _size).returning(groups.c.id)
ADD: Final = _add.where(_is_open)
INSERT_MORE: Final = _add.where(_is_open, groups.c.inserting_at.is_not(None)).values(
    inserting_at=database_now()
)
HOLD_BACK: Final = update(jobs).where(jobs.c.id == _job_id).values(waits_for=WaitsFor.JOBS.value)
_after: Final = bindparam("after", type_=BigInteger())
_parts = group_parts.c.group_id == _group_id
_first = (
    select(func.min(group_parts.c.first_id))
    .where(_parts, group_parts.c.last_id > _after)
    .scalar_subquery()
)
_last = select(func.max(group_parts.c.last_id)).where(_parts).scalar_subquery()
IS_MEMBER_AFTER: Final = and_(
    jobs.c.group_id == _group_id, jobs.c.id > _after, jobs.c.id >= _first, jobs.c.id <= _last
)
"""The job is a member with a larger id than `after`; only the group's ranges of ids are read."""
IS_MEMBER_BETWEEN: Final = and_(
    jobs.c.group_id == _group_id,
    jobs.c.id > _after,
    jobs.c.id <= bindparam("last"),
)
"""The job is a member of the group, with an id in a given range; for `read_members`."""
_next_parts = (
    select(group_parts.c.first_id, group_parts.c.last_id)
    .where(group_parts.c.group_id == _group_id, group_parts.c.last_id > _after)
    .order_by(group_parts.c.first_id)
    .limit(bindparam("parts"))
    .subquery("next_parts")
)
NEXT_PARTS: Final = select(func.min(_next_parts.c.first_id), func.max(_next_parts.c.last_id))
ADD_PART: Final = insert(group_parts)
MEMBERS: Final = (
    select(*COLUMNS).where(IS_MEMBER_BETWEEN).order_by(jobs.c.id).limit(bindparam("limit"))
)
FINISHED_MEMBERS: Final = MEMBERS.where(jobs.c.state == JobState.FINISHED)


# Running members are found by the index of claimed jobs, which are few, unlike members. Without
# statistics PostgreSQL assumes that every job is claimed, and would read all of them. So it reads
# the jobs of one node at a time; OFFSET keeps it from merging the two queries.
_running = select(jobs.c.id, jobs.c.lease, jobs.c.progress_percentage).where(
    jobs.c.state == JobState.STARTED, jobs.c.group_id == _group_id
)
_of_node = (
    _running.where(jobs.c.node_id == nodes.c.id).offset(literal_column("0")).lateral("of_node")
)
RUNNING: Final = PerDialect(
    select(_of_node).select_from(nodes.join(_of_node, true())), _running.where(IS_HELD)
)
_then = jobs.alias("then_job")
ENDS: Final = (
    select(groups.c.ended_at, groups.c.then_id, _then.c.id.label("found"), _then.c.finished_at)
    .select_from(groups.outerjoin(_then, _then.c.id == groups.c.then_id))
    .where(groups.c.id == _group_id)
)
_unreported = select(literal("unreported").label("kind"), jobs.c.id).where(IS_UNREPORTED)
_cancelled = select(literal("cancelled").label("kind"), groups.c.id).where(
    groups.c.ended_at.is_(None), groups.c.cancelled_at.is_not(None)
)
_abandoned = select(literal("abandoned").label("kind"), groups.c.id).where(
    groups.c.ended_at.is_(None),
    groups.c.cancelled_at.is_(None),
    groups.c.inserting_at < seconds_ago("seconds"),
)
UNSETTLED: Final = union_all(select(_unreported.limit(1).subquery()), _cancelled, _abandoned)
_between = jobs.c.id.between(group_parts.c.first_id, group_parts.c.last_id)
_member_left = (
    select(jobs.c.id)
    .where(group_parts.c.group_id == groups.c.id, _between, jobs.c.group_id == groups.c.id)
    .exists()
)
_then_left = select(jobs.c.id).where(jobs.c.id == groups.c.then_id).exists()
FORGET_PARTS: Final = delete(group_parts).where(group_parts.c.group_id.not_in(select(groups.c.id)))
FORGET_ENDED: Final = delete(groups).where(
    groups.c.ended_at < seconds_ago("seconds"), ~_member_left, ~_then_left
)
IN_FORCE: Final = select(jobs.c.id).where(
    jobs.c.id == _job_id, jobs.c.lease == bindparam("lease"), jobs.c.state == JobState.STARTED
)
"""The attempt of this lease still runs."""
STILL_HELD: Final = IN_FORCE.with_for_update()


def create(
    connection: Connection, owner: str | None, on_failure: OnFailure, then_id: JobId | None
) -> GroupId:
    """Insert an open group without members; it stays open until its starter has inserted them all.

    `then_id`: a new job of the same transaction, which waits for the members.
    """
    if then_id is not None:
        connection.execute(HOLD_BACK, {"job_id": then_id})
    values = {"owner": owner, "on_failure": on_failure.value, "then_id": then_id}
    return GroupId(connection.execute(CREATE, values).scalar_one())


def count_added(
    connection: Connection, group_id: GroupId, size: int, *, by_starter: bool = False
) -> bool:
    """Count members that this transaction inserts; return False if the group is not open.

    The row of the group stays locked until the transaction ends. `by_starter`: whether the call
    that starts the group inserts them.
    """
    statement = INSERT_MORE if by_starter else ADD
    return (
        connection.execute(statement, {"group_id": group_id, "size": size}).one_or_none()
        is not None
    )


def add_part(connection: Connection, group_id: GroupId, job_ids: Sequence[JobId]) -> None:
    """Record the range of ids of new members."""
    part = {"group_id": group_id, "first_id": min(job_ids), "last_id": max(job_ids)}
    connection.execute(ADD_PART, part)


def is_still_held(connection: Connection, job_id: JobId, lease: int) -> bool:
    """Lock a running job; return False if it has ended, or belongs to another node."""
    return (
        connection.execute(STILL_HELD, {"job_id": job_id, "lease": lease}).one_or_none() is not None
    )


def get(connection: Connection, group_id: GroupId) -> Group | None:
    """Return the group, or None; its percentage is not known yet."""
    row = connection.execute(GET, {"group_id": group_id}).one_or_none()
    return None if row is None else read(groups.name, row, group_from)


def page(connection: Connection, owner: str | None, before: GroupId, limit: int) -> list[Group]:
    """Return groups, the newest first; `before` is the last id of the previous page."""
    values: Mapping[str, Any] = {"before": before, "limit": limit}
    statement = LIST if owner is None else LIST_OF_OWNER
    rows = connection.execute(statement, values if owner is None else {**values, "owner": owner})
    return readable(groups.name, rows, group_from)


def of_job(connection: Connection, job_id: JobId) -> GroupId | None:
    """Return the group that a job is a member of, or after which it runs."""
    found = connection.scalar(OF_JOB, {"job_id": job_id})
    return None if found is None else GroupId(found)


def members(
    connection: Connection, group_id: GroupId, *, after: JobId, limit: int, finished: bool = False
) -> list[Job]:
    """Return a page of members in the order they were added; `finished`: only finished ones."""
    rows = read_members(
        connection, FINISHED_MEMBERS if finished else MEMBERS, group_id, after=after, limit=limit
    )
    return readable(jobs.name, rows, job_from)


def read_members(
    connection: Connection, statement: Select[Any], group_id: GroupId, *, after: JobId, limit: int
) -> list[Row[Any]]:
    """Return rows of members by id, from a statement with `IS_MEMBER_BETWEEN` and a `limit`.

    It reads some ranges of the group at a time: without statistics PostgreSQL would read and sort
    all members that are left, for each batch.
    """
    found: list[Row[Any]] = []
    reached, parts = int(after), 1
    while len(found) < limit:
        first, last = connection.execute(
            NEXT_PARTS, {"group_id": group_id, "after": reached, "parts": parts}
        ).one()
        if last is None:
            break
        values = {
            "group_id": group_id,
            "after": max(reached, first - 1),
            "last": last,
            "limit": limit - len(found),
        }
        found += connection.execute(statement, values).all()
        reached, parts = last, min(parts * 4, 256)
    return found


def running(connection: Connection, group_id: GroupId) -> list[RunningMember]:
    """Return the members that nodes are running."""
    return [
        RunningMember._make(row)
        for row in connection.execute(RUNNING.on(connection), {"group_id": group_id})
    ]


def have_all_ended(connection: Connection, group_id: GroupId) -> bool | None:
    """Return whether all members and the job after them have ended; None without such a group."""
    row = connection.execute(ENDS, {"group_id": group_id}).one_or_none()
    if row is None:
        return None
    then_is_open = row.found is not None and row.finished_at is None
    return row.ended_at is not None and not then_is_open


def find_unsettled(connection: Connection, seconds: float) -> Unsettled:
    """Return the work on groups that a process which died has left undone.

    `seconds`: how long after its last insert a call that starts a group is given up.
    """
    rows = connection.execute(UNSETTLED, {"seconds": seconds}).all()
    found = {
        kind: [GroupId(row.id) for row in rows if row.kind == kind]
        for kind in ("cancelled", "abandoned")
    }
    return Unsettled(any(row.kind == "unreported" for row in rows), **found)


def forget_ended(connection: Connection, seconds: float) -> None:
    """Delete groups that ended more than `seconds` ago, and whose jobs are deleted."""
    connection.execute(FORGET_ENDED, {"seconds": seconds})
    connection.execute(FORGET_PARTS)


def group_from(row: Row[Any], *more: str) -> Group:
    """Return a row of `GROUP_COLUMNS` as a group; `more`: further columns, which are ignored."""
    values: dict[str, Any] = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]
    for name in more:
        del values[name]
    values["on_failure"] = OnFailure(values["on_failure"])
    return Group(**values)
