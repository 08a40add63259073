"""The foreground process of `horae run`: signals, logging, limits, servers, restarts."""

from horae.cli.serving.logs import LogFormat, LogLevel, configure
from horae.cli.serving.process import (
    raise_descriptor_limit,
    share_one_malloc_arena,
    tune_garbage_collector,
)
from horae.cli.serving.reloading import Reloading, command_without_reload
from horae.cli.serving.serving import Service, ending_in_order

__all__ = [
    "LogFormat",
    "LogLevel",
    "Reloading",
    "Service",
    "command_without_reload",
    "configure",
    "ending_in_order",
    "raise_descriptor_limit",
    "share_one_malloc_arena",
    "tune_garbage_collector",
]
