"""Edits of a run that someone wants -> its lists of edits and all that it shows: all of them or none.

apply_edits(run, wanted)   what the page sends (`rondo.run.wanted_edits`), or what a program makes up
apply_file(run, file)      what a page without a server has saved
undo_edit(run, number)     one step back, or any edit by its number
edits_in(run)          every edit, by its time
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rondo.continual.checkpoint import locked
from rondo.data.labels import OTHER, Labels, Runs
from rondo.editing.edits import Edits, changing, read_edits, write_edits
from rondo.editing.names import EntryId, in_labels, known_entry
from rondo.errors import InputError, ModelError, OutputError, RondoError, RondoWarning, SettingError
from rondo.methods import find_method, method_of
from rondo.metrics.scores import evaluate as score
from rondo.model.describe import entry_ids, own_motifs
from rondo.model.method import CHECKPOINT, checkpoint_folder, grown_model
from rondo.model.rondo import Rondo
from rondo.result import Result, with_truth
from rondo.run.bucket import run_here
from rondo.run.decisions import EVENTS
from rondo.run.edit_lists import EditLists, finish_lists, read_lists, write_lists
from rondo.run.folder import found_ids
from rondo.run.labelling import Labelling
from rondo.run.segments import LEVELS, labels_in
from rondo.run.summary import (
    SUMMARY,
    UNFINISHED,
    EntrySummary,
    LevelScores,
    RunScores,
    RunSummary,
    model_place,
    read_summary,
)
from rondo.run.wanted_edits import WantedEdit, read_wanted, wanted_edits
from rondo.run.writer import RunWriter
from rondo.store.locations import refuse_url
from rondo.units.vocabulary import Level

# ----------------------------------------------------------------
# A run folder brought up to date with its edits: labels, segments, summary and report.
#
# What is shown is made again from what was found, so that the same command repairs a run whose update was interrupted.


def show_edits(run: Path) -> None:
    """Bring a run folder up to date with the edits stored with its model. A running stream does so itself.

    Parameters
    ----------
    run : Path
        The folder of a run.

    Raises
    ------
    OutputError
        If the folder holds no run.
    """
    result = Result.load(run)
    stream = result.summary.stream
    if stream is None or stream.finished:
        _show(run, result)
        return
    try:
        with locked(run / CHECKPOINT):
            _show(run, result)
    except OutputError:  # another process is writing it
        return


def _show(run: Path, result: Result) -> None:
    edits = read_edits(model_place(run)) if result.model is None else None
    RunWriter(run).show(_scored(result.edited(edits)).run)
    _draw_report(run)


def _draw_report(run: Path) -> None:
    """Draw the page again, with the recordings and channels of last time; unreadable annotations are left out."""
    from rondo.report.contents import kept_wish
    from rondo.report.render import write_page

    wish, result, page = kept_wish(run), Result.load(run), run / "report.html"
    try:
        write_page(result, page, wish)
    except InputError as error:
        if wish.truth is None:
            raise
        write_page(result, page, wish._replace(truth=None))
        warnings.warn(f"the report was drawn without its annotations: {error}", RondoWarning, stacklevel=2)


def _scored(result: Result) -> Result:
    """The same with the scores of its labels as they are now, where the run was scored against a truth."""
    if result.summary.scores is None or "truth" not in result.tables:
        return result
    truth = result.tables["truth"]
    n_frames = {one.id: one.n_frames for one in result.recordings}

    def scores(level: Level) -> LevelScores:
        pairs: dict[str, tuple[Labels, Labels]] = {}
        for id in truth["recording"].unique(maintain_order=True).to_list():
            true = labels_in(truth.filter(truth["recording"] == id), level, n_frames[id])
            pairs[id] = (true, result[id].units if level == "unit" else result[id].motifs)
        return LevelScores.model_validate(score(pairs).as_dict())

    units, motifs = (scores(level) for level in LEVELS)
    return with_truth(result, RunScores(units=units, motifs=motifs), truth)


# ----------------------------------------------------------------
# Which vocabulary is meant, its entries, where its edits lie, and the run that shows them.
#
# The learned vocabulary stays as it is; edits lie beside it (`rondo.editing.edits`, `rondo.run.edit_lists`).

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
    >>> from rondo.editing.edits import now
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
    if summary.id_shifts:
        raise OutputError(
            f"{run}: version 0.2.0 wrote a vocabulary for each recording, so it is read only; edit a copy that "
            "Result.load(...).save(...) writes"
        )
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


def apply_edits(run: str | Path, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make edits in a run, in their order: all of them or none. The run folder shows them afterwards.

    Parameters
    ----------
    run : path
        The folder of a run.
    wanted : sequence of mappings
        Plain values as `rondo.run.wanted_edits` describes them. An edit whose key the run already has is skipped.

    Returns
    -------
    list of dict
        The history of the run: every edit as plain values with its `number`, `what` it was in words, and whether it is
        `undone`.

    Raises
    ------
    SettingError
        If an edit is not possible in this run; then nothing is changed.
    OutputError
        If the folder holds no run, or another process is editing it.

    Examples
    --------
    >>> import tempfile
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> recording = plant(n_frames=3_000, seed=1).recording
    >>> result = rondo.discover(recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = result.save(Path(folder, "run"))
    ...     _ = apply_edits(run, [{"kind": "name", "level": "unit", "ids": [0], "name": "rest"}])
    ...     named = rondo.Result.load(run).entries[0][1].name
    ...     _ = undo_edit(run)
    ...     history = edits_in(run)
    >>> named, [(edit["number"], edit["undone"]) for edit in history]
    ('rest', [(1, True), (2, False)])
    """
    folder, edits = _folder(run), wanted_edits(wanted)
    with changing(folder):
        desk = _Desk(folder)
        for place, edit in enumerate(edits, start=1):
            try:
                desk.add(edit)
            except RondoError as error:
                which = f"edit {place} of {len(edits)}: " if len(edits) > 1 else ""
                raise SettingError(f"{which}{error}") from None
        desk.keep()
        show_edits(folder)
    return edits_in(folder)


