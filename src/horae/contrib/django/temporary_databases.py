"""The databases of Django's test runner: files in place of memory, and closed in the end."""

import shutil
from pathlib import Path
from typing import Any

from horae.contrib.django.application import DjangoHorae
from horae.contrib.django.databases import connection_of, is_of_file


def prepare_for_tests(application: DjangoHorae) -> None:
    """Let a test runner use a file instead of a database in memory, also in each of several
    processes, and close Horae's connections before it destroys the database of the tests: no server
    drops one that is in use.

    Django sends no signal for that, so methods of this thread's connection are replaced.
    """
    wrapper = connection_of(application.alias)
    of_file = is_of_file(wrapper)
    of_test: dict[str, Any] = wrapper.settings_dict["TEST"]
    usual = Path(wrapper.settings_dict["NAME"] or "")
    if of_file and of_test["NAME"] is None and usual.suffix:  # a database in memory has none
        of_test["NAME"] = str(usual.with_name(f"test_{usual.name}"))
    creation: Any = wrapper.creation
    destroy, use_clone = creation.destroy_test_db, creation.setup_worker_connection

    def use_file_of_clone(worker: int) -> None:
        if creation.is_in_memory_db(wrapper.settings_dict["NAME"]):
            use_clone(worker)
        else:  # in a process that was not forked, Django would read the file into memory
            wrapper.settings_dict.update(creation.get_test_db_clone_settings(str(worker)))
            wrapper.close()

    def close_and_destroy(*given: Any, **named: Any) -> None:
        destroyed = wrapper.settings_dict
        if (suffix := named.get("suffix")) is not None:  # that of one of several processes
            destroyed = creation.get_test_db_clone_settings(suffix)
        file = str(destroyed["NAME"])
        application.close()
        destroy(*given, **named)
        if of_file and not Path(file).exists():
            for beside in Path(file).parent.glob(f"{Path(file).name}-*"):
                remove(beside)

    vars(creation)["destroy_test_db"] = close_and_destroy
    if of_file:
        vars(creation)["setup_worker_connection"] = use_file_of_clone


def remove(path: Path) -> None:
    """Remove a file of Horae or SQLite beside a database, or the folder of its journals."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
