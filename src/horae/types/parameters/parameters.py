"""Checks, stores and reads parameters of jobs: a Pydantic model, or a row of the application's."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from horae.domain.storable import is_simple_json
from horae.errors import InvalidJobType, InvalidParameters
from horae.redaction import cleaner
from horae.sentences import invalid_value
from horae.types.parameters.large_values import STORED, LargeValues, is_reference
from horae.types.parameters.large_values import open_value as open_large
from horae.types.parameters.plain_data import plain_values
from horae.types.parameters.sealing import SEALED, Sealer, SecretNotOpened, open_value
from horae.types.parameters.secret import (
    given_secrets,
    has_secrets,
    is_secret,
    refuse_lost_secrets,
    refuse_secrets_of,
    secret_values,
    shown_path,
    with_secrets,
)
from horae.types.parameters.written import Given, ParameterWriter, validate, validated_again

if TYPE_CHECKING:
    from horae.storage.jobs.search import MappedTable


# These two and `Given` are not frozen: `start_many` would take an eighth more CPU time.
@dataclass(slots=True)
class CheckedParameters:
    """Parameters that were validated: what the caller gave, and what validation made of it."""

    given: Given
    value: Any


@dataclass(slots=True)
class Stored:
    """Checked parameters as they are written: JSON text in the job's row, or a row of another
    table.

    `limits`: the limits of the job, which follow from its parameters, as JSON text.
    """

    text: str | None = None
    row: Mapping[str, Any] | None = None
    limits: str | None = None


_NOTHING: Final = Stored()


class ModelParameters:
    """Parameters in a Pydantic model, stored as JSON in `jobs.params`.

    What the caller gave is stored, with the defaults that were filled in, and it is validated again
    where the job runs.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        self._empty = not model.model_fields and model.model_config.get("extra") != "allow"
        self._writer = ParameterWriter(model)
        self.has_secrets = not self._empty and has_secrets(model)
        self.sealer: Sealer | None = None
        self.files: LargeValues | None = None
        # All jobs share it, because there is nothing in it that one of them could change.
        self._nothing = (
            model.model_construct() if self._empty and not model.__private_attributes__ else None
        )

    def use(self, sealer: Sealer | None, files: LargeValues | None) -> None:
        """Use what an application has to encrypt secrets and to store large values."""
        self.sealer, self.files = sealer, files

    def check(self, job_type: str, values: Mapping[str, Any]) -> CheckedParameters:
        """Validate the values of a call. Raises `InvalidParameters`."""
        plain = plain_values(job_type, values)
        try:
            given = Given.of(plain)  # first, because a validator may change what the caller gave
        except ValueError as error:  # a whole number is too long
            raise InvalidParameters(job_type, [("", f"cannot be stored: {error}")]) from None
        return CheckedParameters(given, _validate(self.model, job_type, plain))

    def store(self, checked: CheckedParameters) -> Stored:
        """Return the parameters as JSON text, or nothing if the type has none.

        Raises `NotStorableError`.
        """
        return _NOTHING if self._empty else Stored(self._writer.write(checked.given, checked.value))

    def store_at_once(self, values: Mapping[str, Any], most: int) -> Stored | None:
        """Check and store the values of a call in one step, which takes a third of the time.

        `most`: the maximum number of bytes of JSON. Returns None, also for values that are refused,
        if that takes `check` and `store`.
        """
        if type(values) is not dict or self.has_secrets or self.files is not None:
            return None
        plain = values.copy()  # a validator may change it, and the caller its own meanwhile
        stored = _NOTHING
        if not self._empty:
            text = self._writer.write_exact(plain)
            if text is None or not is_simple_json(text, most):
                return None
            stored = Stored(text)
        elif plain:
            return None
        try:
            validate(self.model, plain)
        except ValidationError:
            return None
        return stored

    def load(self, text: str | None) -> BaseModel:
        """Validate what was stored. Raises `ValidationError` if the declaration has changed."""
        if text is None and self._nothing is not None:
            return self._nothing
        return validated_again(self.model, self.opened(text) or "{}")

    def misfit(self, error: ValidationError, text: str | None) -> str:
        """Return what does not fit in what was stored, without secret values."""
        clean = cleaner(self.secrets_in(text))
        return "; ".join(
            f"{shown_path(self.model, item['loc']) or 'parameters'}: {clean(item['msg'])}"
            for item in error.errors(include_input=False)
        )

    def restore(self, params: Any) -> Stored:
        """Return the same text, with copies of large values: each job deletes its own."""
        files = self.files
        if isinstance(params, dict) and files is not None:
            params = {
                name: files.put(files.get(item)) if is_reference(item) else item
                for name, item in params.items()
            }
        return Stored() if params is None else Stored(json.dumps(params))

    def is_elsewhere(self, text: str | None) -> bool:
        """Return whether a store has to be read for the parameters, which may take time."""
        return self.files is not None and text is not None and STORED in text

    def stored_elsewhere(self, job_type: str, text: str, files: LargeValues) -> str:
        """Return JSON text with references to the values that are large.

        What is or has a secret stays. Raises `InvalidParameters` for what looks like a reference,
        and `LargeValuesUnavailable`.
        """
        if len(text) <= files.over and STORED not in text:
            return text
        params: dict[str, Any] = json.loads(text)
        for name, item in params.items():
            if is_reference(item):
                raise InvalidParameters(job_type, [(name, f"{STORED} is a reserved name")])
            if not (self.has_secrets and is_secret(self.model, name)):
                part = _dumped(item)
                if len(part) > files.over:
                    params[name] = files.put(part)
        return _dumped(params)

    def sealed(self, text: str) -> str:
        """Return JSON text with its secrets encrypted, if the application has keys."""
        if self.sealer is None or not self.has_secrets:
            return text
        return _dumped(with_secrets(self.model, json.loads(text), self.sealer.seal))

    def opened(self, text: str | None) -> str | None:
        """Return stored text with its secrets and large values as they were given.

        Raises `SecretNotOpened`, and what `large_values.open_value` raises.
        """
        if text is None or not (STORED in text or (self.has_secrets and SEALED in text)):
            return text
        params = json.loads(text)
        if isinstance(params, dict):
            params = {name: open_large(self.files, item) for name, item in params.items()}
        return _dumped(self.opened_value(params))

    def opened_value(self, params: Any) -> Any:
        """Return parameters as they were read, with their secrets as they were given.

        Raises `SecretNotOpened`.
        """
        if not self.has_secrets:
            return params
        return with_secrets(self.model, params, partial(open_value, self.sealer))

    def secrets_in(self, text: str | None) -> Iterator[str]:
        """Yield the texts and numbers in the secrets of a job's JSON text, if they can be read."""
        if self.has_secrets and text is not None:
            with suppress(SecretNotOpened, RecursionError, ValueError):
                secrets = self.opened_value(json.loads(text))
                yield from secret_values(self.model, _dumped(secrets))


