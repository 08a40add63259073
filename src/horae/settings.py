"""One settings value, checked at birth: from arguments, else the environment, else a file, else defaults."""

import os
import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, SecretStr, ValidationError
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from horae.domain.times.duration import parse_duration
from horae.errors import ConfigurationError, InvalidRequest

PREFIX = "HORAE_"
FILE_VARIABLE = "HORAE_CONFIG"
ORIGIN: Final = re.compile(r"(?P<scheme>https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{0,4}))?")
NEVER_SHOWN = frozenset({"database", "tokens"})
"""Settings that hold passwords, so that an error about one does not repeat it."""


def _names(value: Any) -> Any:
    """Names separated by commas; an empty variable is as good as none."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip()) or None


def _tokens(value: Any) -> Any:
    """Whoever names the variable and leaves it empty has lost the tokens, and would be surprised to be without."""
    found = _names(value)
    if found is None:
        raise ValueError("there is no token in it; leave it away for none")
    return found


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("expected characters that can be printed")
    return text


def _origin(text: str) -> str:
    """Refuse what no browser sends as its `Origin`: first of all `*`, which would be everybody's page."""
    found = ORIGIN.fullmatch(text)
    if found is None or found["port"] == {"http": "80", "https": "443"}[found["scheme"]]:
        raise ValueError("write an origin as browsers do, in small letters and without a path: https://shop.example")
    return text


def _duration(value: Any) -> Any:
    """Read `30`, `30s` or `PT30S`; what cannot be read is left to Pydantic, which gives the reason."""
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


def _read(settings_class: type[BaseSettings], file: str) -> PydanticBaseSettingsSource:
    try:
        return TomlConfigSettingsSource(settings_class, file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{FILE_VARIABLE}: {file!r} is no TOML: {error}") from error


Origin: TypeAlias = Annotated[str, AfterValidator(_origin)]
Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]


class Settings(BaseSettings):
    """What an application and its nodes can be told. Each field is also `HORAE_` and its name in the environment.

    Durations are a timedelta, a text such as `30s`, `5m` or `PT30S`, or a number of seconds.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True)

    database: str = Field("sqlite:///horae.db", description="URL of the database: a SQLite file or PostgreSQL.")
    module: Annotated[str, Field(max_length=200), AfterValidator(_printable)] | None = Field(
        None, description="Name of the module that deployments are of; found if not set."
    )
    concurrency: int = Field(10, ge=1, le=10_000, description="Bodies that a node runs at a time.")
    queues: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_names)] = Field(
        None, description="Queues that a node serves, separated by commas; all if not set."
    )
    node_name: str | None = Field(None, description="A name for the node in lists; the host's name if not set.")
    grace: Duration = Field(
        timedelta(seconds=30), ge=timedelta(0), description="How long bodies may go on after the order to shut down."
    )
    keep: Duration = Field(timedelta(days=30), gt=timedelta(0), description="How long ended jobs are kept.")
    busy_timeout: Duration = Field(
        timedelta(seconds=30), gt=timedelta(0), description="How long to wait for SQLite's write lock."
    )
    pooler: bool | None = Field(
        None, description="Whether a pooler such as PgBouncer stands before PostgreSQL; found out if not set."
    )
    hints: bool = Field(default=True, description="Whether processes wake each other; without it they only poll.")
    host: str = Field("127.0.0.1", min_length=1, description="Where the HTTP interface listens.")
    port: int = Field(8080, ge=0, le=65_535, description="The port of the HTTP interface; 0 for any that is free.")
    tokens: Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_tokens)] = Field(
        (), description="Who may use the HTTP interface: id:role:secret each, separated by commas."
    )
    local_staff: bool = Field(
        default=False, description="Whether everybody on this machine is staff; only where nobody else can reach it."
    )
    allowed_hosts: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_names)] = Field(
        None, description="Host names that requests may ask for; without tokens only those of this machine."
    )
    trusted_origins: Annotated[tuple[Origin, ...], NoDecode, BeforeValidator(_names)] = Field(
        (), description="Origins of other pages that may use the HTTP interface, as in https://shop.example."
    )
    max_body: int = Field(1024 * 1024, ge=1024, description="Bytes that the body of a request may have.")
    max_connections: int = Field(
        500, ge=8, le=100_000, description="Connections that the HTTP server keeps; past it idle ones are closed."
    )
    header_timeout: Duration = Field(
        timedelta(seconds=10), gt=timedelta(0), description="How long the header of a request may take to arrive."
    )
    body_timeout: Duration = Field(
        timedelta(seconds=30), gt=timedelta(0), description="How long the body of a request may take to arrive."
    )
    write_timeout: Duration = Field(
        timedelta(seconds=60), gt=timedelta(0), description="How long a client may leave an answer untaken."
    )
    idle_timeout: Duration = Field(
        timedelta(seconds=15), ge=timedelta(seconds=1), description="How long a connection is kept between requests."
    )
    max_streams: int = Field(200, ge=1, description="Streams of events at a time, of all who listen.")
    max_streams_each: int = Field(32, ge=1, description="Streams of events at a time, of one actor.")
    log_format: Literal["text", "json"] = Field("text", description="How `horae run` writes its log.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What `horae run` logs.")

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, environment, file; in this order."""
        file = os.environ.get(FILE_VARIABLE)
        if file is None:
            return init_settings, env_settings
        if not Path(file).is_file():
            raise ConfigurationError(f"{FILE_VARIABLE}: there is no file {file!r}")
        return init_settings, env_settings, _read(settings_cls, file)


def settings(**given: Any) -> Settings:
    """The settings, where None means not given. `ConfigurationError` says which is wrong, how, and what is allowed."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        problems = "; ".join(_problem(item) for item in error.errors())
        raise ConfigurationError(problems) from None


def _problem(item: Any) -> str:
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{name}: there is no such setting; there are {', '.join(Settings.model_fields)}"
    given = item["input"]
    shown = f"{given.total_seconds():g} s" if isinstance(given, timedelta) else repr(given)
    if item["loc"][0] in NEVER_SHOWN:
        shown = "what is given"
    return f"{name} ({PREFIX}{name.upper()}): {shown} is not allowed: {item['msg']}"
