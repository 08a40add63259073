"""The tables of the application, in the database of the jobs; a real application would have its own migrations."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ForeignKey, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

DATABASE: Final = os.environ.get("HORAE_DATABASE", "sqlite:///tables.db")
COLUMNS: Final = ("city", "country", "inhabitants")

# SQLite has one writer at a time, and an import holds the write lock while it runs: wait for it.
engine = create_engine(
    DATABASE, connect_args={"timeout": 30} if DATABASE.startswith("sqlite") else {}
)


class TableMissing(LookupError):
    """The table does not exist or belongs to another user; the error does not tell which."""


def now() -> datetime:
    """Return the time in UTC, without a zone, as both databases store it."""
    return datetime.now(UTC).replace(tzinfo=None)


class Base(DeclarativeBase):
    """The base class of the application's tables."""


class Table(Base):
    """A table of cities, with the last count of its inhabitants."""

    __tablename__ = "tables"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]
    inhabitants: Mapped[int | None]
    counted_at: Mapped[datetime | None]


class City(Base):
    """A row of a table."""

    __tablename__ = "cities"
    id: Mapped[int] = mapped_column(primary_key=True)
    table_id: Mapped[int] = mapped_column(ForeignKey("tables.id"), index=True)
    city: Mapped[str]
    country: Mapped[str]
    inhabitants: Mapped[int]


class Upload(Base):
    """An uploaded file that is to be imported."""

    __tablename__ = "uploads"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    content: Mapped[bytes]
    made_at: Mapped[datetime] = mapped_column(default=now)


class Export(Base):
    """A table as CSV, which can be downloaded until it is deleted."""

    __tablename__ = "exports"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]
    content: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(default=now)


def create_tables() -> None:
    """Create the tables that do not exist."""
    Base.metadata.create_all(engine)


def table_of(session: Session, owner: str | None, table_id: int) -> Table:
    """Return the owner's table; raises `TableMissing`."""
    table = session.get(Table, table_id)
    if table is None or table.owner != owner:
        raise TableMissing(f"There is no table {table_id}.")
    return table


def cities_of(session: Session, table: Table, limit: int | None = None) -> Sequence[City]:
    """Return its rows, in the order in which they were written."""
    return session.scalars(
        select(City).where(City.table_id == table.id).order_by(City.id).limit(limit)
    ).all()


def tables_with_sizes(session: Session, owner: str) -> Sequence[tuple[Table, int]]:
    """Return the owner's tables, the newest first, each with its number of rows."""
    size = select(func.count()).where(City.table_id == Table.id).scalar_subquery()
    found = session.execute(
        select(Table, size).where(Table.owner == owner).order_by(Table.id.desc())
    )
    return [(table, count) for table, count in found]


if __name__ == "__main__":
    create_tables()
