"""A service that fails for lack of a resource is started again; any other failure ends the node."""

import asyncio
import errno
from collections.abc import Iterator

import pytest

from horae.resource_shortage import lacks_resource
from horae.runtime.node.incarnation import sustain
from horae.runtime.timing import Pauses

LACKS = [
    OSError(errno.EMFILE, "too many open files"),
    OSError(errno.ENFILE, "too many open files in system"),
    OSError(errno.ENOBUFS, "no buffer space"),
    OSError(errno.EROFS, "read-only file system"),
    OSError(errno.EIO, "input/output error"),
    MemoryError(),
    RuntimeError("can't start new thread"),
    RuntimeError("can't create new thread at interpreter shutdown"),
    ExceptionGroup(
        "tasks", [RuntimeError("can't start new thread"), ExceptionGroup("more", [MemoryError()])]
    ),
]


class Service:
    """Fails with each of these errors in turn, and then ends."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors: Iterator[BaseException] = iter(errors)
        self.begun = 0

    async def run(self) -> None:
        self.begun += 1
        for error in self.errors:
            raise error


async def test_a_failed_service_is_restarted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Service(*LACKS, *LACKS)
    await sustain("the sweeper", service.run, Pauses(0.0, 5.0))
    assert service.begun == 2 * len(LACKS) + 1
    assert caplog.text.count("the sweeper failed for lack of a resource") == 1


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a mistake"),
        OSError(errno.EACCES, "denied"),
        RuntimeError("a mistake"),
        ExceptionGroup("tasks", [MemoryError(), ValueError("a mistake")]),
        asyncio.CancelledError(),
    ],
)
async def test_other_errors_end_the_service(error: BaseException) -> None:
    service = Service(error)
    with pytest.raises(type(error)):
        await sustain("the sweeper", service.run, Pauses(0.0, 5.0))
    assert service.begun == 1


@pytest.mark.parametrize("error", LACKS)
def test_a_lack_of_resources_is_recognised(error: BaseException) -> None:
    assert lacks_resource(error)
