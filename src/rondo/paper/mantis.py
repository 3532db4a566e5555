"""MantisV2: a pretrained encoder, used as it is; nothing is learned from the windows.

V. Feofanov et al., "MantisV2", arXiv 2602.17868, used as in the RONDO paper: each channel of a window is resized
linearly to 512 frames and encoded by itself; the class token and the mean token after the third layer are its
representation, and a window's is the mean over its channels. The weights are the published ones
(Hugging Face paris-noah/MantisV2), read from a local folder: numbers and JSON only, and never from the network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional

from rondo.arrays import Tensors
from rondo.data.windows import Windows
from rondo.encoders.base import Curves, Representations
from rondo.errors import ModelError, SettingError
from rondo.paper.settings import MantisConfig
from rondo.paper.training import load_weights, stored, weights_of
from rondo.store.reading import MOST_JSON_BYTES, open_regular, read_regular
from rondo.wording import Progress, silent

# The network of MantisV2, cut after the layer that is asked for; parameters are named as in the published file.
#
# V. Feofanov et al., "MantisV2", arXiv 2602.17868; own code after the package mantis-tsfm 1.1.0 (Apache-2.0), whose
# numbers it gives up to rounding. One series goes in; 32 patches of it and a class token attend to each other.

_SCALES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)  # mantis-tsfm 1.1.0
_LEAST_SPREAD = 1e-5  # added to the standard deviation of a series
_ROTARY_BASE, _XPOS_BASE = 10_000.0, 512.0  # mantis-tsfm 1.1.0

_Count = Annotated[int, Field(ge=1, le=1 << 12)]  # a damaged file must not ask for all memory


class Architecture(BaseModel):
    """The sizes in the published config.json, under its names; what it leaves out has the size of MantisV2."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    hidden_dim: _Count = 256
    num_patches: _Count = 32
    kernel_size: _Count = 41
    scalar_scales: tuple[Annotated[float, Field(gt=0)], ...] | None = None
    hidden_dim_scalar_enc: _Count = 32
    epsilon_scalar_enc: float = Field(default=1.1, gt=1)
    transf_depth: _Count = 6
    transf_num_heads: _Count = 8
    transf_mlp_dim: _Count = 512
    transf_dim_head: _Count = 32

    @model_validator(mode="after")
    def _fits_together(self) -> Architecture:
        if self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd, got {self.kernel_size}")
        if self.transf_dim_head % 2 or self.transf_num_heads * self.transf_dim_head != self.hidden_dim:
            raise ValueError(
                f"hidden_dim must be transf_num_heads times an even transf_dim_head, "
                f"got {self.hidden_dim}, {self.transf_num_heads} and {self.transf_dim_head}"
            )
        return self


class MantisNet(nn.Module):
    """Series (n_series, n_frames) to [class token, mean of the patch tokens], (n_series, 2 · hidden_dim)."""

    def __init__(self, sizes: Architecture, n_layers: int) -> None:
        super().__init__()
        self.tokgen_unit = TokenGenerator(sizes)
        self.transf_unit = Transformer(sizes, n_layers)

    def forward(self, series: Tensor) -> Tensor:
        tokens = self.transf_unit(self.tokgen_unit(series))  # (n_series, num_patches + 1, hidden_dim)
        return torch.cat([tokens[:, -1], tokens[:, :-1].mean(dim=1)], dim=1)


