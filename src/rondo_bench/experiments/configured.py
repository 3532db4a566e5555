"""A method of a spec on one data set, with every setting in effect, and the fingerprint by which its rows are known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rondo.config.settings import RondoConfig, network_in, resolve
from rondo_bench.baselines.base import Baseline, JoiningBaseline, build_baseline
from rondo_bench.experiments.spec import Level, Method, Protocol, SetSpec


def baseline_for(method: Method, data_set: str, of_set: SetSpec) -> Baseline:
    """The baseline with the windows and axes of the data set, where it has such settings; its own axes go first."""
    settings = method.settings_for(data_set)
    if "windows" in type(build_baseline(method.baseline).config).model_fields:
        settings |= _windows(of_set)
    n_axes = of_set.pca_of(method.baseline)
    return build_baseline(method.baseline, ({"preprocess.pca_components": n_axes} if n_axes else {}) | settings)


def rondo_for(method: Method, data_set: str, of_set: SetSpec, protocol: Protocol, mantis: str = "") -> RondoConfig:
    """Every setting of Rondo; windows are those of the data set, unless the method has its own.

    Axes that all recordings of a set share are applied before (`experiments/inputs.py`), and Rondo takes the values as
    they come; a stream, whose future is not known, fits its own on its first part.
    """
    settings = _windows(of_set) | method.settings_for(data_set)
    n_axes = of_set.pca_of("rondo")
    if n_axes and protocol == "continual":
        settings["preprocess.pca_components"] = n_axes
    elif n_axes:
        settings["preprocess.scaling"] = "none"
    return resolve(
        method.preset, overrides=settings | ({"encoder.weights": mantis} if method.needs == "mantis" else {})
    )


def _windows(of_set: SetSpec) -> dict[str, Any]:
    return {"windows.length": of_set.window, "windows.step": of_set.step} if of_set.window != "auto" else {}


def joins(method: Method, baseline: Baseline | None) -> bool:
    """Whether the method is given all recordings of a set together."""
    return method.joint or (bool(method.baseline) and isinstance(baseline, JoiningBaseline))


def level_of(method: Method, of_set: SetSpec) -> Level:
    """Which of Rondo's labels are scored."""
    return of_set.level or method.level


def config_of(
    method: Method, data_set: str, of_set: SetSpec, protocol: Protocol, mantis: str = ""
) -> tuple[dict[str, Any], Baseline | None]:
    """The settings in effect as plain values, and the baseline that has them."""
    about: dict[str, Any] = {"channels": list(of_set.channels)}
    if method.clock:
        return about | {"pieces": method.clock}, None
    if method.stored:
        return about | {"stored": method.stored}, None
    if method.published:
        return about | {"published": method.published.get(data_set, {})}, None
    if method.baseline:
        baseline = baseline_for(method, data_set, of_set)
        return about | {"baseline": method.baseline} | baseline.config.model_dump(mode="json"), baseline
    own = rondo_for(method, data_set, of_set, protocol, mantis).model_dump(mode="json")
    about |= {"axes": of_set.pca_of("rondo"), "level": level_of(method, of_set), "refit_motifs": method.refit_motifs}
    about |= {"adapt_units": True} if method.adapt_units else {}  # rows from before there was such a choice stay valid
    about |= {"joint": True} if method.joint else {}
    return about | own, None


def trains_networks(config: Mapping[str, Any]) -> bool:
    """Whether a GPU helps: Rondo with an encoder, units or motifs that are networks. Baselines do not use one.

    >>> trains_networks({"encoder": {"name": "ts2vec"}}), trains_networks({"baseline": "time2state"})
    (True, False)
    """
    if "baseline" in config:
        return False
    own = {name: config[name] for name in RondoConfig.model_fields if name in config}
    return network_in(RondoConfig.model_validate(own)) is not None


def fingerprint(config: Mapping[str, Any], protocol: str, learned_from: Sequence[str] = ()) -> str:
    """Letters that differ where settings do, then, after a dash, letters for the recordings that were learned from.

    Not for what leaves labels as they are: seed, device, paths.

    >>> fingerprint({"seed": 1, "n": 2}, "static") == fingerprint({"n": 2, "seed": 3}, "static")
    True
    """
    kept = {name: value for name, value in config.items() if name not in ("seed", "device")}
    if isinstance(kept.get("encoder"), Mapping):
        kept["encoder"] = {name: value for name, value in kept["encoder"].items() if name != "weights"}
    kept = _without_later_settings(kept)
    continual = kept.get("continual")
    if isinstance(continual, Mapping) and continual.get("rule") == "exemplars":  # rows from before there was another
        kept["continual"] = {name: value for name, value in continual.items() if name != "rule"}
    settings = _letters([protocol, kept])
    return f"{settings}-{_letters(sorted(learned_from))[:4]}" if learned_from else settings


_LATER = {"autoencoder_least_steps": 40, "items_per_epoch": 4096, "dropouts": "fill"}
"""Settings by what was the rule before they could be set."""


def _without_later_settings(config: Any) -> Any:
    """Rows from before there was a choice stay valid: what can be chosen since is left out where it is as it was."""
    if not isinstance(config, Mapping):
        return config
    return {
        name: _without_later_settings(value)
        for name, value in config.items()
        if not (name in _LATER and value == _LATER[name])
    }


def _letters(values: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]
