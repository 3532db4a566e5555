"""What the fitted unit model says against each of its own units, in the scale of a stream that learns.

The nearest exemplar tells whether a window is anything known. It tells known units apart less well than the model does,
whose projection was fitted for that. So each unit of the model costs more by

    share * price * (d_k - min_j d_j) / penalty

where d_k is what the window costs under unit k in the model and `penalty` is what a change costs there; `price` is what
a change costs in the stream. The cheapest unit costs nothing more: whether a window is OTHER stays with the exemplars.
With a share of 1 and no exemplars, known units would be told apart exactly as `label` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.units.timeline import centre_distances

if TYPE_CHECKING:
    from rondo.units.model import UnitModel

_SHARE = 0.3  # 0.2 to 0.5 are alike on ActRecTut, OpenPack and planted streams


class ModelExcess:
    """The unit model, with its units in the order of a stream."""

    def __init__(self, model: UnitModel, unit_ids: list[int], price: float) -> None:
        """`unit_ids`: those of the model, in the order of the columns to be given."""
        self._model, self._n_units = model, len(unit_ids)
        shown = model.tree.coarsened(np.array(model.vocabulary.ids), model.n_merges).tolist()
        self._column = np.array([unit_ids.index(unit) for unit in shown])  # of each entry of the vocabulary
        self._scale = _SHARE * price / model.penalty if model.penalty > 0 else 0.0

    def of(self, representations: NDArray[np.floating]) -> Floats:
        """How much more each unit costs than the cheapest, (n_windows, n_units); 0 for that one."""
        return self._over_the_cheapest(self._model.costs(representations))

    def of_each(self, representations: NDArray[np.floating]) -> Floats:
        """The same, each row exactly as `of` has it for one window: a product of many rows rounds differently."""
        latents = [self._model.projection.apply(row[None]) for row in representations]
        return self._over_the_cheapest(centre_distances(np.concatenate(latents), self._model.vocabulary.centres))

    def _over_the_cheapest(self, costs: Floats) -> Floats:
        least = np.full((self._n_units, len(costs)), np.inf)
        np.minimum.at(least, self._column, costs.T)  # a merged unit costs what the nearest of its entries does
        return np.asarray(self._scale * (least - least.min(axis=0)).T)
