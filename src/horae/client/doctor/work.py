"""The checks of nodes and queues, and of jobs that no node takes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from horae.client.doctor.finding import (
    About,
    Counted,
    Deed,
    Finding,
    Noun,
    ok,
    problem,
    warning,
)
from horae.domain.jobs import CELERY, Field, JobState, written_term
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.jobs import LeftoverJobs
from horae.storage.nodes import DeadNode, NodeView
from horae.storage.operations import DueWork, LastChange
from horae.storage.queues import Pause, QueueView
from horae.types.waiting_jobs import Misfit

Dead = tuple[NodeView, str]

START_NODE: Final = Sentence("Start one: `horae run module:attribute`.", SentenceCode.DO_START_NODE)
START_WORKER: Final = Sentence(
    "Start one: `horae run module:attribute --roles worker`.", SentenceCode.DO_START_WORKER
)
UNSENT_AFTER: Final = 10.0
"""Seconds within which a message about a due job of a backend should have been sent."""


def node_findings(alive: Sequence[NodeView], dead: Sequence[Dead]) -> Iterator[Finding]:
    """Check which nodes run, and which stopped without unregistering."""
    workers = [view for view in alive if view.is_worker]
    slots = sum(view.concurrency for view in workers)
    if workers:
        yield ok(
            "nodes",
            f"{len(workers)} alive, with {slots} slots, {sum(view.slots_used for view in workers)}"
            " busy",
        )
    elif any(CELERY in view.roles for view in alive):
        yield ok(
            "nodes",
            f"{counted(len(alive), 'node')} alive, and Celery's workers run the jobs",
        )
    elif alive:
        yield warning(
            "nodes",
            Sentence(
                f"{counted(len(alive), 'node')} alive, and none has the role worker, so no job"
                " runs",
                SentenceCode.NODES_WITHOUT_WORKER,
                nodes=len(alive),
            ),
            START_WORKER,
            kind="no_worker",
        )
    elif not dead:
        yield ok("nodes", "no node runs")
    for view, cause in dead:
        yield _report_dead(view, cause, rescued=bool(workers))


def lost_findings(died: Iterable[DeadNode]) -> Iterator[Finding]:
    """Report nodes that died lately, and what has become of their jobs."""
    for node in died:
        failed = node.jobs.get(JobState.FAILED, 0)
        report = problem if failed else warning
        host = node.host.partition("/")[0]
        fate = fate_of(node.jobs)
        yield report(
            "nodes",
            Sentence(
                f"node {node.name!r} (pid {node.pid} on {host}) has died; {fate}",
                SentenceCode.NODE_DIED,
                node=node.name,
                pid=node.pid,
                host=host,
                fate=fate,
            ),
            Sentence(
                "Look for its last log lines: was it killed, or out of memory?",
                SentenceCode.DO_READ_LAST_LINES,
            ),
            kind="node_lost",
            since=node.died_at,
            about=About(Noun.NODE, node.name, node.id),
        )


def fate_of(jobs: Mapping[str, int]) -> str:
    """Return what has become of the jobs that a dead node held: `it held 2 jobs: 2 run again`."""
    if not jobs:
        return Sentence("it held no job", SentenceCode.FATE_NO_JOB)
    parts = [
        Sentence(
            f"{count} {_FATES.get(state, state)}",
            SentenceCode.FATE_PART,
            count=count,
            state=str(state),
        )
        for state, count in sorted(jobs.items())
    ]
    total = sum(jobs.values())
    return Sentence(
        f"it held {counted(total, 'job')}: {', '.join(parts)}",
        SentenceCode.FATE_OF_JOBS,
        count=total,
        parts=parts,
    )


_FATES: Final[Mapping[str, str]] = {
    JobState.PENDING: "to run again",
    JobState.STARTED: "running again",
}


def queue_findings(
    queues: Sequence[QueueView], changes: Mapping[str, LastChange]
) -> Iterator[Finding]:
    """Report paused queues. `changes`: the last pause of each, if it is known."""
    for queue in queues:
        if queue.paused_at is not None:
            change = changes.get(queue.name)
            since = f"{queue.paused_at:%Y-%m-%d %H:%M} UTC" + by_whom(change, queue.note)
            waiting = f"{counted(queue.pending, 'job')} {_waits(queue.pending)}"
            yield warning(
                "queues",
                Sentence(
                    f"queue {queue.name!r} has been paused since {since}; {waiting}",
                    SentenceCode.QUEUE_PAUSED_SINCE,
                    queue=queue.name,
                    since=queue.paused_at,
                    by=None if change is None else change.actor,
                    note=queue.note,
                    jobs=queue.pending,
                ),
                Sentence(
                    f"To continue, run `horae queues resume {queue.name}`.",
                    SentenceCode.DO_RESUME_QUEUE,
                    queue=queue.name,
                ),
                kind="queue_paused",
                since=queue.paused_at,
                about=About(Noun.QUEUE, queue.name),
                counted=Counted(queue.pending, pending_query(queue=queue.name)),
                deeds=(Deed.RESUME,),
            )


def pause_findings(pause: Pause | None) -> Iterator[Finding]:
    """Report a pause of everything."""
    if pause is not None:
        by = None if pause.by is None else LastChange(pause.since, pause.by)
        since = f"{pause.since:%Y-%m-%d %H:%M} UTC" + by_whom(by, pause.note)
        yield warning(
            "queues",
            Sentence(
                f"everything has been paused since {since}: no job starts, and no schedule fires",
                SentenceCode.EVERYTHING_PAUSED_SINCE,
                since=pause.since,
                by=pause.by,
                note=pause.note,
            ),
            Sentence("To continue, run `horae resume --all`.", SentenceCode.DO_RESUME_EVERYTHING),
            kind="everything_paused",
            since=pause.since,
            about=About(Noun.EVERYTHING, "everything"),
            deeds=(Deed.RESUME,),
        )


def work_findings(
    waiting: Sequence[DueWork],
    alive: Sequence[NodeView],
    paused: Collection[str],
    *,
    known: Collection[str],
) -> Iterator[Finding]:
    """Report due jobs that no live node takes.

    `known`: the job types that this application declares.
    """
    unserved = [
        work
        for work in waiting
        if work.queue not in paused
        and not any(view.can_run(work.type, work.queue) for view in alive)
    ]
    for work in unserved:
        yield _report_unserved(work, alive, known)
    if not unserved:
        due = counted(sum(work.count for work in waiting), "due job")
        calm = f"{due}, each in a paused queue or in one that a node serves"
        yield ok("work", calm if waiting else "no job is due")


def unsent_findings(waiting: Sequence[DueWork], paused: Collection[str]) -> Iterator[Finding]:
    """Report due jobs that a backend runs, but about which no message was sent in time."""
    for work in waiting:
        if work.queue not in paused and work.oldest >= UNSENT_AFTER:
            yield _work_problem(
                work,
                "work_unsent",
                Sentence(
                    f"{_describe(work)}: a backend runs them, and no node has sent it a message",
                    SentenceCode.WORK_UNSENT,
                    work=_describe(work),
                ),
                Sentence(
                    "Run a node or a Celery worker of the application that names this backend, and"
                    " check its broker.",
                    SentenceCode.DO_CHECK_BROKER,
                ),
            )


def wait_findings(hindrances: Iterable[str]) -> Iterator[Finding]:
    """Report bodies that wait for something that cannot end."""
    for why in hindrances:
        yield problem(
            "waits",
            why,
            Sentence(
                "Cancel one of these jobs; then start what waits after the others: `after`, or a"
                " group with `then`.",
                SentenceCode.DO_CANCEL_A_WAIT,
            ),
            kind="waits_for_ever",
        )


def misfit_findings(
    misfits: Iterable[Misfit], alive: Sequence[NodeView], due: Collection[str]
) -> Iterator[Finding]:
    """Report waiting jobs that cannot run: their parameters no longer fit, or nobody knows their
    type.

    `due`: types of which jobs are due, which `work_findings` reports.
    """
    for misfit in misfits:
        which = f"{counted(misfit.count, 'waiting job')} of type {misfit.type!r}"
        if misfit.problem is not None:
            yield problem(
                "parameters",
                f"{which} {'does' if misfit.count == 1 else 'do'} not fit this application, such as"
                f" job {misfit.first}: {misfit.problem}",
                "They fail when they are run: let the type accept them, or cancel them and start"
                " them again.",
            )
        elif misfit.type not in due and not any(view.knows(misfit.type) for view in alive):
            yield warning(
                "work",
                f"{which}, such as job {misfit.first}: neither a live node nor this application"
                " knows this type",
                "Run a node of the application that declares it, or cancel the jobs if the type is"
                " gone.",
            )


def left_findings(left: Sequence[LeftoverJobs], alive: Sequence[NodeView]) -> Iterator[Finding]:
    """Report ended jobs whose hooks no live node can call."""
    for item in left:
        if any(view.knows(item.type) for view in alive):
            continue
        what = [f"{item.past_keeping} wait to be deleted"] if item.past_keeping else []
        what += [f"{item.owed} wait for a hook"] if item.owed else []
        yield warning(
            "hooks",
            Sentence(
                f"ended jobs of type {item.type!r}: {' and '.join(what)}, and no live node knows"
                " the type",
                SentenceCode.HOOKS_LEFT,
                type=item.type,
                to_delete=item.past_keeping,
                owed=item.owed,
            ),
            Sentence(
                "Run a node of the application that declares it; if the type is gone, "
                f"`horae jobs clean --unknown {item.type}` deletes them.",
                SentenceCode.DO_RUN_OR_CLEAN,
                type=item.type,
            ),
            kind="hooks_left",
            about=About(Noun.TYPE, item.type),
        )


def _report_unserved(work: DueWork, alive: Sequence[NodeView], known: Collection[str]) -> Finding:
    what = _describe(work, awaited=work.awaited)
    if not alive:
        return _work_problem(
            work,
            "no_worker",
            Sentence(f"{what}, and no node runs", SentenceCode.WORK_WITHOUT_NODE, work=what),
            START_NODE,
        )
    if not any(view.is_worker for view in alive):
        return _work_problem(
            work,
            "no_worker",
            Sentence(
                f"{what}, and no node runs jobs: none has the role worker",
                SentenceCode.WORK_WITHOUT_WORKER,
                work=what,
            ),
            START_WORKER,
        )
    if not any(view.knows(work.type) for view in alive):
        known_here = work.type in known
        return _work_problem(
            work,
            "type_unknown",
            Sentence(
                f"{what}: no live node knows this type"
                f"{', but this application does' if known_here else ''}",
                SentenceCode.WORK_TYPE_UNKNOWN,
                work=what,
                known_here=known_here,
            ),
            Sentence(
                "Run a node of the application that declares it, or cancel the jobs if the type is"
                " gone.",
                SentenceCode.DO_RUN_DECLARING_NODE,
            ),
        )
    return _work_problem(
        work,
        "queue_unserved",
        Sentence(
            f"{what}: no live node that knows the type serves this queue",
            SentenceCode.WORK_QUEUE_UNSERVED,
            work=what,
        ),
        Sentence(
            f"Run a node with --queues {work.queue}, or without --queues.",
            SentenceCode.DO_SERVE_QUEUE,
            queue=work.queue,
        ),
    )


def by_whom(change: LastChange | None, note: str | None) -> str:
    """Return who has paused something, and why, to follow the moment: ` by ann (moving house)`."""
    by = "" if change is None else f" by {change.actor}"
    return f"{by} ({note})" if note else by


def pending_query(*, queue: str, type_: str | None = None) -> str:
    """Return the search for the waiting jobs of a queue."""
    terms = [written_term(Field.STATE, JobState.PENDING), written_term(Field.QUEUE, queue)]
    return " ".join(terms if type_ is None else [*terms, written_term(Field.TYPE, type_)])


def _work_problem(work: DueWork, kind: str, message: Sentence, advice: Sentence) -> Finding:
    return problem(
        "work",
        message,
        advice,
        kind=kind,
        since=timedelta(seconds=work.oldest),
        about=About(Noun.QUEUE, work.queue),
        counted=Counted(work.count, pending_query(queue=work.queue, type_=work.type)),
    )


def _describe(work: DueWork, *, awaited: int = 0) -> Sentence:
    """Say how much work waits; `awaited`: for the end of how many of the jobs others wait."""
    number = counted(work.count, "due job")
    others = f", for the end of {awaited} of which groups or other jobs wait" if awaited else ""
    return Sentence(
        f"{number} of type {work.type!r} in queue {work.queue!r} (the oldest for"
        f" {work.oldest:.0f} s) {_waits(work.count)}{others}",
        SentenceCode.DUE_WORK,
        jobs=work.count,
        type=work.type,
        queue=work.queue,
        seconds=work.oldest,
        awaited=awaited,
    )


def _waits(count: int) -> str:
    return "waits" if count == 1 else "wait"


def _report_dead(view: NodeView, cause: str, *, rescued: bool) -> Finding:
    text = (
        f"node {view.id} ({view.name}, pid {view.pid}) is dead: {cause}; it holds"
        f" {counted(view.running, 'job')}"
    )
    values: dict[str, str | int] = {
        "id": view.id,
        "node": view.name,
        "pid": view.pid,
        "cause": cause,
        "jobs": view.running,
    }
    report, what = warning, Sentence(text, SentenceCode.NODE_DEAD, **values)
    if rescued:
        advice = Sentence(
            "No action needed: a live node takes over its jobs within seconds.",
            SentenceCode.DO_NOTHING_JOBS_MOVE,
        )
    elif view.running:
        report, what = (
            problem,
            Sentence(
                f"{text}, and no live node rescues them", SentenceCode.NODE_DEAD_UNRESCUED, **values
            ),
        )
        advice = Sentence("Start a node: `horae run module:attribute`.", SentenceCode.DO_START_NODE)
    else:
        advice = Sentence(
            "No action needed: the next node that starts removes it from the list.",
            SentenceCode.DO_NOTHING_ROW_GOES,
        )
    return report(
        "nodes",
        what,
        advice,
        kind="node_dead",
        # A node without a session lock writes no heartbeats.
        since=None if view.lock_key is None else view.heartbeat_at,
        about=About(Noun.NODE, view.name, view.id),
    )
