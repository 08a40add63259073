"""Job types: what a declaration may contain, what a function becomes, what the registry knows, and the texts for users."""

import inspect
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    FutureDate,
    computed_field,
)
from typing_extensions import override

from horae.client.jobs.creating.new_job import new_job
from horae.client.jobs.jobs import Jobs
from horae.domain.backoff import Backoff
from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import Claim, Job, JobId
from horae.errors import (
    HoraeError,
    InvalidJobType,
    InvalidParameters,
    InvalidRequest,
    JobTypeAlreadyRegistered,
    SoftTimeLimitExceeded,
    UnknownJobType,
)
from horae.types.attempt import Attempt
from horae.types.context import JobContext
from horae.types.function import JobFunction
from horae.types.job_type import JobType, has_hook
from horae.types.keywords import JobKeywords
from horae.types.options.start_options import START_OPTIONS, StartOptions
from horae.types.registry import Registry


class Path3(BaseModel):
    path: str
    rows: int = 3


class Import(JobType[Path3]):
    type = "import"
    params: Any = Path3

    @override
    def run(self, job: JobContext[Path3]) -> int:
        return job.params.rows


def declared(**attributes: Any) -> JobType[Any]:
    """A job type with these attributes."""
    made: type[JobType[Any]] = type("Declared", (Import,), attributes)
    return made()


def context(job_type: JobType[Any], **values: Any) -> JobContext[Any]:
    """What a body of the type is given, after the way through the database."""
    stored = new_job(job_type, StartOptions(), values).stored.text
    claim = Claim(
        JobId(1), job_type.type, "default", 0, None, stored, 1, 1, 1, None, '{"trace": "t"}'
    )
    attempt = Attempt(claim, job_type, lambda _percentage, _label: None)
    attempt.params = job_type.parameters.load(stored)
    return JobContext(attempt)


WHOLE = "expected a whole number from"
REFUSED: list[tuple[str, Any, str]] = [
    ("queue", "", "queue '': expected 1 to 200 printable characters"),
    ("queue", 7, "queue 7: expected 1 to 200 printable characters"),
    ("queue", "q" * 201, f"queue '{'q' * 60}…': expected 1 to 200 printable characters"),
    ("priority", "high", f"priority is 'high', {WHOLE} -2147483647 to 2147483647"),
    ("priority", 2**31, f"priority is 2147483648, {WHOLE} -2147483647 to 2147483647"),
    ("priority", True, f"priority is True, {WHOLE} -2147483647 to 2147483647"),
    ("max_attempts", 0, f"max_attempts is 0, {WHOLE} 1 to 2147483647"),
    ("max_attempts", "3", f"max_attempts is '3', {WHOLE} 1 to 2147483647"),
    ("max_attempts", None, f"max_attempts is None, {WHOLE} 1 to 2147483647"),
    ("max_count", 0, f"max_count is 0, {WHOLE} 1 to 2147483647 or None"),
    ("max_count", 1.5, f"max_count is 1.5, {WHOLE} 1 to 2147483647 or None"),
    ("backoff", timedelta(1), "backoff is datetime.timedelta(days=1), expected a Backoff"),
    (
        "soft_time_limit",
        30,
        'soft_time_limit is 30, expected a duration such as "5m", or a timedelta (for 30 seconds',
    ),
    (
        "soft_time_limit",
        timedelta(0),
        "soft_time_limit is datetime.timedelta(0), expected a duration of more than zero",
    ),
    ("soft_time_limit", "0s", "soft_time_limit is '0s', expected a duration of more than zero"),
    (
        "pending_timeout",
        "30",
        "pending_timeout: interval '30': it has no unit: for seconds write 30s",
    ),
    (
        "pending_timeout",
        timedelta(-1),
        "pending_timeout is datetime.timedelta(days=-1), expected a duration of more",
    ),
    ("grace", None, 'grace is None, expected a duration such as "5m", or a timedelta'),
    (
        "grace",
        timedelta(-1),
        "grace is datetime.timedelta(days=-1), expected a duration of zero or more",
    ),
    ("isolation", "thread", "isolation is 'thread', expected 'process' or None"),
    (
        "exceptions_map",
        [ValueError],
        f"exceptions_map is [{ValueError!r}], expected a mapping from exception classes",
    ),
    (
        "exceptions_map",
        {"ValueError": "no"},
        "exceptions_map has the key 'ValueError', expected an exception class",
    ),
    (
        "exceptions_map",
        {int: "no"},
        "exceptions_map has the key <class 'int'>, expected an exception class",
    ),
    (
        "exceptions_map",
        {ValueError: ("no", "No.")},
        "exceptions_map maps ValueError to ('no', 'No.'), expected text or",
    ),
    (
        "exceptions_map",
        {ValueError: None},
        "exceptions_map maps ValueError to None, expected text or a function",
    ),
    (
        "api_exceptions_map",
        {1: "ERROR"},
        "api_exceptions_map has the key 1, expected an exception class",
    ),
    (
        "api_exceptions_map",
        {ValueError: ("ERROR", 400)},
        "expected a code or (code, status, detail)",
    ),
    (
        "api_exceptions_map",
        {ValueError: ("ERROR", "400", "x")},
        "expected a code or (code, status, detail)",
    ),
    (
        "api_exceptions_map",
        {ValueError: 400},
        "api_exceptions_map maps ValueError to 400, expected a code or",
    ),
    ("public", "no", "public 'no': expected True or False"),
    ("public", 1, "public 1: expected True or False"),
    ("request_model", int, "request_model is <class 'int'>, expected a Pydantic model"),
    ("response_model", {"a": 1}, "response_model is {'a': 1}, expected a Pydantic model"),
    ("params", int, "params is <class 'int'>, not a Pydantic model or a SQLAlchemy mapped class"),
]


