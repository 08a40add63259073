"""The OpenAPI document: equal to the golden file, and correct for every answer that a client without rights can cause."""

import json
import os
from collections import Counter
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
from tests.harness.applications import url_of

EXAMPLES: Final = max(8, int(os.environ.get("HORAE_FUZZ", "0")) // 10)
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
MODES: Final = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
TAKES_NOTHING: Final = ("/healthz", "/readyz", "DELETE /api/session/")


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
        if path not in ("/healthz", "/readyz"):
            assert {"401", "403", "503"} <= operation["responses"].keys(), path


def test_a_name_that_no_path_can_have_is_refused_where_it_is_declared(horae: Horae) -> None:
    with pytest.raises(InvalidJobType, match="public, so its name may have only letters"):
        horae.job(public=True, name="a/b")(lambda: None)
    horae.job(name="a/b")(lambda: None)


@pytest.mark.slow
@pytest.mark.hypothesis  # so that `make fuzz` runs it
@pytest.mark.parametrize("mode", MODES, ids=["right", "wrong"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_is_answered_in_a_way_that_is_not_documented(
    horae: Horae, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    if mode is MODES[1] and f"{method} {path}".endswith(TAKES_NOTHING):
        return  # nothing of it can be wrong
    horae.jobs.start("rebuild_index", owner="root")
    horae.schedules.add("rebuild_index", cron="0 3 * * *")
    strict = Horae(url_of(horae.components.database), tokens=(f"root:owner+staff:{SECRET}",))
    strict.registry = horae.registry
    answered: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=SLOW)
    @given(case=_operation(strict, method, path).as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        response = case.call()
        answered[response.status_code] += 1
        case.validate_response(response, excluded_checks=NOT_CHECKED)

    try:
        ask()
    finally:
        strict.close()
    assert answered
    assert mode is MODES[0] or not {status for status in answered if status >= 500}


def _operation(horae: Horae, method: str, path: str) -> Any:
    headers = {"Authorization": f"Bearer {SECRET}"}
    interface: Any = horae.asgi()
    # Nearly every token that is drawn is wrong.
    interface.made.services.authenticate.throttle = LoginThrottle(
        limits=LoginLimits(longest_delay=0)
    )
    schema: Any = schemathesis.openapi.from_asgi("/api/openapi.json", interface, headers=headers)

    @schema.auth()
    class Token:
        def get(self, _case: Any, _context: Any) -> str:
            return headers["Authorization"]

        def set(self, case: Any, data: str, _context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": data}

    return schema[path][method]
