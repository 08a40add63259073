"""The declarations of an application: its job types and schedules, made by decorators."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from typing_extensions import Unpack

from horae.domain.limits import Limit
from horae.domain.schedules import calendars_in
from horae.types.application_hooks import ApplicationHooks, add, around_hook, process_hook
from horae.types.calendars import CalendarFunction, functions_in
from horae.types.context import JobContext
from horae.types.function import JobFunction
from horae.types.job_type import Clients, JobType
from horae.types.keywords import BodyKeywords, JobKeywords
from horae.types.options import QUEUE_OPTIONS, DeclaredQueue
from horae.types.registry import Registry
from horae.types.schedule import (
    DeclaredKeywords,
    ParameterKeywords,
    RuleKeywords,
    Schedule,
    TriggerKeywords,
    check_options,
    check_scheduled,
    job_options_of,
    params_of,
    part_of,
    rules_of,
    trigger_of,
)

P = ParamSpec("P")
R = TypeVar("R")
J = TypeVar("J", bound=JobType[Any])
A = TypeVar("A", bound=Callable[[JobContext[Any]], Any])
H = TypeVar("H", bound=Callable[[], Any])


class Declare(Protocol):
    """A decorator that makes a function a job type."""

    @overload  # the parameters are the fields of a model, which type checkers cannot take apart
    def __call__(
        self, function: Callable[[list[JobContext[Any]]], Any], /
    ) -> JobFunction[..., Any]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...


class Declarations:
    """The decorators of an application, and what they have declared. `Horae` inherits them."""

    def __init__(self, registry: Registry, hooks: ApplicationHooks, clients: Clients) -> None:
        """`clients`: those of the job types that are declared here."""
        self.registry, self.hooks, self._clients = registry, hooks, clients
        self.declared: list[Schedule] = []

    @overload
    def job(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...
    @overload
    def job(self, /, **options: Unpack[JobKeywords]) -> Declare: ...
    def job(self, function: Callable[P, R] | None = None, /, **options: Unpack[JobKeywords]) -> Any:
        """Make a function a job type: `@horae.job`, or `@horae.job(max_attempts=3, …)`."""

        def declare(declared: Callable[P, R]) -> JobFunction[P, R]:
            job_function = JobFunction(declared, **options)
            self.add_type(job_function.job_type)
            return job_function

        return declare if function is None else declare(function)

    def cron(
        self, expression: str, /, **options: Unpack[DeclaredKeywords]
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        """Declare a function that runs when a cron expression fires, as in `@horae.cron("0 3 * *
        *", timezone=…)`.

        The function returns nothing, and takes a `JobContext` if it wants one, and the parameters
        that `params={…}` gives; anything else is a `SchemaError` or `InvalidParameters`. A node
        deploys the schedules of its application when it starts. Raises `CronSyntaxError` and
        `InvalidRequest`.
        """
        return self._declare_schedule({**options, "cron": expression})

    def every(
        self, interval: str | timedelta, /, **options: Unpack[DeclaredKeywords]
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        """Declare a function that runs an interval after each finish, or at fixed times."""
        return self._declare_schedule({**options, "every": interval})

    def _declare_schedule(
        self, given: Mapping[str, Any]
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        check_options(given, TriggerKeywords, RuleKeywords, BodyKeywords, ParameterKeywords)
        trigger = trigger_of(part_of(given, TriggerKeywords))
        rules, options = part_of(given, RuleKeywords), part_of(given, BodyKeywords)

        def declare(function: Callable[P, R]) -> JobFunction[P, R]:
            check_scheduled(function, with_params="params" in given)
            job_function = JobFunction(function, **options)
            kind = job_function.job_type
            its_rules = rules_of(f"{function.__module__}.{kind.type}", trigger, rules)
            for calendar in functions_in(rules.get("exclude", [])):
                self.registry.add_calendar(calendar)
            for name in calendars_in(its_rules.exclude):
                self.registry.check_calendar(name)
            params = params_of(kind, given.get("params", {}))
            self.add_type(kind)
            # A reloaded module declares the same schedules again: replace, do not add.
            self.declared[:] = [
                schedule for schedule in self.declared if schedule.name != kind.type
            ]
            more = job_options_of(kind, params)
            self.declared.append(
                Schedule(kind.type, kind.type, its_rules, kind.queue, kind.priority, params, **more)
            )
            return job_function

        return declare

    def queue(
        self,
        name: str,
        /,
        *,
        concurrency: int | None = None,
        fair_by: str | None = None,
        limits: Sequence[Limit] = (),
    ) -> None:
        """Declare the limits of a queue, and who takes turns in it: `horae.queue("mail",
        fair_by="owner")`.

        They come into force when the module is deployed, as a node does when it starts. What is
        changed at run time (`horae.queues`) stays in force until code with another declaration is
        deployed, or until `queues.reset`. `concurrency`: how many of its jobs may run at a time;
        `limits`: limits of all its jobs, by keys that are formats. Raises `InvalidRequest`, also
        for a queue that was declared with other settings.
        """
        given = locals()  # read by name, because each option is then written only once here
        self.registry.add_queue(DeclaredQueue.of(name, given))

    def calendar(self, function: CalendarFunction) -> CalendarFunction:
        """Register a function that returns whether a day is excluded, for schedules that are added
        at run time.

        It is named `calendar:module.function` there. A function in the `exclude` of a declared
        schedule is registered with it.
        """
        self.registry.add_calendar(function)
        return function

    def register(self, job_type: type[J]) -> type[J]:
        """Register a subclass of `JobType`; also a decorator.

        Raises `InvalidJobType`, `JobTypeAlreadyRegistered`.
        """
        self.add_type(job_type())
        return job_type

    def add_type(self, job_type: JobType[Any]) -> None:
        """Register a job type that was made elsewhere, such as that of a Celery task.

        Raises `InvalidJobType`, `JobTypeAlreadyRegistered`.
        """
        job_type.clients = self._clients
        self.registry.add(job_type)

    def around(self, function: A, /) -> A:
        """Run a context manager around each body: a function that yields once, or that returns a
        context manager.

        It is called with the `JobContext` where the body runs, on a thread, the event loop or in a
        child process; the first one declared is the outermost. The job's transaction begins after
        the last one was entered, and is committed or rolled back before the first is left; then
        `job.ended` has the outcome. What it raises before the body is the failure of the body; what
        it raises afterwards is logged and changes nothing. Raises `InvalidRequest`.
        """
        add(self.hooks.around, around_hook(function))
        return function

    def on_node_start(self, function: H, /) -> H:
        """Call a function when a node of this application starts, before it claims a job.

        It may be a coroutine function. What it raises ends the node. Raises `InvalidRequest`.
        """
        add(self.hooks.node_start, process_hook("on_node_start", function))
        return function

    def on_node_stop(self, function: H, /) -> H:
        """Call a function when a node stops, after its last body; what it raises is logged."""
        add(self.hooks.node_stop, process_hook("on_node_stop", function))
        return function

    def on_child_start(self, function: H, /) -> H:
        """Call a function in each child process before its first body, such as `django.setup`.

        It may be a coroutine function. What it raises fails the job that waits for the process; the
        node goes on.
        """
        add(self.hooks.child_start, process_hook("on_child_start", function))
        return function


_keywords = (Declarations.queue.__kwdefaults__ or {}).keys()
if unlike := _keywords ^ {option.keyword for option in QUEUE_OPTIONS.values()}:
    raise TypeError(f"the keywords of Horae.queue differ from the options: {sorted(unlike)}")
