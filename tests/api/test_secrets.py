"""Secret parameters reach the body and no answer of the API."""

from typing import Annotated

import pytest
from pydantic import BaseModel, SecretStr

from horae import Horae, InvalidJobType, JobContext
from horae.redaction import MASK
from horae.storage.engine.database import Database
from horae.types.parameters.parameters import parameters_of
from horae.types.parameters.secret import Secret, masked
from tests.api.clients import Client, application_of, client_of
from tests.api.streams import listening
from tests.harness.nodes import running_node, until_state

HIDDEN = "correct-horse"


class Account(BaseModel):
    name: str
    key: Annotated[str, Secret()]


class Transfer(BaseModel):
    token: Annotated[SecretStr, Secret()]
    plain: str = "shown"
    maybe: Annotated[str | None, Secret()] = None
    inner: Annotated[str, Secret()] | None = None
    sources: list[Account] = []
    named: dict[str, Account] = {}
    one: Account | None = None


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def test_masking_finds_every_secret_and_nothing_else() -> None:
    account = {"name": "n", "key": HIDDEN}
    shown = {"name": "n", "key": MASK}
    stored = {
        "token": HIDDEN,
        "plain": "shown",
        "maybe": HIDDEN,
        "inner": HIDDEN,
        "sources": [account],
        "named": {"a": account, "key": account},
        "one": account,
    }
    found = masked(Transfer, stored)
    assert HIDDEN not in str(found)
    assert found == {
        "token": MASK,
        "plain": "shown",
        "maybe": MASK,
        "inner": MASK,
        "sources": [shown],
        "named": {"a": shown, "key": shown},
        "one": shown,
    }
    assert stored["token"] == HIDDEN
    assert masked(Transfer, {"maybe": None}) == {"maybe": None}
    assert masked(Transfer, None) is None


def test_a_marked_secret_is_stored_and_an_unmarked_one_would_be_stars() -> None:
    class Unmarked(BaseModel):
        lost: SecretStr

    class Outer(BaseModel):
        inner: list[Unmarked] = []

    for model, path in ((Unmarked, "lost"), (Outer, "inner.lost")):
        with pytest.raises(InvalidJobType, match=f"parameter '{path}' would be stored as stars"):
            parameters_of(model, "t")
    parameters_of(Transfer, "t")
    assert Transfer(token=SecretStr(HIDDEN)).model_dump(mode="json")["token"] == HIDDEN


async def test_a_secret_reaches_the_body_and_no_answer(horae: Horae) -> None:
    given: list[str | None] = []

    @horae.job(public=True, name="send")
    def send(
        job: JobContext, password: Annotated[str, Secret()], token: Annotated[SecretStr, Secret()]
    ) -> None:
        given.extend([password, token.get_secret_value()])

    app = application_of(horae)
    alice, root = client_of(app, "alice"), client_of(app, "root")
    async with listening(app, "root") as stream:
        await stream.next("hello")
        started = await alice.post(
            "/api/jobs/types/send/", json={"password": HIDDEN, "token": HIDDEN}
        )
        job_id = started.json()["id"]
        async with running_node(horae):
            await until_state(horae, job_id, "finished")
        await stream.until("ended", job_id)
    assert given == [HIDDEN, HIDDEN]
    answers = [
        started,
        *[
            await who.get(path)
            for who in (alice, root)
            for path in (f"/api/jobs/{job_id}/", "/api/jobs/")
        ],
    ]
    answers.append(await root.get("/api/audit/"))
    assert started.json()["params"] == {"password": MASK, "token": MASK}
    assert HIDDEN not in stream.text + "".join(answer.text for answer in answers)
    wrong = await alice.post("/api/jobs/types/send/", json={"password": [HIDDEN], "token": 1})
    assert (wrong.status_code, HIDDEN in wrong.text) == (400, False)


async def test_parameters_of_a_type_that_is_unknown_here_are_not_shown(
    horae: Horae, client: Client
) -> None:
    job = horae.jobs.start("export_table", owner="alice", table_id=1, password=HIDDEN)
    horae.registry.remove("export_table")
    assert (await client("root").get(f"/api/jobs/{job.id}/")).json()["params"] is None


async def test_technical_errors_are_for_staff(horae: Horae, client: Client) -> None:
    @horae.job(name="fail", max_count=None)
    def fail() -> None:
        raise ValueError("the inside")

    job = horae.jobs.start("fail", owner="alice")
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
    for who, shown in (("alice", False), ("root", True), ("auditor", True)):
        one = await client(who).get(f"/api/jobs/{job.id}/")
        attempts = await client(who).get(f"/api/jobs/{job.id}/attempts/")
        assert one.json()["human_readable_error"]
        assert ("the inside" in one.text, "the inside" in attempts.text) == (shown, shown)
