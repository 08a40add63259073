"""Every sentence of the server can be written by the dashboard, from the values that it carries."""

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import horae
from horae.domain.jobs import INTERRUPTED_TEXT, TimeLimit, crash_text, failed_text, stored_text
from horae.domain.jobs.stored_texts import quarantine_text
from horae.domain.times import parse_duration
from horae.errors import InvalidInterval, InvalidRequest, JobNotRetryable
from horae.sentences import Sentence, SentenceCode, invalid_value, rounded, sentence_of

SOURCE: Final = Path(horae.__file__).parent
TEXTS: Final = Path(__file__).parents[2] / "web/app/src/texts"
ENTRY: Final = re.compile(r"^  (\w+): ", re.MULTILINE)
USE: Final = re.compile(r"v\.\w+\('(\w+)'\)")
HELPER: Final = re.compile(r"\b(\w+)\(v\)")


def calls() -> Iterator[tuple[set[str], set[str] | None]]:
    """The codes and the names of the values of each sentence; None: they are not written there."""
    for path in SOURCE.rglob("*.py"):
        if "SentenceCode" not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Sentence"
            ):
                codes = {
                    each.attr for each in ast.walk(node.args[1]) if isinstance(each, ast.Attribute)
                }
                names = {each.arg for each in node.keywords if each.arg is not None}
                spread = any(each.arg is None for each in node.keywords)
                yield codes, None if spread else names


def values_of_codes() -> dict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for names_of_codes, names in calls():
        for code in names_of_codes & set(SentenceCode.__members__):
            if names is not None:
                found[SentenceCode[code]] |= names
    return found


def entries(language: str) -> dict[str, str]:
    """The texts by their codes, with the source of the helpers that they call."""
    found: dict[str, str] = {}
    for path in (TEXTS / language).glob("*.ts"):
        if path.stem in {"refusals", "sentences"}:
            found |= entries_in(path.read_text())
    return found


def entries_in(source: str) -> dict[str, str]:
    table, _, rest = source.partition("\n}\n")
    functions = re.compile(r"function (\w+)\(v: SentenceValues\)(.*?)\n}\n", re.DOTALL)
    helpers = dict(functions.findall(rest))
    starts = [*ENTRY.finditer(table)]
    ends = [*(each.start() for each in starts[1:]), len(table)]
    found: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=True):
        text = table[start.end() : end]
        found[start[1]] = text + "".join(helpers[name] for name in HELPER.findall(text))
    return found


def test_the_dashboard_has_a_text_for_every_code() -> None:
    assert sorted(entries("de")) == sorted(SentenceCode)


def test_in_english_refusals_and_stored_texts_are_left_to_the_server() -> None:
    left = set(SentenceCode) - set(entries("en"))
    assert left == {
        code
        for code in SentenceCode
        if code.startswith(("query_", "refused_", "stored_", "value_"))
    }


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_texts_use_only_values_that_are_sent(language: str) -> None:
    known = values_of_codes()
    texts = entries(language)
    # What an error about a cron expression says besides its problem, and what is sent as a whole.
    known_elsewhere = {"instead", "hint"}
    for code in SentenceCode:
        if code in known and code in texts:
            used = set(USE.findall(texts[code])) - known_elsewhere
            assert used <= known[code], code


def test_every_code_is_sent() -> None:
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    used = set(re.findall(r"SentenceCode\.(\w+)", text))
    assert used == set(SentenceCode.__members__)


def test_a_sentence_is_its_text() -> None:
    sentence = Sentence("it waits", SentenceCode.JOB_NEXT, text="beside")
    assert sentence == "it waits"
    assert type(f"{sentence}") is str
    copied = copy.deepcopy(sentence)
    assert (copied, copied.code, copied.values) == ("it waits", "job_next", {"text": "beside"})


def test_an_error_of_a_validator_may_lack_the_bound_of_its_kind() -> None:
    message = invalid_value("the list is too long", "too_long", {})
    assert (message, type(message)) == ("the list is too long", str)


def test_an_error_keeps_its_sentence() -> None:
    text = sentence_of(JobNotRetryable(3, "finished"))
    assert isinstance(text, Sentence)
    assert (text.code, text.values) == ("job_not_retryable", {"job": 3, "state": "finished"})
    assert type(sentence_of(InvalidRequest("plain"))) is str


def test_an_error_of_an_option_says_its_name_and_keeps_its_sentence() -> None:
    with pytest.raises(InvalidInterval, match=r"^jitter: interval 'soon'") as raised:
        parse_duration("jitter", "soon")
    text = sentence_of(raised.value)
    assert isinstance(text, Sentence)
    assert (text.code, text.values) == ("value_interval", {"text": "soon"})


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        (INTERRUPTED_TEXT, "stored_interrupted", {}),
        (crash_text("n 1"), "stored_crashed", {"node": "n 1", "crashes": None}),
        (quarantine_text(crash_text("n1"), 3), "stored_crashed", {"node": "n1", "crashes": "3"}),
        (failed_text("shop.mail"), "stored_failed", {"type": "shop.mail"}),
        (TimeLimit.EXPIRED.error, "stored_time_limit", {"limit": "expired"}),
        (TimeLimit.EXPIRED.human_readable_error, "stored_time_limit", {"limit": "expired"}),
    ],
)
def test_what_horae_has_stored_is_read_as_a_sentence(
    text: str, code: str, values: dict[str, str]
) -> None:
    read = stored_text(text)
    assert isinstance(read, Sentence)
    assert (read, read.code, read.values) == (text, code, values)


@pytest.mark.parametrize("text", [None, "", "ValueError: no", f"{INTERRUPTED_TEXT} Or not."])
def test_what_others_have_stored_is_no_sentence(text: str | None) -> None:
    read = stored_text(text)
    assert read == text
    assert not isinstance(read, Sentence)


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (0.0514, "0.0514"), (99.96, "100"), (3560.4, "3,560")]
)
def test_a_number_is_rounded_without_an_exponent(number: float, text: str) -> None:
    assert rounded(number) == text
