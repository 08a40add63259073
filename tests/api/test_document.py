"""The OpenAPI document: equal to the golden file, and correct for every answer that a client without rights can cause."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks

from horae import Horae, InvalidJobType
from horae.api.application import HttpInterface
from horae.api.security.login_throttle import LoginLimits, LoginThrottle
from horae.storage.engine.database import Database
from tests.api.clients import client_of
from tests.api.openapi import GOLDEN, document
from tests.api.tables import add_types

EXAMPLES: Final = max(8, int(os.environ.get("TEST_FUZZ", "0")) // 10)
"""For each endpoint and kind of request; more by hand."""

SECRET: Final = "root-0123456789abcdef"
# A request may fit the document and still be refused for the state that a job is in.
NOT_CHECKED: Final[list[Any]] = [cast("Any", checks).positive_data_acceptance]
OPERATIONS: Final = [
    (method.upper(), path)
    for path, methods in json.loads(GOLDEN.read_text(encoding="utf-8"))["paths"].items()
    for method in methods
    if path != "/api/events/"  # its answer has no end
]
SLOW: Final = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
)
MODES: Final = {
    "right": schemathesis.GenerationMode.POSITIVE,
    "wrong": schemathesis.GenerationMode.NEGATIVE,
}
"""Kinds of requests: those that fit the document, and others."""
TAKES_NOTHING: Final = ("/healthz", "/readyz", "DELETE /api/session/", "/api/schedules/types/")
"""Requests of which nothing can be wrong."""


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def test_the_document_is_the_golden_one() -> None:
    assert document() == GOLDEN.read_text(encoding="utf-8"), (
        "if that is meant: python -m tests.api.openapi"
    )


async def test_the_document_is_served_to_users_of_the_api(app: HttpInterface) -> None:
    served = (await client_of(app, "alice").get("/api/openapi.json")).json()
    assert served == app.openapi()


def test_every_endpoint_has_a_summary_and_documents_its_errors(app: HttpInterface) -> None:
    operations = [
        (path, operation)
        for path, methods in app.openapi()["paths"].items()
        for operation in methods.values()
    ]
    assert len({operation["operationId"] for _, operation in operations}) == len(operations)
    for path, operation in operations:
        assert operation["description"], path
        assert "422" not in operation["responses"], path
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert response["content"].keys() == {"application/json"}, (path, status)
        if path not in ("/healthz", "/readyz"):
            assert {"401", "403", "503"} <= operation["responses"].keys(), path
        if "requestBody" in operation:
            assert {"400", "413"} <= operation["responses"].keys(), path


def test_a_name_that_no_path_can_have_is_refused_where_it_is_declared(horae: Horae) -> None:
    with pytest.raises(InvalidJobType, match="public, so its name may have only letters"):
        horae.job(public=True, name="a/b")(lambda: None)
    horae.job(name="a/b")(lambda: None)


@pytest.fixture(scope="module")
def strict(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Horae]:
    """An application with the types of the tests, whose requests need a token; all requests share its database."""
    file = tmp_path_factory.mktemp("document") / "horae.db"
    shutil.copy(migrated_sqlite, file)
    with closing(Horae(f"sqlite:///{file}", tokens=(f"root:owner+staff:{SECRET}",))) as horae:
        yield add_types(horae)


@pytest.fixture(scope="module")
def schema(strict: Horae) -> Any:
    """The document, as a client reads it once; each request has the token."""
    interface: Any = strict.asgi()
    # Nearly every token that is drawn is wrong.
    interface.made.services.authenticate.throttle = LoginThrottle(
        limits=LoginLimits(longest_delay=0)
    )
    headers = {"Authorization": f"Bearer {SECRET}"}
    schema: Any = schemathesis.openapi.from_asgi("/api/openapi.json", interface, headers=headers)

    @schema.auth()
    class Token:
        def get(self, _case: Any, _context: Any) -> str:
            return headers["Authorization"]

        def set(self, case: Any, data: str, _context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": data}

    return schema


@pytest.mark.slow
@pytest.mark.hypothesis  # so that `make fuzz` runs it
@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        pytest.param(method, path, mode, id=f"{method} {path} {name}")
        for method, path in OPERATIONS
        for name, mode in MODES.items()
        if name == "right" or not f"{method} {path}".endswith(TAKES_NOTHING)
    ],
)
def test_no_request_is_answered_in_a_way_that_is_not_documented(
    strict: Horae, schema: Any, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    strict.jobs.start("rebuild_index", owner="root")
    strict.schedules.put("nightly", "rebuild_index", cron="0 3 * * *")
    answered: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=SLOW)
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        response = case.call()
        answered[response.status_code] += 1
        case.validate_response(response, excluded_checks=NOT_CHECKED)

    ask()
    assert answered
    assert mode is MODES["right"] or not {status for status in answered if status >= 500}
