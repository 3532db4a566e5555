"""What enters a method: recordings of a data set, their channels, and the axes that all of them share.

The axes of a PCA are fitted once over all recordings of a set, whichever of them are run. They are kept in the folder
of the rows, so that a task need not read the whole set to run on one recording.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.arrays import owned
from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.relations import ChannelRelations
from rondo.data.scaling import Preprocessor
from rondo.errors import AnnotationError, SettingError
from rondo.store.folder import whole_file
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.data_sets.read import DataSet, find_copy, read_data_set
from rondo_bench.experiments.spec import SetSpec

PLANTED = ("planted", "planted_motifs")
PLANTED_PLAN = StreamPlan(n_units=10, n_motifs=7, novelty=(Novelty(at=0.4), Novelty(at=0.6)))
PLANTED_SEEDS = range(20, 28)
PLANTED_FRAMES = 100_000


def recording_ids(data_set: str, data: Path | None) -> tuple[str, ...]:
    """The recordings that a data set has here, without reading them."""
    if data_set in PLANTED:
        return tuple(f"planted{seed}" for seed in PLANTED_SEEDS)
    return find_copy(data_set, data).ids


def read_some(data_set: str, data: Path | None, ids: Sequence[str], of_set: SetSpec) -> DataSet:
    """These recordings with the channels that are used, and their annotations; one without is refused."""
    read = _planted(data_set, ids) if data_set in PLANTED else read_data_set(data_set, data, only=tuple(ids))
    bare = next((recording.id for recording in read.recordings if recording.id not in read.annotations), None)
    if bare is not None:
        raise AnnotationError(
            f"recording '{bare}' of {data_set} has no annotation to score against: give it `y` (.npz), a column of "
            f"classes (.csv), or a file {bare}_labels.csv beside it"
        )
    return DataSet(
        read.name, tuple(with_channels(recording, of_set) for recording in read.recordings), read.annotations
    )


def _planted(data_set: str, ids: Sequence[str]) -> DataSet:
    streams = {id: plant(PLANTED_PLAN, n_frames=PLANTED_FRAMES, seed=int(id.removeprefix("planted"))) for id in ids}
    truths = {id: own.unit_truth if data_set == "planted" else own.motif_truth for id, own in streams.items()}
    return DataSet(
        data_set,
        tuple(stream.recording.renamed(id) for id, stream in streams.items()),
        {id: Annotation(truth, id=id) for id, truth in truths.items()},
    )


def with_channels(recording: Recording, of_set: SetSpec) -> Recording:
    """The recording with the channels that the data set uses; one whose channels have no names is used as it is."""
    if recording.is_unnamed:
        return recording
    try:
        chosen = of_set.chosen(recording.channels)
    except SettingError as error:
        raise SettingError(f"recording '{recording.id}': {error}") from None
    if chosen == recording.channels:
        return recording
    values = np.take(recording.values, [recording.channels.index(name) for name in chosen], axis=1)
    return Recording(values, recording.rate, chosen, recording.id, recording.timestamps_s, recording.notes)


# ---------------------------------------------------------------- axes that all recordings share


def shared_preprocessor(
    config: PreprocessConfig, data_set: str, data: Path | None, of_set: SetSpec, kept_in: Path
) -> Preprocessor | None:
    """Fitted over all recordings of the set, or read where it was; None where recordings share nothing."""
    if not config.pca_components and (config.scaling == "none" or config.statistics == "recording"):
        return None
    ids = recording_ids(data_set, data)
    what = json.dumps([data_set, config.model_dump(mode="json"), list(of_set.channels), ids], sort_keys=True)
    path = kept_in / "axes" / f"{Path(data_set).name}-{hashlib.sha256(what.encode()).hexdigest()[:12]}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as kept:
            channels = tuple(str(name) for name in kept["channels"])
            related = {name.removeprefix("relations."): kept[name] for name in kept if name.startswith("relations.")}
            relations = ChannelRelations(**related) if related else None
            arrays = (kept["mean"], kept["scale"], kept["components"])
            return Preprocessor(config, channels, *arrays, relations=relations)
    whole = read_some(data_set, data, ids, of_set)
    fitted = Preprocessor.fit(whole.recordings, config)
    path.parent.mkdir(parents=True, exist_ok=True)
    names, mean, scale = np.array(fitted.channels), fitted.mean, fitted.scale
    with whole_file(path) as file:
        related = {} if fitted.relations is None else owned("relations", vars(fitted.relations))
        np.savez(file, channels=names, mean=mean, scale=scale, components=fitted.components, **related)
    return fitted


def projected(recording: Recording, preprocessor: Preprocessor) -> Recording:
    """The recording on the shared axes, for a method that has no notion of them; gaps stay gaps."""
    signal = preprocessor.apply(recording)
    values = np.full_like(signal.values, np.nan)
    for start, stop in signal.spans:
        values[start:stop] = signal.values[start:stop]
    rows = values if signal.frame_of_row is None else values[signal.frame_of_row]
    return Recording(rows, recording.rate, signal.channels, recording.id, recording.timestamps_s, signal.notes)
