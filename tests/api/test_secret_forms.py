"""A secret is masked, and not searchable, in whatever form its parameter is declared."""

import json
import logging
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import AfterValidator, BaseModel, Field, GetCoreSchemaHandler, SecretStr
from pydantic_core import CoreSchema, core_schema
from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from horae import (
    Horae,
    InvalidJobType,
    InvalidParameters,
    InvalidRequest,
    KeepLogs,
    Limit,
    Secret,
    jobs_table,
)
from horae.cli.printing.job_views import as_values, print_job
from horae.storage.engine.database import Database
from horae.types.function import JobFunction
from horae.types.parameters.parameters import parameters_of
from horae.types.parameters.searchable import Searchability, searchability
from horae.types.parameters.secret import masked, secret_values
from horae.types.registry import Registry
from tests.api.clients import application_of, client_of
from tests.harness.nodes import running_node, until, until_state
from tests.harness.secret_forms import FORMS, HIDDEN, Account

log = logging.getLogger("shop.secrets")
T = TypeVar("T")


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def taking(hint: Any, run: Callable[..., None] | None = None) -> Callable[..., None]:
    """A function with one parameter of this type."""

    def take(given: Any) -> None:
        if run is not None:
            run(given)

    take.__annotations__["given"] = hint
    return take


def refused(value: Any) -> Any:
    raise ValueError(f"{HIDDEN} is wrong")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_masked_and_cannot_be_searched(form: str) -> None:
    hint, value = FORMS[form]
    job_type = JobFunction(taking(hint), limits=()).job_type
    parameters, model = job_type.parameters, job_type.parameters.model
    checked = parameters.check("take", {"given": value})
    stored = parameters.store(checked).text
    assert stored is not None
    assert parameters.load(stored) == checked.value
    assert HIDDEN not in json.dumps(masked(model, json.loads(stored)))
    assert HIDDEN in "".join(secret_values(model, stored))
    for path in ("given", "given.key", "given.a", "given.a.key", f"given.{HIDDEN}"):
        assert searchability(model, path.split(".")) is not Searchability.OPEN
    with pytest.raises(InvalidJobType, match="'given' is secret or contains a secret"):
        JobFunction(taking(hint), limits=[Limit(concurrency=1, key="{given}")])


@pytest.mark.parametrize("form", FORMS)
def test_no_form_is_repeated_in_the_error_of_a_call(form: str) -> None:
    hint, value = FORMS[form]
    parameters = JobFunction(taking(Annotated[hint, AfterValidator(refused)])).job_type.parameters
    with pytest.raises(InvalidParameters) as found:
        parameters.check("take", {"given": value})
    assert "is wrong" in str(found.value)
    assert HIDDEN not in f"{found.value} {found.value.problems}"


def test_keys_of_a_secret_are_not_in_the_path_of_a_problem() -> None:
    parameters = JobFunction(taking(Annotated[dict[str, int], Secret()])).job_type.parameters
    with pytest.raises(InvalidParameters, match="given: Input should be a valid integer") as found:
        parameters.check("take", {"given": {HIDDEN: "x"}})
    assert HIDDEN not in str(found.value)


