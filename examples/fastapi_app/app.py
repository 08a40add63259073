"""A shop in FastAPI: `uvicorn examples.fastapi_app.app:app`.

An order and the job that ships it are one transaction; a mail is a background task that survives.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException
from sqlalchemy import make_url, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from horae import Actor, Horae, JobContext, Role
from horae.contrib.fastapi import DurableBackgroundTasks, OwnJobs, jobs_of, lifespan, mount

# The application's own code: a database, a user, an order.
DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
database = make_url(os.environ.get("SHOP_DATABASE", "sqlite:///shop.db"))
engine = create_async_engine(database.set(drivername=DRIVERS[database.get_backend_name()]))
new_session = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    what: Mapped[str]
    state: Mapped[str] = mapped_column(default="ordered")


async def session() -> AsyncGenerator[AsyncSession]:
    async with new_session() as opened:
        yield opened


async def customer(user: Annotated[str | None, Header()] = None) -> str:
    """The user of a request; a real application reads a cookie or a token."""
    if not user:
        raise HTTPException(401, "who are you?")
    return user


@asynccontextmanager
async def tables(_: FastAPI) -> AsyncGenerator[None]:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield
    await engine.dispose()


# What it adds for Horae, the jobs included.
horae = Horae(database.render_as_string(hide_password=False))


@horae.job(max_attempts=3)
async def ship(job: JobContext, order: int) -> str:
    async with new_session.begin() as opened:
        found = await opened.get_one(Order, order)
        found.state = "shipped"
        job.progress.set(50)
    return found.what


@horae.job
def send_mail(to: str, text: str) -> str:
    return f"to {to}: {text}"


async def actor(user: Annotated[str, Depends(customer)]) -> Actor:
    return Actor(user, frozenset({Role.STAFF if user == "admin" else Role.OWNER}))


app = FastAPI(lifespan=lifespan(horae, node=True, within=tables))
mount(app, horae, "/work", user=actor)
Jobs = Annotated[OwnJobs, Depends(jobs_of(actor))]
# End of what it adds.


@app.post("/orders", status_code=201)
async def order(
    what: str,
    user: Annotated[str, Depends(customer)],
    within: Annotated[AsyncSession, Depends(session)],
    jobs: Jobs,
    tasks: DurableBackgroundTasks,
) -> dict[str, Any]:
    new = Order(customer=user, what=what)
    within.add(new)
    await within.flush()
    job = await jobs.start(ship, order=new.id, session=within)  # exists if the order does
    tasks.add_task(send_mail, to=user, text=f"we got your order of {what}")
    if what == "nothing":
        raise HTTPException(400, "order something")  # no order, no shipping, no mail
    await within.commit()
    return {"order": new.id, "job": job.id}


@app.get("/orders")
async def orders(
    user: Annotated[str, Depends(customer)], within: Annotated[AsyncSession, Depends(session)]
) -> dict[int, str]:
    found = await within.scalars(select(Order).where(Order.customer == user))
    return {each.id: each.state for each in found}