class MappedParameters:
    """Parameters in a SQLAlchemy model with a table of its own, joined to `jobs`."""

    def __init__(self, joined: "MappedTable") -> None:
        self.files: LargeValues | None = None
        self.mapped = joined.mapped
        self.joined = joined
        self._names = {attribute.column: attribute.name for attribute in self.joined.attributes}
        fields: dict[str, Any] = {
            item.name: (
                item.kind | None if item.nullable else item.kind,
                None if item.optional else ...,
            )
            for item in joined.attributes
        }
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        self.model = create_model(joined.mapped.__name__, __config__=config, **fields)

    def use(self, sealer: Sealer | None, files: LargeValues | None) -> None:
        """Use the store of large results; the table of the application has the parameters."""
        del sealer
        self.files = files

    def check(self, job_type: str, values: Mapping[str, Any]) -> CheckedParameters:
        """Validate the values of a call. Raises `InvalidParameters`."""
        plain = plain_values(job_type, values)
        return CheckedParameters(Given(plain, {}), _validate(self.model, job_type, plain))

    def store(self, checked: CheckedParameters) -> Stored:
        """Return the row, without its key; what the caller left out is the table's default."""
        given = checked.value.model_dump(exclude_unset=True)
        return Stored(
            row={column: given[name] for column, name in self._names.items() if name in given}
        )

    def load(self, text: str | None) -> Any:
        """Return None: the row is read where a connection is at hand
        (`storage/jobs/search/parameters.py`).
        """
        del text

    def restore(self, params: Any) -> Stored:
        """Return the same row, without its key."""
        return Stored(row={column: getattr(params, name) for column, name in self._names.items()})

    def secrets_in(self, text: str | None) -> Iterator[str]:
        """Yield nothing: a table of the application has no secrets."""
        del text
        yield from ()


def parameters_of(declared: type[Any] | None, job_type: str) -> ModelParameters | MappedParameters:
    """Return the parameters that a job type declares. Raises `InvalidJobType`."""
    if declared is None:
        return ModelParameters(NoParameters)
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        refuse_lost_secrets(declared, job_type)
        _refuse_shared_names(declared, job_type)
        return ModelParameters(declared)
    # Few job types have a mapped class; the others are declared without loading the statements.
    from horae.storage.jobs.search import MappedTable, is_mapped

    if is_mapped(declared):
        refuse_secrets_of(declared, job_type)
        return MappedParameters(MappedTable.of(declared))
    raise InvalidJobType(
        f"job type {job_type!r}: params is {declared!r}, not a Pydantic model or a SQLAlchemy"
        " mapped class"
    )


def _refuse_shared_names(model: type[BaseModel], job_type: str) -> None:
    """Raise `InvalidJobType` for an alias that stands for two parameters.

    What is stored under such a name would be read again as the value of the other one.
    """
    taken = set(model.model_fields)
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        if not isinstance(alias, str) or alias == name:
            continue
        if alias in taken:
            raise InvalidJobType(
                f"job type {job_type!r}: parameter {name!r} has the alias {alias!r}, which is the"
                " name or alias of another parameter; rename one of them"
            )
        taken.add(alias)


class NoParameters(BaseModel):
    """The parameters of a job type that takes none."""

    model_config = ConfigDict(extra="forbid")


def _dumped(params: Any) -> str:
    return json.dumps(params, ensure_ascii=False, separators=(",", ":"))


def _validate(model: type[BaseModel], job_type: str, plain: dict[str, Any]) -> BaseModel:
    """Return the values as a model; its error names each problem without secret values."""
    try:
        return validate(model, plain)
    except ValidationError as error:
        clean = cleaner(given_secrets(model, plain))
        found = error.errors(include_input=False)
        problems = [
            (
                shown_path(model, item["loc"]),
                invalid_value(clean(item["msg"]), item["type"], item.get("ctx", {})),
            )
            for item in found
        ]
        raise InvalidParameters(job_type, problems) from None  # its text repeats what may be secret