async def test_no_form_is_shown_anywhere(horae: Horae, caplog: pytest.LogCaptureFixture) -> None:
    def fail(given: Any) -> None:
        log.info("got %s", HIDDEN)
        raise ValueError(f"{HIDDEN} is wrong") from LookupError(repr(given))

    caplog.set_level(logging.INFO, "shop.secrets")
    caplog.set_level(logging.DEBUG, "horae")
    started: dict[int, str] = {}
    for form, (hint, value) in FORMS.items():
        job_type = horae.job(name=form, exceptions_map={ValueError: "{e}"}, keep_logs=KeepLogs())(
            taking(hint, fail)
        )
        started[horae.jobs.start(job_type, given=value).id] = form
    staff = client_of(application_of(horae), "root")
    async with running_node(horae):
        for job_id in started:
            await until_state(horae, job_id, "failed")
            await until(lambda: horae.jobs.logs(job_id).lines)  # noqa: B023 - called at once
    for job_id, form in started.items():
        answers = [
            (await staff.get(f"/api/jobs/{job_id}/{part}")).text
            for part in ("", "attempts/", "logs/")
        ]
        answers.append(str(as_values(horae.jobs.get(job_id), horae.registry)))
        answers += [record.getMessage() + str(record.exc_text) for record in of_horae(caplog)]
        assert answers[0].count("is wrong") == 2, form
        assert HIDDEN not in "".join(answers), form
    with pytest.raises(InvalidRequest, match="secret parameters cannot be searched"):
        horae.jobs.list(query=f'params.given:"{HIDDEN}"')


def of_horae(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith("horae")]


def test_the_command_line_masks_secrets(horae: Horae, capsys: pytest.CaptureFixture[str]) -> None:
    job_type = horae.job(name="send")(taking(Annotated[str, Secret()]))
    job = horae.jobs.start(job_type, given=HIDDEN)
    print_job(job, {**as_values(job, horae.registry), "weight": 1, "attempts": []})
    assert "{'given': '••••••'}" in capsys.readouterr().out
    print_job(job, {**as_values(job, Registry()), "weight": 1, "attempts": []})
    shown = capsys.readouterr().out
    assert (
        "not shown, because it is not known which are secret; name the program with --app" in shown
    )
    assert HIDDEN not in shown


class Vault(Generic[T]):
    """A type with a schema of its own, in which the type that it holds does not occur."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()


class Opaque:
    """An annotation that replaces the schema of its type."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.str_schema()


class Lost(BaseModel):
    deep: Annotated[str, Secret(), Opaque()]


class Default(BaseModel):
    key: str = Secret()  # type: ignore[assignment]


class Inner(BaseModel):
    key: SecretStr


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Vault[Annotated[str, Secret()]], r"parameter 'given' is not secret"),
        (list[Lost], r"parameter 'given.deep' is not secret: .* as the last item"),
        (Default, r"parameter 'given.key' has Secret\(\) as its default value"),
        (Annotated[Inner, Secret()], r"parameter 'given.key' would be stored as stars"),
        (Annotated[str, Secret], r"argument 'given': write Secret\(\) with parentheses"),
    ],
)
def test_a_mark_that_cannot_be_honoured_is_refused(hint: Any, text: str) -> None:
    with pytest.raises(InvalidJobType, match=text):
        JobFunction(taking(hint))


def test_a_mark_in_a_table_of_the_application_is_refused() -> None:
    class Base(DeclarativeBase):
        pass

    class Login(Base):
        __tablename__ = "logins"
        job_id: Mapped[int] = mapped_column(ForeignKey(jobs_table.c.id), primary_key=True)
        key: Mapped[Annotated[str, Secret()]]

    with pytest.raises(InvalidJobType, match="parameter 'key' cannot be a Secret"):
        parameters_of(Login, "t")


class Several(BaseModel):
    account: Account
    note: str = ""
    accounts: dict[str, Account] = {}
    pin: Annotated[int, Field(alias="number"), Secret()] = 0


def test_what_stands_beside_a_secret_is_shown_and_found() -> None:
    parameters_of(Several, "t")
    account = {"name": "n", "key": HIDDEN}
    found = masked(
        Several,
        {"account": account, "note": "a", "accounts": {"key": account}, "number": 1, "gone": "x"},
    )
    shown = {"name": "n", "key": "••••••"}
    assert found == {
        "account": shown,
        "note": "a",
        "accounts": {"key": shown},
        "number": "••••••",
        "gone": "••••••",
    }
    for path in ("note", "account.name", "accounts.key.name"):
        assert searchability(Several, path.split(".")) is Searchability.OPEN
    assert searchability(Several, ["gone"]) is Searchability.MISSING
