"""Builds the dashboard into the package, so that every install from a checkout has it.

Where the files of the dashboard are there already, as in a source distribution, nothing is built.
Where Node.js is missing, or the build fails, the package is installed without the dashboard, and
its address shows a page that says what to run. An editable install, which is for development, uses
what `make web` builds.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE: Final = "src/horae/api/static/index.html"
COMMANDS: Final = (("ci", "--no-audit", "--no-fund"), ("run", "--silent", "build"))
OLDEST_NODE: Final = (20, 19)
WITHOUT: Final = (
    "the HTTP API will work without its dashboard; install Node.js 20.19 or later and install"
    " again, or run `make web` in the checkout"
)


class DashboardHook(BuildHookInterface[Any]):
    """Runs npm before the files of the package are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the dashboard, or warn that it will be missing."""
        del build_data
        root = Path(self.root)
        web = root / "web"
        if version == "editable" or (root / PAGE).is_file() or not (web / "package.json").is_file():
            return
        npm, problem = shutil.which("npm"), self._problem_of_node()
        if npm is None or problem is not None:
            self.app.display_warning(f"{problem or 'npm was not found'}: {WITHOUT}")
            return
        self.app.display_info("building the dashboard")
        for arguments in COMMANDS:
            done = subprocess.run(  # noqa: S603 - the arguments are above
                [npm, *arguments], cwd=web, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                said = (done.stderr or done.stdout)[-2_000:]
                self.app.display_warning(f"npm {arguments[0]} failed: {WITHOUT}\n{said}")
                return

    @staticmethod
    def _problem_of_node() -> str | None:
        node = shutil.which("node")
        if node is None:
            return "Node.js was not found"
        done = subprocess.run(  # noqa: S603 - the node of the path
            [node, "--version"], capture_output=True, text=True, check=False
        )
        try:
            major, minor, *_ = (int(part) for part in done.stdout.strip().lstrip("v").split("."))
        except ValueError:
            return "the version of Node.js cannot be read"
        if (major, minor) < OLDEST_NODE:
            return f"Node.js {done.stdout.strip()} is too old"
        return None