@pytest.mark.parametrize(("attribute", "value", "message"), REFUSED)
def test_an_invalid_type_is_refused_at_declaration(
    attribute: str, value: object, message: str
) -> None:
    with pytest.raises(InvalidJobType, match="^job type 'import': .*" + re.escape(message)):
        declared(**{attribute: value})


def test_a_default_that_does_not_fit_its_annotation_is_refused() -> None:
    many: Any = "many"
    none: Any = None

    def of_text(count: int = many) -> None: ...
    def of_none(count: int = none) -> None: ...
    def beyond(count: Annotated[int, Field(ge=1)] = 0) -> None: ...
    def by_field(count: int = Field(default=many)) -> None: ...

    for function in (of_text, of_none, beyond, by_field):
        name = function.__name__
        with pytest.raises(
            InvalidJobType,
            match=f"^job type '{name}': the default of parameter 'count' does not fit its annotation: ",
        ):
            JobFunction(function)


def test_a_wrong_default_of_none_says_how_to_allow_it() -> None:
    none: Any = None

    def work(count: int = none) -> None: ...

    with pytest.raises(InvalidJobType, match=r"; if it may be None, add `\| None` to it$"):
        JobFunction(work)


def test_a_default_may_depend_on_its_surroundings() -> None:
    """The worker decides about it."""

    written: Any = "2026-01-01"

    def refuse(_value: object) -> object:
        raise ValueError

    def fail(_value: object) -> object:
        raise OSError

    def work(
        file: FilePath = Path("/there/is/none"),
        day: FutureDate = date(2020, 1, 1),
        text: Annotated[str, AfterValidator(refuse)] = "",
        row: Annotated[str, AfterValidator(fail)] = "",
        when: date = written,
        made: list[int] = Field(default_factory=list),
    ) -> None: ...

    assert JobFunction(work).job_type.type == "work"


@pytest.mark.parametrize("name", ["", "  ", None, 7, "x" * 201, "nul\x00", "\ud800"])
def test_a_type_needs_a_name(name: object) -> None:
    with pytest.raises(
        InvalidJobType, match=r"^Declared: type .*: expected 1 to 200 printable characters"
    ):
        declared(type=name)


def test_a_type_needs_a_body() -> None:
    class Nothing(JobType[None]):
        type = "nothing"

    with pytest.raises(InvalidJobType, match=r"^job type 'nothing': it has no run method"):
        Nothing()


