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

import numpy as np
import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rondo.data.windows import Windows
from rondo.encoders.base import Curves, Representations, Tensors
from rondo.encoders.mantis import MantisConfig
from rondo.encoders.nets.mantis_net import Architecture, MantisNet
from rondo.errors import ModelError, SettingError
from rondo.progress import Progress, silent
from rondo.training.networks import load_weights, weights_of

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
            sizes = Architecture.model_validate_json(tensors[_SIZES].tobytes())
            checksum = tensors[_CHECKSUM].tobytes().hex()
        except KeyError as error:
            raise ModelError(f"the encoder's tensor {error} is missing; fit and save the model again") from None
        except ValidationError as error:
            raise ModelError(
                f"the encoder's tensor '{_SIZES}' is damaged ({_first(error)}); fit the model again"
            ) from None
        net = self._net(sizes)
        load_weights(net, tensors, "encoder")
        return FittedMantis(self, sizes, net.to(self.device), checksum)

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
        """The weights and what else the network needs, as arrays, for the model folder."""
        sizes = np.frombuffer(self.sizes.model_dump_json().encode(), np.uint8).copy()
        checksum = np.frombuffer(bytes.fromhex(self.weights_sha256), np.uint8).copy()
        return {**weights_of(self.net), _SIZES: sizes, _CHECKSUM: checksum}


def resized(series: Tensor, n_frames: int) -> Tensor:
    """Series (n_series, length) stretched or squeezed to (n_series, n_frames) by linear interpolation.

    Frames are cells, as in torch's interpolate without align_corners: the middle of new frame i lies at
    (i + 1/2) · length / n_frames − 1/2, and beyond the first and the last middle the series stays level. Unlike there,
    a constant stays constant to the last bit.

    >>> resized(torch.tensor([[0.0, 4.0]]), 4)
    tensor([[0., 1., 3., 4.]])
    """
    last = series.shape[1] - 1
    middles = (torch.arange(n_frames, dtype=torch.float64) + 0.5) * (series.shape[1] / n_frames) - 0.5
    middles = middles.clamp(0, last)
    before = middles.long()
    after, share = (before + 1).clamp(max=last), (middles - before).to(series)
    return torch.lerp(series[:, before.to(series.device)], series[:, after.to(series.device)], share)


# ---------------------------------------------------------------- the published files


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
        return Architecture.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise _unusable(path, f"does not describe a MantisV2 network ({_first(error)})") from None


def _read_weights(path: Path, net: MantisNet) -> str:
    """Put the published weights into the network, those of later layers left out; the checksum of the file."""
    try:
        with path.open("rb") as file:
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
    """The first complaint, on one line."""
    complaint = error.errors(include_url=False)[0]
    return ": ".join([*(str(key) for key in complaint["loc"]), complaint["msg"]])
