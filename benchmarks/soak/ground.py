"""Sets up the database, the nodes and the network of one soak, and removes all of it."""

import logging
import os
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, make_url, text

from benchmarks.soak import application
from benchmarks.soak.application import LOG_VARIABLE
from benchmarks.soak.nodes import NodeSettings, SoakNode
from benchmarks.soak.run import Plan, Soak
from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.applications import declare_as
from tests.harness.network import Network
from tests.harness.postgres import THROW_AWAY, PostgresServer


@contextmanager
def soak(plan: Plan, folder: Path) -> Generator[Soak]:
    """Yield a soak on a new database, and end all its processes."""
    with ExitStack() as stack:
        server = (
            stack.enter_context(PostgresServer(THROW_AWAY)) if plan.kind == "postgresql" else None
        )
        url = server.create_database() if server else f"sqlite:///{folder}/horae.db"
        _create_tables(url)
        engine = create_engine(url, pool_pre_ping=True)
        stack.callback(engine.dispose)
        stack.enter_context(_log_of_this_process(folder / "load.log"))
        os.environ[LOG_VARIABLE] = str(folder / "bodies.log")
        stack.callback(os.environ.pop, LOG_VARIABLE, None)
        horae = stack.enter_context(closing(_client(url, plan)))
        network = stack.enter_context(Network(server.port)) if server else None
        settings = NodeSettings(
            application=plan.application, folder=folder, keep=plan.keep, forked=plan.forked
        )
        nodes = _nodes(url, network, settings)[: plan.most_nodes]
        for node in nodes:
            stack.callback(node.close)
        yield Soak(plan, folder, engine, horae, nodes, server, network)


@contextmanager
def _log_of_this_process(file: Path) -> Generator[None]:
    """Write what Horae logs in this process, which runs the load, to a file."""
    log, handler = logging.getLogger("horae"), logging.FileHandler(file)
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True
        handler.close()


def _create_tables(url: str) -> None:
    with closing(Database(url)) as database:
        upgrade(database)
        for statement in (application.EFFECTS, application.CREATIONS):
            database.transact(Connection.execute, text(statement))


def _client(url: str, plan: Plan) -> Horae:
    horae = Horae(url, keep=plan.keep)
    declare_as(horae, application.horae)
    return horae


def _nodes(url: str, network: Network | None, settings: NodeSettings) -> list[SoakNode]:
    """Return a node that is never killed, so that its figures cover the whole run, and others that are."""
    nodes = [
        SoakNode("steady", url, settings, may_be_killed=False),
        SoakNode("killed", url, settings, may_be_killed=True),
    ]
    if network is not None:
        distant = make_url(url).set(port=network.port).render_as_string(hide_password=False)
        nodes.append(SoakNode("distant", distant, settings, may_be_killed=True))
    return nodes