ALLOWED: list[Mapping[str, Any]] = [
    {"max_count": None, "soft_time_limit": None, "pending_timeout": None, "isolation": "process"},
    {"grace": timedelta(0), "priority": -5, "max_attempts": 100, "backoff": Backoff(jitter=0.0)},
    {"exceptions_map": {KeyboardInterrupt: "no", ValueError: str}},
    {"api_exceptions_map": {ValueError: "ERROR", KeyError: ("ERROR", 404, "There is none.")}},
    {"request_model": Path3, "response_model": Path3},
]


@pytest.mark.parametrize("attributes", ALLOWED)
def test_a_valid_type_is_accepted(attributes: Mapping[str, Any]) -> None:
    assert declared(**attributes).type == "import"


@pytest.mark.parametrize("option", sorted(START_OPTIONS))
def test_a_parameter_with_the_name_of_an_option_is_refused(option: str) -> None:
    class Model(BaseModel):
        model_config = ConfigDict(extra="forbid")

    fields: dict[str, Any] = {"__annotations__": {option: str}, "__module__": __name__}
    model = type("Wrong", (Model,), fields)
    with pytest.raises(
        InvalidJobType, match=f"parameter '{option}' is an option of start; rename it"
    ):
        declared(params=model)
    declared(params=model, request_model=Path3)  # which makes the others of it


def test_the_keywords_of_a_function_are_attributes_of_a_type() -> None:
    assert {"name", "transaction"} <= JobKeywords.__annotations__.keys()
    missing = {name for name in JobKeywords.__annotations__ if not hasattr(JobType, name)}
    assert missing == {"name"}


def test_the_hard_limit_is_the_soft_one_and_the_grace() -> None:
    assert declared(
        soft_time_limit=timedelta(minutes=2), grace=timedelta(seconds=5)
    ).time_limits.hard == timedelta(seconds=125)
    assert declared(soft_time_limit=None).time_limits.hard is None


def test_a_hook_counts_only_where_it_is_overridden() -> None:
    class Hooked(Import):
        @override
        def on_error(self, job: Job, error: BaseException) -> None: ...

    class Inherits(Hooked):
        pass

    for name in ("on_error", "run"):
        assert has_hook(Inherits(), name)
    for name in ("on_cancelled", "before_delete", "after_creation", "prepare_values"):
        assert not has_hook(Inherits(), name)
    assert not has_hook(Import(), "on_error")


def test_async_bodies_are_known() -> None:
    class Async(JobType[None]):
        type = "async"

        @override
        async def run(self, job: JobContext[None]) -> None: ...

    async def coroutine() -> None: ...

    assert Async().is_async
    assert not Import().is_async
    assert JobFunction(coroutine).job_type.is_async
    assert not JobFunction(lambda: None).job_type.is_async


# What a person is told


class Strange(ValueError):
    @override
    def __str__(self) -> str:
        raise RuntimeError("no text")


def broken(error: BaseException) -> str:
    raise LookupError(str(error))


def test_the_nearest_class_decides_in_any_order() -> None:
    texts = {Exception: "any", ValueError: "value", UnicodeError: "unicode", BaseException: "all"}
    for entries in (texts, dict(reversed(texts.items()))):
        explain = declared(exceptions_map=entries).explain
        assert explain(UnicodeDecodeError("utf-8", b"", 0, 1, "no")) == "unicode"
        assert explain(ValueError("x")) == "value"
        assert explain(LookupError("x")) == "any"
        assert explain(KeyboardInterrupt()) == "all"


def test_an_unmapped_error_is_reported_without_its_words() -> None:
    text = Import().explain(ValueError("the password is x"))
    assert text == something_wrong(Import.type)
    assert Import().explain(SoftTimeLimitExceeded("over")) == TimeLimit.HARD.human_readable_error


@pytest.mark.parametrize("base", [BaseException, Exception, HoraeError])
def test_a_text_for_every_error_does_not_hide_a_time_limit(base: type[BaseException]) -> None:
    assert (
        declared(exceptions_map={base: "Try again."}).explain(SoftTimeLimitExceeded("over"))
        == TimeLimit.HARD.human_readable_error
    )
    own = declared(exceptions_map={base: "Try again.", SoftTimeLimitExceeded: "Too big."})
    assert own.explain(SoftTimeLimitExceeded()) == "Too big."


