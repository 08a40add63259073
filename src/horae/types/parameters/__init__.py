"""Parameters of jobs: plain data, validated at the start, stored as given, and validated again.

Invariants: same input, same value; what would reach a body as another value is refused at the
start; values marked secret appear in no error, log or listing.
"""

from horae.types.parameters.parameters import (
    CheckedParameters,
    MappedParameters,
    ModelParameters,
    Stored,
    parameters_of,
)
from horae.types.parameters.plain_data import json_problem_of, mapping_of, problem_of_result
from horae.types.parameters.sealing import Sealer, SecretNotOpened, sealer_of
from horae.types.parameters.searchable import Searchability, searchability
from horae.types.parameters.secret import (
    Secret,
    given_secrets,
    has_secrets,
    is_secret,
    masked,
    refuse_class,
)
from horae.types.parameters.unique_key import check_names, is_computed, key_of
from horae.types.parameters.written import NotStorableError

__all__ = [
    "CheckedParameters",
    "MappedParameters",
    "ModelParameters",
    "NotStorableError",
    "Sealer",
    "Searchability",
    "Secret",
    "SecretNotOpened",
    "Stored",
    "check_names",
    "given_secrets",
    "has_secrets",
    "is_computed",
    "is_secret",
    "json_problem_of",
    "key_of",
    "mapping_of",
    "masked",
    "parameters_of",
    "problem_of_result",
    "refuse_class",
    "sealer_of",
    "searchability",
]
