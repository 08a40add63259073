"""A world of simulated processes: one virtual time, and one random order of everything that happens at one moment.

Each simulated thread is a greenlet. It runs until it waits for something: a timer, a lock, an event, the database.
Then the world continues with the next entry of its agenda. Entries of the same moment are taken in an order that is
drawn from the seed, so threads and processes interleave differently with each seed and identically with the same one.
Within an event loop callbacks keep the order in which they were registered, as asyncio promises.
"""

from asyncio.events import _set_running_loop as set_running_loop
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final

from tests.simulation.greenlets import Greenlet, current_greenlet

Action = Callable[[], object]


class ProcessDied(BaseException):
    """Unwinds a thread of a simulated process that was killed; nothing may continue after it."""


@dataclass(slots=True)
class Surroundings:
    """What the processes of a world share beside the database, and how hints behave."""

    many_processes: bool = False
    """Whether processes start all the time, so that nothing can be kept that was computed for some of them."""
    heartbeats: bool = False
    """Whether nodes show that they live by heartbeats; otherwise by file locks."""
    hints_work: bool = True
    hints_lost: float = 0.0
    """The share of hints that are lost."""
    hints_doubled: float = 0.0
    """The share of hints that arrive twice."""
    hints_late: float = 0.002
    """How many seconds a hint takes, on average."""
    hints_off_until: float = 0.0
    """No hint arrives before this moment."""
    processes: "list[Process]" = field(default_factory=list)
    """All that were ever started."""
    processes_by_number: "dict[int, Process]" = field(default_factory=dict)
    processes_of_nodes: "dict[str, Process]" = field(default_factory=dict)
    """The process of each node that has a journal."""
    unreadable_journals: set[str] = field(default_factory=set)
    """The nodes whose journals a rescuer could not use: they are on another host, or the process may still begin jobs."""
    session_locks: "dict[int, Process]" = field(default_factory=dict)
    """Which process holds each session lock of the database."""
    listeners: "list[tuple[Process, Callable[[Any], None]]]" = field(default_factory=list)
    """Who receives hints."""
    failures: list[str] = field(default_factory=list)
    """The threads that an exception has ended."""
    bodies: list[Any] = field(default_factory=list)
    """The log of the bodies."""
    connections: list[Any] = field(default_factory=list)
    """All connections to the database that were opened."""
    free_connections: list[Any] = field(default_factory=list)
    """Those that no process has at present."""
    server: Any = None
    """The PostgreSQL database of the simulation, if it is not on SQLite."""
    waiting_for_lock: Any = None
    """The threads that wait for SQLite's write lock."""


