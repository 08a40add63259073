"""Whether an event loop runs in the calling thread, which a blocking call would stop."""

import asyncio


def in_event_loop() -> bool:
    """Return whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
