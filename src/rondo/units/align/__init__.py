"""UnitAlign, the unit stage of the paper: an adaptor and a mixture that are trained in turns."""
