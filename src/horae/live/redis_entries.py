"""The entries of the live store on Redis: their texts, and the scripts that change them.

A report is `lease percentage label`, a cancel request `forced name`, with the label and the name as JSON. The rules of
the store need the old entry to write the new one, so they are scripts, which Redis runs one at a time.
"""

import json
import re
from typing import Final

from horae.domain.jobs.job import JobId
from horae.live.store import CancelRequest, LiveReport

PUBLISH: Final = """
for number, key in ipairs(KEYS) do
  local new, old = ARGV[number + 1], redis.call('GET', key)
  local lease, percentage = string.match(new, '^(%d+) (%d+)')
  local old_lease, old_percentage = string.match(old or '', '^(%d+) (%d+)')
  lease, old_lease = tonumber(lease), tonumber(old_lease)
  if not old_lease or lease > old_lease or lease == old_lease and tonumber(percentage) >= tonumber(old_percentage) then
    redis.call('SET', key, new, 'EX', ARGV[1])
  end
end
"""
"""Keys: of reports. Arguments: seconds until they expire, then the reports."""

REQUEST_CANCEL: Final = """
local old = redis.call('GET', KEYS[1])
if not old then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
elseif string.sub(ARGV[2], 1, 1) == '1' then
  redis.call('SET', KEYS[1], '1' .. string.sub(old, 2), 'EX', ARGV[1])
end
"""
"""Key: of the request. Arguments: seconds until it expires, then the request."""

_REPORT: Final = re.compile(r"(\d{1,19}) (\d{1,3}) (.*)", re.DOTALL | re.ASCII)
_REQUEST: Final = re.compile(r"([01]) (.*)", re.DOTALL)


def report_text(report: LiveReport) -> str:
    """Return a report as an entry."""
    return f"{report.lease} {report.progress_percentage} {json.dumps(report.label)}"


def request_text(request: CancelRequest) -> str:
    """Return a cancel request as an entry."""
    return f"{int(request.forced)} {json.dumps(request.by)}"


def read_report(job_id: JobId, text: str | None) -> LiveReport | None:
    """Read an entry; None if there is none, or if another program has written it."""
    found = None if text is None else _REPORT.fullmatch(text)
    if found is None:
        return None
    readable, label = _optional_text(found[3])
    return LiveReport(job_id, int(found[1]), int(found[2]), label) if readable else None


def read_request(text: str | None) -> CancelRequest | None:
    """Read an entry; None if there is none. One that another program has damaged still counts as a request."""
    if text is None:
        return None
    found = _REQUEST.fullmatch(text)
    return CancelRequest() if found is None else CancelRequest(_optional_text(found[2])[1], forced=found[1] == "1")


def _optional_text(text: str) -> tuple[bool, str | None]:
    """Return whether this is a text or null as JSON, and its value."""
    try:
        value = json.loads(text)
    except ValueError:
        return False, None
    return (True, value) if value is None or isinstance(value, str) else (False, None)
