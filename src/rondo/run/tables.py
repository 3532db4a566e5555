"""Tables of a Result beside that of its segments: frames, curves of training, and rows of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the report takes tables from here, and reads no settings
    import pandas as pd
    import polars as pl

    from rondo.labelling import Labelling
    from rondo.run.counting import Words


def tables_of(labellings: Mapping[str, Labelling]) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """The segments of each recording, and those of motifs that labels do not show."""
    each = [(id, labelling.table, labelling.unshown_table) for id, labelling in labellings.items()]
    return {id: table for id, table, _ in each}, {id: table for id, _, table in each}


def curve_table(words: Words) -> pl.DataFrame | None:
    """What training reached: one row per curve and step."""
    if not words.curves:
        return None
    import polars as pl

    rows = [(curve, step, value) for curve, values in words.curves.items() for step, value in enumerate(values)]
    columns = {"curve": pl.String, "step": pl.Int64, "value": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def row_table(kind: type[Any], rows: Sequence[Any]) -> pd.DataFrame:
    """One row for each value of a dataclass; its columns also where there are none."""
    import pandas as pd

    return pd.DataFrame(map(vars, rows), columns=[one.name for one in fields(kind)])


def frame_table(labelling: Labelling) -> pd.DataFrame:
    """One row per frame: its time, unit, motif and their scores."""
    import pandas as pd

    n = labelling.n_frames
    seconds = np.full(n, np.nan) if labelling.times_s is None else labelling.times_s
    return pd.DataFrame(
        {
            "recording": [labelling.recording_id] * n,
            "frame": np.arange(n),
            "seconds": seconds,
            "unit": labelling.units,
            "motif": labelling.motifs,
            "unit_score": labelling.unit_scores,
            "motif_score": labelling.motif_scores,
        }
    )
