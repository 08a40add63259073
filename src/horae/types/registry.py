"""The job types that a program knows. A name from the database is looked up here, never imported."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from horae.errors import InvalidJobType, JobTypeAlreadyRegistered, UnknownJobType
from horae.types.function import JobFunction
from horae.types.job_type import JobType

JobTypeReference: TypeAlias = str | JobType[Any] | type[JobType[Any]] | JobFunction[..., Any]


class Listener:
    """Somebody who hears of changes until closed."""

    def __init__(self, listeners: "list[Listener]", call: Callable[[], None]) -> None:
        self._listeners, self.call = listeners, call

    def close(self) -> None:
        """Hear no more."""
        self._listeners.remove(self)


class Registry:
    """Job types by name."""

    def __init__(self) -> None:
        self._types: dict[str, JobType[Any]] = {}
        self._listeners: list[Listener] = []

    def listen(self, call: Callable[[], None]) -> Listener:
        """Call whenever the types have changed, on the thread that changes them."""
        listener = Listener(self._listeners, call)
        self._listeners.append(listener)
        return listener

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener.call()

    def add(self, job_type: JobType[Any]) -> None:
        """Register a type; raises `JobTypeAlreadyRegistered` if another one has its name."""
        present = self._types.setdefault(job_type.type, job_type)
        if present is job_type:
            self._tell()
            return
        if _is_same_function(present, job_type):
            raise JobTypeAlreadyRegistered(
                f"job type {job_type.type!r} is this function already, and a second decorator would take the place of "
                "the first; give the second another name=, and it is a type, or a schedule, of its own"
            )
        if _origin(present) == _origin(job_type):  # the module was loaded again
            self._types[job_type.type] = job_type
            return
        raise JobTypeAlreadyRegistered(
            f"job type {job_type.type!r} of {_origin(job_type)} is already registered by {_origin(present)}; "
            f"known: {', '.join(sorted(self._types))}"
        )

    def get(self, name: str) -> JobType[Any]:
        """The type of this name; raises `UnknownJobType`, which lists those there are."""
        try:
            return self._types[name]
        except KeyError:
            raise UnknownJobType(name, self._types) from None

    def find(self, name: str) -> JobType[Any] | None:
        """The type of this name, or None where another program knows it."""
        return self._types.get(name)

    def resolve(self, reference: JobTypeReference) -> JobType[Any]:
        """The registered type that a caller means by a name, a class, a function."""
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
                raise InvalidJobType(f"{reference!r} is no job type; decorate it with @horae.job or register it")

    def remove(self, name: str) -> None:
        """Forget a type; raises `UnknownJobType`."""
        self.get(name)
        del self._types[name]
        self._tell()

    @property
    def by_name(self) -> Mapping[str, JobType[Any]]:
        """All types, read only."""
        return MappingProxyType(self._types)

    def __iter__(self) -> Iterator[JobType[Any]]:
        """Each type, in the order of registration."""
        return iter(self._types.values())


def _is_same_function(one: JobType[Any], other: JobType[Any]) -> bool:
    """Whether both are made of one function; a module that is loaded again makes another."""
    function = getattr(one, "function", None)
    return function is not None and function is getattr(other, "function", None)


def _origin(job_type: JobType[Any]) -> str:
    source: Any = getattr(job_type, "function", type(job_type))
    return f"{source.__module__}.{source.__qualname__}"
