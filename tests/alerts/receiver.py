"""A receiver of webhooks on this machine, and a mail server, on threads."""

import socketserver
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[["Received"], tuple[int, dict[str, str], bytes]]


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    url: str
    requests: list[Received] = field(default_factory=list)
    respond: Respond = lambda _: (200, {}, b"")


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Generator[Receiver]:
    """Answer HTTP requests, and keep them; `tls`: over HTTPS."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            received = Received(self.command, self.path, dict(self.headers.items()), body)
            found.requests.append(received)
            status, headers, answer = found.respond(received)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = handle_one  # noqa: N815 - the names of the library

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        scheme = "http" if tls is None else "https"
        if tls is not None:
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        found = Receiver(f"{scheme}://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield found
        finally:
            server.shutdown()


@contextmanager
def mail_server(
    *, refuses: bool = False, tls: ssl.SSLContext | None = None
) -> Generator[tuple[int, list[str]]]:
    """Take mails; yield the port and the mails. `tls`: offered by STARTTLS."""
    mails: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def line(self) -> str:
            try:
                return self.rfile.readline().decode()
            except OSError:  # the certificate was refused
                return ""

        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.line().strip():
                verb = line.partition(" ")[0].upper()
                if verb == "EHLO":
                    offers = b"250 here\r\n" if tls is None else b"250-here\r\n250 STARTTLS\r\n"
                    self.wfile.write(offers)
                elif verb == "RCPT" and refuses:
                    self.wfile.write(b"550 unknown\r\n")
                elif verb == "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    text = ""
                    while (part := self.rfile.readline().decode()) != ".\r\n":
                        text += part
                    mails.append(text)
                    self.wfile.write(b"250 taken\r\n")
                elif verb == "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                elif verb == "STARTTLS" and tls is not None:
                    self.wfile.write(b"220 go on\r\n")
                    plain = self.request
                    self.request = tls.wrap_socket(
                        plain, server_side=True, do_handshake_on_connect=False
                    )
                    self.setup()
                else:
                    self.wfile.write(b"250 yes\r\n")

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()
            self.request.close()  # the server knows only the one without TLS

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_address[1], mails
        finally:
            server.shutdown()
