"""A run, or a model, while someone edits it: locked, all edits checked, written, and shown; all of them or none.

apply_edits(run, wanted)   what the page sends, or what a program makes up
apply_file(run, file)      what a page without a server has saved
coarsen_run(run, n)        so many motifs, along their tree
teach_run(run, spans)      marked spans, and the rest like them
undo_edit(run, number)     one step back, or any edit by its number
edits_in(run)              every edit, in order

Wanted edits are plain JSON. All may have "key", a word by which an edit that is sent twice is made once. A file for
`rondo apply` holds such a list under "edits", and under "run" which run it is about.

    {"kind": "name", "level": "unit", "ids": [3], "name": "reach"}                     "" takes the name away
    {"kind": "merge", "level": "unit", "ids": [3, 7]}
    {"kind": "coarsen", "level": "motif", "groups": [[0, 3], [1, 4]]}                  no groups: as found
    {"kind": "relabel", "level": "unit", "ids": [3], "spans": [["day", 10, 20]]}       ids [-1]: OTHER
    {"kind": "relabel", "level": "unit", "ids": ["new"], "spans": [["day", 10, 20]], "name": "limp"}
    {"kind": "undo", "number": 2}                                                      the last one without a number
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rondo.analysis.coarseness import coarseness_of
from rondo.continual.checkpoint import locked
from rondo.data.labels import Labels
from rondo.editing.edits import FORMAT, Edits, KnownIds, now
from rondo.editing.edits_file import changing, read_edits, write_edits
from rondo.editing.kinds import Edit
from rondo.editing.names import EntryId, known_entry
from rondo.errors import InputError, ModelError, OutputError, RondoError, RondoWarning, SettingError
from rondo.methods import find_method, method_of
from rondo.model.describe import known_ids
from rondo.model.method import CHECKPOINT, checkpoint_folder, grown_model
from rondo.model.rondo import Rondo
from rondo.model.teaching import taught_edits
from rondo.result import Result, with_truth
from rondo.run.bucket import run_here
from rondo.run.decisions import EVENTS
from rondo.run.folder import found_ids, run_edits
from rondo.run.segments import LEVELS, labels_in
from rondo.run.shown import unmarked
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
from rondo.run.writer import RunWriter
from rondo.store.folder import make_folder, write_json
from rondo.store.locations import as_location, refuse_url
from rondo.store.model_file import MANIFEST
from rondo.store.reading import read_json
from rondo.units.vocabulary import Level


def show_edits(run: Path) -> None:
    """Bring a run folder up to date with the edits stored with its model. A running stream does so itself.

    What is shown is made again from what was found, so that the same command repairs an update that was interrupted.

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
    RunWriter(run).show(_scored(result.edited(run_edits(run, result.summary))).run)
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
    if result.summary.scores is None or "truth" not in result.run.tables:
        return result
    from rondo.metrics.scores import evaluate as score  # slow to import

    truth = result.run.tables["truth"]
    n_frames = {one.id: one.n_frames for one in result.recordings}

    def scores(level: Level) -> LevelScores:
        pairs: dict[str, tuple[Labels, Labels]] = {}
        for id in truth["recording"].unique(maintain_order=True).to_list():
            true = labels_in(truth.filter(truth["recording"] == id), level, n_frames[id])
            kept = unmarked(result.run.edits, id, n_frames[id])
            pairs[id] = (true[kept], result[id].labels_of(level)[kept])
        return LevelScores.model_validate(score(pairs).as_dict())

    units, motifs = (scores(level) for level in LEVELS)
    return with_truth(result, RunScores(units=units, motifs=motifs), truth)


_UNDO = ".undo.json"  # in a run: the number of the last edit, while it is taken back


