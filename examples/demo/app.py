"""The application of the demonstration: it stores an index of Python modules in two tables."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from examples.demo.source import Outline, files_under, outline_of, standard_library
from horae import Horae, JobContext

horae = Horae()


class Base(DeclarativeBase):
    """The base class of the application's tables, which are in the database of the jobs."""


class Module(Base):
    """A Python file."""

    __tablename__ = "modules"
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int]
    name: Mapped[str]
    lines: Mapped[int]
    definitions: Mapped[list["Definition"]] = relationship()


class Definition(Base):
    """A class or function of a Python file."""

    __tablename__ = "definitions"
    id: Mapped[int] = mapped_column(primary_key=True)
    module_id: Mapped[int] = mapped_column(ForeignKey("modules.id"))
    kind: Mapped[str]
    name: Mapped[str]
    line: Mapped[int]


class NotADirectory(Exception):
    """The folder contains nothing to index."""


@horae.job(
    transaction="read committed",
    exceptions_map={NotADirectory: "There is no folder {e}; choose another one."},
)
def index_modules(job: JobContext, folder: str = str(standard_library())) -> dict[str, int]:
    """Read every Python file under `folder` and store its outline; all of them, or none."""
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectory(folder)
    files = files_under(root)
    counts = {"modules": 0, "classes": 0, "functions": 0, "lines": 0}
    for outline in outlines(job, root, files):
        module = Module(job_id=job.id, name=outline.name, lines=outline.lines)
        module.definitions = [
            Definition(kind=kind, name=name, line=line) for kind, name, line in outline.definitions
        ]
        job.session.add(module)
        job.session.flush()
        counts["modules"] += 1
        counts["lines"] += outline.lines
        for kind, _, _ in outline.definitions:
            counts["classes" if kind == "class" else "functions"] += 1
    return counts


def outlines(job: JobContext, root: Path, files: list[Path]) -> Iterator[Outline]:
    """Yield the outline of each file; the label names the package that is being read."""
    for file in job.progress.track(files):
        outline = outline_of(root, file)
        job.progress.increment(0, label=f"reading-{outline.name.partition('.')[0]}")
        yield outline


@horae.job(max_attempts=3)
def count_lines(job: JobContext) -> int:
    """Count the lines of the standard library: long enough to be killed meanwhile, and safe to repeat."""
    return sum(
        len(file.read_bytes().splitlines())
        for file in job.progress.track(files_under(standard_library()) * 8)
    )


@horae.cron("* * * * * *")
def every_second() -> None:
    """Due at each full second; the ticks show what did not run, with the reason."""


@horae.every("3s", retry_period="1s", max_retries=5)
def unlucky() -> None:
    """Due three seconds after each finish; fails twice at first, so that retries with growing delays are shown."""
    ended = horae.schedules.statistics("unlucky").total_runs
    if ended < 2:
        raise ConnectionError(f"run {ended + 1} had no luck")