class TokenGenerator(nn.Module):
    """One token per patch: the shape of the differences and of the series, the level and the spread of the patch."""

    def __init__(self, sizes: Architecture) -> None:
        super().__init__()
        self.n_patches, dim = sizes.num_patches, sizes.hidden_dim
        self.convs = nn.ModuleList(
            nn.ModuleDict({"conv": _unfilled(nn.Conv1d, 1, dim, sizes.kernel_size)}) for _ in range(2)
        )
        self.layer_norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.scalar_encoders = nn.ModuleList(ScalarEncoder(sizes) for _ in range(2))
        linear = _unfilled(nn.Linear, 2 * dim + 2 * sizes.hidden_dim_scalar_enc, dim)
        self.linear_encoder = nn.ModuleDict({"linear": linear, "layer_norm": nn.LayerNorm(dim, eps=1e-15)})

    def forward(self, series: Tensor) -> Tensor:
        level = series[:, :1]
        series = series - level  # a constant series is zero now, to the bit, and its spread too
        patches = series.unflatten(1, (self.n_patches, -1))  # (n_series, num_patches, n_frames / num_patches)
        steps = functional.pad(series.diff(dim=1), (0, 1))  # (n_series, n_frames)
        parts = [
            self._shapes(0, _standardised(steps)),  # (n_series, num_patches, hidden_dim)
            self._shapes(1, _standardised(series)),
            self.scalar_encoders[0](patches.mean(dim=2) + level),  # (n_series, num_patches, hidden_dim_scalar_enc)
            self.scalar_encoders[1](patches.std(dim=2)),
        ]
        token = self.linear_encoder["linear"](torch.cat(parts, dim=2))  # (n_series, num_patches, hidden_dim)
        return cast(Tensor, self.linear_encoder["layer_norm"](token))

    def _shapes(self, branch: int, x: Tensor) -> Tensor:
        """Convolve, normalise over the outputs at each frame, average over each patch, (n_series, num_patches, dim).

        The convolution y_t = W x_t + b sees k frames and gives dim > k outputs, so y_t itself is never made. With W and
        b centred over the outputs and [W b] = Q R,

            var(y_t) = |R [x_t 1]|² / dim,   mean_t y_t / sd(y_t) = W (mean_t x_t / sd(y_t)) + b mean_t 1 / sd(y_t).
        """
        conv = cast(nn.Conv1d, cast(nn.ModuleDict, self.convs[branch])["conv"])
        norm = cast(nn.LayerNorm, self.layer_norms[branch])
        n_seen = conv.kernel_size[0]
        affine = torch.cat([conv.weight[:, 0], conv.bias[:, None]], dim=1)  # type: ignore[index]  # (dim, k + 1)
        affine = affine - affine.mean(dim=0)
        triangle = torch.linalg.qr(affine, mode="r").R  # (≤ k + 1, k + 1)
        padded = functional.pad(x, (n_seen // 2, n_seen // 2))
        seen = padded.unfold(1, n_seen, 1).contiguous()  # (n_series, n_frames, k)
        lengths = functional.linear(seen, triangle[:, :-1], triangle[:, -1]).square().sum(dim=2)
        weights = (lengths / len(affine) + norm.eps).rsqrt()  # (n_series, n_frames)
        weights = weights.unflatten(1, (self.n_patches, 1, -1)) * (self.n_patches / x.shape[1])
        pooled = weights @ seen.unflatten(1, (self.n_patches, -1))  # (n_series, num_patches, 1, k)
        pooled = torch.cat([pooled.squeeze(2), weights.sum(dim=3)], dim=2)  # (n_series, num_patches, k + 1)
        return functional.linear(pooled, affine) * norm.weight + norm.bias


class ScalarEncoder(nn.Module):
    """Numbers (…) of unknown size to vectors (…, dim): one embedding per scale k, mixed by closeness to the scale,

        y = Σ_k α_k LayerNorm_k(x w_k + k b_k),   α_k ∝ |1 / log(|x| / k + 1.1)|

    (C. Lin et al., "NuTime", arXiv 2310.07402).
    """

    def __init__(self, sizes: Architecture) -> None:
        super().__init__()
        self.offset = sizes.epsilon_scalar_enc
        scales = sizes.scalar_scales or _SCALES
        self.register_buffer("scales", torch.tensor(scales))
        self.encoders = nn.ModuleList(OneScale(sizes.hidden_dim_scalar_enc) for _ in scales)

    def forward(self, x: Tensor) -> Tensor:
        scales, encoders = cast(Tensor, self.scales), [cast(OneScale, encoder) for encoder in self.encoders]
        closeness = (x[..., None].abs() / scales + self.offset).log().reciprocal().abs()  # (…, n_scales)
        closeness = closeness / closeness.sum(dim=-1, keepdim=True)
        w, b = torch.cat([one.w for one in encoders]), torch.cat([one.b for one in encoders])  # (n_scales, dim)
        gain = torch.stack([one.layer_norm.weight for one in encoders])
        shift = torch.stack([one.layer_norm.bias for one in encoders])
        embedded = x[..., None, None] * w + scales[:, None] * b  # (…, n_scales, dim)
        embedded = functional.layer_norm(embedded, w.shape[1:], eps=encoders[0].layer_norm.eps) * gain + shift
        return (closeness[..., None, :] @ embedded).squeeze(-2)  # (…, dim)


class OneScale(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.empty(1, dim)), nn.Parameter(torch.empty(1, dim))
        self.layer_norm = nn.LayerNorm(dim, eps=1e-15)


def _standardised(series: Tensor) -> Tensor:
    spread = series.std(dim=1, keepdim=True) + _LEAST_SPREAD
    return (series - series.mean(dim=1, keepdim=True)) / spread


class Transformer(nn.Module):
    """Adds the class token after the patches, and lets all attend to all."""

    def __init__(self, sizes: Architecture, n_layers: int) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(sizes.hidden_dim))
        self.transformer = nn.ModuleDict({"layers": nn.ModuleList(MantisLayer(sizes) for _ in range(n_layers))})
        turns = positions(sizes.num_patches + 1, sizes.transf_dim_head)
        self.register_buffer("turns", turns, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = torch.cat([tokens, self.cls_token.expand(len(tokens), 1, -1)], dim=1)  # (n_series, n_tokens, dim)
        for layer in cast(nn.ModuleList, self.transformer["layers"]):
            tokens = layer(tokens, self.turns)
        return tokens


class MantisLayer(nn.Module):
    """Attention and a gated network, each after a normalisation and added to what came in."""

    def __init__(self, sizes: Architecture) -> None:
        super().__init__()
        dim, inner = sizes.hidden_dim, sizes.transf_mlp_dim
        self.norm1, self.norm2 = RootMeanSquareNorm(dim), RootMeanSquareNorm(dim)
        self.attention = RotaryAttention(dim, sizes.transf_num_heads, sizes.transf_dim_head)
        self.mlp = nn.Sequential(_unfilled(nn.Linear, dim, 2 * inner), Gate(), _unfilled(nn.Linear, inner, dim))

    def forward(self, tokens: Tensor, turns: Tensor) -> Tensor:
        tokens = tokens + self.attention(self.norm1(tokens), turns)
        return cast(Tensor, tokens + self.mlp(self.norm2(tokens)))


class RootMeanSquareNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(dim))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.scale.shape, self.scale, eps=1e-8)


