"""The private Redis server: it runs as an ordinary user, and leaves nothing behind."""

from pathlib import Path

import pytest
from redis import Redis, RedisError

from tests.harness.redis import RedisServer


def test_a_server_keeps_nothing_and_runs_as_an_ordinary_user() -> None:
    with RedisServer() as server:
        client = Redis.from_url(server.url(3))
        client.set("key", "value")
        owner = Path(f"/proc/{server.command('INFO', 'server')['process_id']}").stat().st_uid
        server.kill()
        with pytest.raises(RedisError):
            client.get("key")
        server.start()
        assert client.get("key") is None
        client.close()
        folder = server.folder
    assert owner != 0
    assert not folder.exists()
