"""Result: what `discover`, `label` and `stream` give back, whatever the method; its folder on disk is a run.

A Result does not change. It is the face of `rondo.run.data.RunData`, which is in memory or read from a run folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rondo.continual.journal import Event
from rondo.data.labels import Labels
from rondo.data.notes import Note, gathered, in_python, warn_of
from rondo.data.recording import Recording
from rondo.editing.edits import Edits, now
from rondo.editing.edits_file import write_edits
from rondo.errors import RecordingError, SettingError
from rondo.files.reading import names_given
from rondo.forks import refuse_forked
from rondo.methods import find_method, load_model, method_names, method_of
from rondo.registry import lazily
from rondo.report.contents import TruthFile, Wish
from rondo.run.bucket import check_free_place, run_here, whole_run
from rondo.run.data import RunData, run_in_memory
from rondo.run.folder import running_stream, stored_run
from rondo.run.headline import headline
from rondo.run.labelling import Labelling, frame_table, row_table
from rondo.run.segments import in_one_table, to_pandas, whole_columns
from rondo.run.summary import (
    EntrySummary,
    FitSummary,
    RecordingSummary,
    RunKind,
    RunScores,
    RunSummary,
    VocabularyEvidence,
    model_place,
    read_summary,
)
from rondo.run.tally import Words
from rondo.run.writer import RunWriter, found_table
from rondo.store.folder import make_folder
from rondo.store.locations import Location, as_location
from rondo.store.model_file import MANIFEST
from rondo.units.fit_profile import FitProfile
from rondo.units.vocabulary import Level
from rondo.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.plot.shown import Figure

_NOTHING_KNOWN, _NO_EDITS = Words(), Edits()
GroupBy = str | Mapping[str, str] | None
Per = Literal["recording", "group"]
_TEACHING = lazily("rondo.model.teaching:taught_edits")  # what reads recordings with a model lies above results
_FINDING = lazily("rondo.model.finding:spans_alike")


def known(model: Any) -> Any:
    """What reads the model of a result that has it already."""
    return model


@dataclass(frozen=True, eq=False)
class Result:
    """Recordings, their labels, and what was found in them.

    `rondo.discover`, `rondo.label` and `Rondo.predict` return one. `result[0]` and `result["day1"]` are the Labelling
    of one recording. `result.model` labels other recordings: `result.model.predict("day2.csv")`.

    Parameters
    ----------
    run : RunData
        Summary, labels, signals and tables of the run; `run.folder` is the folder that it was read from.
    at_hand : mapping
        The recordings that are in memory.

    Examples
    --------
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> recording = plant(n_frames=3_000, seed=1).recording
    >>> result = rondo.discover(recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> len(result), result[0].n_frames, result.units.shape
    (1, 3000, (3000,))
    >>> result.segments.columns.tolist()[:4]
    ['recording', 'level', 'id', 'name']
    """

    run: RunData = field(repr=False)
    at_hand: Mapping[str, Recording] = field(default_factory=dict, repr=False)
    _read_model: Callable[[], Any] = field(default=partial(known, None), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """All of it, read from its folder: pickled, it goes to other processes and machines."""
        return {**vars(self), "_read_model": partial(known, self.model)}

    @classmethod
    def load(cls, folder: str | Path) -> Result:
        """Read a run folder, or the folder of a running stream. Arrays are read on first use.

        Parameters
        ----------
        folder : path or URL
            The run. One in a bucket ("s3://bucket/run") is first copied into a temporary folder, which is removed when
            the process ends.

        Returns
        -------
        Result
            The stored result.

        Raises
        ------
        OutputError
            If the folder is no run, or is damaged.

        Examples
        --------
        >>> Result.load("missing")
        Traceback (most recent call last):
            ...
        rondo.errors.OutputError: missing: no such folder; give the --out of `rondo discover`, `label` or `stream`
        """
        run = run_here(folder)
        return result_in(run, read_summary(run))

    def save(self, folder: str | Path) -> Location:
        """Write the run folder, completely or not at all.

        labels/ and units/ hold one .npy for each recording, segments.csv and segments.parquet every occurrence, model/
        the model, summary.json what was found, report.html the report.

        Parameters
        ----------
        folder : path or URL
            The folder; it must be empty or not exist yet. A URL is a folder in a bucket.

        Returns
        -------
        Path or str
            The folder, or its URL.

        Raises
        ------
        OutputError
            If the folder cannot be written, or already holds files.

        Examples
        --------
        >>> saved = result.save(tmp_path / "run")
        >>> bool((Result.load(saved).units == result.units).all())
        True
        """
        refuse_forked()
        check_free_place(folder)
        run = self.run
        with whole_run(folder) as draft:
            writer = RunWriter(draft)
            for one in self.recordings:
                writer.add(one.id, run.overviews[one.id], run.scores[one.id], self[one.id])
            if self.model is not None:
                self.model.save(draft / "model")
            elif run.edits.history:
                make_folder(draft, "model")
                write_edits(draft / "model", run.edits)
            found = found_table(run)
            tables = {name: run.tables[name] for name in run.tables if name != "found"}
            writer.close(self.summary, tables if found is None else tables | {"found": found}, self.report)
        return as_location(folder)

    @property
    def summary(self) -> RunSummary:
        """The content of summary.json."""
        return self.run.summary

    @property
    def kind(self) -> RunKind:
        """ "discover", "label" or "stream"."""
        return self.summary.kind

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.summary.method

    @property
    def recordings(self) -> tuple[RecordingSummary, ...]:
        """The id, source, channels, rate, clock and notes of each recording. `at_hand[id]` holds values in memory."""
        return self.summary.recordings

    @property
    def notes(self) -> pd.DataFrame:
        """What was noted about the columns and rows of recordings, one row per kind: note, columns, recordings."""
        import pandas as pd

        rows = [(in_python(note.what), list(note.columns), list(note.recordings)) for note in self.noted]
        return pd.DataFrame(rows, columns=["note", "columns", "recordings"])

    @property
    def noted(self) -> list[Note]:
        """`notes` for the page, the command line and warnings."""
        return gathered((one.id, one.notes) for one in self.recordings)

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences about the whole run."""
        return self.summary.findings

    @property
    def evidence(self) -> VocabularyEvidence | None:
        """Whether the vocabulary recurs; None where that was not tested."""
        return self.summary.evidence

    @property
    def fit(self) -> dict[str, FitSummary]:
        """Whether the model fits each recording; empty where the recordings are those it was fitted on."""
        return {one.id: one.fit for one in self.recordings if one.fit is not None}

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The journal of a stream; empty for other runs."""
        return tuple(self.run.read_events())

    @property
    def entries(self) -> tuple[tuple[Level, EntrySummary], ...]:
        """Every unit and motif that occurs."""
        return (*(("unit", one) for one in self.summary.units), *(("motif", one) for one in self.summary.motifs))

    @property
    def model(self) -> Any:
        """The model; None if the method cannot label other recordings."""
        return self._read_model()

    def __len__(self) -> int:
        return len(self.recordings)

    def __iter__(self) -> Iterator[Labelling]:
        return (self.run.labellings[one.id] for one in self.recordings)

    def __getitem__(self, recording: int | str) -> Labelling:
        """The labels of one recording, by its position or its id."""
        if (
            isinstance(recording, Integral)
            and not isinstance(recording, bool)
            and recording in range(-len(self), len(self))
        ):
            return self.run.labellings[self.recordings[int(recording)].id]
        if not isinstance(recording, str) or self.summary.recording(recording) is None:
            known = ", ".join(f"'{one.id}'" for one in self.recordings[:8])
            raise RecordingError(f"there is no recording {recording!r} in this result; it has {known}")
        return self.run.labellings[recording]

    @property
    def units(self) -> Labels:
        """The unit of every frame, int32; OTHER is -1. Use `result[id].units` if there are several recordings."""
        return self._only("units").units

    @property
    def motifs(self) -> Labels:
        """The motif of every frame, int32; OTHER is -1. Use `result[id].motifs` if there are several recordings."""
        return self._only("motifs").motifs

    def _only(self, what: str) -> Labelling:
        if len(self) > 1:
            id = self.recordings[0].id
            raise RecordingError(f"this result has {len(self)} recordings; take one, as result[{id!r}].{what}")
        return self[0]

    @property
    def segments(self) -> pd.DataFrame:
        """Every occurrence of a unit or motif as a pandas table, one row each.

        The columns are recording, level, id, name, start_frame, end_frame (half-open), start_s, end_s, start_time,
        end_time, score, and units: for a motif, the units inside it, in order. OTHER is left out. The level is "unit"
        or "motif", as in the labels. Motifs of the kind that labels do not show follow, with the level "phrase" or
        "context".
        """
        return to_pandas(in_one_table(self.run.tables["segments"], self.run.tables["unshown_segments"]))

    @property
    def labels(self) -> pd.DataFrame:
        """The labels as a pandas table with one row per frame.

        The columns are recording, frame, seconds, time (the same as dates, NaT where the clock does not count from
        1970), unit, motif, unit_score and motif_score.
        """
        import pandas as pd

        return pd.concat([frame_table(labelling) for labelling in self], ignore_index=True)

    def report(
        self,
        path: str | Path,
        *,
        recordings: Sequence[str] = (),
        channels: Sequence[str] = (),
        truth: str | Path | None = None,
        compare: Result | None = None,
    ) -> Path:
        """Write the report: one HTML file that opens without a network. An existing file is replaced.

        Parameters
        ----------
        path : path
            The file to write.
        recordings : sequence of str
            Ids of the recordings to draw; empty draws as many as fit.
        channels : sequence of str
            Names of the channels to draw; empty draws as many as fit.
        truth : path or None
            A file or folder of annotations to draw as a lane, as for `rondo.evaluate`.
        compare : Result or None
            Another result over the same recordings, to show next to this one.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> result.report(tmp_path / "report.html").name
        'report.html'
        """
        from rondo.report.render import write_page

        refuse_forked()
        if compare is not None and not isinstance(compare, Result):
            raise SettingError(f"compare: expected a Result, got {compare!r}; Result.load reads one from its folder")
        drawn = names_given("recordings", recordings), names_given("channels", channels)
        wish = Wish(*drawn, None if truth is None else TruthFile(Path(as_location(truth))))
        return write_page(self, Path(as_location(path)), wish, compare)

    def plot(
        self,
        recording: int | str | None = None,
        *,
        start: int | str | None = None,
        end: int | str | None = None,
        channels: Sequence[int | str] | None = None,
        level: Literal["unit", "motif", "both"] = "both",
        truth: str | Path | None = None,
        figsize: tuple[float, float] | None = None,
        dark: bool = False,
    ) -> Figure | list[Figure]:
        """Draw a recording with matplotlib: signals, motifs as blocks, one row for each unit, and time.

        Parameters
        ----------
        recording : int, str or None
            Its position or id. None draws every recording, or the first twelve with a warning.
        start, end : int, str or None
            The stretch to draw, in frames or in time since the start of the recording: "12s", "1.5min".
        channels : sequence or None
            The channels to draw, by position or name. None draws the first twelve.
        level : "unit", "motif" or "both"
            The labels to draw.
        truth : path or None
            Annotations to draw as a lane, as for `report`. A truth that the result holds is always drawn.
        figsize : tuple or None
            Width and height in inches. None is 10 inches wide and as high as the rows need.
        dark : bool
            Draw light text on a dark background.

        Returns
        -------
        Figure or list of Figure
            A list where no recording is named and there are several. A notebook shows a figure that is the last value
            of a cell; `figure.savefig("day1.pdf")` writes it.

        Examples
        --------
        >>> figure = result.plot(start="20s", end="1min", channels=[0, 1])
        >>> [float(edge) for edge in figure.axes[0].get_xlim()]
        [20.0, 60.0]
        """
        from rondo.plot.recording import Cutout, figure_of, figures_of

        refuse_forked()
        view = Cutout(start, end, channels, level, None if truth is None else TruthFile(Path(as_location(truth))))
        if recording is None and len(self) != 1:
            return figures_of(self, view, figsize, dark)
        return figure_of(self, self[0 if recording is None else recording].recording_id, view, figsize, dark)

    def plot_entry(
        self,
        entry: str,
        *,
        recording: int | str | None = None,
        figsize: tuple[float, float] | None = None,
        dark: bool = False,
    ) -> Figure:
        """Draw one unit or motif with matplotlib: its occurrences on top of each other, mean and spread, and durations.

        The channels are the up to four that distinguish it most, in standard deviations of each recording.

        Parameters
        ----------
        entry : str
            "unit:3" or "motif:2", or as the report writes them, "u3" or "m2".
        recording : int, str or None
            Draw the occurrences in one recording only.
        figsize : tuple or None
            Width and height in inches.
        dark : bool
            Draw light text on a dark background.

        Returns
        -------
        Figure
            The figure.
        """
        from rondo.plot.entry import entry_figure

        refuse_forked()
        return entry_figure(self, entry, recording, figsize, dark)

    def export(self, format: str, path: str | Path, *, level: str = "both", recording: str | None = None) -> list[Path]:
        """Write the segments for another program.

        Parameters
        ----------
        format : str
            The format, such as "eaf" or "audacity"; `rondo export --help` lists them.
        path : path
            The file to write. For formats with one recording per file, a path without a suffix is a folder.
        level : "unit", "motif", "both", "phrase", "context" or "all"
            The segments to write. "motif" are those of the labels; "phrase" and "context" are the motifs of one kind,
            whether labels show it or not; "all" is everything.
        recording : str or None
            The id of one recording; None writes all.

        Returns
        -------
        list of Path
            The files; either all are written or none.

        Raises
        ------
        SettingError
            If there is no such format, level or recording.
        OutputError
            If a file cannot be written, or the format needs seconds and a recording has no rate.

        Examples
        --------
        >>> [file.name for file in result.export("audacity", tmp_path / "labels")]
        ['planted1-subject0.unit.txt', 'planted1-subject0.motif.txt']
        """
        from rondo.report.export import export_result

        refuse_forked()
        return export_result(self, format, Path(as_location(path)), level, recording)

    def usage(self, group_by: GroupBy = None, *, per: Per = "recording", bins: str | None = None) -> pd.DataFrame:
        """Measure how much each entry is used: share of time, occurrences per hour, mean duration.

        Parameters
        ----------
        group_by : str, mapping or None
            Groups of recordings: a word or regular expression on their ids, a .csv, or a mapping (`rondo.data.groups`).
            None takes the groups of the run.
        per : "recording" or "group"
            "group" gives means over the recordings of each group with 95 % intervals (`share_low`, `share_high`,
            `per_hour_low`, `per_hour_high`). Without groups, all recordings are one group.
        bins : str or None
            Count in bins of time: a length ("10min", "2h"), "day", or "hour" (of the day). It takes no groups.

        Returns
        -------
        pandas.DataFrame
            One row for each recording or group (or each bin of a recording) and each entry.

        Examples
        --------
        >>> result.usage().columns.tolist()[2:8]
        ['level', 'id', 'name', 'n_occurrences', 'share', 'per_hour']
        """
        from rondo.analysis.bins import BinUsage, bin_usage, parse_bins
        from rondo.analysis.usage import usage_table

        refuse_forked()
        if bins is not None:
            if group_by is not None or per != "recording":
                raise SettingError("bins counts each recording by itself; leave group_by and per out")
            return row_table(BinUsage, bin_usage(self, parse_bins(bins)))
        return usage_table(self, group_by, per)

    def transitions(self, group_by: GroupBy = None, *, per: Per = "recording") -> pd.DataFrame:
        """Count how often an occurrence of one entry directly follows one of another.

        `probability` is the share of the occurrences of `id` that `next_id` follows, among those that any entry
        follows. With per="group" it is a mean over recordings, with the 95 % interval from `low` to `high`.

        Parameters
        ----------
        group_by : str, mapping or None
            Groups of recordings, as in `usage`.
        per : "recording" or "group"
            Rows for each recording, or means over the recordings of each group.

        Returns
        -------
        pandas.DataFrame
            One row for each recording or group and each pair of entries.

        Examples
        --------
        >>> table = result.transitions()
        >>> bool((table.groupby(["level", "id"])["probability"].sum().round(6) == 1).all())
        True
        """
        from rondo.analysis.sequence import transition_table

        refuse_forked()
        return transition_table(self, group_by, per)

    def edited(self, edits: Edits | None = None) -> Result:
        """Return the result with the names and merges made in its model since, as by `model.merge("u0", "u2")`.

        Parameters
        ----------
        edits : Edits or None
            The edits to show it under; those of its model if not given.

        Returns
        -------
        Result
            The edited result.
        """
        refuse_forked()
        model = self.model
        words = Words.of_summary(self.summary) if model is None else find_method(self.method).words(model)
        if edits is None:
            edits = getattr(model, "edits_", self.run.edits)
        if not isinstance(edits, Edits):
            raise SettingError(f"edits: expected those of a model (model.edits_), got {edits!r}")
        return replace(self, run=self.run.edited(words, edits))

    def teach(self, spans: Any, *, data: Any = None, key: str | None = None) -> Result:
        """Label the rest like a few marked spans, and return the taught result; this one does not change.

        The motifs carry the names. Marked frames keep their mark. What is like nothing marked stays as it was found.
        `model` of the taught result reads other recordings so too. Marks of several calls add up.

        Parameters
        ----------
        spans : path, table, or list of mappings
            Spans with a name each (`rondo.annotations.marks`): columns as in `segments`, or a file of ELAN, BORIS,
            Audacity or Label Studio.
        data : path, table, array, Recording, or a list of them
            The recordings of the result. None takes those in memory, else reads the files that they came from.
        key : str or None
            The track of a file of annotations.

        Returns
        -------
        Result
            The taught result.

        Raises
        ------
        AnnotationError
            If spans cannot be read, lie outside their recording, or contradict each other.
        SettingError
            If this kind of result cannot be taught.

        Examples
        --------
        >>> taught = result.teach([{"name": "reach", "start_frame": 0, "end_frame": 300}])
        >>> (taught.segments["name"] == "reach").any(), taught.motifs[0] == taught.motifs[299]
        (np.True_, np.True_)
        """
        refuse_forked()
        return self._under(_TEACHING(self, spans, data, key))

    def _under(self, edits: Edits) -> Result:
        """The result, and a copy of its model, with these edits."""
        edited = self.edited(edits)
        if (model := copy(self.model)) is not None:
            model.edits_ = edits
        return replace(edited, _read_model=partial(known, model))

    def find(self, recording: int | str, start: Any, end: Any, *, data: Any = None, most: int = 50) -> pd.DataFrame:
        """Find what is like one marked span, in all recordings of the result.

        Parameters
        ----------
        recording : int or str
            The position or the id of the recording that holds the span.
        start, end : int, float or str
            Whole numbers are frames; else seconds that the clock of the recording shows (12.0), or dates.
        data : path, table, array, Recording, or a list of them
            The recordings of the result, as for `teach`.
        most : int
            The number of rows at most; what is suggested is always among them.

        Returns
        -------
        pandas.DataFrame
            One row per span, the most alike first; row 0 is the span itself. `score` is 1 for the span and 0 for any
            place, `suggested` what is probably the same, `entry` the motif or unit that most of it lies in.

        Raises
        ------
        AnnotationError
            If the span lies outside the recording or over a gap, or is too short.

        Examples
        --------
        >>> found = result.find(0, 100, 400)
        >>> taught = result.teach(found[found["suggested"]].assign(name="squat"))
        >>> taught.segments["name"].eq("squat").any()
        np.True_
        """
        refuse_forked()
        table: pd.DataFrame = _FINDING(self, self[recording].recording_id, start, end, data, most)
        return table

    def suggest_spans(self, n: int = 5) -> pd.DataFrame:
        """Suggest which spans to mark next for `teach`, the most useful first.

        Parameters
        ----------
        n : int
            The number of spans at most.

        Returns
        -------
        pandas.DataFrame
            One row per span: the longest of each motif without a name, then those in which two names are nearly as
            likely. `why` says which.

        Examples
        --------
        >>> result.suggest_spans().columns.tolist()[-1]
        'why'
        """
        from rondo.analysis.next_spans import next_spans

        return next_spans(self, n)

    def at(self, n_motifs: int) -> Result:
        """Return the result with so many motifs: those that are confused most are merged, down to two.

        Ids stay: a merged motif has the lowest id of its parts, and these have their own again in a finer result. A
        name belongs to the motif that it was given to. `model` of the result labels other recordings so too.

        Parameters
        ----------
        n_motifs : int
            From 2 to the number that was found, which gives the labels as they were found.

        Returns
        -------
        Result
            The coarser or finer result; this one does not change.

        Raises
        ------
        SettingError
            If the run cannot show so many motifs.

        Examples
        --------
        >>> len(result.at(2).summary.shown_motifs)
        2
        >>> bool((result.coarser().finer().motifs == result.motifs).all())
        True
        """
        from rondo.analysis.coarseness import coarseness_of

        refuse_forked()
        return self._under(self.run.edits.coarsened(coarseness_of(self).groups_at(n_motifs), now()))

    def coarser(self) -> Result:
        """Return the result with one motif less, as by `at`."""
        return self.at(len(self.summary.shown_motifs) - 1)

    def finer(self) -> Result:
        """Return the result with one motif more, as by `at`."""
        return self.at(len(self.summary.shown_motifs) + 1)

    def suggest_merges(self) -> pd.DataFrame:
        """List the merges that lead to fewer motifs, in order.

        Returns
        -------
        pandas.DataFrame
            `kept` and `absorbed`: ids of motifs; `confused`: the share of their windows that a classifier takes for the
            other; `n_motifs`: how many are left, for `at`; `suggested`: whether merging up to here would help.

        Examples
        --------
        >>> result.suggest_merges().columns.tolist()
        ['kept', 'absorbed', 'confused', 'n_motifs', 'suggested']
        """
        from rondo.analysis.coarseness import coarseness_of, merge_table

        return merge_table(coarseness_of(self).merges)

    def __repr__(self) -> str:
        notes = f"; {counted(len(self.noted), 'note')}" if self.noted else ""
        return f"<Result of {self.method}: {headline(self.summary)}{notes}>"

    def __dir__(self) -> list[str]:
        """What people need; the others hold what it is made of."""
        return sorted({*super().__dir__()} - {"run", "at_hand", "noted"})

    def _repr_html_(self) -> str:
        """The finding and the entries; `plot` draws a figure, `report` writes the whole page."""
        from rondo.report.notebook import result_card

        return result_card(self, headline(self.summary))


def result_in(folder: Path, summary: RunSummary) -> Result:
    """The run of a folder whose summary may not be written yet; its model is read once, on first use."""
    place = model_place(folder)
    has_model = (place / MANIFEST).is_file()

    @cache
    def model() -> Any:
        if not has_model or (method := method_of(place)) not in method_names() or find_method(method).why_no_model():
            return None  # version 0.2.0 kept models of baselines, which no longer have any
        return load_model(place)

    if summary.stream is not None and not summary.stream.finished:
        words = find_method(summary.method).words_in(place) if has_model else Words()
        return Result(running_stream(folder, summary, words), _read_model=model)
    return Result(stored_run(folder, summary), _read_model=model)


def make_result(
    method: str,
    recordings: Sequence[Recording],
    labellings: Sequence[Labelling],
    *,
    kind: RunKind = "discover",
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
    windows: tuple[int, int] = (1, 1),
    words: Words = _NOTHING_KNOWN,
    edits: Edits = _NO_EDITS,
    findings: Sequence[str] = (),
    model: Any = None,
    fitted: FitProfile | None = None,
    groups: Mapping[str, str] | None = None,
) -> Result:
    """Collect what a method found in recordings: a Labelling for each of them.

    `windows`: length and step in frames, (1, 1) for a method without windows; `words`: what is known about the entries;
    `edits`: what they are shown under; `model`: None if the method cannot label other recordings; `fitted`: how near
    the windows of the fitted recordings lie to the units, where the model labels other recordings; `groups`: the group
    of each recording, by its id.
    """
    run = run_in_memory(
        recordings,
        labellings,
        words,
        edits,
        fitted=fitted,
        groups=groups or {},
        kind=kind,
        method=method,
        seed=seed,
        window_length_frames=windows[0],
        step_frames=windows[1],
        findings=tuple(findings),
        config=dict(config or {}),
    )
    result = Result(run, {recording.id: recording for recording in recordings}, partial(known, model))
    warn_of(result.noted)
    return result


def with_truth(result: Result, scores: RunScores, truth: pl.DataFrame) -> Result:
    """The same result with the segments of a ground truth, and the scores against it."""
    tables = {**result.run.tables, "truth": whole_columns(truth)}
    summary = result.summary.model_copy(update={"scores": scores})
    return replace(result, run=replace(result.run, summary=summary, tables=tables))
