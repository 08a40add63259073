"""The settings, validated when made: from arguments, the environment, a file, or defaults."""

import base64
import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.functional_validators import AfterValidator, BeforeValidator

from horae.domain.cluster import ALL_ROLES, NodeRole, parse_roles
from horae.domain.colours import check_colour
from horae.domain.jobs import MOST_BYTES, MOST_LINES, check_queue_backend
from horae.domain.sizes import parse_size
from horae.domain.times import LONGEST_DURATION, parse_duration
from horae.errors import ConfigurationError, InvalidRequest
from horae.quoting import did_you_mean, quoted
from horae.redis_access.url import checked_redis_url
from horae.settings_file import (
    FILE_VARIABLE,
    find_settings_file,
    unknown_setting,
)

_KEY_BYTES: Final = 32
"""The length of a key that seals secret parameters."""
PREFIX = "HORAE_"
OTHER_VARIABLES: Final = (
    "HORAE_APP",
    "HORAE_TRACEBACK",
    "HORAE_WATCH_EMAIL",
    "HORAE_WATCH_PING",
    "HORAE_WATCH_SECRET",
    "HORAE_WATCH_SENDER",
    "HORAE_WATCH_SLACK",
    "HORAE_WATCH_SMTP",
    "HORAE_WATCH_WEBHOOK",
)
"""Variables that only the command line reads."""
ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{0,4}))?"
)
POSTGRES: Final = re.compile(r"postgres(ql)?(\+psycopg)?://.")
RELATIVE_FILE: Final = re.compile(r"(sqlite[^:/]*:///)(?!/|:memory:|file:)(.+)")
NEVER_SHOWN = frozenset(
    {
        "database",
        "hints_database",
        "large_values",
        "read_database",
        "redis",
        "redis_hints",
        "redis_live",
        "secret_keys",
        "tokens",
    }
)
"""Settings that contain passwords; errors do not repeat their values."""


