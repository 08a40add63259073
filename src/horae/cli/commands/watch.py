"""`horae watch`: tells others what is wrong with an application."""

import signal
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.text import Text

from horae.alerts import (
    AlertTarget,
    AlertThresholds,
    Email,
    Notice,
    Pace,
    Ping,
    Watch,
    Webhook,
    notice_as_values,
)
from horae.cli.context import target_of
from horae.cli.escaping import indented
from horae.cli.failures import FAILED
from horae.cli.options import AsJson
from horae.cli.printing import console, print_json
from horae.cli.serving import LogFormat, configure
from horae.errors import InvalidRequest

Application = Annotated[
    str | None,
    typer.Argument(
        metavar="APP",
        help="The application, as module:attribute. Default: --app, HORAE_APP, or the database.",
    ),
]


def watch(
    context: typer.Context,
    app: Application = None,
    *,
    webhook: Annotated[
        list[str] | None,
        typer.Option(
            envvar="HORAE_WATCH_WEBHOOK",
            metavar="URL",
            help="POST each notice as JSON to this URL. Repeatable.",
        ),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="HORAE_WATCH_SECRET",
            metavar="TEXT",
            help="Secret that signs what webhooks get. Better set the variable.",
        ),
    ] = None,
    slack: Annotated[
        list[str] | None,
        typer.Option(
            envvar="HORAE_WATCH_SLACK",
            metavar="URL",
            help="POST each notice to this incoming webhook of Slack. Repeatable.",
        ),
    ] = None,
    email: Annotated[
        list[str] | None,
        typer.Option(
            envvar="HORAE_WATCH_EMAIL",
            metavar="ADDRESS",
            help="Mail each notice to this address. Repeatable.",
        ),
    ] = None,
    smtp: Annotated[
        str | None,
        typer.Option(
            envvar="HORAE_WATCH_SMTP",
            metavar="URL",
            help="Mail server: smtp://user:password@host:587, smtps://… Better set the variable.",
        ),
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option(
            envvar="HORAE_WATCH_SENDER",
            metavar="ADDRESS",
            help="Sender of mails. Default: the first receiver.",
        ),
    ] = None,
    ping: Annotated[
        list[str] | None,
        typer.Option(
            envvar="HORAE_WATCH_PING",
            metavar="URL",
            help="GET this URL at each look while nothing is wrong. Repeatable.",
        ),
    ] = None,
    allow_internal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="A host, address or network of targets that may be internal. Repeatable.",
        ),
    ] = None,
    schedule_late: Annotated[
        str, typer.Option(metavar="TIME", help="How late a schedule may start.")
    ] = "5m",
    failures: Annotated[
        int, typer.Option(min=1, metavar="N", help="Failed runs of a schedule in a row.")
    ] = 3,
    queue_late: Annotated[
        str, typer.Option(metavar="TIME", help="How long a due job may wait.")
    ] = "10m",
    nothing_claimed: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="How long free slots may claim none of the jobs that are due."
        ),
    ] = "1m",
    database_away: Annotated[
        str, typer.Option(metavar="TIME", help="How long the database may not answer.")
    ] = "10s",
    every: Annotated[str, typer.Option(metavar="TIME", help="Time between two looks.")] = "15s",
    repeat: Annotated[
        str, typer.Option(metavar="TIME", help="Time after which a lasting alert is repeated.")
    ] = "4h",
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="File that keeps the alerts, so that a restart tells none of them again.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What notices call the application. [its database]"),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Look once; exit with 1 if something is wrong.")
    ] = False,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(metavar="FORMAT", help="Format of the log on stderr: text or json. [text]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an application, and tell others what is wrong with it.

    Looks at the database again and again, and tells when a schedule is missed, late or keeps
    failing, a queue is late, free slots claim nothing, a node has died, or the database is away:
    once when it begins, again after some time, and once when it is over. It needs no node and no
    job types, so run it elsewhere than the nodes. With --json each notice is one line.
    """
    thresholds = AlertThresholds(
        schedule_late=schedule_late,
        failures=failures,
        queue_late=queue_late,
        nothing_claimed=nothing_claimed,
        database_away=database_away,
    )
    allowed = tuple(allow_internal or ())
    targets: list[AlertTarget] = [
        *(Webhook(url=url, secret=secret, allow_internal=allowed) for url in webhook or ()),
        *(Webhook(url=url, format="slack", allow_internal=allowed) for url in slack or ()),
    ]
    if email:
        if smtp is None:
            raise InvalidRequest(
                "--email needs a mail server: name it with --smtp or HORAE_WATCH_SMTP"
            )
        targets.append(Email(to=tuple(email), sender=sender or email[0], server=smtp))
    pings = [Ping(url=url, allow_internal=allowed) for url in ping or ()]
    chosen = target_of(context)
    horae = chosen.horae if app is None else chosen.load(app)
    configure(log_format or "text", "error" if once else "info")
    watching = Watch(
        horae,
        targets=targets,
        pings=pings,
        thresholds=thresholds,
        pace=Pace(every=every, repeat=repeat),
        state=state,
        name=name,
    )
    try:
        with closing(watching):
            if once:
                _look_once(watching, as_json=as_json)
            else:
                with _until_signal() as stop:
                    watching.run(stop, print_notice if as_json else None)
    finally:
        horae.close()


def _look_once(watching: Watch, *, as_json: bool) -> None:
    notices = watching.look(at_once=True)
    delivered = watching.deliver(at_once=True)
    for _ in range(2):
        if not delivered:
            time.sleep(1.0)
            delivered = watching.deliver(at_once=True)
    alerts = sorted(watching.alerts.values(), key=lambda alert: alert.key)
    if as_json:
        print_json(
            {
                "ok": watching.is_well,
                "delivered": delivered,
                "notices": [notice_as_values(notice) for notice in notices],
                "alerts": [
                    {"key": alert.key, "rule": alert.rule.value, "summary": alert.summary}
                    for alert in alerts
                ],
            }
        )
    else:
        for alert in alerts:
            console().print(Text(indented(alert.summary)))
        if not alerts:
            console().print(Text("nothing is wrong"))
    if alerts or not delivered:
        raise typer.Exit(FAILED)


def print_notice(notice: Notice) -> None:
    """Print a notice as one line of JSON."""
    print_json(notice_as_values(notice))


@contextmanager
def _until_signal() -> Generator[threading.Event]:
    """Return an event that is set by the signals that end a program."""
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before: dict[int, Any] = {
        number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
