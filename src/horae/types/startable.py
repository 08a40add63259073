"""How a function starts jobs of itself, so that type checkers compare a start with its arguments.

The leading `JobContext` of a body is no parameter, and the result of a coroutine function is what
it returns when awaited. The overloads of `start` say both to type checkers.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, overload

from typing_extensions import TypeVar, Unpack

from horae.domain.jobs import Job
from horae.errors import InvalidRequest
from horae.types.context import JobContext
from horae.types.job_type import Clients, Creator, JobType
from horae.types.options import StartKeywords, StartOptions

B = ParamSpec("B")
P = ParamSpec("P")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


class Returns(Protocol[R_co]):
    """A function that can be started, for what its jobs return; see `Startable`."""

    if TYPE_CHECKING:

        def _returned(self) -> R_co: ...


class TakesContext(Protocol[B, R_co]):
    """A function whose first argument is its context, for the arguments after it."""

    if TYPE_CHECKING:

        def _called(
            self, job: JobContext[Any], /, *args: B.args, **parameters: B.kwargs
        ) -> R_co: ...


@dataclass(frozen=True, slots=True)
class PreparedOptions:
    """The options of `with_options` as they were given, and as they are passed on."""

    given: StartKeywords
    options: StartOptions
    session: Any
    sync: bool

    @classmethod
    def of(cls, given: StartKeywords) -> "PreparedOptions":
        """Parse keywords. Raises `InvalidRequest`."""
        allowed = StartKeywords.__annotations__
        if unknown := given.keys() - allowed.keys():
            raise InvalidRequest(
                f"there is no option {min(unknown)!r}; there are {', '.join(allowed)}"
            )
        options: dict[str, Any] = {**given}
        session, sync = options.pop("session", None), options.pop("sync", False)
        return cls(given, StartOptions(**options), session, sync)


NO_OPTIONS: Final = PreparedOptions.of({})


class Startable(Generic[P, R_co]):
    """What can be started: a job type that was declared by a function, perhaps with options."""

    def __init__(self, job_type: JobType[Any], prepared: PreparedOptions = NO_OPTIONS) -> None:
        self._started, self._prepared = job_type, prepared

    if TYPE_CHECKING:

        @overload
        def _returned(self: "Startable[..., Coroutine[Any, Any, T]]") -> T: ...
        @overload
        def _returned(self: "Startable[..., T]") -> T: ...
        def _returned(self) -> Any: ...
        def _called(self, *args: P.args, **parameters: P.kwargs) -> R_co: ...

    @overload
    def start(
        self: TakesContext[B, Coroutine[Any, Any, T]],
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[T]: ...
    @overload
    def start(
        self: "Startable[B, Coroutine[Any, Any, T]]", *args: B.args, **parameters: B.kwargs
    ) -> Job[T]: ...
    @overload
    def start(
        self: TakesContext[B, T],
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[T]: ...
    @overload
    def start(self: "Startable[B, T]", *args: B.args, **parameters: B.kwargs) -> Job[T]: ...
    def start(self, *args: Any, **parameters: Any) -> Any:
        """Create a job with these parameters; a node runs it.

        It takes what the function takes, without its `JobContext`. Raises what `Jobs.start` raises.
        """
        return self._create_by(self._clients.for_thread(), args, parameters)

    @property
    def aio(self) -> "AsyncStarts[P, R_co]":
        """Start jobs in async code: `await import_csv.aio.start(path=…)`."""
        return AsyncStarts(
            lambda args, parameters: self._create_by(
                self._clients.for_coroutine(), args, parameters
            )
        )

    def with_options(self, **options: Unpack[StartKeywords]) -> "Startable[P, R_co]":
        """Return what starts jobs with these options: `f.with_options(owner="alice").start(…)`.

        The options are those of `Jobs.start`, also `session` and `sync`; a second call adds to the
        first one. Raises `InvalidRequest`.
        """
        return Startable(self._started, PreparedOptions.of({**self._prepared.given, **options}))

    def _create_by(
        self, client: Creator[T], args: Sequence[Any], parameters: Mapping[str, Any]
    ) -> T:
        values = self._started.named(args, parameters) if args else parameters
        given = self._prepared
        return client.create(
            self._started.type, values, given.options, session=given.session, sync=given.sync
        )

    @property
    def _clients(self) -> Clients:
        if self._started.clients is None:
            raise InvalidRequest(
                f"job type {self._started.type!r} belongs to no application; declare it with"
                " @horae.job"
            )
        return self._started.clients


class AsyncStarts(Generic[P, R_co]):
    """`start` for async code."""

    def __init__(
        self, start: Callable[[Sequence[Any], Mapping[str, Any]], Coroutine[Any, Any, Job]]
    ) -> None:
        self._start = start

    if TYPE_CHECKING:

        def _called(self, *args: P.args, **parameters: P.kwargs) -> R_co: ...

    @overload
    async def start(
        self: TakesContext[B, Coroutine[Any, Any, T]],
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[T]: ...
    @overload
    async def start(
        self: "AsyncStarts[B, Coroutine[Any, Any, T]]", *args: B.args, **parameters: B.kwargs
    ) -> Job[T]: ...
    @overload
    async def start(
        self: TakesContext[B, T],
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[T]: ...
    @overload
    async def start(self: "AsyncStarts[B, T]", *args: B.args, **parameters: B.kwargs) -> Job[T]: ...
    async def start(self, *args: Any, **parameters: Any) -> Any:
        """Create a job; see `Startable.start`."""
        return await self._start(args, parameters)