def apply_file(run: str | Path, file: str | Path) -> list[dict[str, Any]]:
    """Make the edits that a report has saved into a file.

    Parameters
    ----------
    run : path
        The folder of a run.
    file : path
        The file that the report saved.

    Returns
    -------
    list of dict
        The history of the run, as for `apply_edits`.

    Raises
    ------
    SettingError
        If the file cannot be read or belongs to another run, or an edit is not possible.
    OutputError
        If the folder holds no run, or another process is editing it.
    """
    folder = _folder(run)
    return apply_edits(folder, read_wanted(Path(file), read_summary(folder).identity))


def undo_edit(run: str | Path, number: int | None = None) -> list[dict[str, Any]]:
    """Undo an edit. Undoing an undo restores the edit.

    Parameters
    ----------
    run : path
        The folder of a run.
    number : int or None
        The number of the edit; None is the last one in force.

    Returns
    -------
    list of dict
        The history of the run, as for `apply_edits`.

    Raises
    ------
    SettingError
        If there is no such edit.
    OutputError
        If the folder holds no run, or another process is editing it.
    """
    return apply_edits(run, [{"kind": "undo", "number": number}])


def edits_in(run: str | Path) -> list[dict[str, Any]]:
    """List every edit of a run.

    Parameters
    ----------
    run : path
        The folder of a run.

    Returns
    -------
    list of dict
        The history of the run, as for `apply_edits`.

    Raises
    ------
    OutputError
        If the folder holds no run.
    """
    folder = _folder(run)
    return [row.as_json() for row in read_lists(folder, read_summary(folder)).history()]


def _folder(run: str | Path) -> Path:
    refuse_url(run, "edits change a run where it lies; copy it here first")
    return Path(run)