class EditedVocabulary(NamedTuple):
    """A vocabulary that can be edited."""

    folder: Path  # of its edits
    edits: Edits  # all so far
    known: KnownIds  # the entries that were learned
    runs: tuple[Path, ...] = ()  # run folders that show the entries
    journal: Path | None = None  # events.jsonl of the stream that has extended the vocabulary

    @property
    def ids(self) -> dict[Level, tuple[int, ...]]:
        """The ids of units and motifs: those that were learned, and those that people have made."""
        return {level: (*ids, *self.edits.made_in_force(level)) for level, ids in self.known.ids.items()}

    def entry(self, text: str) -> EntryId:
        """The entry that "unit:3", or in the short form "u3", names; SettingError if there is none."""
        return known_entry(text, self.ids)

    def write(self, edits: Edits) -> None:
        """Store all edits of the vocabulary, and show them in its runs."""
        if edits != self.edits:
            if self.runs:  # else the folder was named
                make_folder(self.folder.parent, self.folder.name)
            write_edits(self.folder, edits.own)
        for run in self.runs:
            show_edits(run)


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
    refuse_url(where, "edits change a run where it lies; copy it here first")
    run = _run_of(where)
    runs: tuple[Path, ...] = () if run is None else (run,)
    folder = where if run is None else model_place(run)
    if run is not None and not (folder / MANIFEST).is_file():
        return EditedVocabulary(folder, read_edits(folder), _ids_in(run), runs)
    if (method := method_of(folder)) != "rondo":
        if run is not None:
            return EditedVocabulary(folder, read_edits(folder), _ids_in(run), runs)
        states = tuple(range(len(find_method(method).words_in(folder).units)))  # each is its own motif
        return EditedVocabulary(folder, read_edits(folder), _known(states, states))
    if stream is None and run is not None and read_summary(run).kind == "stream":
        stream = run
    if stream is None:
        model = Rondo.load(folder)
        return EditedVocabulary(folder, model.edits_, known_ids(model), runs)
    model, beside = grown_model(folder, stream), checkpoint_folder(stream)
    places = [each for each in (stream, stream.parent) if checkpoint_folder(each) == beside]
    runs = tuple(each for each in places if (each / SUMMARY).is_file())[:1]
    journal = next((each / EVENTS for each in (stream, stream.parent) if (each / EVENTS).is_file()), None)
    return EditedVocabulary(beside, model.edits_, known_ids(model), runs, journal)


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
        Gives an EditedVocabulary; its `write` stores edits. ModelError is raised if the folder holds no model.

    Examples
    --------
    >>> from rondo.editing.edits import now
    >>> run = result.save(tmp_path / "run")
    >>> with editing(run) as vocabulary:
    ...     vocabulary.write(vocabulary.edits.named(vocabulary.entry("u0"), "rest", now()))
    >>> Result.load(run).entries[0][1].name
    'rest'
    """
    place = open_vocabulary(where, stream)
    with changing(place.runs[0] if place.runs else place.folder):
        yield open_vocabulary(where, stream)
    for run in place.runs:
        (run / _UNDO).unlink(missing_ok=True)  # all is shown, an undo that was interrupted too


def model_folder(given: Path) -> Path:
    """The folder of a model: the one given, or in the run given; one in a bucket is copied to this machine first."""
    given = run_here(given, without=("labels", "units", "scores", "overview"))
    run = _run_of(given)
    if run is None:
        return given
    folder = model_place(run)
    if not (folder / MANIFEST).is_file():
        why = find_method(read_summary(run).method).why_no_model()
        if why:
            raise ModelError(f"{run}: {why}")
    return folder


def _run_of(where: Path) -> Path | None:
    """The run folder that was meant: run, or run/model."""
    given = where if where.name else where.absolute()
    places = [given, given.parent] if given.name == "model" else [given]
    for run in places:
        if (run / UNFINISHED).exists():
            read_summary(run)  # says so, unless all is written
    return next((run for run in places if (run / SUMMARY).is_file()), None)


def _ids_in(run: Path) -> KnownIds:
    """The entries that were found in a run: some may have lost all their frames to edits since."""
    summary = read_summary(run)
    if summary.id_shifts:
        raise OutputError(
            f"{run}: version 0.2.0 wrote a vocabulary for each recording, so it is read only; edit a copy that "
            "Result.load(...).save(...) writes"
        )
    found, edits = found_ids(run, summary), run_edits(run, summary)

    def of(level: Level, entries: Sequence[EntrySummary]) -> tuple[int, ...]:
        shown = {id for one in entries for id in (one.id, *one.absorbed)}
        return tuple(sorted((shown | found[level]) - edits.made(level)))

    return _known(of("unit", summary.units), of("motif", summary.motifs))


def _known(units: tuple[int, ...], motifs: tuple[int, ...]) -> KnownIds:
    return KnownIds({"unit": units, "motif": motifs}, {id: id for id in units} if units == motifs else {})


def apply_edits(run: str | Path, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make edits in a run, in their order: all of them or none. The run folder shows them afterwards.

    Parameters
    ----------
    run : path
        The folder of a run.
    wanted : sequence of mappings
        Plain values as `rondo.edit` describes them. An edit whose key the run already has is skipped.

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
    >>> run = result.save(tmp_path / "run")
    >>> history = apply_edits(run, [{"kind": "name", "level": "unit", "ids": [0], "name": "rest"}])
    >>> Result.load(run).entries[0][1].name
    'rest'
    >>> [(edit["number"], edit["undone"]) for edit in undo_edit(run)]
    [(1, True), (2, False)]
    """
    folder = _folder(run)
    if not isinstance(wanted, Sequence) or isinstance(wanted, str | bytes):
        raise SettingError(f"expected a list of edits, got {type(wanted).__name__}")
    summary = read_summary(folder)
    with editing(folder) as edited:
        edits = edited.edits
        for place, fields in enumerate(wanted, start=1):
            try:
                edits = _with(edits, fields, edited.known, summary)
            except (LookupError, TypeError, ValueError, AttributeError, RondoError) as error:
                which = f"edit {place} of {len(wanted)}: " if len(wanted) > 1 else ""
                raise SettingError(f"{which}{error}") from None
        edited.write(edits)
    return edits.rows()