def something_wrong(name: str) -> str:
    return f"Something went wrong while this job ({name}) was running."


def first(error: BaseException) -> str:
    return f"{error.args[0]:>3}"


def no_text(error: BaseException) -> int:
    return len(error.args)


MAPPED: list[tuple[Any, BaseException, str]] = [
    ("no: {e}", ValueError("x"), "no: x"),
    ("{e} and {e}", ValueError("{e} {0} }{"), "{e} {0} }{ and {e} {0} }{"),
    ("{0} {} {name} }{ %s {e!r}", ValueError("x"), "{0} {} {name} }{ %s {e!r}"),
    ("always", Strange(), "always"),
    ("no: {e}", Strange(), something_wrong("import")),
    (str, ValueError("{braces}"), "{braces}"),
    (first, ValueError("x"), "  x"),
    (no_text, ValueError("x"), "1"),
    (broken, ValueError("x"), something_wrong("import")),
    (lambda: "no argument", ValueError("x"), something_wrong("import")),
]


@pytest.mark.parametrize(("entry", "error", "text"), MAPPED)
def test_a_mapping_never_raises(entry: Any, error: BaseException, text: str) -> None:
    job_type = declared(exceptions_map={ValueError: entry})
    assert job_type.explain(error) == text


@given(text=st.text(), entry=st.text())
def test_any_text_maps_any_error(text: str, entry: str) -> None:
    assert declared(exceptions_map={ValueError: entry}).explain(ValueError(text)) == entry.replace(
        "{e}", text
    )


def test_a_broken_mapping_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "horae.types"):
        declared(exceptions_map={ValueError: broken}).explain(ValueError("x"))
    assert "the entry for ValueError in exceptions_map raised" in caplog.text


# Functions


def test_a_function_stays_callable_with_its_name_and_docstring() -> None:
    @JobFunction
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    assert add(1) == 3
    assert add(1, b=5) == 6
    assert (vars(add)["__name__"], add.__doc__, add.job_type.type) == ("add", "Add.", "add")
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert add.job_type.returns is int


def test_a_body_gets_its_parameters_and_the_context_by_name() -> None:
    seen: list[Any] = []

    @JobFunction
    def bare(path: Path, job: JobContext, rows: int = 7) -> None:
        seen.append((path, job, rows))

    @JobFunction
    def generic(watch: JobContext[Any], *, path: Path) -> None:
        seen.append((watch, path))

    one, two = context(bare.job_type, path="a.csv"), context(generic.job_type, path=Path("b.csv"))
    bare.job_type.run(one)
    generic.job_type.run(two)
    assert seen == [(Path("a.csv"), one, 7), (two, Path("b.csv"))]
    assert one.meta == {"trace": "t"}


def test_a_function_without_parameters() -> None:
    @JobFunction
    def nothing() -> str:
        return "done"

    assert new_job(nothing.job_type, StartOptions(), {}).stored.text is None
    assert nothing.job_type.run(context(nothing.job_type)) == "done"
    with pytest.raises(InvalidParameters, match="path: Extra inputs are not permitted"):
        new_job(nothing.job_type, StartOptions(), {"path": "a"})


def test_options_of_a_function() -> None:
    @partial(
        JobFunction, name="other", queue="q", priority=3, max_count=None, transaction="serializable"
    )
    def work() -> None: ...

    kind = work.job_type
    assert (kind.type, kind.queue, kind.priority, kind.max_count) == ("other", "q", 3, None)
    assert kind.transaction(context(kind)) == "serializable"


def test_a_function_around_that_of_another_type_has_a_type_of_its_own() -> None:
    inner = JobFunction(names)

    @partial(JobFunction, name="outer")
    @wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    assert (inner.job_type.type, outer.job_type.type) == ("names", "outer")
    assert outer.job_type is not inner.job_type


