"""Which vocabulary is meant, its entries, where its edits lie, and the run that shows them.

The learned vocabulary stays as it is; edits lie beside it (`rondo.vocabulary.edits`, `rondo.run.edit_lists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rondo.editing.showing import show_edits
from rondo.errors import ModelError
from rondo.grown_model import checkpoint_folder, grown_model
from rondo.methods import find_method, method_of
from rondo.model import Rondo
from rondo.model_result import entry_ids, own_motifs
from rondo.run.edit_lists import EditLists, finish_lists, read_lists
from rondo.run.folder import found_ids
from rondo.run.stream_folder import EVENTS
from rondo.run.summary import SUMMARY, UNFINISHED, EntrySummary, RunSummary, model_place, read_summary
from rondo.store.cloud_folder import run_here
from rondo.store.urls import refuse_url
from rondo.vocabulary.edits import Edits, changing, read_edits, write_edits
from rondo.vocabulary.names import EntryId, in_labels, known_entry
from rondo.vocabulary.vocabulary import Level

_MODEL, _MANIFEST = "model", "manifest.json"


class EditedVocabulary(NamedTuple):
    """A vocabulary that can be edited.

    Parameters
    ----------
    folder : Path
        The folder that new edits are written to.
    lists : EditLists
        All edits so far.
    learned_ids : mapping
        The ids of units and motifs that were learned.
    learned_motifs : mapping
        The motif of each unit, if every unit is its own motif.
    runs : tuple of Path
        Run folders that show the entries.
    journal : Path or None
        events.jsonl of the stream that has extended the vocabulary.
    unshown : tuple of int
        Motifs that labels do not show.
    """

    folder: Path
    lists: EditLists
    learned_ids: Mapping[Level, tuple[int, ...]]
    learned_motifs: Mapping[int, int]  # of units, where every unit is its own motif
    runs: tuple[Path, ...] = ()  # folders that show its entries
    journal: Path | None = None  # events.jsonl of the stream that has grown it
    unshown: tuple[int, ...] = ()  # motifs that labels do not show

    @property
    def edits(self) -> Edits:
        """All edits that are in force."""
        return self.lists.whole

    @property
    def ids(self) -> dict[Level, tuple[int, ...]]:
        """The ids of units and motifs: those that were learned, and those that people have made."""
        edits = self.edits
        return {level: (*ids, *edits.made_by_hand(level)) for level, ids in self.learned_ids.items()}

    @property
    def own_motifs(self) -> dict[int, int]:
        """The motif of each unit, where every unit is its own motif."""
        return {**self.learned_motifs, **self.edits.divided_motifs()} if self.learned_motifs else {}

    def entry(self, text: str) -> EntryId:
        """Parse the name of an entry.

        Parameters
        ----------
        text : str
            "unit:3" or "motif:2", or in the short form "u3" or "m2".

        Returns
        -------
        EntryId
            Level and id.

        Raises
        ------
        SettingError
            If there is no such entry.
        """
        return known_entry(text, self.ids)

    def entry_in_labels(self, text: str) -> EntryId:
        """Parse the name of an entry that labels can hold.

        Parameters
        ----------
        text : str
            "unit:3" or "motif:2", or in the short form "u3" or "m2".

        Returns
        -------
        EntryId
            Level and id.

        Raises
        ------
        SettingError
            If there is no such entry, or it is a motif that labels do not show.
        """
        return in_labels(self.entry(text), self.unshown)

    def write(self, edits: Edits) -> None:
        """Store edits, and show them in the runs of the vocabulary.

        Parameters
        ----------
        edits : Edits
            All edits of the vocabulary.
        """
        self.keep(self.lists.grown(edits))
        for run in self.runs:
            show_edits(run)

    def keep(self, lists: EditLists) -> None:
        """Store the lists that have grown.

        Parameters
        ----------
        lists : EditLists
            The new lists.
        """
        if lists.own != self.lists.own:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_edits(self.folder, lists.own)
        if lists.of_run != self.lists.of_run:
            write_edits(self.runs[0], lists.of_run)


def open_vocabulary(where: Path, stream: Path | None = None) -> EditedVocabulary:
    """Open the vocabulary of a model folder, a run folder or a stream, to look at it.

    Parameters
    ----------
    where : Path
        The folder of a model or a run.
    stream : Path or None
        The folder of a stream that began with this model: its vocabulary is the extended one.

    Returns
    -------
    EditedVocabulary
        Ids and edits.

    Raises
    ------
    ModelError
        If the folder holds no model.
    """
    refuse_url(where, "names and merges change a run where it lies; copy it here first")
    run = _run_of(where)
    if run is not None and not (model_place(run) / _MANIFEST).is_file():
        return _without_model(run, read_summary(run))
    folder = where if run is None else model_place(run)
    if method_of(folder) != "rondo":
        return _of_other_method(folder, run)
    if stream is None and run is not None and read_summary(run).kind == "stream":
        stream = run
    model = grown_model(folder, stream) if stream is not None else Rondo.load(folder)
    runs = [run] if run is not None and stream is None else []
    known, unshown = (entry_ids(model), own_motifs(model)), model.motif_model_.unshown_ids
    if stream is None:
        lists = EditLists(own=model.edits_) if run is None else read_lists(run, read_summary(run))
        return EditedVocabulary(folder, lists, *known, tuple(runs), unshown=unshown)
    beside = checkpoint_folder(stream)
    runs = [
        each for each in (stream, stream.parent) if (each / SUMMARY).is_file() and checkpoint_folder(each) == beside
    ]
    journal = next((each / EVENTS for each in (stream, stream.parent) if (each / EVENTS).is_file()), None)
    given = Edits(model.edits_.history[: len(model.edits_.history) - len(read_edits(beside).history)])
    lists = EditLists(read_edits(runs[0]) if runs else Edits(), read_edits(beside), given)
    return EditedVocabulary(beside, lists, *known, tuple(runs[:1]), journal, unshown)


@contextmanager
def editing(where: Path, stream: Path | None = None) -> Iterator[EditedVocabulary]:
    """Open a vocabulary to change it. Other writers wait until the block ends.

    Parameters
    ----------
    where : Path
        The folder of a model or a run.
    stream : Path or None
        The folder of a stream that began with this model.

    Returns
    -------
    context manager
        Gives an EditedVocabulary; its `write` stores edits.

    Raises
    ------
    ModelError
        If the folder holds no model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> from rondo.vocabulary.edits import now
    >>> recording = plant(n_frames=3_000, seed=1).recording
    >>> result = rondo.discover(recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = result.save(Path(folder, "run"))
    ...     with editing(run) as vocabulary:
    ...         vocabulary.write(vocabulary.edits.named(vocabulary.entry("u0"), "rest", now()))
    ...     rondo.Result.load(run).entries[0][1].name
    'rest'
    """
    place = open_vocabulary(where, stream)
    with changing(place.runs[0] if place.runs else place.folder):
        for run in place.runs:
            finish_lists(run, read_summary(run))
        yield open_vocabulary(where, stream)


# ---------------------------------------------------------------- which one


def model_folder(given: Path) -> Path:
    """Find the folder of a model.

    Parameters
    ----------
    given : Path
        The folder of a model, or of a run with a model in it; one in a bucket is copied to this machine first.

    Returns
    -------
    Path
        The folder of the model. A folder that is no run is returned as it is.

    Raises
    ------
    ModelError
        If the run holds no model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> recording = plant(n_frames=3_000, seed=1).recording
    >>> result = rondo.discover(recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = result.save(Path(folder, "run"))
    ...     model_folder(run).relative_to(run).as_posix()
    'model'
    """
    given = run_here(given, without=("labels", "units", "scores", "overview"))
    run = _run_of(given)
    if run is None:
        return given
    folder = model_place(run)
    if not (folder / _MANIFEST).is_file():
        why = find_method(read_summary(run).method).why_no_model()
        if why:
            raise ModelError(f"{run}: {why}")
    return folder


def _run_of(where: Path) -> Path | None:
    """The run folder that was meant: run, or run/model."""
    given = where if where.name else where.absolute()
    places = [given, given.parent] if given.name == _MODEL else [given]
    for run in places:
        if (run / UNFINISHED).exists():
            read_summary(run)  # says so, unless all is written
    return next((run for run in places if (run / SUMMARY).is_file()), None)


def _without_model(run: Path, summary: RunSummary) -> EditedVocabulary:
    """The vocabulary of a method that keeps no model: what occurs in the run."""
    ids = _ids_in(run, summary)
    return EditedVocabulary(model_place(run), read_lists(run, summary), ids, _same_ids(ids), (run,))


def _of_other_method(folder: Path, run: Path | None) -> EditedVocabulary:
    """The vocabulary of a model that is not Rondo's: states, each its own motif."""
    if run is None:
        words, lists = find_method(method_of(folder)).words_in(folder), EditLists(own=read_edits(folder))
        n_states = len(words.units)
        known: Mapping[Level, tuple[int, ...]] = {"unit": tuple(range(n_states)), "motif": tuple(range(n_states))}
    else:
        summary = read_summary(run)
        known, lists = _ids_in(run, summary), read_lists(run, summary)
    return EditedVocabulary(folder, lists, known, _same_ids(known), () if run is None else (run,))


def _ids_in(run: Path, summary: RunSummary) -> dict[Level, tuple[int, ...]]:
    """The entries that were found in a run: some may have lost all their frames to edits since."""
    found = found_ids(run, summary)
    made = read_edits(run)

    def of(level: Level, entries: Sequence[EntrySummary]) -> tuple[int, ...]:
        shown = {id for one in entries for id in (one.id, *one.absorbed)}
        return tuple(sorted((shown | found[level]) - made.divided(level).keys()))

    return {"unit": of("unit", summary.units), "motif": of("motif", summary.motifs)}


def _same_ids(ids: Mapping[Level, tuple[int, ...]]) -> dict[int, int]:
    return {id: id for id in ids["unit"]} if ids["unit"] == ids["motif"] else {}