class World:
    """The virtual time, the agenda of what happens next, and the trace of what has happened."""

    def __init__(self, seed: str, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.now = 0.0
        """Virtual seconds since the begin."""
        self.server_offset = 0.0
        """How far the database's clock was set forward, in seconds."""
        self.seed = seed
        self.order = Random(f"{seed} order")
        self._draw = self.order.random
        self.trace: list[str] = []
        self.lane: Lane | None = None
        """The thread that runs at present."""
        self.ended = False
        self.agenda: list[tuple[float, float, int, Action]] = []
        """A heap of what happens next: the moment, a random number, a number in order of addition, and the action."""
        self._limit = 0.0
        self._count = 0
        self.hub = current_greenlet()
        self.lanes: list[Lane] = []

    def at(self, moment: float, action: Action) -> None:
        """Call `action` at a moment; among those of the same moment in a random order."""
        self._count += 1
        heappush(self.agenda, (moment, self._draw(), self._count, action))

    def run(self, until: Callable[[], bool], limit: float, every: float = 0.0) -> bool:
        """Let things happen until a condition holds; return False if the limit or the end of the agenda is reached.

        `every`: virtual seconds between two checks of the condition; 0 for a check after each event.
        """
        self._limit, next_check, agenda = limit, self.now, self.agenda
        while True:
            if self.now >= next_check:
                if until():
                    return True
                next_check = self.now + every
            if not agenda or agenda[0][0] > limit:
                return False
            moment, _, _, action = heappop(agenda)
            self.now = max(self.now, moment)
            action()

    def wait(self, seconds: float | None = None) -> bool:
        """Suspend the running thread until it is woken, or for some seconds; return whether it was woken."""
        lane = self.lane or self.running
        process = lane.process
        if process.dead or self.ended:
            raise ProcessDied
        lane.turn += 1
        if seconds is not None:
            moment, agenda = self.now + seconds, self.agenda
            # A thread just continues if nothing else happens until then.
            if (
                not agenda or agenda[0][0] > moment
            ) and process.paused_until <= moment <= self._limit:
                self.now = moment
                lane.woken = False
                return False
            self.at(moment, partial(lane.resume, lane.turn, False))
        lane.suspended = current_greenlet()
        self.hub.switch()
        if process.dead or self.ended:
            raise ProcessDied
        return lane.woken

    @property
    def running(self) -> "Lane":
        """The thread that runs at present."""
        if self.lane is None:
            raise RuntimeError("only a simulated thread can wait")
        return self.lane

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append(
            f"{self.now:.6f} {'-' if self.lane is None else self.lane.process.name} {what}"
        )

    def end(self) -> None:
        """Unwind all threads that are left."""
        self.ended = True
        for lane in self.lanes:
            lane.unwind()


class Lane:
    """One simulated thread of a process."""

    def __init__(self, process: "Process", run: Callable[[], object], name: str) -> None:
        self.process, self.name = process, name
        self.turn = 0
        """Counts the waits, so that a late wake-up does not end a later wait."""
        self.woken = False
        self.over = False
        self.loop: Any = None
        """The event loop that runs in this thread, if any."""
        self._run = run
        self._greenlet: Any = Greenlet(self._main, process.world.hub)
        self.suspended: Any = self._greenlet
        """The greenlet that waits: the thread's own, or one within it, in which SQLAlchemy runs code for a coroutine."""
        self.when_over: list[Action] = []
        process.world.lanes.append(self)

    def start(self) -> None:
        """Begin to run."""
        world = self.process.world
        world.at(world.now, partial(self.resume, self.turn, False))

    def wake(self) -> None:
        """End the wait of this thread, if it still waits by then."""
        world = self.process.world
        world.at(world.now, partial(self.resume, self.turn, True))

    def resume(self, turn: int, woken: bool) -> None:
        """Continue after the wait with this number."""
        process = self.process
        if turn != self.turn or self.over or process.dead:
            return
        world = process.world
        if process.paused_until > world.now:
            world.at(process.paused_until, partial(self.resume, turn, woken))
            return
        self.turn += 1
        self.woken = woken
        world.lane = self
        if self.loop is not None:
            set_running_loop(self.loop)
        try:
            self.suspended.switch()
        finally:
            world.lane = None
            if self.loop is not None:
                set_running_loop(None)

    def _main(self) -> None:
        try:
            self._run()
        except ProcessDied:
            pass
        except Exception as error:  # noqa: BLE001 - as a real thread, it ends alone
            process = self.process
            if not process.dead and not process.world.ended:
                process.world.surroundings.failures.append(
                    f"thread {self.name} of {process.name} ended by {error!r}"
                )
        finally:
            self.over = True
            for action in self.when_over:
                action()

    def unwind(self) -> None:
        """End a thread that will never run again, and release what its frames hold."""
        if self._greenlet and not self.over:
            self.process.world.lane = self
            for _ in range(UNWINDING_STEPS):
                with suppress(BaseException):  # whatever it raises: its process is dead
                    self._greenlet.throw(ProcessDied)
                if self._greenlet.dead:
                    break
            self.process.world.lane = None


UNWINDING_STEPS: Final = 100
"""How often a thread that waits again while it is unwound is unwound anew."""


class Clock:
    """The clocks of one process: a monotonic one with a rate of its own, one that counts sleep, and a wall clock."""

    def __init__(self, world: World, *, started: float, rate: float, wall_offset: float) -> None:
        self._world, self._rate = world, rate
        self._since, self._started = world.now, started
        self.asleep = 0.0
        """Seconds for which the machine slept, which the monotonic clock does not count."""
        self.wall_offset = wall_offset

    def monotonic(self) -> float:
        """Return the seconds of a clock that never steps and stands still while the machine sleeps."""
        return self._started + (self._world.now - self._since) * self._rate - self.asleep

    def boot_time(self) -> float:
        """Return the seconds of a clock that never steps and continues while the machine sleeps."""
        return self._started + (self._world.now - self._since) * self._rate

    def world_time(self, monotonic: float) -> float:
        """Return the moment of the world at which the monotonic clock shows a time."""
        return self._since + (monotonic + self.asleep - self._started) / self._rate

    def duration(self, seconds: float) -> float:
        """Return how long some seconds of this clock take."""
        return seconds / self._rate

    def wall(self) -> float:
        """Return the wall clock, in seconds since 1970."""
        return EPOCH + self._world.now + self.wall_offset


EPOCH: Final = 1_600_000_000.0 - 1_600_000_000.0 % 86_400
"""The wall clock at the begin of each simulation: a midnight in 2020, before the time of any real file."""


class Process:
    """One simulated process: its threads, clocks and random numbers, and what the system releases when it is killed."""

    def __init__(self, world: World, name: str, host: str, number: int, clock: Clock) -> None:
        self.world, self.name, self.host, self.pid, self.clock = world, name, host, number, clock
        self.random = Random(f"{world.seed} {name}")
        self.dead = False
        self.paused_until = 0.0
        self.gate: Any = None
        """What stands between its statements and the database."""
        self.jobs: Any = None
        self.aio: Any = None
        """Clients for its bodies."""
        self.incarnations = count(1)
        self.put_off: list[Any] = []
        """What the process does later than it should, where a guard is removed."""
        self.released_by_kill: list[Action] = []
        """What the operating system does when the process is killed: it closes files, locks and connections."""

    def check(self) -> None:
        """Raise `ProcessDied` if the process was killed."""
        if self.dead or self.world.ended:
            raise ProcessDied

    def kill(self) -> None:
        """End the process at once: no code of it runs any more."""
        if self.dead:
            return
        self.dead = True
        self.world.note(f"killed {self.name}")
        for release in self.released_by_kill:
            release()
        self.released_by_kill.clear()

    def kill_from_within(self) -> None:
        """End the process at the statement that its running thread executes."""
        self.kill()
        raise ProcessDied

    def pause(self, seconds: float, *, asleep: bool = False) -> None:
        """Stop the process for some seconds; `asleep`: its machine sleeps, so its monotonic clock stands still."""
        self.paused_until = max(self.paused_until, self.world.now + seconds)
        if asleep:
            self.clock.asleep += seconds


entered: Final[list[World]] = []
"""The world that simulated modules refer to; read directly where a call of `current` would take much of the time."""


def enter(world: World) -> None:
    """Make a world the one that simulated modules refer to."""
    entered[:] = [world]


def current() -> World:
    """Return the world that was entered last."""
    return entered[0]


def current_process() -> Process | None:
    """Return the process that runs at present, or None outside of all processes."""
    lane = entered[0].lane if entered else None
    return None if lane is None else lane.process
