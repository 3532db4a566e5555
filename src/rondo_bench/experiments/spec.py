"""What an experiment is: methods, data sets and seeds, read from TOML that people can read and copy.

The experiments lie beside this file in `specs/`, one each, and `data_sets.toml`, which holds the
windows, channels and axes that they share. A path instead of a name reads an experiment of one's own, and the name of
a table of the paper the experiment that makes it.

>>> static = read_experiment("static")
>>> static.methods["ticc"].settings_for("actrectut"), static.methods["ticc"].n_seeds(5)
({'as_released': True}, 1)
>>> read_experiment("table2").name
'continual'
>>> read_data_sets()["actrectut"].pca_of("ticc")
10
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rondo.data.signal import shortened
from rondo.errors import SettingError
from rondo.wording import did_you_mean
from rondo_bench.baselines.baseline import baseline_names

Protocol = Literal["static", "continual", "transfer", "qualitative", "states"]
Level = Literal["unit", "motif"]
NAMES = (
    "static",
    "continual",
    "transfer",
    "ablation",
    "representation",
    "qualitative",
    "readings",
    "pca",
    "clap_suite",
    "mocap6",
)
PAPER_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "table1": "static",
        "table2": "continual",
        "table3": "transfer",
        "table4": "ablation",
        "table5": "representation",
        "full": "static",
    }
)
"""The experiment of each table of the paper; `full` is Table 1 with deviations, in the appendix."""

WITH_DEVIATIONS = "full"
_SHARED = "data_sets"

Spec = TypeVar("Spec", bound=BaseModel)


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Method(_Spec):
    """One row of a table: Rondo (`preset`), a baseline, the clock or stored labels; and their source."""

    title: str
    source: str
    preset: str = ""
    baseline: str = ""
    clock: int = Field(0, ge=0)  # equal pieces
    stored: str = ""  # a method of the CLaP paper, whose labels are read where they are published
    joint: bool = False  # Rondo: one vocabulary over all recordings of a set
    paper: str = ""  # its row in the published table: of the published chain, or of a baseline
    once: str = ""  # why one seed is enough
    needs: Literal["", "mantis"] = ""  # what must be at hand
    level: Level = "motif"
    refit_motifs: bool = False  # Rondo-fit: motifs learned again on the target record
    adapt_units: bool = False  # units moved to where the target record has them
    settings: dict[str, Any] = {}
    for_: dict[str, dict[str, Any]] = Field({}, alias="for")  # on one data set

    def model_post_init(self, _: Any) -> None:
        if sum(map(bool, (self.preset, self.baseline, self.clock, self.stored))) != 1:
            raise ValueError("must have one of preset (Rondo), baseline, clock and stored")
        if self.joint and not self.preset:
            raise ValueError("joint is a choice of Rondo (preset); baselines that join recordings always do")

    def settings_for(self, data_set: str) -> dict[str, Any]:
        return self.settings | self.for_.get(data_set, {})

    def n_seeds(self, asked: int) -> int:
        return 1 if self.once else asked


class SetSpec(_Spec):
    """How one data set enters all experiments."""

    source: str = "ours: a folder of one's own, windows from the data"
    window: int | Literal["auto"] = "auto"
    step: int | Literal["auto"] = "auto"
    channels: tuple[str, ...] = ()  # patterns
    n_channels: int = 0  # how many those are, to estimate a cost before reading
    pca: dict[str, int] = {}  # by method; "*" is all of them
    subject: str = ""
    group: str = ""
    level: Level | None = None
    paper: str = ""

    @field_validator("subject", "group")
    @classmethod
    def _names_a_part(cls, pattern: str) -> str:
        try:
            n_parts = re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"'{pattern}' is no regular expression ({error})") from None
        if pattern and not n_parts:
            raise ValueError(f"'{pattern}' has no part in brackets, which would be the name")
        return pattern

    @field_validator("pca")
    @classmethod
    def _is_of_methods(cls, axes: dict[str, int]) -> dict[str, int]:
        for name in axes:
            if name not in (known := ("*", "rondo", *baseline_names())):
                raise ValueError(f"there is no method '{name}'; {_meant(name, known)}")
        return axes

    def pca_of(self, name: str) -> int:
        """Axes to project on for the baseline of that name, or for Rondo; 0 where channels stay as they are."""
        return self.pca.get(name, self.pca.get("*", 0))

    def chosen(self, channels: tuple[str, ...]) -> tuple[str, ...]:
        """Which of these channels are used; a pattern that none has is refused."""
        for pattern in self.channels:
            if not any(fnmatchcase(name, pattern) for name in channels):
                raise SettingError(
                    f"no channel is called like '{pattern}'; there are {shortened(channels)}: change `channels` in a "
                    "copy of data_sets.toml, and give it with --sets"
                )
        wanted = self.channels or ("*",)
        return tuple(name for name in channels if any(fnmatchcase(name, pattern) for pattern in wanted))

    def subject_of(self, recording: str) -> str:
        """The participant of a recording: S07 of L01_S07_R12 by the pattern (S[0-9]+)."""
        return _part(self.subject, recording) or recording

    def group_of(self, recording: str) -> str:
        """What source and target must share."""
        return _part(self.group, recording)


class Experiment(_Spec):
    name: str
    title: str
    protocol: Protocol
    source: str
    paper_table: str
    data_sets: tuple[str, ...]
    seeds: int = Field(ge=1)
    methods: dict[str, Method]

    def model_post_init(self, _: Any) -> None:
        for name, method in self.methods.items():
            if (method.stored or method.joint) and self.protocol != "states":
                what = "stored labels are" if method.stored else "joint is"
                raise ValueError(f"methods.{name}: {what} for the protocol 'states', this is '{self.protocol}'")


def read_experiment(name: str) -> Experiment:
    """The experiment of that name, of that table of the paper, or the one that a TOML file describes."""
    if name.endswith(".toml"):
        path = Path(name)
        return _checked(Experiment, {"name": path.stem} | _read(path, name), name)
    name = PAPER_TABLES.get(name, name)
    if name not in NAMES:
        known = (*NAMES, *PAPER_TABLES)
        raise SettingError(f"unknown experiment '{name}'; {_meant(name, known, ', or give a .toml file')}")
    return _checked(Experiment, {"name": name} | _read(_packaged(name), name), name)


def read_data_sets(path: Path | None = None) -> Mapping[str, SetSpec]:
    """How each data set enters, by name: as in the paper, or as the file says."""
    where = str(path or f"{_SHARED}.toml")
    read = _read(path or _packaged(_SHARED), where, f"`rondo bench show {_SHARED}` prints one to copy")
    return {name: _checked(SetSpec, own, f"{where}, [{name}]") for name, own in read.items()}


def text_of(name: str) -> str:
    """The file of an experiment, or of the data sets, as it is in the package or at a path; to print and copy."""
    known = (*NAMES, *PAPER_TABLES, _SHARED)
    name = PAPER_TABLES.get(name, name)
    if not name.endswith(".toml") and name not in known:
        raise SettingError(f"unknown experiment '{name}'; {_meant(name, known)}")
    try:
        return str((Path(name) if name.endswith(".toml") else _packaged(name)).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{name}: cannot be read ({error}); {_meant(name, known)}") from None


def _packaged(name: str) -> Any:
    return resources.files("rondo_bench.experiments").joinpath("specs", f"{name}.toml")


def _read(path: Any, where: str, instead: str = "give the name of an experiment") -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{where}: cannot be read ({error.strerror}); {instead}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{where}: not a TOML file ({error})") from None


def _checked(kind: type[Spec], read: Mapping[str, Any], where: str) -> Spec:
    try:
        return kind.model_validate(read)
    except ValidationError as error:
        found = error.errors(include_url=False)
        first = next((own for own in found if own["type"] == "extra_forbidden"), found[0])  # often a misspelt name
        name = ".".join(str(part) for part in first["loc"])
        reason = first["msg"]
        if first["type"] == "extra_forbidden":
            of = Method if kind is Experiment and len(first["loc"]) > 1 else kind
            known = [field.alias or known for known, field in of.model_fields.items()]
            reason = f"there is no such setting; {_meant(str(first['loc'][-1]), known)}"
        raise SettingError(f"{where}: {name or 'it'}: {reason.removeprefix('Value error, ')}") from None


def _meant(name: str, known: Sequence[str], more: str = "") -> str:
    return did_you_mean(name, known, f"there are {', '.join(known)}{more}")


def _part(pattern: str, recording: str) -> str:
    found = re.search(pattern, recording) if pattern else None
    return "" if found is None else found[1]
