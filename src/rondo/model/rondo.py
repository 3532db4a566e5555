"""Rondo: the model that people use. Its methods say what they do; the modules of this room do the work."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from rondo.config.settings import RondoConfig
from rondo.continual.frozen import FrozenReader
from rondo.continual.reading import DEFAULT_RULE
from rondo.continual.stream import Stream, StreamReport
from rondo.data.groups import GroupBy, groups_of_recordings
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.windows import Windows
from rondo.editing.edits import Edits, KnownIds, now
from rondo.errors import SettingError, not_fitted
from rondo.evidence.verdicts import Evidence
from rondo.files.inputs import as_chunks, as_recordings
from rondo.files.poses import as_the_model_reads, poses_in
from rondo.files.reading import Reading
from rondo.model import folder as model_folder
from rondo.model.describe import fit_notes, fit_profile, known_ids, result_of
from rondo.model.fit import learn_from
from rondo.model.folder import config_of, listener, model_card
from rondo.model.label import label_one, labelled, stream_scaling, windowed
from rondo.model.transfer import move_units, refit_motifs
from rondo.motifs.base import Motifs
from rondo.registry import RULES
from rondo.result import Result
from rondo.run.bucket import run_here
from rondo.run.shown import shown_decisions
from rondo.store.locations import as_location
from rondo.units.model import UnitModel
from rondo.units.vocabulary import MergeTree
from rondo.wording import Progress, card, counted

if TYPE_CHECKING:
    from rondo.model.parts import StreamParts


class Rondo:
    """Find what recurs in one or many recordings.

    The learned attributes end in `_`.

    Parameters
    ----------
    window : int, str or None
        Length of a unit window: frames (256), a time ("2s", "500ms") or "auto". None takes the setting of the preset.
    step : int, str or None
        Distance between the starts of two windows, in the same forms as `window`.
    encoder : str or None
        Encoder of the windows, such as "summary_stats" or "ts2vec". None takes the setting of the preset.
    motif_window : int, str or None
        Length of the long window in which contexts are read, in the same forms as `window`.
    preset : str
        The settings to start from: "default", "paper" or "paper-fast".
    settings : mapping or None
        Any other setting by its dotted name: {"units.dimension": 3}.
    seed : int
        Seed of all random draws.
    device : str
        Where networks run: "cpu", "cuda" or "auto".

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> stream = plant(n_frames=3_000, seed=1)
    >>> model = Rondo(window="1.5s", seed=0).fit(stream.recording)
    >>> result = model.predict(stream.recording)
    >>> result.units.shape == result.motifs.shape == (3_000,)
    True
    """

    _resolved: tuple[str, RondoConfig] | None = None  # the arguments of the constructor, and what they resolve to
    config_: RondoConfig  # every setting, as the fit had it
    preprocessor_: Preprocessor  # which channels there are, and how their values are repaired and scaled
    unit_model_: UnitModel  # the units: `unit_model_.ids`; reads the unit of every window
    motif_model_: Motifs  # the motifs: `motif_model_.ids`, what each is made of: `motif_model_.composition(id)`
    motif_tree_: MergeTree  # in which order motifs are merged: `rondo.motifs.merging`
    evidence_: Evidence  # whether anything recurs: `evidence_.p`, and each entry
    window_length_frames_: int  # of a window, chosen from the data where `window` was "auto"
    motif_window_frames_: int  # of the long window in which contexts are read
    step_frames_: int  # from the start of a window to that of the next
    rate_: float | None  # frames per second of the recordings; None where they had no clock
    provenance_: dict[str, Any]  # versions that computed; id, size and rate of every recording; how near units they lay
    edits_: Edits  # what people have named and merged; learners never see it
    stream_: Stream  # where the stream stands; there since the first `partial_fit`

    def __init__(
        self,
        window: int | str | None = None,
        step: int | str | None = None,
        encoder: str | None = None,
        *,
        motif_window: int | str | None = None,
        preset: str = "default",
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.window = window
        self.step = step
        self.encoder = encoder
        self.motif_window = motif_window
        self.preset = preset
        self.settings = settings
        self.seed = seed
        self.device = device

    def fit(
        self,
        recordings: Any,
        y: Any = None,
        *,
        rate: float | None = None,
        group_by: GroupBy = None,
        progress: Progress | None = None,
    ) -> Rondo:
        """Learn one vocabulary of units and one of motifs from all recordings.

        Parameters
        ----------
        recordings : path, folder, array, table, Recording, or a list of them
            The recordings to learn from, as in `rondo.discover`.
        y : Any
            Ignored; it is here for scikit-learn.
        rate : float or None
            Frames per second, for input without a clock.
        group_by : str, mapping or None
            The group of each recording, in a form that `rondo.data.groups` describes. Groups share the units, and each
            group has its own positions of them. None makes each recording a group.
        progress : callable or None
            Called as progress(what, done, total).

        Returns
        -------
        Rondo
            This model, fitted.

        Raises
        ------
        RecordingError
            If a recording cannot be used, or their rates or channels differ.
        SettingError
            If a setting is unknown, out of range, or contradicts another one.

        Examples
        --------
        >>> quick = Rondo(window="1.5s", settings={"evidence.surrogates": 0})
        >>> quick.fit(recording).window_length_frames_, quick.rate_
        (75, 50.0)
        """
        learn_from(self, self._to_learn_from(recordings, rate), group_by, listener(progress))
        return self

    def fit_predict(
        self,
        recordings: Any,
        y: Any = None,
        *,
        rate: float | None = None,
        group_by: GroupBy = None,
        progress: Progress | None = None,
    ) -> Result:
        """Learn from recordings and label them: `fit` and `predict`, with every recording prepared only once.

        Parameters
        ----------
        recordings : path, folder, array, table, Recording, or a list of them
            The recordings to learn from and to label.
        y, rate, group_by, progress : Any
            As in `fit`.

        Returns
        -------
        Result
            The labels; `result.model` is this model.

        Examples
        --------
        >>> Rondo(window="1.5s", settings={"evidence.surrogates": 0}).fit_predict(recording).kind
        'discover'
        """
        learned = learn_from(self, self._to_learn_from(recordings, rate), group_by, listener(progress))
        given = [one.recording for one, _ in learned]
        groups = None if group_by is None else groups_of_recordings(given, group_by)
        labellings = [labelled(self, one, units) for one, units in learned]
        notes = fit_notes(self, [one.n_frames for one in given])
        labellings[0] = replace(labellings[0], notes=labellings[0].notes + notes)
        return result_of(self, given, labellings, groups=groups)

    def adapt(
        self, recordings: Any, *, group_by: GroupBy = None, resample: bool = False, progress: Progress | None = None
    ) -> Rondo:
        """Transfer: move the units to their positions in these recordings; ids, names and motifs stay.

        A model of several groups keeps their positions and learns those of the groups given.

        Parameters
        ----------
        recordings : path, folder, array, table, Recording, or a list of them
            The recordings to move the units to.
        group_by : str, mapping or None
            The group of each recording, as in `fit`.
        resample : bool
            Read recordings of another rate at the rate of the model. Without it they are refused.
        progress : callable or None
            Called as progress(what, done, total).

        Returns
        -------
        Rondo
            This model, adapted.

        Examples
        --------
        >>> before = model.units_
        >>> model.adapt(recording).units_ == before
        True
        """
        self._check_fitted()
        move_units(self, self._as_read(recordings), group_by, resample, listener(progress))
        vars(self).pop("stream_", None)  # what it learned, it learned about the vocabularies before
        return self

    def fit_motifs(self, recordings: Any, *, resample: bool = False, progress: Progress | None = None) -> Rondo:
        """Transfer: keep the units and learn the motifs again; their names and merges are dropped.

        Parameters
        ----------
        recordings, resample, progress : Any
            As in `adapt`.

        Returns
        -------
        Rondo
            This model, with new motifs.
        """
        self._check_fitted()
        refit_motifs(self, self._as_read(recordings), resample, listener(progress))
        vars(self).pop("stream_", None)  # what it learned, it learned about the vocabularies before
        self.edits_ = self.edits_.among({"unit": self.unit_model_.ids})  # the motifs are others now
        for kept in self.edits_.groups("unit"):  # of which those that are units again are merged as these are
            self.merge(*(f"unit:{id}" for id in (kept, *self.edits_.absorbed("unit", kept))))
        return self

    @overload
    def stream(self, *, frozen: bool = False, rule: str | None = None) -> Stream: ...

    @overload
    def stream(self, rows: Iterable[Any], *, frozen: bool = False, rule: str | None = None) -> StreamParts: ...

    def stream(
        self, rows: Iterable[Any] | None = None, *, frozen: bool = False, rule: str | None = None
    ) -> Stream | StreamParts:
        """Label rows as they arrive: `for part in model.stream(rows): part.segments`.

        The stream starts with the vocabularies of this model and extends its own copy; the model does not change.

        Parameters
        ----------
        rows : iterable or None
            An item is one row (numbers, one per channel, or a mapping from their names, as a message in JSON) or a
            chunk of rows: an array, a pandas or polars table, a Recording. The last part holds the tail. None returns
            the `Stream` itself, to be used through `feed` and `finish`.
        frozen : bool
            Learn nothing. Rows are labelled as `predict` labels a recording, some windows later.
        rule : "exemplars", "published" or None
            How the stream learns (docs/streams.md). None takes the setting `continual.rule` of the fit.

        Returns
        -------
        StreamParts or Stream
            An iterator of parts, or a Stream where `rows` is None.

        Examples
        --------
        >>> parts = model.stream(recording.values[start : start + 500] for start in range(0, 3_000, 500))
        >>> sum(len(part.segments) for part in parts) > 0, parts.result.kind
        (True, 'stream')
        """
        self._check_fitted()
        rule = rule or self.config_.continual.rule
        if not isinstance(rule, str) or rule not in RULES:
            raise SettingError(f"rule = {rule!r}: expected {' or '.join(map(repr, RULES))}")
        if rows is not None:
            from rondo.model.parts import StreamParts

            return StreamParts(self, self.stream(frozen=frozen, rule=rule), as_chunks(rows))
        begin = FrozenReader if frozen else RULES[rule].begin
        reader = begin(
            self.unit_model_,
            self.motif_model_,
            self.config_.continual,
            (self.window_length_frames_, self.step_frames_),
            aligned=self.config_.windows.projection == "aligned",
        )
        scaling = stream_scaling(self, reader) if reader.rule == DEFAULT_RULE else None
        return Stream(self.preprocessor_, self.rate_, reader, scaling)

    def partial_fit(self, chunk: Any, y: Any = None) -> StreamReport:
        """Continual: read the next rows of the stream that this model follows.

        The first chunk begins the stream; `model.stream_` is its state. Labels that were issued do not change later.

        Parameters
        ----------
        chunk : array, table or Recording
            The next rows, in the channels of the model.
        y : Any
            Ignored; it is here for scikit-learn.

        Returns
        -------
        StreamReport
            The decisions that became due, one per window, and the events.

        Examples
        --------
        >>> report = model.partial_fit(recording.values[:1_500])
        >>> report.decisions[0].window, report.decisions[0].start_frame
        (0, 0)
        """
        if not hasattr(self, "stream_"):
            self.stream_ = self.stream()
        from rondo.model.parts import rows_of, warn_of_skipped

        n_skipped = self.stream_.n_skipped
        report = self.stream_.feed(*rows_of(self, chunk))
        warn_of_skipped(n_skipped, self.stream_.n_skipped)
        return StreamReport(shown_decisions(report.decisions, self.edits_), report.events)

    def name(self, entry: str, name: str) -> Rondo:
        """Name a unit or motif. The name stays when a stream continues and when the model is saved.

        Parameters
        ----------
        entry : str
            "unit:3" or "motif:2", or in the short form "u3" or "m2".
        name : str
            The name, in one line of printable characters.

        Returns
        -------
        Rondo
            This model.

        Examples
        --------
        >>> segments = model.name("unit:0", "rest").predict(recording).segments
        >>> segments[(segments["level"] == "unit") & (segments["id"] == 0)]["name"].unique().tolist()
        ['rest']
        """
        self.edits_ = self.edits_.named(entry, name, now(), self._known())
        return self

    def merge(self, *entries: str) -> Rondo:
        """Count entries as one from now on, under the lowest of their ids. The learned model does not change.

        If every unit is its own motif, the motifs of merged units are merged as well.

        Parameters
        ----------
        *entries : str
            Two or more units, or two or more motifs: "unit:0", "unit:2".

        Returns
        -------
        Rondo
            This model.

        Examples
        --------
        >>> 1 in model.predict(recording).units, 1 in model.merge("unit:0", "unit:1").predict(recording).units
        (True, False)
        """
        self.edits_ = self.edits_.merged(entries, now(), self._known())
        return self

    def split(self, entry: str) -> Rondo:
        """Take an entry out of the group that `merge` put it in, and its motif where every unit is its own motif.

        Parameters
        ----------
        entry : str
            As in `name`; SettingError says if it is in no group.

        Returns
        -------
        Rondo
            This model.
        """
        self.edits_ = self.edits_.split(entry, now(), self._known())
        return self

    def _known(self) -> KnownIds:
        self._check_fitted()
        return known_ids(self)

    def _to_learn_from(self, recordings: Any, rate: float | None) -> list[Recording]:
        return as_recordings(recordings, replace(Reading(rate), poses=poses_in(config_of(self).preprocess)))

    def _as_read(self, recordings: Any, rate: float | None = None) -> list[Recording]:
        """Recordings and arrays as they are; files and tables as `rondo label` and `rondo stream` read them."""
        return as_recordings(recordings, as_the_model_reads(Reading(rate), self.preprocessor_))

    def predict(
        self,
        recordings: Any,
        *,
        rate: float | None = None,
        resample: bool = False,
        group_by: GroupBy = None,
    ) -> Result:
        """Label recordings with the fitted vocabularies; the Result reports whether the model fits them.

        `rondo.label` does the same for many files, one by one, and writes a run folder.

        Parameters
        ----------
        recordings : path, folder, array, table, Recording, or a list of them
            The recordings to label, as in `rondo.discover`.
        rate : float or None
            Frames per second, for input without a clock.
        resample : bool
            Read recordings of another rate at the rate of the model; labels are returned for the original rows. Without
            it such recordings are refused.
        group_by : str, mapping or None
            The group of each recording, as in `fit`. Groups that the model was fitted on keep the positions of their
            units; for every other recording the positions are estimated from it.

        Returns
        -------
        Result
            The labels; `result.fit` reports how well the model fits each recording.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        RecordingError
            If a recording lacks a channel of the model, or has another rate.

        Examples
        --------
        >>> model.predict(recording).fit["planted1-subject0"].verdict
        'fits'
        """
        self._check_fitted()
        given = self._as_read(recordings, rate)
        groups = None if group_by is None else groups_of_recordings(given, group_by)
        named: Sequence[str | None] = groups if groups is not None else [None] * len(given)
        labellings = [label_one(self, own, resample, group) for own, group in zip(given, named, strict=True)]
        fitted = fit_profile(self)
        return result_of(self, given, labellings, kind="label", fitted=fitted, is_foreign=True, groups=groups)

    def _windows_of(
        self, recording: Recording, resample: bool = False, *, by_model: bool = False
    ) -> tuple[Signal, Windows]:
        """The frames and windows of a recording, for experiments that look inside."""
        self._check_fitted()
        one = windowed(self, recording, resample, by_model=by_model)
        return one.signal, one.windows

    def save(self, folder: str | Path) -> None:
        """Write the fitted model, and its stream if there is one, as a folder: manifest.json and tensors.safetensors.

        Parameters
        ----------
        folder : path
            The folder to write; OutputError says if it cannot be.

        Examples
        --------
        >>> model.save(tmp_path / "model")
        >>> Rondo.load(tmp_path / "model").units_ == model.units_
        True
        """
        self._check_fitted()
        model_folder.save(self, Path(as_location(folder)))

    @classmethod
    def load(cls, folder: str | Path) -> Rondo:
        """Read a model folder, on this machine or in a bucket. Nothing in it is executed.

        Parameters
        ----------
        folder : path or URL
            A folder that `save` wrote, or the folder model/ of a run.

        Returns
        -------
        Rondo
            The fitted model.

        Raises
        ------
        ModelError
            If the folder holds no model, a damaged one, or one of another method.
        MissingExtraError
            If the model needs a package that is not installed.

        Examples
        --------
        >>> Rondo.load("missing")
        Traceback (most recent call last):
            ...
        rondo.errors.ModelError: missing: no such model folder; expected one that `rondo discover` or Rondo.save wrote
        """
        return model_folder.load(cls, run_here(folder))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor.

        Parameters
        ----------
        deep : bool
            Ignored; it is here for scikit-learn.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in _parameter_names()}

    def set_params(self, **params: Any) -> Rondo:
        """Change arguments of the constructor by name.

        Parameters
        ----------
        **params : Any
            New values.

        Returns
        -------
        Rondo
            This model; SettingError is raised if there is no such argument.
        """
        for name, value in params.items():
            if name not in _parameter_names():
                raise SettingError(f"Rondo has no parameter '{name}'; it has {', '.join(_parameter_names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """What makes the same model again; of a fitted one, also what it found."""
        defaults = inspect.signature(Rondo).parameters
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k].default}
        made = f"Rondo({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
        if not self._is_fitted:
            return made
        motifs = f" and {counted(len(self.motifs_), 'motif')}" if self.motif_model_.composed else ""
        where = counted(len(self.provenance_["recordings"]), "recording")
        return f"{made} <fitted: {counted(len(self.units_), 'unit')}{motifs} in {where}>"

    def _repr_html_(self) -> str:
        if not self._is_fitted:
            return card(repr(self), {"not fitted yet": "call fit(recordings), or Rondo.load(folder)"})
        return model_card(self)

    @property
    def units_(self) -> tuple[int, ...]:
        """The ids of the units that were fitted; `Result.segments` lists where each occurs."""
        self._check_fitted()
        return tuple(self.unit_model_.ids)

    @property
    def motifs_(self) -> tuple[int, ...]:
        """The ids of the motifs that were fitted."""
        self._check_fitted()
        return tuple(self.motif_model_.ids)

    @property
    def n_features_in_(self) -> int:
        """The number of channels that the model was fitted on, under scikit-learn's name."""
        self._check_fitted()
        return len(self.preprocessor_.row_channels)

    @property
    def _is_fitted(self) -> bool:
        return "motif_model_" in vars(self)

    def _check_fitted(self) -> None:
        if not self._is_fitted:
            raise not_fitted("this Rondo is not fitted yet; call fit(recordings) or Rondo.load(folder) first")

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks before it does something: no labels are needed, and values may be missing."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags(allow_nan=True))


def _parameter_names() -> list[str]:
    return list(inspect.signature(Rondo).parameters)