def _with(edits: Edits, fields: Mapping[str, Any], known: KnownIds, summary: RunSummary) -> Edits:
    """With one more edit; one whose key is known is made already."""
    if not isinstance(fields, Mapping):
        raise TypeError(f"expected an edit, got {type(fields).__name__}")
    key = fields.get("key", "")
    if key and key in {edit.key for edit in edits.history}:
        return edits
    if fields.get("kind") == "undo":
        number = fields.get("number")
        if number is not None and type(number) is not int:
            raise ValueError(f"undo: expected the number of an edit, got {number!r}")
        undone = edits.undo(number, now(), key)
        undone.history[-1].check()  # or the list could not be read again
        return undone
    name = fields.get("name", "")
    if isinstance(name, str):
        fields = {**fields, "name": " ".join(name.split())}
    edit = Edit.from_json({**fields, "at": now(), "motifs": ()})
    if edit.spans and summary.stream is not None and not summary.stream.finished:
        raise SettingError(
            "a stream that has not ended can be named and merged, but its frames cannot be edited; wait until it has"
        )
    for recording, start, stop in edit.spans:
        about = summary.recording(recording)
        if about is None:
            there = ", ".join(one.id for one in summary.recordings[:8])
            raise SettingError(f"{edit.kind}: the run has no recording '{recording}'; it has {there}")
        if stop > about.n_frames:
            expected = f"expected frames from 0 to {about.n_frames} of {recording}"
            raise SettingError(f"{edit.kind}: {expected}, got {start} to {stop}")
    return edits.added(edit, known)


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
    """
    folder = _folder(run)
    return apply_edits(folder, _read_wanted(Path(as_location(file)), read_summary(folder).identity))


def _read_wanted(path: Path, run: str) -> list[dict[str, Any]]:
    """The edits in a file about the run of this identity, each with a key, so that the file can be applied twice."""
    again = "give the file that `Save edits` of a report has written"
    try:
        found = read_json(path)
        if found["format"] != FORMAT:
            raise ValueError(f"expected format '{FORMAT}'")
        about, edits = found["run"], [dict(edit) for edit in found["edits"]]
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror}); {again}") from None
    except (ValueError, LookupError, TypeError) as error:
        raise SettingError(f"{path}: no file of edits ({error}); {again}") from None
    if about != run:
        raise SettingError(f"{path}: it holds edits of run {about}, and this is run {run}; give the run it was made on")
    texts = [json.dumps([run, place, edit], sort_keys=True) for place, edit in enumerate(edits)]
    keys = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
    return [{"key": key, **edit} for key, edit in zip(keys, edits, strict=True)]


def teach_run(run: str | Path, spans: Any, data: Any = None, key: str | None = None) -> Result:
    """Teach a run marked spans; its labels, segments and report follow. `undo_edit` takes it back.

    Parameters
    ----------
    run : path
        The folder of a run.
    spans, data, key : Any
        As in `Result.teach`.

    Returns
    -------
    Result
        The taught run.
    """
    folder = _folder(run)
    with editing(folder) as edited:
        edited.write(taught_edits(Result.load(folder), spans, data, key))
    return Result.load(folder)


def coarsen_run(run: str | Path, n_motifs: int) -> Result:
    """Show so many motifs in a run; its labels, segments and report follow. `undo_edit` takes it back.

    Parameters
    ----------
    run : path
        The folder of a run.
    n_motifs : int
        As in `Result.at`.

    Returns
    -------
    Result
        The coarser or finer run.
    """
    folder = _folder(run)
    with editing(folder) as edited:
        groups = coarseness_of(Result.load(folder)).groups_at(n_motifs)
        edited.write(edited.edits.coarsened(groups, now(), edited.known))
    return Result.load(folder)


def undo_edit(run: str | Path, number: int | None = None) -> list[dict[str, Any]]:
    """Undo an edit. To have it again, make it again.

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
    """
    if number is not None:
        return apply_edits(run, [{"kind": "undo", "number": number}])
    folder = _folder(run)
    read_summary(folder)  # refuses what is no run
    with editing(folder) as edited:
        begun = _begun_undo(folder, edited.edits)
        if begun is None:
            edits = edited.edits.undo(at=now())
            write_json(folder / _UNDO, edits.history[-1].of + 1)
        else:
            edits = edited.edits.undo(begun, now())
            told = (
                f"the undo of edit {begun}, which was interrupted, is complete; run the command again to undo another"
            )
            warnings.warn(told, RondoWarning, stacklevel=2)
        edited.write(edits)
    return edits.rows()


def _begun_undo(run: Path, edits: Edits) -> int | None:
    """The number of the edit that a process was taking back when it was killed."""
    try:
        number = read_json(run / _UNDO)
    except (OSError, ValueError):
        return None
    may_be = {row["number"] for row in edits.rows() if row["can_undo"] or row["undone"]}
    return number if type(number) is int and number in may_be else None


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
    """
    folder = _folder(run)
    return run_edits(folder, read_summary(folder)).rows()


def _folder(run: str | Path) -> Path:
    refuse_url(run, "edits change a run where it lies; copy it here first")
    return Path(as_location(run))
