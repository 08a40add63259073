"""The errors of failed attempts as log records carry them: for tools that read `exc_info`, and
without secrets.

The text is the one that is stored, from which secrets are removed. The frames of the traceback are
made anew, without the local variables of the body, which such tools send as well.
"""

import sys
import traceback
from types import CodeType, FrameType, TracebackType
from typing import Any


class AttemptFailed(Exception):
    """The base of these errors; their classes have the names of those that the bodies raised.

    `stored`: the whole traceback, with its causes, as it is stored.
    """

    stored: str = ""


def shown_error(technical: str, stored: str, error: BaseException | None) -> AttemptFailed:
    """Return the error to show.

    `technical`: its type and text; `error`: None if another process raised it.
    """
    name, _, text = technical.partition(": ")
    if not name.isidentifier():  # a sentence, such as that a signal has killed the process
        name, text = AttemptFailed.__name__, technical
    known = {
        "stored": stored,
        "__module__": AttemptFailed.__module__ if error is None else type(error).__module__,
    }
    kind: type[AttemptFailed] = type(name, (AttemptFailed,), known)
    made = None  # the same traceback, without variables
    frames = [] if error is None else list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames[-50:]):
        module = frame.f_globals.get("__name__")
        made = TracebackType(made, _bare_frame(frame.f_code, module), -1, line)
    return kind(text).with_traceback(made)


def _bare_frame(code: CodeType, module: str | None) -> FrameType:
    """Return a frame of a function with this name and file that has no variables."""
    names: dict[str, Any] = {
        "__name__": module,
        "__file__": code.co_filename,
        "frame_of": sys._getframe,  # noqa: SLF001 - as in logging
    }  # pyright: ignore[reportPrivateUsage]
    bare = compile("frame = frame_of()", code.co_filename, "exec")
    bare = bare.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    exec(bare, names)  # noqa: S102 - the code is the literal above, so no input reaches it
    del names["frame_of"]
    frame: FrameType = names.pop("frame")
    return frame
