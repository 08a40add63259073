"""The entries of the live store on Redis: their texts, and the script that writes reports.

A report is `lease percentage label`, with the label as JSON. Whether it may be written depends on
the old one, so a script decides, because Redis runs one script at a time. Another program may have
written an entry of any type and content: readers ignore what no body can have reported, and the
script overwrites it.

The entry of a cancel request only says that the database has one.
"""

import json
import re
from typing import Final

from horae.domain.jobs import JobId
from horae.live.store import LiveReport, checked_report

PUBLISH: Final = """
for number, key in ipairs(KEYS) do
  local new, old = ARGV[number + 1], redis.pcall('GET', key)
  local lease, percentage = string.match(new, '^(%d+) (%d+)')
  local readable_old = type(old) == 'string' and old or ''
  local old_lease, old_percentage = string.match(readable_old, '^(%d+) (%d+) ["n]')
  lease, old_lease = tonumber(lease), tonumber(old_lease)
  old_percentage = tonumber(old_percentage)
  if not old_lease or old_percentage > 100 or lease > old_lease
      or lease == old_lease and tonumber(percentage) >= old_percentage then
    redis.call('SET', key, new, 'EX', ARGV[1])
  end
end
"""
"""The script's keys are those of the reports. Its arguments are the seconds until they expire, and
then the reports.
"""

LONGEST: Final = 2_000
"""Maximum length of a report in characters; the longest possible label, escaped, fits."""
REQUESTED: Final = "1"
"""The entry of a cancel request."""
_REPORT: Final = re.compile(r'(\d{1,19}) (\d{1,3}) (?:null|(".*"))', re.DOTALL | re.ASCII)


def report_text(report: LiveReport) -> str:
    """Return a report as an entry."""
    return f"{report.lease} {report.progress_percentage} {json.dumps(report.label)}"


def read_report(job_id: JobId, text: str) -> LiveReport | None:
    """Read an entry; None if another program has written it."""
    found = _REPORT.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    try:
        label = None if found[3] is None else json.loads(found[3])
    except ValueError:
        return None
    return checked_report(job_id, int(found[1]), int(found[2]), label)