def _names(value: Any) -> Any:
    """Split names separated by commas; an empty variable counts as unset."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip()) or None


def _pairs(value: Any) -> Any:
    """Split pairs `name=value` separated by commas; refuse anything else."""
    if not isinstance(value, str):
        return value
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not all("=" in part for part in parts):
        raise ValueError("expected pairs such as export=celery, separated by commas")
    return {name.strip(): text.strip() for name, _, text in (part.partition("=") for part in parts)}


def _checked_by(check: Callable[[str], str]) -> AfterValidator:
    """Validate a text with a function of the domain; Pydantic reports ValueError only."""

    def validate(text: str) -> str:
        try:
            return check(text)
        except InvalidRequest as error:
            raise ValueError(str(error)) from error

    return AfterValidator(validate)


def _some_names(if_empty: str) -> BeforeValidator:
    """Split names separated by commas. An empty variable is refused: it would open the API, or
    store secrets as they are.
    """

    def split(value: Any) -> Any:
        found = _names(value)
        if found is None:
            raise ValueError(if_empty)
        return found

    return BeforeValidator(split)


def _secret_key(key: SecretStr) -> SecretStr:
    """Refuse what is no key of Fernet, without loading the library."""
    try:
        length = len(base64.b64decode(key.get_secret_value(), altchars="-_", validate=True))
    except ValueError:
        length = 0
    if length != _KEY_BYTES:
        raise ValueError(
            f"expected {_KEY_BYTES} random bytes in URL-safe base64, as"
            " cryptography.fernet.Fernet.generate_key() returns them"
        )
    return key


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("expected printable characters")
    return text


def _origin(text: str) -> str:
    """Refuse texts that no browser sends as its `Origin`, such as `*`, which would trust every
    site.
    """
    found = ORIGIN.fullmatch(text)
    if found is None or found["port"] == {"http": "80", "https": "443"}[found["scheme"]]:
        raise ValueError(
            "expected an origin as browsers send it, in lower case and without a path:"
            " https://shop.example"
        )
    return text


def _duration(value: Any) -> Any:
    """Read `30`, `30s` or `PT30S`; leave the rest to Pydantic, which gives a reason."""
    if not isinstance(value, str):
        return value
    try:
        return timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        pass
    try:
        return parse_duration("duration", value)
    except InvalidRequest:
        return value


def _within_a_century(duration: timedelta) -> timedelta:
    """Refuse a duration that reaches back to before what PostgreSQL can store."""
    if duration > LONGEST_DURATION:
        raise ValueError("it is longer than 100 years")
    return duration


def _in_file() -> dict[str, Any]:
    """Return the settings of the file; if it was looked for, paths are relative to its folder."""
    file = find_settings_file()
    if file is None:
        return {}
    file.refuse_unknown(Settings.model_fields)
    given, folder = dict(file.settings), file.folder
    if folder is None:
        return given
    database, journals = given.get("database"), given.get("journal_dir")
    if isinstance(database, str) and (parts := RELATIVE_FILE.fullmatch(database)) is not None:
        given["database"] = f"{parts[1]}{folder / parts[2]}"
    if isinstance(journals, str):
        given["journal_dir"] = str(folder / journals)
    return given


def _size(value: Any) -> Any:
    """Read `500MB`; refuse other texts with a reason."""
    if not isinstance(value, str):
        return value
    try:
        return parse_size("size", value)
    except InvalidRequest as error:
        raise ValueError(str(error)) from error


def _roles(value: Any) -> tuple[NodeRole, ...]:
    """Read `worker,scheduler`; an empty variable is refused: a process needs a role."""
    if not isinstance(value, str | list | tuple | set | frozenset):
        # Pydantic reports ValueError only.
        raise ValueError("expected names separated by commas")  # noqa: TRY004
    try:
        return parse_roles(value)
    except InvalidRequest as error:
        raise ValueError(str(error).removeprefix("roles: ")) from error


def _redis_url(url: SecretStr) -> SecretStr:
    checked_redis_url(url.get_secret_value())
    return url


def _postgres_url(url: SecretStr) -> SecretStr:
    """Refuse other databases, and what is no URL, without loading the driver."""
    if not POSTGRES.match(url.get_secret_value()):
        raise ValueError("expected the URL of a PostgreSQL server: postgresql://user@host/name")
    return url


PostgresUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_postgres_url)]
QueueBackend: TypeAlias = Annotated[str, _checked_by(check_queue_backend)]
SecretKey: TypeAlias = Annotated[SecretStr, AfterValidator(_secret_key)]
RedisUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_redis_url)]
Origin: TypeAlias = Annotated[str, AfterValidator(_origin)]
Duration: TypeAlias = Annotated[
    timedelta, BeforeValidator(_duration), AfterValidator(_within_a_century)
]


class Settings(BaseModel):
    """The settings of an application and its nodes.

    Each field is also the environment variable `HORAE_` plus its name.

    Durations are a timedelta, a text such as `30s`, `5m` or `PT30S`, or a number of seconds.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True
    )

    database: str = Field(
        "sqlite:///horae.db", description="URL of the database: a SQLite file or PostgreSQL."
    )
    read_database: PostgresUrl | None = Field(
        None,
        description=(
            "URL of a replica of the PostgreSQL database, for lists of the HTTP API, which then lag"
            " as it does. Default: the database."
        ),
    )
    module: Annotated[str, Field(max_length=200), AfterValidator(_printable)] | None = Field(
        None,
        description="Name of the deployed module. Default: the module that makes the application.",
    )
    concurrency: int = Field(
        10, ge=1, le=10_000, description="Maximum number of jobs that a node runs at a time."
    )
    processes: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=(
            "Maximum number of jobs that a node runs in child processes at a time, apart from"
            " `concurrency`, which then counts the other jobs. Default: they count as the"
            " others do."
        ),
    )
    spare_children: int = Field(
        1, ge=0, le=100, description="Child processes that a node keeps ready for jobs to come."
    )
    max_jobs_per_child: int | None = Field(
        None, ge=1, description="Jobs after which a child process is replaced. Default: no limit."
    )
    max_child_memory: Annotated[int, BeforeValidator(_size)] | None = Field(
        None,
        ge=1_000_000,
        description=(
            "Memory above which a child process is replaced after a job, such as 500MB. Default: no"
            " limit."
        ),
    )
    roles: Annotated[tuple[NodeRole, ...], BeforeValidator(_roles)] = Field(
        ALL_ROLES,
        description=(
            "What a process does: worker, scheduler, web, separated by commas. Default: all."
        ),
    )
    queues: Annotated[tuple[str, ...] | None, BeforeValidator(_names)] = Field(
        None, description="Queues that a node serves, separated by commas. Default: all."
    )
    node_name: str | None = Field(
        None, description="Name of the node in lists. Default: the host name."
    )
    colour: Annotated[str, _checked_by(check_colour)] | None = Field(
        None,
        description=(
            "Colour of a band on top of the dashboard, with `node_name`, that tells staging from"
            " production: orange, red, #ff8800 and others. Default: no band."
        ),
    )
    grace: Duration = Field(
        timedelta(seconds=30),
        ge=timedelta(0),
        description="How long running jobs may continue during shutdown.",
    )
    keep: Duration = Field(
        timedelta(days=30), gt=timedelta(0), description="How long ended jobs are kept."
    )
    keep_logs: Literal["off", "debug", "info", "warning", "error", "critical"] = Field(
        "info", description="Lowest level of log lines that are kept with their job, or `off`."
    )
    keep_log_lines: int = Field(
        1000,
        ge=1,
        le=MOST_LINES,
        description="Maximum number of log lines that are kept of an attempt at a job.",
    )
    keep_log_bytes: Annotated[int, BeforeValidator(_size)] = Field(
        262_144,
        ge=1,
        le=MOST_BYTES,
        description="Maximum size of the log lines that are kept of an attempt at a job.",
    )
    keep_logs_for: Duration | None = Field(
        None,
        gt=timedelta(0),
        description="How long log lines are kept. Default: as long as their job.",
    )
    busy_timeout: Duration = Field(
        timedelta(seconds=30),
        gt=timedelta(0),
        description="How long to wait for SQLite's write lock.",
    )
    journal_dir: Path | None = Field(
        None,
        description=(
            "Folder in which nodes keep journals of the bodies that have begun; the same for all"
            " nodes of a machine. Default: beside a SQLite file, else the folder for temporary"
            " files."
        ),
    )
    pooler: bool | None = Field(
        None,
        description="Whether connections go through a pooler such as PgBouncer. Default: detected.",
    )
    prepared_statements: bool | None = Field(
        None,
        description=(
            "Whether PostgreSQL prepares statements that are repeated. Default: unless there is a"
            " pooler."
        ),
    )
    hints_database: PostgresUrl | None = Field(
        None,
        description=(
            "URL that leads to the PostgreSQL server directly, for hints. Default: that of"
            " `database`."
        ),
    )
    queue_backends: Annotated[dict[str, QueueBackend], BeforeValidator(_pairs)] = Field(
        {},
        description=(
            "Queues whose jobs a backend runs, separated by commas, such as `export=celery`;"
            " `horae` means Horae's own nodes."
        ),
    )
    celery_queue: Annotated[
        str, Field(min_length=1, max_length=100), AfterValidator(_printable)
    ] = Field("export", description="Queue of Celery to which messages about jobs are sent.")
    redis: RedisUrl | None = Field(
        None,
        description=(
            "URL of a Redis server for live state and hints. Default: the database has both."
        ),
    )
    redis_live: RedisUrl | None = Field(
        None, description="URL of a Redis server for live state alone. Default: that of `redis`."
    )
    redis_hints: RedisUrl | None = Field(
        None, description="URL of a Redis server for hints alone. Default: that of `redis`."
    )
    redis_prefix: (
        Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)] | None
    ) = Field(
        None,
        description=(
            "Beginning of all keys and channels on Redis, before a hash of the database. Default:"
            " `horae`."
        ),
    )
    hints: bool = Field(
        default=True, description="Whether processes wake each other; otherwise they only poll."
    )
    host: str = Field(
        "127.0.0.1", min_length=1, description="Address that the HTTP API listens on."
    )
    port: int = Field(
        8080, ge=0, le=65_535, description="Port of the HTTP API; 0 picks a free one."
    )
    tokens: Annotated[
        tuple[SecretStr, ...], _some_names("contains no token; unset it to use none")
    ] = Field((), description="Users of the HTTP API, as id:role:secret, separated by commas.")
    secret_keys: Annotated[
        tuple[SecretKey, ...], _some_names("contains no key; unset it to store secrets as they are")
    ] = Field(
        (),
        description=(
            "Keys that encrypt secret parameters before they are stored, separated by commas: the"
            " first one encrypts, all of them decrypt. Default: stored as they are."
        ),
    )
    large_values: SecretStr | None = Field(
        None,
        description=(
            "URL of a store of files for large parameters and results, as fsspec reads it:"
            " s3://bucket/folder, file:///folder. Default: they are stored in the database."
        ),
    )
    large_values_over: Annotated[int, BeforeValidator(_size)] = Field(
        100_000, ge=1_000, description="Size beyond which a value goes to `large_values`."
    )
    local_staff: bool = Field(
        default=False,
        description="Whether every user of this machine is staff; only with a loopback host.",
    )
    allowed_hosts: Annotated[tuple[str, ...] | None, BeforeValidator(_names)] = Field(
        None,
        description=(
            "Host names accepted in requests. Default: any with tokens, else only loopback names."
        ),
    )
    trusted_origins: Annotated[tuple[Origin, ...], BeforeValidator(_names)] = Field(
        (),
        description=(
            "Origins of other sites whose pages may use the HTTP API, such as https://shop.example."
        ),
    )
    max_body: Annotated[int, BeforeValidator(_size)] = Field(
        1024 * 1024, ge=1024, description="Maximum size of a request body."
    )
    max_connections: int = Field(
        500,
        ge=8,
        le=100_000,
        description="Maximum number of HTTP connections; above it idle ones are closed.",
    )
    header_timeout: Duration = Field(
        timedelta(seconds=10),
        gt=timedelta(0),
        description="Time limit for receiving the header of a request.",
    )
    body_timeout: Duration = Field(
        timedelta(seconds=30),
        gt=timedelta(0),
        description="Time limit for receiving the body of a request.",
    )
    write_timeout: Duration = Field(
        timedelta(seconds=60),
        gt=timedelta(0),
        description="Time limit for a client to read a response.",
    )
    idle_timeout: Duration = Field(
        timedelta(seconds=15),
        ge=timedelta(seconds=1),
        description="How long an idle connection is kept between requests.",
    )
    max_streams: int = Field(200, ge=1, description="Maximum number of event streams at a time.")
    max_streams_each: int = Field(
        32, ge=1, description="Maximum number of event streams at a time per user."
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="Format of the log of `horae run`."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that `horae run` logs."
    )


