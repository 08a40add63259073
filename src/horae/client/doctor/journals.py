"""The check that the nodes of one machine see each other's journals of begun jobs."""

from collections.abc import Iterator, Sequence

from horae.client.doctor.finding import Finding, warning

ADVICE = (
    "Set HORAE_JOURNAL_DIR to one folder for all nodes of this machine; a systemd unit with"
    " PrivateTmp= has a folder for temporary files of its own."
)


def journal_findings(
    hidden: Sequence[tuple[str, int, str | None]], folder: str | None
) -> Iterator[Finding]:
    """Report nodes (id, process, journal file) whose journals are missing in the folder, if there
    is one.
    """
    for node, pid, file in hidden:
        where = (
            "keeps no journal of what has begun" if file is None else f"keeps its journal in {file}"
        )
        here = "find no folder for journals" if folder is None else f"look in {folder}"
        yield warning(
            "journals",
            f"node {node} (process {pid}) {where}, and nodes with the settings of this command"
            f" {here}: if it is killed, all of its jobs count as begun",
            ADVICE,
        )
