"""The first code block of the guides to FastAPI and Flask is an application that runs."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.docs.transcripts import ROOT


@pytest.fixture
def pasted(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The names of a module with the first block of a page."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/guides" / request.param).read_text(encoding="utf-8")
    code = re.findall(r"(?ms)^```python\n(.*?)^```", text)[0]
    module = ModuleType("pasted")
    monkeypatch.setitem(sys.modules, "pasted", module)
    exec(compile(code, request.param, "exec"), vars(module))
    return vars(module)


@pytest.mark.parametrize("pasted", ["fastapi.md"], indirect=True)
async def test_fastapi(pasted: dict[str, Any]) -> None:
    app, jobs = pasted["app"], pasted["horae"].aio.jobs
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost", headers={"user": "ada"}
    )
    async with app.router.lifespan_context(app), client:
        job = (await client.post("/welcome")).json()
        assert (await client.post("/goodbye")).status_code == 200
        await jobs.wait(job, timeout="20s")
        listed = (await client.get("/work/api/jobs/")).json()["jobs"]
        assert [each["id"] for each in listed] == [job]
        assert len((await jobs.list()).jobs) == 2


@pytest.mark.parametrize("pasted", ["flask.md"], indirect=True)
def test_flask(pasted: dict[str, Any]) -> None:
    horae = pasted["horae"]
    client = pasted["create_app"]().test_client()
    job = client.post("/welcome").get_json()["job"]
    with horae.node().running():
        assert horae.jobs.wait(job, timeout="20s") == "shop@example.com to ada"
    listed = client.get("/work/api/jobs/", headers={"user": "ada"}).get_json()["jobs"]
    assert [each["id"] for each in listed] == [job]
    horae.close()