class _Desk:
    """A run while it is edited: its lists grow here, and reach the disk all at once."""

    def __init__(self, run: Path) -> None:
        self._run, self._summary = run, read_summary(run)
        finish_lists(run, self._summary)
        self._result = Result.load(run)
        self.lists = self._before = read_lists(run, self._summary)
        self._vocabulary = open_vocabulary(run)

    def add(self, wanted: WantedEdit) -> None:
        """One more edit; one whose key is known is made already."""
        if wanted.key and wanted.key in self.lists.keys:
            return
        if wanted.kind == "undo":
            self.lists = self.lists.undone(wanted.number, wanted.key)
            return
        self._check_recordings(wanted)
        known = self._vocabulary._replace(lists=self.lists)
        whole = known.edits
        made = self._made(wanted, known, whole)
        self.lists = self.lists.grown(made.with_key(len(whole.history), wanted.key))

    def keep(self) -> None:
        """Write what has grown, all or none."""
        write_lists(self._run, self._summary, self._before, self.lists)

    def _check_recordings(self, wanted: WantedEdit) -> None:
        unknown = sorted({span.recording for span in wanted.spans if self._summary.recording(span.recording) is None})
        if unknown:
            known = ", ".join(one.id for one in self._summary.recordings[:8])
            raise SettingError(f"{wanted.kind}: the run has no recording '{unknown[0]}'; it has {known}")

    # ------------------------------------------------------------ each kind

    def _made(self, wanted: WantedEdit, known: EditedVocabulary, whole: Edits) -> Edits:
        at, level = self.lists.now(), wanted.level
        entries = [_entry(known, level, id, wanted.kind) for id in wanted.ids]
        match wanted.kind:
            case "name":
                return whole.named(entries[0], wanted.name, at) if wanted.name else whole.unnamed(entries[0], at)
            case "merge":
                return whole.merged(entries, at, known.own_motifs)
            case "split":
                return whole.split(entries[0], at, known.own_motifs)
        self._check_frames(wanted)
        match wanted.kind:
            case "relabel":
                made = whole.relabelled(entries[0], wanted.spans, at, known.own_motifs)
            case "boundary":
                made = self._moved(wanted, known, whole, at)
            case "cut":
                made = self._cut(wanted, known, whole, at)
            case _:
                return self._divided(wanted, entries[0], known, whole, at)
        recordings = {span.recording for span in wanted.spans}
        same = all(self._shown(id, level, made) == self._shown(id, level, whole) for id in recordings)
        return whole if same else made

    def _moved(self, wanted: WantedEdit, known: EditedVocabulary, whole: Edits, at: str) -> Edits:
        """The boundary between two occurrences, or of one, at another place between their other ends."""
        level, (recording, old, new) = wanted.level, wanted.spans[0]
        n_frames = self._n_frames(recording)
        places = _boundaries(self._runs(recording, level, whole), n_frames)
        if new in places and old not in places:
            return whole  # moved already
        if old not in places or not 0 < old < n_frames:
            raise SettingError(f"no {level} of {recording} begins or ends at frame {old} now; look at the page again")
        index = places.index(old)
        if not places[index - 1] < new < places[index + 1]:
            raise SettingError(
                f"the boundary at frame {old} of {recording} can be moved between frames {places[index - 1]} and "
                f"{places[index + 1]}, got {new}"
            )
        left, right = (self._label(recording, level, whole, frame) for frame in (old - 1, old))
        entry = EntryId(level, left if new > old else right)
        moved = whole.relabelled(entry, [wanted.spans[0]._replace(start=min(old, new), stop=max(old, new))], at,
                                 known.own_motifs)  # fmt: skip
        if left != right:
            return moved
        cut = moved.cut(level, recording, new, at, level == "unit" and bool(known.own_motifs))
        return cut.together_since(len(whole.history))

    def _cut(self, wanted: WantedEdit, known: EditedVocabulary, whole: Edits, at: str) -> Edits:
        level, (recording, frame, _) = wanted.level, wanted.spans[0]
        runs = self._runs(recording, level, whole)
        inside = (runs.starts < frame) & (frame < runs.stops)
        if frame in runs.starts and frame in runs.stops:
            return whole  # cut already
        if not inside.any():
            raise SettingError(f"cut: frame {frame} of {recording} lies inside no {level}; expected one that does")
        return whole.cut(level, recording, frame, at, level == "unit" and bool(known.own_motifs))

    def _divided(self, wanted: WantedEdit, entry: EntryId, known: EditedVocabulary, whole: Edits, at: str) -> Edits:
        for recording, start, stop in wanted.spans:
            labels = self._labelling(recording, whole).labels_of(entry.level)[start:stop]
            if not (labels == entry.id).all():
                raise SettingError(f"divide: frames {start} to {stop} of {recording} are not all {entry} now")
        divided = whole.divided_off(entry, wanted.spans, known.learned_ids, at, known.own_motifs)
        if wanted.name:
            new = divided.history[len(whole.history)].ids[1]
            divided = divided.named(EntryId(entry.level, new), wanted.name, at)
        return divided.together_since(len(whole.history))

    # ------------------------------------------------------------ what is on the frames

    def _check_frames(self, wanted: WantedEdit) -> None:
        stream = self._summary.stream
        if stream is not None and not stream.finished:
            raise SettingError(
                f"{self._run}: a stream that has not ended can be named and merged, but its frames cannot be edited; "
                "wait until it has ended"
            )
        for recording, start, stop in wanted.spans:
            n_frames = self._n_frames(recording)
            first, last = (min(start, stop), max(start, stop)) if wanted.kind == "boundary" else (start, stop)
            if not 0 <= first <= last <= n_frames or (wanted.kind in ("relabel", "divide") and first == last):
                raise SettingError(
                    f"{wanted.kind}: expected frames from 0 to {n_frames} of {recording}, got {start} to {stop}"
                )

    def _n_frames(self, recording: str) -> int:
        about = self._summary.recording(recording)
        return 0 if about is None else about.n_frames

    def _labelling(self, recording: str, edits: Edits) -> Labelling:
        return self._result[recording].edited(edits)

    def _runs(self, recording: str, level: Level, edits: Edits) -> Runs:
        occurrences: Runs = self._labelling(recording, edits).occurrences(level)
        return occurrences

    def _shown(self, recording: str, level: Level, edits: Edits) -> list[list[int]]:
        return [part.tolist() for part in self._runs(recording, level, edits)]

    def _label(self, recording: str, level: Level, edits: Edits, frame: int) -> int:
        return int(self._labelling(recording, edits).labels_of(level)[frame])


def _entry(known: EditedVocabulary, level: Level, id: int, kind: str) -> EntryId:
    """The entry that is meant, if it is there; frames are never given to one that labels do not show."""
    if id == OTHER:
        return EntryId(level, OTHER)
    text = str(EntryId(level, id))
    return known.entry(text) if kind in ("name", "split") else known.entry_in_labels(text)


def _boundaries(runs: Runs, n_frames: int) -> list[int]:
    """The frames at which something begins or ends, both ends of the recording among them."""
    return sorted({0, n_frames, *runs.starts.tolist(), *runs.stops.tolist()})
