"""The HTTP server of `horae run`, with bounds on connections, headers and bodies."""

from horae.api.serving.connections import Bounds
from horae.api.serving.server import HttpServer

__all__ = ["Bounds", "HttpServer"]
