"""Which files do not belong to an application, so that its author cannot change their lines."""

import os
import sysconfig
from pathlib import Path
from typing import Final

OF_HORAE: Final = f"{Path(__file__).parent}{os.sep}"
"""How the names of Horae's own files begin."""
FOREIGN: Final = (
    OF_HORAE,
    "<",
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""How the names of all foreign files begin: Horae's, those of Python and of installed packages."""
