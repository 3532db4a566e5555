"""A baseline that can read, kept: what it learned from one recording, as a model folder that labels others.

A folder holds manifest.json and tensors.safetensors, as for Rondo (see `rondo.store.model_file`); nothing is pickled and
loading runs no code. The configuration in the manifest is {"method": name, "settings": …}, by which
`rondo.methods.load_model` finds the method.

The states of a model have the ids that they had in the recording it was learned from, 0, 1, … in order of appearance
there. A state that did not appear there, and does in another recording, comes after those.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.editing.edits import Edits, read_edits
from rondo.errors import InputError, MissingExtraError, ModelError, RecordingError
from rondo.files.inputs import as_recordings, in_hertz, same_rate
from rondo.files.reading import Reading
from rondo.result import Result
from rondo.run.tally import Words
from rondo.store import model_file
from rondo.wording import Progress, silent
from rondo_bench.baselines.base import FittedBaseline, ReadingBaseline, build_baseline


@dataclass(frozen=True, eq=False)
class KeptBaseline:
    """A method, what it learned, and how recordings are prepared for it."""

    name: str
    baseline: ReadingBaseline
    preprocessor: Preprocessor
    fitted: FittedBaseline
    order: NDArray[np.int64]  # the states as learned, in order of appearance where they were learned
    rate: float | None
    provenance: dict[str, Any]
    edits: Edits = field(default_factory=Edits)  # what people have named and merged

    # ------------------------------------------------------------ reading

    def predict(
        self, recordings: Any, *, rate: float | None = None, resample: bool = False, progress: Progress = silent
    ) -> Result:
        """Label recordings with what was learned from others."""
        from rondo_bench.baselines.method import reading_result

        return reading_result(self, as_recordings(recordings, Reading(rate)), resample, progress)

    def words(self) -> Words:
        """What people call the states; the method has nothing more to say about them."""
        return Words(units=dict.fromkeys(range(self.order.size), ""), edits=self.edits)

    def prepare(self, recording: Recording, resample: bool = False) -> Signal:
        """The recording as the method sees it; another rate is refused, or with `resample` turned into the model's."""
        if self.rate is None or recording.rate is None or same_rate(recording.rate, self.rate):
            return self.preprocessor.apply(recording)
        if not resample:
            raise RecordingError(
                f"recording '{recording.id}' has {in_hertz(recording.rate)}, expected {in_hertz(self.rate)}; "
                "read it at the rate of the model (--resample)"
            )
        return self.preprocessor.apply(recording, self.rate)

    def labels(self, signal: Signal) -> Labels:
        """One label for each row, under the ids of the recording that was learned from."""
        return self.named(signal.to_rows(self.fitted.predict(signal)))

    def named(self, labels: NDArray[np.generic]) -> Labels:
        """These states, as learned, under the ids that they had when they appeared."""
        learned, n_known = labels.astype(np.int64), self.order.size
        names = np.arange(max(int(learned.max(initial=0)), int(self.order.max(initial=0))) + 2) + n_known
        names[self.order] = np.arange(n_known)
        names[-1] = OTHER  # which OTHER = -1 finds
        return names[learned].astype(np.int32)

    # ------------------------------------------------------------ keeping

    def save(self, folder: str | Path) -> None:
        """Write the model folder."""
        preprocessor = self.preprocessor
        tensors: dict[str, NDArray[np.generic]] = {
            "preprocess.mean": preprocessor.mean,
            "preprocess.scale": preprocessor.scale,
            "preprocess.components": preprocessor.components,
            "order": self.order,
        }
        tensors |= owned("learned", self.fitted.tensors())
        config = {"method": self.name, "settings": self.baseline.config.model_dump(mode="json")}
        provenance = self.provenance | {"channels": list(preprocessor.channels), "rate": self.rate}
        edits = self.edits.as_json() if self.edits.history else None
        model_file.save(Path(folder), model_file.Artifact(config, provenance, tensors), edits=edits)

    @classmethod
    def load(cls, folder: str | Path) -> KeptBaseline:
        """Read a model folder; a damaged one is refused with what is wrong."""
        stored = model_file.load(Path(folder))
        if "method" not in stored.config:
            raise ModelError(f"{folder}: a model of Rondo, not of a baseline; load it with Rondo.load")
        try:
            return replace(cls._restore(stored), edits=read_edits(Path(folder)))
        except MissingExtraError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, InputError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(f"{folder}: its parts do not fit together ({reason}); fit the model again") from None

    @classmethod
    def _restore(cls, stored: model_file.Artifact) -> KeptBaseline:
        name = str(stored.config["method"])
        baseline = build_baseline(name, stored.config["settings"])
        if not isinstance(baseline, ReadingBaseline):
            raise ValueError(f"{name} cannot read another recording")
        provenance = dict(stored.provenance)
        channels = tuple(str(channel) for channel in provenance.pop("channels"))
        rate = provenance.pop("rate")
        mean, scale, components = (
            np.asarray(stored.tensors[f"preprocess.{part}"], np.float64) for part in ("mean", "scale", "components")
        )
        if mean.shape != (len(channels),) or scale.shape != mean.shape or components.shape[1:] != mean.shape:
            raise ValueError("preprocessing does not fit the channels")
        preprocessor = Preprocessor(baseline.config.preprocess, channels, mean, scale, components)
        order = np.asarray(stored.tensors["order"], np.int64)
        if order.ndim != 1 or order.size != np.unique(order).size or (order < 0).any():
            raise ValueError("the order of its states names one twice, or none")
        fitted = baseline.restore(owned_by("learned", stored.tensors))
        return cls(name, baseline, preprocessor, fitted, order, None if rate is None else float(rate), provenance)


def order_of_appearance(labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """The different labels in the order in which they appear; OTHER left out.

    >>> order_of_appearance(np.array([7, 7, -1, 2, 7, 9])).tolist()
    [7, 2, 9]
    """
    ids, firsts = np.unique(labels, return_index=True)
    known = ids != OTHER
    return np.asarray(ids[known][firsts[known].argsort()], dtype=np.int64)
