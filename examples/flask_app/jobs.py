"""The jobs. Each body runs in the context of the application."""

from flask import current_app

from examples.flask_app.extensions import Order, horae, session
from horae import JobContext


@horae.job(max_attempts=3)
def ship(job: JobContext, order: int) -> str:
    found = session.get_one(Order, order)
    found.state = "shipped"
    job.progress.set(50)
    session.commit()
    return f"{found.what} from {current_app.config['WAREHOUSE']}"
