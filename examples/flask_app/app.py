"""A shop in Flask: `flask --app examples.flask_app.app run`, and `… horae run` for its jobs."""

import os
from typing import Any

from flask import Flask, abort, request
from sqlalchemy import create_engine, make_url, select

from examples.flask_app.extensions import Base, Order, horae, new_session, session
from examples.flask_app.jobs import ship


def customer() -> str:
    """The user of a request; a real application reads its session."""
    return request.headers.get("user") or abort(401)


def create_app(database: str | None = None) -> Flask:
    app = Flask(__name__)
    url = database or os.environ.get("SHOP_DATABASE", "sqlite:///shop.db")
    app.config.update(WAREHOUSE="Hamburg", HORAE_DATABASE=url)
    driver = {"postgresql": "postgresql+psycopg"}.get(make_url(url).get_backend_name(), "sqlite")
    engine = create_engine(make_url(url).set(drivername=driver))
    Base.metadata.create_all(engine)
    new_session.configure(bind=engine)
    app.teardown_appcontext(lambda _: session.remove())

    horae.init_app(app, user=lambda: request.headers.get("user"), path="/work")

    @app.post("/orders")
    def order() -> tuple[dict[str, Any], int]:
        new = Order(customer=customer(), what=request.args["what"])
        session.add(new)
        session.flush()
        job = horae.jobs.start(ship, order=new.id, owner=new.customer, session=session)
        if new.what == "nothing":
            abort(400)  # neither the order nor its job is there
        session.commit()
        return {"order": new.id, "job": job.id}, 201

    @app.get("/orders")
    def orders() -> dict[str, str]:
        found = session.scalars(select(Order).where(Order.customer == customer()))
        return {str(each.id): each.state for each in found}

    return app
