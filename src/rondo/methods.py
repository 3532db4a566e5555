"""Methods that find something in recordings, by name: what `rondo.discover(method=…)` and `--method` choose from.

A method is one object with the parts of `Method`. Rondo itself and the clock are here; any installed package adds
others by an entry point of the group `rondo.methods`:

    [project.entry-points."rondo.methods"]
    ticc = "rondo_bench.baselines.ticc:METHOD"

It is imported when it is asked for by name: some bring libraries that take seconds.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rondo.data.groups import GroupBy
from rondo.errors import SettingError
from rondo.wording import near_match

if TYPE_CHECKING:  # the command line asks for names before anything heavy is there
    from rondo.data.recording import Recording
    from rondo.result import Result
    from rondo.run.tally import Words
    from rondo.wording import Progress

GROUP = "rondo.methods"
DEFAULT = "rondo"
_OWN = {DEFAULT: "rondo.model.method:RONDO", "clock": "rondo.model.method:CLOCK"}


OPTIONS = {
    "--window": "windows.length",
    "--step": "windows.step",
    "--motif-window": "motifs.window",
    "--fast": "windows.scales",
    "--states": "n_states",
    "--encoder": "encoder.name",
    "--device": "device",
}
"""Options of `rondo discover` that are short for a setting."""


@dataclass(frozen=True)
class Options:
    """What a method is to be configured with."""

    preset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)  # by their dotted names; they change what `config` says
    config: Path | None = None  # a TOML file of settings
    group_by: GroupBy = None  # for methods that learn what groups of recordings share

    def beyond(self, known: Container[str]) -> dict[str, object]:
        """What is given and has no effect with a method that knows these sections and settings, for `refuse_idle`."""
        named = {option: self.settings.get(name) for option, name in OPTIONS.items() if name.split(".")[0] not in known}
        return named | {"--preset": self.preset not in ("", "default"), "--group-by": self.group_by}


@runtime_checkable
class Model(Protocol):
    """What a method learned, where it can read another recording with it."""

    def predict(self, recordings: Any, *, rate: float | None = None, resample: bool = False) -> Result:
        """Label recordings with what was learned."""

    def save(self, folder: str | Path) -> None:
        """Write a model folder whose manifest names the method: see `method_of`."""


class Method(Protocol):
    """One method."""

    @property
    def name(self) -> str:
        """By which it is chosen."""

    @property
    def help(self) -> str:
        """What it does, in one line."""

    def configure(self, options: Options) -> Any:
        """Its settings, all of them checked before any recording is read; options without effect are refused."""

    def notes(self, recordings: Sequence[Recording], settings: Any, *, in_detail: bool = False) -> list[str]:
        """What to say before the work, as how long it will take; `in_detail` also where that is not worth a word."""

    def discover(self, recordings: Sequence[Recording], settings: Any, seed: int | None, progress: Progress) -> Result:
        """What it finds; without a seed by that of its settings, or 0."""

    def load(self, folder: Path) -> Model:
        """The model of a folder that one of its models has saved."""

    def words(self, model: Any) -> Words:
        """What there is to say about the entries of one of its models."""

    def words_in(self, folder: Path) -> Words:
        """What there is to say about the entries of the model in a folder, with the edits that lie beside it."""

    def why_no_model(self) -> str:
        """Why its runs hold no model, and what to do instead; "" where they hold one."""


def method_names() -> tuple[str, ...]:
    """Every method there is: Rondo first, then those of other packages, then the clock."""
    return (DEFAULT, *sorted(_added()), "clock")


def find_method(name: str) -> Method:
    """The method of this name; an unknown one is refused, with the one that was probably meant."""
    found = _added().get(str(name))
    if found is None and str(name) in _OWN:
        found = EntryPoint(name, _OWN[name], GROUP)
    if found is None:
        known = method_names()
        near = near_match(name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        raise SettingError(f"--method must be one of {', '.join(known)}, got '{name}'{hint}")
    method: Method = found.load()
    return method


def load_model(folder: Path) -> Model:
    """The model of a folder, by the method that saved it."""
    return find_method(method_of(folder)).load(folder)


def method_of(folder: Path) -> str:
    """The method that saved a model folder: its manifest names it, unless it is Rondo."""
    from rondo.store.model_file import read_manifest

    return str(read_manifest(folder)["config"].get("method", DEFAULT))


def refuse_idle(idle: Mapping[str, object], what: str) -> None:
    """A setting that silently does nothing is a wrong experiment."""
    for option, value in idle.items():
        if value not in (None, False, "", [], {}, ()):
            raise SettingError(f"{option} has no effect with {what}; leave it out")


def _added() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in _OWN}
