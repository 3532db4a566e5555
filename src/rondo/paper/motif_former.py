"""MotifFormer's network: a small Transformer that describes a subsequence of units by its [CLS] output.

    x_0 = cls + length_l        x_p = W c(u_p) + position_p + length_l,  p = 1 .. l        h = Transformer(x_0 .. x_l)_0

c(u) is the centroid of unit u. The paper gives layers, width and heads; the rest is the plain encoder of Vaswani et al.
(2017): norms after the residuals, a feed-forward layer four times as wide as the model. There is no dropout: the views
that the network learns from are corrupted already.

In a corrupted view some tokens are masked, some dropped (paper: MotifFormer Implementation). A masked token keeps its
place and hides its unit; a dropped token is not there, and the others keep their positions.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it
from numpy.typing import NDArray
from torch import nn

from rondo.arrays import Floats, Ints, generators, owned
from rondo.data.labels import OTHER
from rondo.data.windows import Span
from rondo.errors import ModelError, RecordingError, RondoWarning, SettingError
from rondo.paper.candidates import Batch, Pool, weighted_sample
from rondo.paper.deep_dpm import fit_autoencoder
from rondo.paper.settings import MotifFormerConfig
from rondo.paper.training import load_weights, minimise, seeded_linear, settled, weights_of
from rondo.paper.unit_align import variance_hinge
from rondo.units.mixture import fit_mixture

_WIDENING = 4  # Vaswani et al.; it costs little here, since only [CLS] and masked tokens go through the last one
_EMBEDDING_SPREAD = 0.02  # BERT's


class View(NamedTuple):
    """What is done to each token of a batch of equal lengths; no token is both masked and dropped."""

    masked: torch.Tensor  # (B, length), bool
    dropped: torch.Tensor  # (B, length), bool


def corrupted(
    n_items: int, length: int, mask_probability: float, drop_probability: float, generator: torch.Generator
) -> View:
    """An independent view of each item; at least one of its tokens stays as it is.

    One number u in [0, 1) decides per token: dropped below `drop_probability`, masked in the next `mask_probability`.
    The token with the largest u always stays: a view without any unit says nothing of the subsequence it came from.
    Drawn on the CPU, whatever the device.
    """
    u = torch.rand(n_items, length, generator=generator)
    u.scatter_(1, u.argmax(1, keepdim=True), math.inf)
    dropped = u < drop_probability
    return View((u < drop_probability + mask_probability) & ~dropped, dropped)


class Layer(nn.Module):
    """One post-norm encoder layer: some tokens look at all tokens of their item, then each goes on by itself.

    Which tokens do is the caller's choice: of the last layer, few are wanted. Items share tokens where a unit stands at
    one place in many of them. Where the tokens are fewer than the looks, every token is compared with every other, once
    for all items, and what an item sees of them is picked out.
    """

    def __init__(self, dim: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.query = seeded_linear(dim, dim, generator)
        self.key = seeded_linear(dim, dim, generator)
        self.value = seeded_linear(dim, dim, generator)
        self.seen = seeded_linear(dim, dim, generator)
        self.widen = seeded_linear(dim, _WIDENING * dim, generator)
        self.narrow = seeded_linear(_WIDENING * dim, dim, generator)
        self.norm_seen, self.norm_out = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(
        self, tokens: torch.Tensor, looking: torch.Tensor, at: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        """`looking` (R,) number those of the `tokens` (S, dim) that look, `at` (R, T) what each looks at.

        Of that they see what is `visible` (R, T), [CLS] at least. Gives (R, dim).
        """
        x = tokens.index_select(0, looking)  # (R, dim)
        attend = self._through_table if len(tokens) < len(looking) else self._one_by_one
        x = self.norm_seen(x + self.seen(attend(tokens, looking, at, visible)))
        out: torch.Tensor = self.norm_out(x + self.narrow(F.gelu(self.widen(x))))
        return out

    def _through_table(
        self, tokens: torch.Tensor, looking: torch.Tensor, at: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        n_tokens, n_looks, n_heads = len(tokens), len(looking), self.heads
        query, key, value = (
            of(tokens).view(n_tokens, n_heads, -1).transpose(0, 1) for of in (self.query, self.key, self.value)
        )  # (heads, S, dim / heads)
        table = (query @ key.mT / math.sqrt(key.shape[2])).flatten(1)  # (heads, S S)
        cells = (looking[:, None] * n_tokens + at).flatten().expand(n_heads, -1)
        fit = table.gather(1, cells).view(n_heads, n_looks, -1)  # (heads, R, T)
        shares = fit.masked_fill(~visible, -math.inf).softmax(2)
        spread = shares.new_zeros(n_heads, n_looks, n_tokens).scatter(2, at.expand(n_heads, -1, -1), shares)
        seen: torch.Tensor = (spread @ value).transpose(0, 1).flatten(1)  # (R, dim)
        return seen

    def _one_by_one(
        self, tokens: torch.Tensor, looking: torch.Tensor, at: torch.Tensor, visible: torch.Tensor
    ) -> torch.Tensor:
        n_looks, n_heads, dim = len(looking), self.heads, tokens.shape[1] // self.heads
        query = self.query(tokens.index_select(0, looking)).view(n_looks, 1, n_heads, dim)  # (R, 1, heads, dim / heads)
        key, value = (
            of(tokens).index_select(0, at.flatten()).view(*at.shape, n_heads, dim) for of in (self.key, self.value)
        )  # (R, T, heads, dim / heads)
        fit = (query * key).sum(3) / math.sqrt(dim)  # (R, T, heads)
        shares = fit.masked_fill(~visible[:, :, None], -math.inf).softmax(1)
        seen: torch.Tensor = (shares[..., None] * value).sum(1).flatten(1)  # (R, dim)
        return seen


class MotifFormerNet(nn.Module):
    """Unit codes (B, length) -> descriptors (B, model_dim), with heads for reconstruction and pseudo-labels."""

    def __init__(self, centroids: torch.Tensor, config: MotifFormerConfig, generator: torch.Generator) -> None:
        super().__init__()
        dim, n_dims, longest = config.model_dim, centroids.shape[1], max(config.lengths)
        if dim % config.heads:
            raise SettingError(
                f"motifs.model_dim = {dim} does not divide into motifs.heads = {config.heads}; give a multiple"
            )
        self.centroids: torch.Tensor
        self.register_buffer("centroids", centroids)  # (n_units, n_dims)
        self.project = seeded_linear(n_dims, dim, generator)  # W
        self.cls, self.mask, self.position, self.length = (
            nn.Parameter(_EMBEDDING_SPREAD * torch.randn(*shape, generator=generator))
            for shape in ((1, dim), (1, dim), (longest, dim), (longest + 1, dim))
        )
        self.layers = nn.ModuleList(Layer(dim, config.heads, generator) for _ in range(config.layers))
        self.reconstruct = seeded_linear(dim, n_dims, generator)
        self.classify = seeded_linear(dim, config.mixture.component_cap, generator)

    def forward(self, codes: torch.Tensor, view: View | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Descriptors (B, model_dim), and the features of the masked tokens (n_masked, model_dim) in row order."""
        n_items, length = codes.shape
        masked, dropped = view or View(*torch.zeros(2, n_items, length, dtype=torch.bool, device=codes.device))
        tokens, at = self._tokens(codes, masked)
        visible = F.pad(~dropped, (1, 0), value=True)  # (B, 1 + length)
        *lower, last = self.layers
        for layer in lower:
            each = torch.arange(n_items, device=codes.device).repeat_interleave(1 + length)
            tokens = layer(tokens, at.flatten(), at[each], visible[each])
            at = torch.arange(len(tokens), device=codes.device).view_as(at)
        items = torch.cat([torch.arange(n_items, device=codes.device), masked.nonzero()[:, 0]])  # (B + n_masked,)
        out = last(tokens, torch.cat([at[:, 0], at[:, 1:][masked]]), at[items], visible[items])
        return out[:n_items], out[n_items:]

    def _tokens(self, codes: torch.Tensor, masked: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens there are (S, dim), and which of them [CLS] and each code is, (B, 1 + length).

        Every unit at every place, or, of fewer items than units, the tokens of each.
        """
        n_items, length = codes.shape
        units = torch.cat([self.project(self.centroids), self.mask])  # (n_units + 1, dim); the last is [MASK]
        kinds, place = codes.masked_fill(masked, len(units) - 1), torch.arange(length, device=codes.device)
        if n_items > len(units):
            at, rows = 1 + place * len(units) + kinds, units.repeat(length, 1)
            positions = self.position[:length].repeat_interleave(len(units), 0)
        else:
            at, rows = 1 + torch.arange(codes.numel(), device=codes.device).view_as(codes), units[kinds.flatten()]
            positions = self.position[:length].repeat(n_items, 1)
        tokens = torch.cat([self.cls, rows + positions]) + self.length[length]
        return tokens, F.pad(at, (1, 0))


# Training MotifFormer on the unit timeline (paper: MotifFormer Implementation).
#
#     L = l_rec L_rec + l_view L_view + l_cross L_cross + l_pseudo L_pseudo + l_var L_var
#
# The loss is that over all candidates, every start and every length, but the network only ever sees distinct items,
# each counting as often as it occurs (`candidates.py`). A step takes items of one length, two corrupted views of
# each, and for L_cross what stands, uncorrupted, at a start of each at another length. Where there are more items than
# an epoch may have, it is a sample of them, weighted such that sums over candidates are right in expectation.
#
# Pseudo-labels come after every fifth epoch from a mixture fitted to the descriptors of all lengths together; where it
# is not sure, an item has none. Centroids are centred and divided by one number for all dimensions, so that neither
# the place nor the scale of the unit embeddings matters.
#
# The losses are pure functions of a batch of B distinct items that each count as w_i candidates. A weight is a
# repetition: a loss is that of the batch with item i repeated w_i times. Each is finite, with a finite gradient, for
# any batch, and 0 where it has nothing to say: no token masked, nothing to contrast with, no confident label.

_LEARNING_RATE = 1e-3  # not in the paper; the default of AdamW
_CLUSTERED_ITEMS = 4096  # as many are enough to find at most a few dozen components
_CLUSTERING_ITERATIONS = 50  # pseudo-labels need no settled mixture
_EPOCHS_PER_LABELLING = 5  # not in the paper; chosen by hand, not measured
_CONFIDENT = 0.9  # not in the paper; chosen by hand, not measured
_DESCRIBED_AT_ONCE = 4096  # items; bounds memory, changes no result
_ROUNDING = 1e-6  # relative; centroids that differ by less are constant


def reconstruction_loss(restored: torch.Tensor, centroids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """How far restored tokens (M, n_dims) are from the centroids that were masked; weights (M,) are their items'.

    L_rec = sum_m w_m ||x'_m - c_m||^2 / n_dims / sum_m w_m
    """
    return _weighted_mean((restored - centroids).square().mean(1), weights)


def contrast(
    first: torch.Tensor, second: torch.Tensor, kinds: torch.Tensor, weights: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Each descriptor in `first` (B, D) should be nearer to its partner in `second` than to those of other kinds.

        l_i(a, b) = log(1 + sum_{k: kind_k != kind_i} w_k exp((cos(a_i, b_k) - cos(a_i, b_i)) / tau))
        L = sum_i w_i (l_i(first, second) + l_i(second, first)) / 2 / sum_i w_i

    InfoNCE both ways. L_view has two views of each item, and the item as kind. L_cross has the descriptors of two
    lengths at one start, and as kind (B,) the item at the shorter one: what begins alike is not pushed apart.
    """
    cosines = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature  # (B, B)
    alike = kinds[:, None] == kinds[None, :]
    both_ways = [_surprise(logits, alike, weights) for logits in (cosines, cosines.T)]
    return _weighted_mean((both_ways[0] + both_ways[1]) / 2, weights)


def pseudo_label_loss(logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of logits (B, K) to pseudo-labels (B,); items without one, labelled negative, are left out.

    L_pseudo = sum_{i: y_i >= 0} -w_i log softmax(logits_i)_{y_i} / sum_{i: y_i >= 0} w_i
    """
    known = labels >= 0
    return _weighted_mean(F.cross_entropy(logits[known], labels[known], reduction="none"), weights[known])


def _surprise(logits: torch.Tensor, alike: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """-log of the share of the diagonal among itself and the others that are not alike, (B,)."""
    own = logits.diagonal()[:, None]
    # The least number, not -inf: a row with nothing to differ from has a gradient of 0, not of 0/0.
    others = (logits + weights.log()).masked_fill(alike, torch.finfo(logits.dtype).min)
    return torch.cat([own, others], dim=1).logsumexp(1) - own[:, 0]


def _weighted_mean(losses: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    total = weights.sum()
    return losses @ weights / torch.where(total > 0, total, 1.0)


class Epoch(NamedTuple):
    """One line of the training log."""

    number: int  # from 1
    reconstruction: float  # loss terms, means over the candidates of the epoch
    view: float
    cross: float
    pseudo: float
    variance: float
    n_pseudo_labels: int  # components that some item is confidently in; 0 before the first labelling
    share_confident: float  # of all candidates


@dataclass(frozen=True, eq=False)
class MotifFormer:
    """Unit subsequences -> descriptors; training gives it, and nothing changes it."""

    lengths: tuple[int, ...]  # those it was trained on, ascending
    network: MotifFormerNet  # float64, on the CPU, not to be trained any more
    log: tuple[Epoch, ...]
    n_items: int = 0  # distinct, that it was trained on; 0 in a model that was loaded

    def describe(self, items: Ints) -> Floats:
        """Descriptors (n_items, model_dim) of unit codes (n_items, length)."""
        codes = np.asarray(items, dtype=np.int64)
        if codes.ndim != 2 or codes.shape[1] not in self.lengths:
            learned = ", ".join(map(str, self.lengths))
            raise SettingError(f"MotifFormer was trained on lengths {learned}, got items {codes.shape}; train it again")
        return _descriptors(self.network, codes)

    def with_unit(self, prototype: Floats, prototypes: Floats) -> MotifFormer:
        """One unit more, under the next code; `prototypes` are those of the units it was trained on."""
        rows = np.asarray(prototypes, dtype=np.float64)
        place = (np.asarray(prototype, np.float64) - rows.mean(axis=0)) / _scale_of(rows)
        network = copy.deepcopy(self.network)
        network.centroids = torch.cat([network.centroids, torch.as_tensor(place)[None].to(network.centroids)])
        return MotifFormer(self.lengths, network, self.log)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        named = owned("network", weights_of(self.network))
        log = np.array(self.log, np.float64).reshape(-1, len(Epoch._fields))
        return {**named, "lengths": np.array(self.lengths, np.int64), "log": log}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: MotifFormerConfig) -> MotifFormer:
        named = {name.removeprefix("network."): tensor for name, tensor in tensors.items()}
        try:
            lengths = tuple(np.asarray(named["lengths"], np.int64).tolist())
            rows = np.asarray(named["log"], np.float64).tolist()
            log = tuple(Epoch._make([int(row[0]), *row[1:6], int(row[6]), row[7]]) for row in rows)
            shape = named["centroids"].shape
            network = MotifFormerNet(torch.zeros(shape), config, torch.Generator())
        except (KeyError, IndexError, ValueError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"MotifFormer's tensors do not fit together ({reason}); fit the model again") from None
        load_weights(network, named, "MotifFormer")
        return cls(lengths, settled(network), log)


def train_motif_former(
    prototypes: Floats, codes: Ints, spans: Sequence[Span], config: MotifFormerConfig, seed: int, device: str
) -> MotifFormer:
    """Train on unit codes (n_windows,) whose centroids are `prototypes` (n_units, n_dims).

    Lengths that fit into no span are left out. 3,600 windows have about 12,800 distinct items; a sample of
    `items_per_epoch` of them takes a third of the time.
    """
    pool = Pool.of(codes, spans, config.lengths)
    streams = generators(seed, ("network", "batches", "views", "clustering"))
    torch_seeds = {name: int(streams[name].integers(2**63)) for name in ("network", "views")}
    rows = np.asarray(prototypes, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise RecordingError(f"MotifFormer expects finite unit prototypes (n_units, n_dims), got {rows.shape}")
    centroids = torch.as_tensor((rows - rows.mean(axis=0)) / _scale_of(rows), dtype=torch.float32)
    network = MotifFormerNet(centroids, config, torch.Generator().manual_seed(torch_seeds["network"])).to(device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=_LEARNING_RATE, fused=True)
    views = torch.Generator().manual_seed(torch_seeds["views"])

    labels, log = np.full(pool.n_items, OTHER), []
    for number in range(1, config.epochs + 1):
        batches = pool.epoch(config.items_per_epoch or pool.n_items, streams["batches"])
        terms = _descend(network, optimiser, batches, labels, config, views)
        confident = labels != OTHER
        share = float(pool.counts[confident].sum() / pool.counts.sum())
        log.append(Epoch._make([number, *terms, int(np.unique(labels[confident]).size), share]))
        if number % _EPOCHS_PER_LABELLING == 0 and number < config.epochs:
            descriptors = np.concatenate([_descriptors(network, found.items) for found in pool.of_length])
            labels = pseudo_labels(descriptors, pool.counts, config, streams["clustering"], device)
            for parameter in network.classify.parameters():  # components are numbered again at each labelling
                nn.init.zeros_(parameter)
                optimiser.state.pop(parameter, None)
    return MotifFormer(pool.lengths, settled(network), tuple(log), pool.n_items)


def _scale_of(rows: Floats) -> float:
    """Root mean square of all centred numbers; 1 where they are constant up to rounding."""
    spread = float(np.sqrt(np.square(rows - rows.mean(axis=0)).mean()))
    return spread if spread > _ROUNDING * float(np.abs(rows).max()) else 1.0


def _descriptors(network: MotifFormerNet, items: Ints) -> Floats:
    codes = torch.from_numpy(items).to(network.cls.device)
    with torch.no_grad():
        parts = [network(part)[0].double().cpu().numpy() for part in torch.split(codes, _DESCRIBED_AT_ONCE)]
    return np.concatenate(parts)


def _descend(
    network: MotifFormerNet,
    optimiser: torch.optim.Optimizer,
    batches: Sequence[Batch],
    labels: Ints,
    config: MotifFormerConfig,
    views: torch.Generator,
) -> list[float]:
    """One step per batch down the weighted sum of the five terms; gives their means over the epoch."""
    names = ("reconstruction", "view", "cross", "pseudo", "variance")
    weight_of = torch.tensor([getattr(config, f"{name}_weight") for name in names], device=network.cls.device)
    n_candidates = np.array([batch.weights.sum() for batch in batches])
    shares = n_candidates / n_candidates.mean()  # a step counts as much as the candidates it stands for
    seen: list[torch.Tensor] = []

    def loss_of_step(step: int) -> torch.Tensor:
        terms = _terms(network, batches[step], labels, config, views)
        seen.append(shares[step] * terms.detach())
        return float(shares[step]) * (weight_of @ terms)

    minimise(loss_of_step, optimiser, len(batches))
    means: list[float] = torch.stack(seen).mean(0).tolist()
    return means


def _terms(
    network: MotifFormerNet, batch: Batch, labels: Ints, config: MotifFormerConfig, views: torch.Generator
) -> torch.Tensor:
    """The five losses of a batch, (5,): a batch of B items counts as B candidates, whatever it stands for."""
    device = network.cls.device
    n_items, length = batch.codes.shape
    view = corrupted(2 * n_items, length, config.mask_probability, config.drop_probability, views)
    view = View(*(part.to(device) for part in view))
    codes = torch.from_numpy(batch.codes).to(device).repeat(2, 1)  # (2B, length)
    weights = torch.as_tensor(batch.weights / batch.weights.mean(), dtype=torch.float32, device=device)
    both_weights = weights.repeat(2)

    h, features = network(codes, view)  # (2B, dim), (n_masked, dim)
    first, second = h[:n_items], h[n_items:]
    of_masked = both_weights[:, None].expand_as(codes)[view.masked]
    own_label = torch.from_numpy(labels[batch.items]).to(device).repeat(2)
    return torch.stack(
        [
            reconstruction_loss(network.reconstruct(features), network.centroids[codes[view.masked]], of_masked),
            contrast(first, second, torch.arange(n_items, device=device), weights, config.temperature),
            _cross(network, first, batch, weights, config.temperature),
            pseudo_label_loss(network.classify(h), own_label, both_weights),
            (variance_hinge(first, weights) + variance_hinge(second, weights)) / 2,
        ]
    )


def _cross(
    network: MotifFormerNet, first: torch.Tensor, batch: Batch, weights: torch.Tensor, temperature: float
) -> torch.Tensor:
    if not batch.paired.size:
        return weights.new_zeros(())
    partner_codes, paired, partner_of, kinds = (
        torch.from_numpy(array).to(first.device)
        for array in (batch.partner_codes, batch.paired, batch.partner_of, batch.partner_kinds)
    )
    partners = network(partner_codes)[0][partner_of]
    return contrast(first[paired], partners, kinds, weights[paired], temperature)


def pseudo_labels(
    descriptors: Floats, counts: Ints, config: MotifFormerConfig, rng: np.random.Generator, device: str
) -> Ints:
    """Component of each descriptor (n_items, model_dim) where its posterior is at least 0.9, OTHER elsewhere.

    An item counts as often as it occurs. The members of components too light to keep have no label either.
    """
    mixture_config = config.mixture.model_copy(
        update={"min_weight": 0.0, "max_iterations": min(_CLUSTERING_ITERATIONS, config.mixture.max_iterations)}
    )
    drawn, weights = weighted_sample(counts, _CLUSTERED_ITEMS, rng)
    latents = descriptors
    if mixture_config.latent_dim:
        seed = int(rng.integers(2**63))
        latents = fit_autoencoder(descriptors[drawn], mixture_config, seed, device).encode(descriptors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)  # that it has not settled
        mixture = fit_mixture(latents[drawn], mixture_config, rng, weights)
    posterior = mixture.posterior(latents)
    component = posterior.argmax(axis=1)
    light = mixture.weights < min(config.mixture.min_weight, mixture.weights.max())
    sure = (posterior.max(axis=1) >= _CONFIDENT) & ~light[component]
    return np.where(sure, component, OTHER)
