"""The foreground process of `horae run`: signals, logging, limits and servers."""

from horae.cli.serving.logs import LogFormat, LogLevel, configure
from horae.cli.serving.process import raise_descriptor_limit, tune_garbage_collector
from horae.cli.serving.serving import Service, ending_in_order

__all__ = [
    "LogFormat",
    "LogLevel",
    "Service",
    "configure",
    "ending_in_order",
    "raise_descriptor_limit",
    "tune_garbage_collector",
]
