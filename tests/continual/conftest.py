"""Models that streams begin with, each fitted once; nobody changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.motifs.composed import ComposedMotifs
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import PlantedStream, plant
from tests.motifs.planted_contexts import LENGTH, LONG, STEP
from tests.motifs.planted_contexts import planted as planted_contexts

N_CONTEXT_FRAMES = LENGTH + STEP * 1_996  # the last long window ends with the recording
QUICK: dict[str, Any] = {"evidence.surrogates": 0}
PUBLISHED: dict[str, Any] = QUICK | {"continual.rule": "published"}
PAPER: dict[str, Any] = PUBLISHED | {
    "encoder.name": "summary_stats",
    "units.init_epochs": 3,
    "units.refine_epochs": 1,
    "units.max_rounds": 1,
    "units.mixture.latent_dim": 8,
    "units.mixture.component_cap": 12,
    "motifs.lengths": [2, 3, 4, 5, 6, 8],
    "motifs.epochs": 2,
    "motifs.model_dim": 16,
    "motifs.mixture.latent_dim": 8,
    "motifs.mixture.component_cap": 16,
}


@pytest.fixture(scope="session")
def novel_stream() -> PlantedStream:
    """A unit and a motif come after 16,000 of its frames; models are fitted on the first 8,000."""
    plan = StreamPlan(n_units=9, n_motifs=6, novelty=(Novelty(at=0.4, n_motifs=1, n_units=1),))
    return plant(plan, n_frames=40_000, seed=1)


@pytest.fixture(scope="session")
def stream_model(novel_stream: PlantedStream) -> Rondo:
    values = novel_stream.recording.values[:8_000]
    return Rondo(window=75, step=18, settings=QUICK).fit(Recording(values, rate=50))


@pytest.fixture(scope="session")
def context_values() -> NDArray[np.float32]:
    return planted_contexts(N_CONTEXT_FRAMES)[0]


@pytest.fixture(scope="session")
def context_model(context_values: NDArray[np.float32]) -> Rondo:
    """Its motifs are contexts."""
    found = Rondo(window=LENGTH, step=STEP, settings=QUICK | {"motifs.window": LONG}).fit(context_values)
    assert isinstance(found.motif_model_, ComposedMotifs)
    found.motif_model_ = found.motif_model_.showing("context")
    return found


@pytest.fixture(scope="session")
def published_values() -> NDArray[np.float32]:
    plan = StreamPlan(n_units=10, n_motifs=7, novelty=(Novelty(at=0.3, n_motifs=2, n_units=2),))
    return plant(plan, n_frames=60_000, seed=4).recording.values


@pytest.fixture(scope="session")
def paper_model(published_values: NDArray[np.float32]) -> Rondo:
    """UnitAlign and MotifFormer, by the published rule."""
    pytest.importorskip("torch")
    fitted = Rondo(preset="paper-fast", window=75, step=18, settings=PAPER, device="cpu")
    return fitted.fit(Recording(published_values[:12_000], rate=50))


@pytest.fixture(scope="session")
def slow_units_model(published_values: NDArray[np.float32]) -> Rondo:
    """Slow units and phrases of units, whose readers are those of the other rule, by the published rule."""
    return Rondo(window=75, step=18, settings=PUBLISHED).fit(Recording(published_values[:12_000], rate=50))
