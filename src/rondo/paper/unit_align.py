"""UnitAlign: adapt the encoder's space to one set of windows by clustering and contrasting in turn.

First the adaptor learns to keep the geometry of the representations without collapsing (L_init). Then, round by round,
the windows are clustered and the adaptor pulls windows of one component together (L_refine), until the components
stay the same:

    L_init   = l_geom L_geom + l_VIC (l_var L_var + l_cov L_cov)
    L_refine = l_sup L_sup + l_geom L_geom + l_var L_var + l_cov L_cov

The paper's text has one weight for L_VIC and its table two, for variance and covariance; read together they are the
above. Representations are standardised per dimension first, and their cosine geometry is that of the result. Every
clustering starts from the same seed, so that what changes from round to round is the adaptor's doing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it
from numpy.typing import NDArray
from torch import nn

from rondo.arrays import check_shapes, generators, owned, owned_by
from rondo.config.settings import MixtureConfig
from rondo.data.labels import OTHER, label_agreement
from rondo.data.windows import Span
from rondo.encoders.base import Curves
from rondo.errors import ModelError, RondoWarning
from rondo.paper.deep_dpm import FittedAutoencoder, fit_autoencoder
from rondo.paper.settings import UnitAlignConfig
from rondo.paper.training import Descent, batches, load_weights, seeded_linear, settled, small_steps, weights_of
from rondo.registry import MIXTURES
from rondo.units.fit import Latents, UnitInput
from rondo.units.model import checked_representations, standardisation
from rondo.wording import Progress, silent

# The adaptor of UnitAlign: a residual bottleneck that bends the encoder's space to the recording at hand.
#
#     h = LayerNorm(y + alpha W2 Dropout(GELU(W1 y)))        z = normalize(Wh h)
#
# W2 starts at zero, so that h starts as LayerNorm(y). Each W is a linear layer with a bias, which the paper's
# equations leave out; dropout, which it does not number, is 0.1.

_DROPOUT = 0.1  # not numbered in the paper; chosen by hand, not measured


class Adaptor(nn.Module):
    """Representations y (B, D) -> adapted h (B, D) and unit embeddings z (B, output_dim)."""

    def __init__(self, n_dims: int, config: UnitAlignConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.alpha = config.alpha
        self.down = seeded_linear(n_dims, config.bottleneck_dim, generator)  # W1
        self.up = seeded_linear(config.bottleneck_dim, n_dims, generator)  # W2
        self.norm = nn.LayerNorm(n_dims)
        self.head = seeded_linear(n_dims, config.output_dim, generator)  # Wh
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, y: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """h and z; `mask` (B, bottleneck_dim) multiplies the bottleneck, and is given in training only."""
        inner = F.gelu(self.down(y))  # (B, bottleneck_dim)
        if mask is not None:
            inner = inner * mask
        h = self.norm(y + self.alpha * self.up(inner))  # (B, D)
        return h, F.normalize(self.head(h), dim=1)  # (B, D), (B, output_dim)

    def dropout_mask(self, n_windows: int, generator: torch.Generator) -> torch.Tensor:
        """0 for one in ten, 1/0.9 for the rest, (n_windows, bottleneck_dim); drawn on the CPU whatever the device."""
        kept = torch.rand(n_windows, self.down.out_features, generator=generator) >= _DROPOUT
        return kept.to(self.down.weight) / (1 - _DROPOUT)


# The losses of UnitAlign: keep the encoder's geometry, pull windows of one component together.
#
# Pure functions of one batch of B windows. Each is finite, with a finite gradient, for any batch: one without two
# windows of one component has nothing to contrast.


def geometry_loss(y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """How far the cosine similarities of embeddings z (B, E) are from those of representations y (B, D).

    L_geom = 1/B^2 ||S(Y) - S(Z)||_F^2,    S(X)_ij = cos(x_i, x_j)
    """
    return (_cosines(y) - _cosines(z)).square().mean()


def supervised_contrast(z: torch.Tensor, labels: torch.Tensor, temperature: float) -> torch.Tensor:
    """Supervised contrastive loss of unit embeddings z (B, E) with labels (B,) (Khosla et al. 2020, L_out).

        L_sup = mean_i  -1/|P(i)| sum_{p in P(i)} log( exp(z_i z_p / tau) / sum_{a != i} exp(z_i z_a / tau) )

    P(i) are the other windows with the label of i. Noise, any negative label, is neither i, p nor a; a window that is
    alone with its label is no i, but still something that others differ from.
    """
    itself = torch.eye(z.shape[0], dtype=torch.bool, device=z.device)
    known = labels >= 0
    compared = known[:, None] & known[None, :] & ~itself  # (B, B)
    alike = compared & (labels[:, None] == labels[None, :])
    # The least number, not -inf: a row that compares with nothing has a gradient of 0, not of 0/0.
    logits = (z @ z.T / temperature).masked_fill(~compared, torch.finfo(z.dtype).min)
    log_share = logits - logits.logsumexp(dim=1, keepdim=True)
    n_alike = alike.sum(1)
    of_each = -log_share.masked_fill(~alike, 0.0).sum(1) / n_alike.clamp_min(1)  # (B,)
    return of_each.sum() / (n_alike > 0).sum().clamp_min(1)


def _cosines(x: torch.Tensor) -> torch.Tensor:
    units = F.normalize(x, dim=1)
    return units @ units.T


# Two losses that keep a space from collapsing (VICReg, Bardes et al. 2022), of a batch h of B items in D dimensions.
#
# Each is finite, with a finite gradient, for any batch: the spread of a single item is 0.

_SPREAD_FLOOR = 1e-4  # inside the root, as published: the gradient of a collapsed dimension stays finite


def variance_hinge(h: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """What the spread of each dimension of h (B, D) lacks to 1, averaged (eq. 1); a weight is a repetition.

    L_var = 1/D sum_d max(0, 1 - sqrt(Var_w(h_d) + 1e-4)),    Var_w(x) = sum_i w_i (x_i - mean_w x)^2 / (sum_i w_i - 1)
    """
    if weights is None:
        variances = (h - h.mean(0)).square().sum(0) / max(h.shape[0] - 1, 1)  # (D,)
    else:
        total = weights.sum()
        variances = weights @ (h - weights @ h / total).square() / (total - 1).clamp_min(1)
    return F.relu(1 - (variances + _SPREAD_FLOOR).sqrt()).mean()


def covariance_penalty(h: torch.Tensor) -> torch.Tensor:
    """How much the dimensions of h (B, D) say the same (eq. 3-4).

    L_cov = 1/D sum_{d != e} Cov(h)_de^2
    """
    centred = h - h.mean(0)
    covariance = centred.T @ centred / max(h.shape[0] - 1, 1)  # (D, D)
    return (covariance.square().sum() - covariance.diagonal().square().sum()) / h.shape[1]


_BATCH_SIZE = 128  # 64 took 1.5 times the CPU time on 3,600 windows and reached the same geometry
_LEAST_BATCH = 8  # the covariance of fewer windows is mostly chance
_LEARNING_RATE = 1e-3  # not in the paper; the default of AdamW


class AlignTerms(NamedTuple):
    """The loss terms of UnitAlign, before their weights."""

    contrast: float
    geometry: float
    variance: float
    covariance: float


class Round(NamedTuple):
    """One line of the training log: what the adaptor reached, and what clustering then found."""

    number: int  # 0 is the initialisation
    contrast: float  # loss terms, mean over the last epoch; no contrast in round 0
    geometry: float
    variance: float
    covariance: float
    ari_to_previous: float  # agreement with the components one round before; 0 in round 0
    ari_to_start: float  # agreement with the components of round 0
    n_components: int  # noise left out
    kept_neighbours: float  # share of consecutive windows in the same component; 1 where there are none


@dataclass(frozen=True, eq=False)
class UnitAlignment:
    """Representations -> standardised -> adaptor -> autoencoder; fitting gives it, and nothing changes it."""

    centre: NDArray[np.float64]  # (n_dims,)
    spread: NDArray[np.float64]  # (n_dims,)
    adaptor: Adaptor  # float64, on the CPU, not to be trained any more
    autoencoder: FittedAutoencoder | None  # None where mixture.latent_dim = 0
    log: tuple[Round, ...]

    @property
    def curves(self) -> Curves:
        rounds = {name: [float(getattr(line, name)) for line in self.log] for name in Round._fields}
        return {name: values for name, values in rounds.items() if name != "number"}

    def embed(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Unit embeddings z (n_windows, output_dim), of which unit prototypes are means."""
        y = (checked_representations(representations, self.centre.size) - self.centre) / self.spread
        with torch.no_grad():
            return np.asarray(self.adaptor(torch.from_numpy(y))[1].numpy())

    def apply(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Latents (n_windows, latent_dim)."""
        z = self.embed(representations)
        return self.autoencoder.encode(z) if self.autoencoder else z

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        learned = owned("adaptor", weights_of(self.adaptor))
        if self.autoencoder:
            learned |= owned("autoencoder", self.autoencoder.tensors())
        return {**learned, "centre": self.centre, "spread": self.spread, "log": np.array(self.log, np.float64)}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: UnitAlignConfig) -> UnitAlignment:
        try:
            centre, spread, log = (np.asarray(tensors[name], np.float64) for name in ("centre", "spread", "log"))
            check_shapes(tensors, {"centre": "d", "spread": "d"})
            if not (spread > 0).all():
                raise ValueError("a dimension without spread")
            adaptor = Adaptor(centre.size, config, torch.Generator())
            rounds = tuple(Round._make([int(row[0]), *row[1:7], int(row[7]), row[8]]) for row in log.tolist())
        except (KeyError, IndexError, ValueError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"UnitAlign's tensors do not fit together ({reason}); fit the model again") from None
        load_weights(adaptor, owned_by("adaptor", tensors), "adaptor")
        stored = owned_by("autoencoder", tensors)
        autoencoder = FittedAutoencoder.restore(stored) if config.mixture.latent_dim else None
        return cls(centre, spread, settled(adaptor), autoencoder, rounds)


def fit_latents(data: UnitInput, config: UnitAlignConfig) -> Latents:
    rows, spans = data.joined()
    projection = fit_unit_align(rows, spans, config, data.seed, data.device, data.progress)
    return Latents.of(projection, rows, spans)


def fit_unit_align(
    representations: NDArray[np.float32],
    spans: Sequence[Span],
    config: UnitAlignConfig,
    seed: int,
    device: str,
    progress: Progress = silent,
) -> UnitAlignment:
    """Fit on representations (n_windows, n_dims); `spans` (windows) say which are neighbours, for the log only.

    `max_rounds = 0` is the ablation "initialisation only".
    """
    rows = checked_representations(representations)
    centre, spread = standardisation(rows) if config.standardise else (np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
    streams = generators(seed, ("adaptor", "clustering"))
    clustering_seed = int(streams["clustering"].integers(2**63))
    generator = torch.Generator().manual_seed(int(streams["adaptor"].integers(2**63)))
    adaptor = Adaptor(rows.shape[1], config, generator).to(device)
    optimiser = small_steps(adaptor.parameters(), _LEARNING_RATE, decay=0.01)
    y = torch.as_tensor((rows - centre) / spread, dtype=torch.float32, device=device)
    training = _Training(y, config, adaptor, optimiser, generator)

    terms = _initialise(training)
    labels, autoencoder = _clustered(training.embeddings(), config.mixture, clustering_seed, device)
    start, log = labels, [_logged(0, terms, labels, None, labels, spans)]
    while not _stable(log, config) and len(log) <= config.max_rounds:
        terms = _refine(training, labels)
        before = labels
        labels, autoencoder = _clustered(training.embeddings(), config.mixture, clustering_seed, device)
        progress("units: rounds", len(log), config.max_rounds)
        log.append(_logged(len(log), terms, labels, before, start, spans))
    if config.max_rounds and not _stable(log, config):
        first, last = log[0], log[-1]
        warnings.warn(
            f"UnitAlign's components did not settle in {last.number} rounds: ARI {last.ari_to_previous:.3f} to the "
            f"round before (wanted {config.stable_ari:g}, {config.patience} times), {last.ari_to_start:.3f} to the "
            f"first, {first.n_components} -> {last.n_components} components; units.max_rounds = 0 keeps the "
            "initialisation",
            RondoWarning,
            stacklevel=2,
        )
    # The last clustering saw the final adaptor, so its autoencoder is the final one.
    return UnitAlignment(centre, spread, settled(training.adaptor), autoencoder, tuple(log))


@dataclass(frozen=True, eq=False)
class _Training:
    """What the steps share: the windows, and the adaptor with everything that changes it."""

    y: torch.Tensor  # (n_windows, n_dims), standardised
    config: UnitAlignConfig
    adaptor: Adaptor
    optimiser: torch.optim.Optimizer
    generator: torch.Generator

    def embeddings(self) -> NDArray[np.float32]:
        with torch.no_grad():
            return np.asarray(self.adaptor(self.y)[1].cpu().numpy())


def _initialise(training: _Training) -> AlignTerms:
    """Keep the geometry, do not collapse: no component is known yet."""
    config = training.config
    vic = config.init_vic_weight
    weights = AlignTerms(0.0, config.init_geometry_weight, vic * config.variance_weight, vic * config.covariance_weight)
    n_windows = len(training.y)
    shuffled = batches(n_windows, _BATCH_SIZE, config.init_epochs, training.generator)
    noise = np.full(n_windows, OTHER)
    return _descend(training, shuffled, config.init_epochs, weights, noise)


def _refine(training: _Training, labels: NDArray[np.int64]) -> AlignTerms:
    """Pull windows of one component together, the geometry still kept."""
    config = training.config
    weights = AlignTerms(
        config.contrast_weight, config.geometry_weight, config.variance_weight, config.covariance_weight
    )
    n_batches = config.refine_epochs * math.ceil(labels.size / _BATCH_SIZE)
    balanced = balanced_batches(labels, _BATCH_SIZE, n_batches, training.generator)
    return _descend(training, balanced, config.refine_epochs, weights, labels)


def _descend(
    training: _Training, drawn: Iterable[torch.Tensor], n_epochs: int, weights: AlignTerms, labels: NDArray[np.int64]
) -> AlignTerms:
    """One step per batch down the weighted sum of the terms; gives their means over the last epoch."""
    least = max(2, min(_LEAST_BATCH, labels.size))  # without the small rest of an epoch; of few windows two will do
    order = [batch for batch in drawn if batch.numel() >= least]
    y, adaptor, temperature = training.y, training.adaptor, training.config.temperature
    targets, weight_of = torch.as_tensor(labels, device=y.device), torch.tensor(weights, device=y.device)
    nothing = y.new_zeros(())  # what noise alone, as in the initialisation, has to contrast

    def terms_of(batch: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h, z = adaptor(y[batch], mask)
        contrast = supervised_contrast(z, targets[batch], temperature) if weights.contrast else nothing
        return torch.stack([contrast, geometry_loss(y[batch], z), variance_hinge(h), covariance_penalty(h)])

    steps = ((batch, adaptor.dropout_mask(batch.numel(), training.generator)) for batch in order)
    seen = Descent(terms_of, weight_of, training.optimiser).steps(steps)
    if not len(seen):
        return AlignTerms(0.0, 0.0, 0.0, 0.0)
    return AlignTerms(*seen[-math.ceil(len(seen) / n_epochs) :].mean(0).tolist())


def balanced_batches(
    labels: NDArray[np.int64], batch_size: int, n_batches: int, generator: torch.Generator
) -> Iterator[torch.Tensor]:
    """Indices of about `batch_size` windows, as many of each label as of any other, as far as it has members.

    No window is twice in a batch, and a label that is there brings at least two of its members, if it has two: a
    window without a partner has nothing to be contrasted with. Noise is balanced as one more label.
    """
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    shares = np.arange(2, max(2, int(sizes.max())) + 1)
    totals = np.minimum(sizes, shares[:, None]).sum(axis=1)
    share = shares[max(0, int(np.searchsorted(totals, batch_size, side="right")) - 1)]
    groups = torch.as_tensor(codes)
    taken = torch.as_tensor(np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) < share)
    for _ in range(n_batches):
        shuffled = torch.randperm(labels.size, generator=generator)
        by_group = shuffled[torch.argsort(groups[shuffled], stable=True)]
        yield by_group[taken]


def _clustered(
    z: NDArray[np.float32], config: MixtureConfig, seed: int, device: str
) -> tuple[NDArray[np.int64], FittedAutoencoder | None]:
    """Component of every window, OTHER for noise: the members of components too light to keep."""
    autoencoder = fit_autoencoder(z, config, seed, device) if config.latent_dim else None
    latents = autoencoder.encode(z) if autoencoder else z
    with warnings.catch_warnings():
        # Pseudo-labels need no settled mixture; the fit that makes the vocabulary speaks for itself.
        warnings.simplefilter("ignore", RondoWarning)
        # All components are kept, so that the members of the light ones are known.
        whole = config.model_copy(update={"min_weight": 0.0})
        mixture = MIXTURES[whole.kind].fit(latents, whole, np.random.default_rng(seed), 1.0, device, None)
    component = mixture.posterior(latents).argmax(axis=1)
    light = mixture.weights < min(config.min_weight, mixture.weights.max())
    return np.where(light[component], OTHER, component), autoencoder


def _logged(
    number: int,
    terms: AlignTerms,
    labels: NDArray[np.int64],
    before: NDArray[np.int64] | None,
    start: NDArray[np.int64],
    spans: Sequence[Span],
) -> Round:
    kept = np.concatenate([labels[a : b - 1] == labels[a + 1 : b] for a, b in spans] or [np.ones(0, np.bool_)])
    return Round(
        number,
        *terms,
        0.0 if before is None else label_agreement(before, labels),
        label_agreement(start, labels),
        int(np.unique(labels[labels != OTHER]).size),
        float(kept.mean()) if kept.size else 1.0,
    )


def _stable(log: Sequence[Round], config: UnitAlignConfig) -> bool:
    """The last `patience` rounds each found the components of the round before; round 0 has none before it."""
    latest = log[-config.patience :]
    return len(latest) == config.patience and all(line.ari_to_previous >= config.stable_ari for line in latest)