def test_a_transaction_may_be_a_function_of_the_job() -> None:
    transaction = nullcontext()
    job_type = JobFunction(lambda: None, name="x", transaction=lambda _job: transaction).job_type
    assert job_type.transaction(context(job_type)) is transaction


def names(copy: int, json: str, schema: str, model_name: str, validate: int) -> tuple[object, ...]:
    return copy, json, schema, model_name, validate


def test_names_that_pydantic_once_used_are_fine() -> None:
    job_type = JobFunction(names).job_type
    values = {"copy": 1, "json": "j", "schema": "s", "model_name": "m", "validate": 1}
    assert job_type.run(context(job_type, **values)) == (1, "j", "s", "m", 1)


def annotated(number: Annotated[int, {"unit": ["s"]}]) -> int:
    return number


def test_what_annotates_an_argument_may_be_anything() -> None:
    job_type = JobFunction(annotated).job_type
    assert job_type.run(context(job_type, number=3)) == 3


def positional(path: str, /) -> None: ...
def positional_context(job: JobContext, /) -> None: ...
def variadic(*paths: str) -> None: ...
def variadic_context(*job: JobContext) -> None: ...
def keywords(**options: str) -> None: ...
def two_contexts(one: JobContext, two: JobContext) -> None: ...
def private(_path: str) -> None: ...
def of_pydantic(model_config: str) -> None: ...
def no_json(lock: Registry) -> None: ...
def maybe_context(job: JobContext | None = None) -> None: ...
def no_batch(jobs: list[JobContext]) -> None: ...
def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def unresolved(path: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821 - what is looked at


class Holder:
    def method(self, path: str) -> None: ...
    @classmethod
    def of_class(cls) -> None: ...


WRONG: list[tuple[Callable[..., Any], str]] = [
    (
        positional,
        "job type 'positional': argument `path: str` has no name by which a job could give it; use named, annotated arguments",
    ),
    (
        positional_context,
        "has no name by which a job could give it; use named, annotated arguments",
    ),
    (variadic, "job type 'variadic': argument `*paths: str` has no name"),
    (variadic_context, "has no name"),
    (keywords, "job type 'keywords': argument `**options: str` has no name"),
    (two_contexts, "job type 'two_contexts': 'one' and 'two' both take the JobContext"),
    (private, "job type 'private': argument '_path' begins with an underscore; rename it"),
    (
        of_pydantic,
        "job type 'of_pydantic': argument 'model_config' is a name of Pydantic's; rename it",
    ),
    (
        no_json,
        f"cannot be parameters: Unable to generate pydantic-core schema for {Registry!r}; take plain data, such as",
    ),
    (maybe_context, "job type 'maybe_context': argument 'job': write JobContext alone"),
    (no_batch, "it gets a list of them if the type has batch="),
    (generator, "job type 'generator': it is a generator, whose body nobody would run"),
    (async_generator, "job type 'async_generator': it is a generator"),
    (
        vars(Holder)["of_class"],
        "is no function; decorate a function that calls it, or write a subclass of JobType",
    ),
    (
        unresolved,
        "job type 'unresolved': an annotation cannot be resolved: name 'Nowhere' is not defined; import it outside of `if TYPE_CHECKING`",
    ),
    (
        Holder.method,
        "job type 'method': it is a method; decorate a function, or write a subclass of JobType",
    ),
    (
        partial(positional),
        "is no function; decorate a function that calls it, or write a subclass of JobType",
    ),
    (Holder, "is no function; decorate a function that calls it, or write a subclass of JobType"),
]


@pytest.mark.parametrize(("function", "message"), WRONG)
def test_a_function_that_cannot_work_is_refused_when_declared(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(InvalidJobType, match=re.escape(message)):
        JobFunction(function)


@pytest.mark.parametrize("option", sorted(START_OPTIONS))
def test_an_argument_with_the_name_of_an_option_is_refused(option: str) -> None:
    function = eval(f"lambda {option}: None")
    with pytest.raises(
        InvalidJobType, match=f"argument '{option}' is an option of start; rename it"
    ):
        JobFunction(function)


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("colour", ""),
        ("max_atempts", "; did you mean 'max_attempts'?"),
        ("retries", ": max_attempts=4 allows three retries"),
        ("cron", ': a schedule is declared by @horae.cron("0 3 * * *")'),
        ("owner", ": it is given with each start, as in work.with_options(owner=…).start()"),
    ],
)
def test_unknown_options_are_refused_with_those_there_are(option: str, advice: str) -> None:
    options: dict[str, Any] = {option: 3}
    refused = f"names: there is no option '{option}'{advice}; there are name, queue, priority, "
    with pytest.raises(InvalidJobType, match=re.escape(refused)):
        JobFunction(names, **options)


