"""Kinds of arrays, named arrays ("tensors") as fitted values are kept, generators, and values made when needed.

A part names its tensors, and its owner puts its own name before them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from tokenize import TokenError
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rondo.forks import refuse_forked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Tensors = Mapping[str, NDArray[np.generic]]
T = TypeVar("T")

_FEW_COLUMNS = 200  # up to here all eigenvectors cost next to nothing
_MANY_COLUMNS = 1000  # from here on some eigenvectors are found without the others; chosen by hand for speed
_SPARE_AXES, _PRODUCTS_BETWEEN, _MOST_PRODUCTS = (
    8,
    4,
    24,
)  # beside those wanted; between two looks; before all are found
_RESIDUAL = 1e-12  # relative to the largest eigenvalue
_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}  # of a float of that many bytes


class NpyHeader(NamedTuple):
    """What the header of a numpy file says of its array."""

    shape: tuple[int, ...]
    column_major: bool
    dtype: np.dtype[Any]


def npy_header(stream: IO[bytes]) -> NpyHeader:
    """Read the header of a numpy array; the stream then stands at its first number. ValueError for what is none.

    Version 3 differs from 2 in the encoding of field names alone, and an array of numbers has none.
    """
    second = np.lib.format.read_array_header_2_0
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): second, (3, 0): second}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old or odd headers, which are read or refused
        try:
            return NpyHeader(*readers[np.lib.format.read_magic(stream)](stream))
        except (SyntaxError, TokenError, LookupError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(f"no numpy header ({type(error).__name__})") from None  # numpy parses it as Python


def owned(owner: str, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """The tensors of a part as its owner keeps them: `mean` is `encoder.mean`."""
    return {f"{owner}.{name}": tensor for name, tensor in tensors.items()}


def owned_by(owner: str, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    """The tensors of a part as the part knows them; what others own is left out."""
    prefix = f"{owner}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def as_bits(tensors: Tensors) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
    """Floats as whole numbers of the same bits, and what they were: a folder refuses NaN, which a stream may hold.

    >>> bits, kinds = as_bits({"x": np.array([1.0, np.nan], np.float32)})
    >>> bits["x"].tolist(), kinds
    ([1065353216, 2143289344], {'x': ['<f4', [2]]})
    >>> from_bits(bits, kinds)["x"].tolist()
    [1.0, nan]
    """
    kinds = {name: [tensor.dtype.str, list(tensor.shape)] for name, tensor in tensors.items()}
    bits = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    for name, array in bits.items():
        if array.dtype.kind == "f":
            bits[name] = array.view(_BITS[array.dtype.itemsize])
    return bits, kinds


def from_bits(bits: Tensors, kinds: Mapping[str, Any]) -> dict[str, NDArray[np.generic]]:
    """The tensors that `as_bits` was given; raises LookupError, TypeError or ValueError where both do not fit."""
    return {name: bits[name].view(np.dtype(kind)).reshape(shape) for name, (kind, shape) in kinds.items()}


def leading_axes(rows: Floats, n_axes: int) -> Floats:
    """The leading eigenvectors of rows.T @ rows as columns, (n_columns, n_axes), largest eigenvalue first.

    The signs are arbitrary. With fewer rows than columns the eigenvectors come from the smaller matrix rows @ rows.T.
    """
    n_rows, n_columns = rows.shape
    if n_columns <= _FEW_COLUMNS or not n_axes < n_rows < n_columns:
        return leading_eigenvectors(rows.T @ rows, n_axes)
    of_rows = leading_eigenvectors(rows @ rows.T, n_axes)
    return np.asarray(np.linalg.qr(rows.T @ of_rows)[0])  # the columns are orthogonal already: QR gives them length 1


def leading_eigenvectors(symmetric: Floats, n_axes: int) -> Floats:
    """The eigenvectors of the `n_axes` largest eigenvalues as columns, largest first; signs are arbitrary."""
    size = len(symmetric)
    n_axes = min(n_axes, size)
    if size <= _FEW_COLUMNS:
        return np.asarray(np.linalg.eigh(symmetric)[1][:, ::-1][:, :n_axes])
    if size >= _MANY_COLUMNS and (found := _by_products(symmetric, n_axes)) is not None:
        return found
    from scipy.linalg import eigh  # slow to import, and not needed to apply a model

    return np.asarray(eigh(symmetric, subset_by_index=[size - n_axes, size - 1], driver="evr")[1][:, ::-1])


def _by_products(symmetric: Floats, n_axes: int) -> Floats | None:
    """Leading eigenvectors from products with few vectors (block Lanczos); None where that takes too many.

    The matrix is read a few dozen times, where a decomposition would turn it into another one.
    """
    size, width = len(symmetric), n_axes + _SPARE_AXES
    if width * _MOST_PRODUCTS > size:
        return None
    new = np.linalg.qr(np.random.default_rng(0).normal(size=(size, width)))[0]
    basis, products = new, symmetric @ new
    for n_products in range(2, _MOST_PRODUCTS + 1):
        new = products[:, -width:]
        for _ in range(2):  # once leaves what rounding has left of the basis
            new = np.linalg.qr(new - basis @ (basis.T @ new))[0]
        basis, products = np.hstack([basis, new]), np.hstack([products, symmetric @ new])
        if n_products % _PRODUCTS_BETWEEN:
            continue
        values, vectors = np.linalg.eigh(basis.T @ products)
        values, vectors = values[::-1][:n_axes], vectors[:, ::-1][:, :n_axes]
        left = np.linalg.norm(products @ vectors - (basis @ vectors) * values, axis=0).max()
        if left <= _RESIDUAL * abs(values[0]):
            return np.asarray(np.linalg.qr(basis @ vectors)[0])
    return None


def generators(seed: int, stages: tuple[str, ...]) -> dict[str, np.random.Generator]:
    """An independent generator for each stage: one that draws more or less does not disturb the next."""
    children = np.random.SeedSequence(seed).spawn(len(stages))
    return {stage: np.random.default_rng(child) for stage, child in zip(stages, children, strict=True)}


def check_shapes(tensors: Tensors, shapes: Mapping[str, str], **sizes: int) -> dict[str, int]:
    """Refuse tensors that are missing, not numbers, or not of these shapes; the size of every dimension by its name.

    >>> check_shapes({"mean": np.zeros(3), "matrix": np.zeros((3, 2))}, {"mean": "d", "matrix": "d k"})
    {'d': 3, 'k': 2}
    >>> check_shapes({"mean": np.zeros(3)}, {"mean": "d"}, d=4)
    Traceback (most recent call last):
        ...
    ValueError: mean is (3), expected d = 4
    """
    for name, dims in shapes.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing")
        array, expected = np.asarray(tensors[name]), dims.split()
        shape = f"{name} is ({', '.join(map(str, array.shape))})"
        if array.dtype.kind not in "iufb" or array.ndim != len(expected):
            raise ValueError(f"{shape} of {array.dtype}, expected numbers ({', '.join(expected)})")
        for dim, size in zip(expected, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(f"{shape}, expected {dim} = {sizes[dim]}")
    return sizes


_MOST_HELD = 1 << 27  # bytes of lazy values that have a size


class Lazy(Mapping[str, T]):
    """Values that are made or read on first use; of large ones, which have a size in bytes, only the last are held.

    >>> lengths = Lazy(["a", "bb"], len)
    >>> list(lengths), lengths["bb"]
    (['a', 'bb'], 2)
    """

    def __init__(self, keys: Sequence[str], make: Callable[[str], T], size: Callable[[T], int] = lambda _: 0) -> None:
        self._keys, self._make, self._size = dict.fromkeys(keys), make, size
        self._held: dict[str, T] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)  # what makes the values need not exist in another process

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:  # Mapping would make the value to find out
        return key in self._keys

    def __getitem__(self, key: str) -> T:
        if key not in self._held:
            if key not in self._keys:
                raise KeyError(key)
            refuse_forked()
            self._held[key] = self._make(key)
            while len(self._held) > 1 and sum(map(self._size, self._held.values())) > _MOST_HELD:
                del self._held[next(iter(self._held))]
        return self._held[key]