class Gate(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        gate, value = x.chunk(2, dim=-1)
        return functional.silu(gate) * value


class RotaryAttention(nn.Module):
    """Softmax attention over all tokens, queries and keys turned by their positions."""

    def __init__(self, dim: int, n_heads: int, head_dim: int) -> None:
        super().__init__()
        self.packing = (3, head_dim, n_heads)  # of the rows of wQKV, the head running fastest
        self.wQKV = _unfilled(nn.Linear, dim, 3 * n_heads * head_dim)
        self.wO = _unfilled(nn.Linear, n_heads * head_dim, dim)

    def forward(self, x: Tensor, turns: Tensor) -> Tensor:
        packed = self.wQKV(x).unflatten(2, self.packing)  # (n_series, n_tokens, 3, head_dim, n_heads)
        q, k, v = packed.permute(2, 0, 4, 1, 3).contiguous()  # (n_series, n_heads, n_tokens, head_dim) each
        mixed = functional.scaled_dot_product_attention(turned(q, turns[0]), turned(k, turns[1]), v)
        return cast(Tensor, self.wO(mixed.transpose(1, 2).flatten(2)))  # (n_series, n_tokens, dim)


def positions(n_tokens: int, head_dim: int) -> Tensor:
    """Cosines and sines, (query or key, cosine or sine, n_tokens, head_dim), by which positions turn queries and keys.

    Rotary positions (arXiv 2104.09864): entries 2i and 2i + 1 at position t turn by t · 10000^(−2i/head_dim). With the
    decay of xPos (arXiv 2212.10554): queries are multiplied, keys divided, by ((i' + 0.4) / 1.4)^((t − centre) / 512),
    where i' = 2i/head_dim runs from 0 to 1 twice over the entries, not once in pairs: so the weights were trained.
    """
    t = torch.arange(n_tokens, dtype=torch.float64)[:, None]
    fractions = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = (t * _ROTARY_BASE**-fractions).repeat_interleave(2, dim=1)
    decay = (((fractions + 0.4) / 1.4) ** ((t - (n_tokens - 1) // 2) / _XPOS_BASE)).repeat(1, 2)
    waves = torch.stack([angles.cos(), angles.sin()])
    return torch.stack([waves * decay, waves / decay]).float()


def turned(x: Tensor, waves: Tensor) -> Tensor:
    """Queries or keys (…, n_tokens, head_dim), each pair of entries turned."""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
    return x * waves[0] + torch.stack([-odd, even], dim=-1).flatten(-2) * waves[1]


def _unfilled(layer: type[nn.Module], *sizes: int) -> Any:
    """A layer whose weights are about to be loaded: drawing them first would disturb the global generator."""
    return nn.utils.skip_init(layer, *sizes)


_CONFIG, _WEIGHTS = "config.json", "model.safetensors"
_SOURCE = "huggingface.co/paris-noah/MantisV2"
_SIZES, _CHECKSUM = "architecture", "weights_sha256"

# Series (one channel of one window each) encoded together, a short last batch being filled up: products of one shape
# go to one kernel, so that a window's representation is the same in whatever company it comes, to the last bit on most
# CPUs and up to rounding on those whose kernels treat the edge of a batch apart.
_SERIES_AT_ONCE = {"cpu": 16, "cuda": 1024}


@dataclass(frozen=True)
class Mantis:
    """The encoder before its weights are read."""

    config: MantisConfig
    device: str = "cpu"

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedMantis:
        """Read the published weights; the windows are not looked at."""
        folder = _weights_folder(self.config.weights)
        sizes = _read_architecture(folder / _CONFIG)
        if self.config.layer_index >= sizes.transf_depth:
            raise SettingError(
                f"encoder.layer_index = {self.config.layer_index}: the network in {folder} has "
                f"{sizes.transf_depth} layers; choose 0 to {sizes.transf_depth - 1}"
            )
        net = self._net(sizes)
        checksum = _read_weights(folder / _WEIGHTS, net)
        return FittedMantis(self, sizes, net.to(self.device), checksum)

    def restore(self, tensors: Tensors) -> FittedMantis:
        """The fitted encoder that wrote these tensors; the folder with the published weights is not needed."""
        try:
            sizes = Architecture.model_validate_json(stored(tensors, _SIZES).tobytes())
        except ValidationError as error:
            raise ModelError(
                f"the encoder's tensor '{_SIZES}' is damaged ({_first(error)}); fit the model again"
            ) from None
        net = self._net(sizes)
        load_weights(net, tensors)
        return FittedMantis(self, sizes, net.to(self.device), stored(tensors, _CHECKSUM).tobytes().hex())

    def _net(self, sizes: Architecture) -> MantisNet:
        n_frames, n_patches = self.config.input_frames, sizes.num_patches
        if n_frames % n_patches or n_frames < 2 * n_patches:
            raise SettingError(
                f"encoder.input_frames = {n_frames} does not cut into {n_patches} patches of two frames or more; "
                f"choose a multiple of {n_patches} from {2 * n_patches} on (MantisV2 was trained with 512)"
            )
        return MantisNet(sizes, self.config.layer_index + 1).requires_grad_(False)


@dataclass(frozen=True, eq=False)
class FittedMantis:
    """The network up to the chosen layer, and which file its weights came from."""

    encoder: Mantis
    sizes: Architecture
    net: MantisNet
    weights_sha256: str

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def encode(self, windows: Windows) -> Representations:
        """Representations (n_windows, 2 · hidden_dim): the mean over the channels of each window."""
        device = torch.device(self.encoder.device)
        n_channels, at_once = windows.n_channels, _SERIES_AT_ONCE[device.type]
        total = np.zeros((len(windows), 2 * self.sizes.hidden_dim), dtype=np.float32)
        within = np.arange(windows.grid.length_frames)
        for first in range(0, len(windows) * n_channels, at_once):
            series = np.arange(first, min(first + at_once, len(windows) * n_channels))
            window, channel = np.divmod(np.resize(series, at_once), n_channels)
            frames = windows.values[windows.grid.starts[window, None] + within, channel[:, None]]  # (at_once, length)
            with torch.no_grad():
                encoded = self.net(resized(torch.from_numpy(frames).to(device), self.encoder.config.input_frames))
            # One by one, so that a window's channels are added in their own order, wherever the batches end.
            np.add.at(total, window[: series.size], encoded[: series.size].cpu().numpy())
        if not np.isfinite(total).all():
            raise SettingError(
                f"MantisV2 cannot encode values as large as {np.nanmax(np.abs(windows.values)):.3g}: their spread "
                "overflows; set preprocess.scaling = 'channel'"
            )
        return total / np.float32(n_channels)

    def tensors(self) -> Tensors:
        sizes = np.frombuffer(self.sizes.model_dump_json().encode(), np.uint8).copy()
        checksum = np.frombuffer(bytes.fromhex(self.weights_sha256), np.uint8).copy()
        return {**weights_of(self.net), _SIZES: sizes, _CHECKSUM: checksum}


def resized(series: Tensor, n_frames: int) -> Tensor:
    """Series (n_series, length) stretched or squeezed to (n_series, n_frames) by linear interpolation.

    Frames are cells, as in torch's interpolate without align_corners: the middle of new frame i lies at
    (i + 1/2) · length / n_frames − 1/2, and beyond the first and the last middle the series stays level. Unlike there,
    a constant stays constant to the last bit.
    """
    last = series.shape[1] - 1
    middles = (torch.arange(n_frames, dtype=torch.float64) + 0.5) * (series.shape[1] / n_frames) - 0.5
    middles = middles.clamp(0, last)
    before = middles.long()
    after, share = (before + 1).clamp(max=last), (middles - before).to(series)
    return torch.lerp(series[:, before.to(series.device)], series[:, after.to(series.device)], share)


def _weights_folder(setting: str) -> Path:
    """The folder, in which both files are."""
    if not setting:
        raise SettingError(
            f"encoder.name = 'mantis' needs the published weights: download {_CONFIG} and {_WEIGHTS} from {_SOURCE} "
            "into a folder and name it with --set encoder.weights=FOLDER"
        )
    folder = Path(setting)
    try:
        missing = [name for name in (_CONFIG, _WEIGHTS) if not (folder / name).is_file()]
    except OSError as error:
        raise _unusable(folder, f"cannot be read ({error.strerror})") from None
    if missing:
        raise SettingError(
            f"encoder.weights = {setting!r}: there is no {' and no '.join(missing)}; download {' and '.join(missing)} "
            f"from {_SOURCE} into that folder, or name another with --set encoder.weights=FOLDER"
        )
    return folder


def _read_architecture(path: Path) -> Architecture:
    try:
        return Architecture.model_validate_json(read_regular(path, MOST_JSON_BYTES))
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise _unusable(path, f"does not describe a MantisV2 network ({_first(error)})") from None


def _read_weights(path: Path, net: MantisNet) -> str:
    """Put the published weights into the network, those of later layers left out; the checksum of the file."""
    try:
        with open_regular(path) as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        with safe_open(path, framework="pt") as stored:
            names = set(stored.keys())
            for name, weight in net.state_dict().items():
                if name not in names:
                    raise _unusable(path, f"tensor '{name}' is missing")
                published = stored.get_tensor(name)
                if published.shape != weight.shape:
                    sizes = f"{tuple(published.shape)}, {_CONFIG} makes it {tuple(weight.shape)}"
                    raise _unusable(path, f"tensor '{name}' is {sizes}")
                if not published.isfinite().all():
                    raise _unusable(path, f"tensor '{name}' has values that are not finite")
                weight.copy_(published)
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror or error})") from None
    except SafetensorError as error:
        raise _unusable(path, f"not a whole safetensors file ({error})") from None
    return checksum


def _unusable(path: Path, why: str) -> SettingError:
    return SettingError(f"encoder.weights: {path}: {why}; download {_CONFIG} and {_WEIGHTS} from {_SOURCE} again")


def _first(error: ValidationError) -> str:
    complaint = error.errors(include_url=False)[0]
    return ": ".join([*(str(key) for key in complaint["loc"]), complaint["msg"]])