def test_the_options_of_start_are_the_reserved_names() -> None:
    taken = set(inspect.signature(Jobs.start).parameters) - {"self", "by_position", "keywords"}
    assert taken | set(StartOptions.__dataclass_fields__) == START_OPTIONS


def test_an_unknown_isolation_level_is_refused() -> None:
    options: dict[str, Any] = {"transaction": "chaos"}
    expected = "transaction is 'chaos', expected one of 'read committed', 'repeatable read', 'serializable'"
    with pytest.raises(InvalidJobType, match=expected):
        JobFunction(names, **options)


def test_a_wrong_option_of_a_function_is_refused_as_in_a_class() -> None:
    options: dict[str, Any] = {"soft_time_limit": 30}
    with pytest.raises(
        InvalidJobType, match="job type 'names': soft_time_limit is 30, expected a duration"
    ):
        JobFunction(names, **options)


# Parameters


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({}, ["path: Field required"]),
        ({"path": 7}, ["path: Input should be a valid string"]),
        (
            {"path": "a", "rows": "many"},
            ["rows: Input should be a valid integer, unable to parse string as an integer"],
        ),
        ({"rows": None}, ["path: Field required", "rows: Input should be a valid integer"]),
    ],
)
def test_a_bad_call_fails_at_the_caller(values: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(InvalidParameters) as caught:
        new_job(Import(), StartOptions(), values)
    assert [": ".join(problem) for problem in caught.value.problems] == problems
    assert all(problem in str(caught.value) for problem in problems)
    assert isinstance(caught.value, InvalidRequest)


def test_a_value_without_json_form_is_refused_at_the_call() -> None:
    @JobFunction
    def keep(value: Any) -> None: ...

    with pytest.raises(InvalidParameters, match="cannot be stored"):
        new_job(keep.job_type, StartOptions(), {"value": object()})


def test_values_come_back_as_they_went() -> None:
    @JobFunction
    def measure(
        value: float,
        raw: bytes,
        when: datetime,
        took: timedelta,
        where: Path,
        kind: Literal["a"],
        many: set[int],
        least: Annotated[int, Field(ge=3)],
    ) -> None: ...

    values = {
        "value": -1e300,
        "raw": b"\x00\xff",
        "when": datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC),
        "took": timedelta(microseconds=1),
        "where": Path("/a"),
        "kind": "a",
        "many": {1, 2},
        "least": 3,
    }
    assert vars(context(measure.job_type, **values).params) == values


class Aliased(BaseModel):
    """A caller's names differ from the attributes, and one attribute is computed."""

    model_config = ConfigDict(extra="forbid")
    path: str = Field(alias="filePath")
    rows: int = Field(validation_alias="rowCount")
    shown: str = Field("x", serialization_alias="displayed")

    @computed_field
    def twice(self) -> int:
        return 2 * self.rows


def test_aliases_and_computed_fields_survive() -> None:
    params = context(declared(params=Aliased), filePath="a", rowCount=2).params
    assert (params.path, params.rows, params.shown, params.twice) == ("a", 2, "x", 4)


def test_prepared_values_are_checked_again() -> None:
    class Prepared(Import):
        seen: tuple[Mapping[str, Any], str | None] | None = None

        @override
        def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
            self.seen = (values, owner)
            return {**values, "rows": values.get("rows", "too many")}

    prepared = Prepared()
    options = StartOptions(owner="alice")
    assert (
        new_job(prepared, options, {"path": "a", "rows": 5}).stored.text == '{"path":"a","rows":5}'
    )
    assert prepared.seen == ({"path": "a", "rows": 5}, "alice")
    with pytest.raises(InvalidParameters, match="rows: Input should be a valid integer"):
        new_job(prepared, options, {"path": "a"})


