"""What Horae itself stores about the end of a job or a node, and how it is read as a sentence.

It is stored as an English text, because programs, the command line and SQL read it. Only these
texts are sentences when they are read; what bodies and their types say is shown as it was written.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from horae.domain.jobs.time_limit import TimeLimit
from horae.sentences import Sentence, SentenceCode

DIED_TEXT: Final = "The process that ran this job stopped unexpectedly."
"""For its owner: its node or its child process died."""
INTERRUPTED_TEXT: Final = "This job was interrupted; please start it again."
NOT_SET_UP_TEXT: Final = "The process that was to run this job could not be set up."
UNSTORABLE_TEXT: Final = "What this job returned cannot be stored."
DEPENDENCY_FAILED_TEXT: Final = "A job that this one waited for did not finish."
NODE_STOPPED_TEXT: Final = "the node stopped before the job ended"
OUT_OF_CONTACT_TEXT: Final = (
    "the node lost contact with its database and stopped the job before others might run it"
)
NODE_DIED_NOTE: Final = "It ended without unregistering; its jobs were taken over."
"""In the journal, about a node."""

_CODES: Final[Mapping[str, SentenceCode]] = MappingProxyType(
    {
        DIED_TEXT: SentenceCode.STORED_DIED,
        INTERRUPTED_TEXT: SentenceCode.STORED_INTERRUPTED,
        NOT_SET_UP_TEXT: SentenceCode.STORED_NOT_SET_UP,
        UNSTORABLE_TEXT: SentenceCode.STORED_UNSTORABLE,
        DEPENDENCY_FAILED_TEXT: SentenceCode.STORED_DEPENDENCY_FAILED,
        NODE_DIED_NOTE: SentenceCode.STORED_NODE_DIED,
        NODE_STOPPED_TEXT: SentenceCode.STORED_NODE_STOPPED,
        OUT_OF_CONTACT_TEXT: SentenceCode.STORED_OUT_OF_CONTACT,
    }
)
_CRASH: Final = re.compile(
    r"node (?P<node>.+) stopped in the middle of the job"
    r"(?:; quarantined after (?P<crashes>\d+) crashes)?"
)
_FAILED: Final = re.compile(r"Something went wrong while this job \((?P<type>.+)\) was running\.")


def crash_text(node: str) -> str:
    """Return the error of a job whose node died."""
    return f"node {node} stopped in the middle of the job"


def quarantine_text(crash: str, crashes: int) -> str:
    """Return the error of a job that has crashed so often that it is not tried again."""
    return f"{crash}; quarantined after {crashes} crashes"


def failed_text(job_type: str) -> str:
    """Return the text for users of an error without an entry; what the error says may be
    confidential.
    """
    return f"Something went wrong while this job ({job_type}) was running."


def stored_text(text: str | None) -> str | None:
    """Return a stored text, as a `Sentence` if Horae has written it."""
    if text is None:
        return None
    if (code := _CODES.get(text)) is not None:
        return Sentence(text, code)
    for limit in TimeLimit:
        if text in (limit.error, limit.human_readable_error):
            return Sentence(text, SentenceCode.STORED_TIME_LIMIT, limit=limit.code)
    if (crash := _CRASH.fullmatch(text)) is not None:
        return Sentence(
            text, SentenceCode.STORED_CRASHED, node=crash["node"], crashes=crash["crashes"]
        )
    if (failed := _FAILED.fullmatch(text)) is not None:
        return Sentence(text, SentenceCode.STORED_FAILED, type=failed["type"])
    return text
