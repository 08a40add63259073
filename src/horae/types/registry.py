"""The job types that a program declares.

A name from the database is looked up here, never imported.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from horae.errors import InvalidJobType, InvalidRequest, JobTypeAlreadyRegistered, UnknownJobType
from horae.listeners import Listeners
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.types.backends import Backend
from horae.types.calendars import CalendarFunction, calendar_name
from horae.types.function import JobFunction
from horae.types.job_type import JobType
from horae.types.options import DeclaredQueue, refuse_secret_names
from horae.types.parameters import Sealer
from horae.types.parameters.large_values import LargeValues
from horae.types.startable import Startable

RESERVED: Final = "horae."
"""The beginning of the names of Horae's own job types."""
JobTypeReference: TypeAlias = str | JobType[Any] | type[JobType[Any]] | JobFunction[..., Any]


class Registry:
    """Job types by name, the calendar functions of schedules, and declared queues."""

    def __init__(
        self,
        queue_backends: Mapping[str, str] | None = None,
        sealer: Sealer | None = None,
        files: LargeValues | None = None,
    ) -> None:
        """`queue_backends`: the backend of each queue that the settings name: `horae`, `celery` or
        `celery:QUEUE`; `sealer`: encrypts the secret parameters of the types;
        `files`: where large values are stored.
        """
        self.sealer, self.files = sealer, files
        self.queue_backends: Mapping[str, str] = queue_backends or {}
        self._types: dict[str, JobType[Any]] = {}
        self._built_in: dict[str, JobType[Any]] = {}
        self._loads: dict[str, object] = {}
        self.calendars: dict[str, CalendarFunction] = {}
        self.queues: dict[str, DeclaredQueue] = {}
        self._listeners = Listeners[[]]()
        self.backends: dict[str, Backend] = {}
        """The backends besides Horae's nodes, by name; `horae.contrib.celery.setup` adds Celery."""

    def listen(self, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` after each change of the types, on the thread that makes the change.

        Return a function that ends this.
        """
        return self._listeners.add(call)

    def add(self, job_type: JobType[Any]) -> None:
        """Register a type.

        Raises `JobTypeAlreadyRegistered` if another one has its name, `InvalidJobType`.
        """
        if job_type.type.startswith(RESERVED):
            raise InvalidJobType(
                f"job type {job_type.type!r}: names that begin with {RESERVED!r} are reserved"
            )
        if (declared := self.queues.get(job_type.queue)) is not None:
            refuse_secret_names(
                declared.name, declared.key_names, job_type.type, job_type.parameters.model
            )
        present = self._types.setdefault(job_type.type, job_type)
        job_type.queue_backends = self.queue_backends
        job_type.parameters.use(self.sealer, self.files)
        if present is job_type:
            self._loads[job_type.type] = _load_of(job_type)
            self._listeners.call()
            return
        # A module that is loaded again makes another function.
        function = getattr(job_type, "function", None)
        if function is not None and function is getattr(present, "function", None):
            raise JobTypeAlreadyRegistered(
                f"job type {job_type.type!r} is already declared by this function; to declare it a"
                " second time, give the second declaration a name= of its own"
            )
        if _origin(present) == _origin(job_type):
            if self._loads.get(job_type.type) is _load_of(job_type) is not None and _line(
                present
            ) != _line(job_type):
                raise JobTypeAlreadyRegistered(
                    f"job type {job_type.type!r} is declared by two functions {_origin(job_type)},"
                    f" in line {_line(present)} and in line {_line(job_type)}; rename one of them,"
                    " or give it a name= of its own"
                )
            self._loads[job_type.type] = _load_of(job_type)  # the module was loaded again
            self._types[job_type.type] = job_type
            return
        raise JobTypeAlreadyRegistered(
            f"job type {job_type.type!r} of {_origin(job_type)} is already registered by"
            f" {_origin(present)}; known: {', '.join(sorted(self._types))}"
        )

    def add_calendar(self, function: CalendarFunction) -> None:
        """Register a calendar function under the name of its module and its own.

        Raises `InvalidRequest`.
        """
        self.calendars[calendar_name(function)] = function

    def add_queue(self, declared: DeclaredQueue) -> None:
        """Register a declared queue.

        Raises `InvalidRequest` if it was declared with other settings.
        """
        for kind in self:
            if kind.queue == declared.name:
                refuse_secret_names(
                    declared.name, declared.key_names, kind.type, kind.parameters.model
                )
        present = self.queues.setdefault(declared.name, declared)
        if present.values != declared.values:
            raise InvalidRequest(
                f"queue {quoted(declared.name)} is declared twice, with {present.text} and with"
                f" {declared.text}"
            )

    def check_calendar(self, name: str) -> None:
        """Raise `InvalidRequest` unless a calendar function of this name is registered."""
        if name not in self.calendars:
            there = ", ".join(sorted(self.calendars)) or "none"
            raise InvalidRequest(
                f"exclude: unknown calendar function {quoted(name)}; registered here: {there}",
                SentenceCode.VALUE_CALENDAR,
                name=name,
                known=there,
            )

    def add_built_in(self, job_type: JobType[Any]) -> None:
        """Register a type of Horae's own: every node runs it, and `types` does not list it."""
        self._built_in[job_type.type] = job_type

    def get(self, name: str) -> JobType[Any]:
        """Return the type of this name. Raises `UnknownJobType`, which lists the known ones."""
        found = self.find(name)
        if found is None:
            raise UnknownJobType(name, self._types)
        return found

    def find(self, name: str) -> JobType[Any] | None:
        """Return the type of this name, or None if it is not registered here."""
        return self._types.get(name) or self._built_in.get(name)

    def resolve(self, reference: JobTypeReference) -> JobType[Any]:
        """Return the registered type for a name, a class or a function.

        Raises `UnknownJobType`, `InvalidJobType`.
        """
        match reference:
            case str():
                return self.get(reference)
            case JobFunction():
                return self.get(reference.job_type.type)
            case JobType():
                return self.get(reference.type)
            case type() if issubclass(reference, JobType):
                return self.get(getattr(reference, "type", reference.__qualname__))
            case _:
                hint = "decorate it with @horae.job or register it"
                if isinstance(reference, Startable):
                    hint = "it has options already: start it with f.with_options(…).start(…)"
                raise InvalidJobType(f"{quoted(reference)} is no job type; {hint}")

    def remove(self, name: str) -> None:
        """Remove a type. Raises `UnknownJobType`."""
        self.get(name)
        del self._types[name]
        self._listeners.call()

    @property
    def by_name(self) -> Mapping[str, JobType[Any]]:
        """All types, read only."""
        return MappingProxyType(self._types)

    @property
    def runnable(self) -> tuple[str, ...]:
        """The names of all types whose jobs this program can run, Horae's own included."""
        return (*self._types, *self._built_in)

    @property
    def claimable(self) -> tuple[str, ...]:
        """The names of the types whose jobs a node may claim because no backend runs them."""
        kinds = (*self, *self._built_in.values())
        return tuple(kind.type for kind in kinds if kind.address is None)

    @property
    def with_backend(self) -> tuple[str, ...]:
        """The names of the types whose jobs a backend runs, whatever their queues are."""
        return tuple(kind.type for kind in self if kind.address is not None)

    def __iter__(self) -> Iterator[JobType[Any]]:
        """Each type, in the order of registration."""
        return iter(self._types.values())


def _load_of(job_type: JobType[Any]) -> object:
    """Return an object that a module keeps until it is reloaded; None if there is none."""
    function = getattr(job_type, "function", None)
    return None if function is None else getattr(function, "__globals__", {}).get("__spec__")


def _line(job_type: JobType[Any]) -> int | None:
    """Return the line in which the function of a job type begins."""
    code = getattr(getattr(job_type, "function", None), "__code__", None)
    return None if code is None else code.co_firstlineno


def _origin(job_type: JobType[Any]) -> str:
    source: Any = getattr(job_type, "function", type(job_type))
    return f"{source.__module__}.{source.__qualname__}"