def settings(**given: Any) -> Settings:
    """Make the settings; None means unset.

    `ConfigurationError` names the setting, its value and why it is wrong.
    """
    arguments = {name: value for name, value in given.items() if value is not None}
    variables = {name: f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    in_environment: dict[str, Any] = {
        name: os.environ[variable] for name, variable in variables.items() if variable in os.environ
    }
    try:
        found = Settings(**_in_file() | in_environment | arguments)
    except ValidationError as error:
        problems = "; ".join(_problem(item, given) for item in error.errors())
        raise ConfigurationError(problems) from None
    if found.hints_database is not None and found.redis_hints is not None:
        raise ConfigurationError(
            "hints_database, redis_hints: both say how hints travel; set one of them"
        )
    if found.database.startswith("sqlite"):
        if found.hints_database is not None:
            raise ConfigurationError(
                "hints_database (HORAE_HINTS_DATABASE): only for jobs on PostgreSQL; with SQLite"
                " leave it out"
            )
        if found.read_database is not None:
            raise ConfigurationError(
                "read_database (HORAE_READ_DATABASE): only for PostgreSQL; with SQLite leave it out"
            )
    return found


def unknown_variables() -> list[str]:
    """Return a text for each `HORAE_…` variable of the environment that is not a setting."""
    known = {
        FILE_VARIABLE,
        *OTHER_VARIABLES,
        *(f"{PREFIX}{name.upper()}" for name in Settings.model_fields),
    }
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    return [
        f"{name} is set, but there is no such setting{did_you_mean(name, known, prefix=PREFIX)}"
        for name in unknown
    ]


def _problem(item: Any, arguments: Mapping[str, Any]) -> str:
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return unknown_setting(name, Settings.model_fields)
    given = item["input"]
    shown = f"{given.total_seconds():g} s" if isinstance(given, timedelta) else quoted(given)
    if item["loc"][0] in NEVER_SHOWN:
        shown = "the value"
    variable = f"{PREFIX}{item['loc'][0].upper()}"
    reason = (
        "expected a duration such as 30s, 5m, 12h or 7d"
        if item["type"] == "time_delta_parsing"
        else str(item["msg"]).removeprefix("Value error, ")  # Pydantic adds the prefix
    )
    where = ""
    if item["loc"][0] not in arguments and variable not in os.environ:
        file = find_settings_file()
        if file is not None and item["loc"][0] in file.settings:
            where = f"{file.path}: "
    return f"{where}{name} ({variable}): {shown} is not allowed: {reason}"