def test_a_request_may_differ_from_what_is_stored() -> None:
    class Request(BaseModel):
        url: str

    class Fetch(Import):
        request_model = Request

        @override
        def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
            return {"path": f"/cache/{values['url']}"}

    assert (
        new_job(Fetch(), StartOptions(), {"url": "x"}).stored.text == '{"path":"/cache/x","rows":3}'
    )
    with pytest.raises(InvalidParameters, match="url: Field required"):
        new_job(Fetch(), StartOptions(), {"path": "x"})


def test_a_parameter_model_may_allow_more() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert context(declared(params=Open), anything=[1]).params.anything == [1]


# The registry


class Export(Import):
    type = "export"


def other() -> None: ...


def test_a_registry_finds_what_a_caller_means() -> None:
    registry, function, export = Registry(), JobFunction(other), Export()
    registry.add(function.job_type)
    registry.add(export)
    assert (
        registry.resolve("export") is registry.resolve(Export) is registry.resolve(export) is export
    )
    assert registry.resolve(function) is function.job_type
    assert registry.find("export") is export
    assert registry.find("import") is None
    assert list(registry) == [function.job_type, export]
    assert dict(registry.by_name) == {"other": function.job_type, "export": export}


@pytest.mark.parametrize("reference", ["import", Import, Import(), JobFunction(names), JobType])
def test_an_unregistered_type_is_refused_with_the_known_ones(reference: Any) -> None:
    registry = Registry()
    registry.add(JobFunction(other).job_type)
    registry.add(Export())
    with pytest.raises(UnknownJobType, match=r"unknown job type .* \(known: export, other\)"):
        registry.resolve(reference)


def test_an_empty_registry_asks_the_right_question() -> None:
    with pytest.raises(
        UnknownJobType, match=r"\(known: none; is the module that declares it imported\?\)"
    ):
        Registry().get("import")


@pytest.mark.parametrize("reference", [7, None, other, int, Path3])
def test_an_object_that_is_no_job_type_is_refused(reference: Any) -> None:
    with pytest.raises(
        InvalidJobType, match=r"is no job type; decorate it with @horae\.job or register it"
    ):
        Registry().resolve(reference)


def test_two_types_of_one_name_are_refused() -> None:
    registry, first = Registry(), Export()
    registry.add(first)
    registry.add(first)
    expected = r"job type 'export' of .*names is already registered by .*Export; known: export"
    with pytest.raises(JobTypeAlreadyRegistered, match=expected):
        registry.add(JobFunction(names, name="export").job_type)
    assert registry.get("export") is first


def test_a_module_that_is_loaded_again_replaces_its_types() -> None:
    registry, again = Registry(), Export()
    registry.add(Export())
    registry.add(again)
    assert registry.get("export") is again


def test_forgetting_a_type() -> None:
    registry = Registry()
    registry.add(Export())
    registry.remove("export")
    assert registry.find("export") is None
    with pytest.raises(UnknownJobType):
        registry.remove("export")


def test_a_registry_is_read_only_from_outside() -> None:
    by_name: Any = Registry().by_name
    with pytest.raises(TypeError):
        by_name["x"] = Import()


DOCUMENTED = {
    *("async_connection", "async_group", "async_session", "attempt", "check", "claim"),
    *("connection", "ended", "group", "has_transaction", "id", "leave_for_next_run"),
    *("log", "meta"),
    *("nominal_time", "owner", "params", "previous", "progress", "session", "stopping", "type"),
}


def test_a_body_sees_what_is_documented_and_can_set_none_of_it() -> None:
    made = context(declared(type="t"), path="x")
    assert {name for name in dir(made) if not name.startswith("_")} == DOCUMENTED
    for name in DOCUMENTED - {"group", "async_group", "meta", "check", "leave_for_next_run"}:
        with pytest.raises(AttributeError):
            setattr(made, name, None)
