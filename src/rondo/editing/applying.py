"""Edits of a run that someone wants -> its lists of edits and all that it shows: all of them or none.

apply_edits(run, wanted)   what the page sends (`rondo.run.wanted_edits`), or what a program makes up
apply_file(run, file)      what a page without a server has saved
undo_edit(run, number)     one step back, or any edit by its number
edits_in(run)          every edit, by its time
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rondo.data.labels import OTHER, Runs
from rondo.editing.showing import show_edits
from rondo.editing.vocabularies import EditedVocabulary, open_vocabulary
from rondo.errors import RondoError, SettingError
from rondo.labelling import Labelling
from rondo.result import Result
from rondo.run.edit_lists import finish_lists, read_lists, write_lists
from rondo.run.summary import read_summary
from rondo.run.wanted_edits import WantedEdit, read_wanted, wanted_edits
from rondo.store.urls import refuse_url
from rondo.vocabulary.edits import Edits, changing
from rondo.vocabulary.names import EntryId
from rondo.vocabulary.vocabulary import Level


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
