"""What `rondo name`, `rondo merge` and `rondo split` share: whose vocabulary is meant, and where its edits lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rondo.cli.label import model_folder

if TYPE_CHECKING:
    from rondo.model import Rondo
    from rondo.vocabulary.edits import Edits
    from rondo.vocabulary.names import EntryId
    from rondo.vocabulary.vocabulary import Level

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or the run folder that holds it.")]
Stream = Annotated[
    Path | None,
    typer.Option("--stream", metavar="DIR", help="The --out of a stream: what it has learned since can be named too."),
]


class Edited(NamedTuple):
    """A vocabulary that can be edited: its ids, all edits so far, and the folder that new ones are added to."""

    folder: Path
    run: Path | None  # the run folder around it, which shows the names
    edits: Edits
    n_before: int  # edits that come from the model and are not kept in `folder`
    ids: dict[Level, tuple[int, ...]]
    own_motifs: dict[int, int]  # of units, where every unit is its own motif

    def entry(self, text: str) -> EntryId:
        """The entry that is meant, if there is such a one."""
        from rondo.vocabulary.names import known_entry

        return known_entry(text, self.ids)

    def write(self, edits: Edits) -> None:
        """Keep the edits, and show the names in the run folder that the model lies in.

        A run folder that shows others, because the command before was killed, is put right even if nothing is new.
        """
        from rondo.report.names import lags_behind, show_names
        from rondo.vocabulary.edit_file import write_edits
        from rondo.vocabulary.edits import Edits

        if edits != self.edits:
            write_edits(self.folder, Edits(edits.history[self.n_before :]))
        if self.run is not None and (edits != self.edits or lags_behind(self.run)):
            show_names(self.run)


def open_edits(model: Path, stream: Path | None) -> Edited:
    """The vocabulary of a model, or as a stream that began with it has grown it; to be looked at."""
    return _edited(*_loaded(model, stream))


@contextmanager
def editing(model: Path, stream: Path | None) -> Iterator[Edited]:
    """The same, to be changed: nobody else changes it before the block ends."""
    from rondo.report.run_folder import read_run_summary
    from rondo.vocabulary.edit_file import changing

    fitted, folder, where = _loaded(model, stream)
    run = _edited(fitted, folder, where).run
    if run is not None:
        read_run_summary(run)  # one that is damaged is refused before anything is kept
    with changing(run or where):
        yield _edited(fitted, folder, where)


def _loaded(model: Path, stream: Path | None) -> tuple[Rondo, Path, Path]:
    """The model, its folder, and the folder that edits are added to."""
    from rondo.continual.checkpoint import fingerprint
    from rondo.live.session import checkpoint_folder, grown_stream
    from rondo.model import Rondo

    folder = model_folder(model)
    fitted = Rondo.load(folder)
    if stream is None:
        return fitted, folder, folder
    fitted.stream_ = grown_stream(fitted, fingerprint(folder), stream)
    return fitted, folder, checkpoint_folder(stream)


def _edited(fitted: Rondo, folder: Path, where: Path) -> Edited:
    """With the edits as they are on the disk now."""
    from rondo.live.session import edits_with
    from rondo.report.names import run_around
    from rondo.vocabulary.edit_file import read_edits

    fitted.edits_ = read_edits(folder)
    if where == folder:
        return Edited(folder, run_around(folder), fitted.edits_, 0, fitted.entry_ids(), fitted.own_motifs())
    edits = edits_with(fitted, where)
    n_before = len(edits.history) - len(read_edits(where).history)
    return Edited(where, None, edits, n_before, fitted.entry_ids(), fitted.own_motifs())
