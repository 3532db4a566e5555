"""What `rondo name`, `rondo merge` and `rondo split` share: whose vocabulary is meant, and where its edits lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rondo.cli.label import model_folder

if TYPE_CHECKING:
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

    model: Path
    folder: Path
    edits: Edits
    n_before: int  # edits that come from the model and are not kept in `folder`
    ids: dict[Level, tuple[int, ...]]
    own_motifs: dict[int, int]  # of units, where every unit is its own motif

    def entry(self, text: str) -> EntryId:
        """The entry that is meant, if there is such a one."""
        from rondo.vocabulary.names import known_entry

        return known_entry(text, self.ids)

    def write(self, edits: Edits) -> None:
        """Keep the edits, and show the names in the run folder that the model lies in."""
        from rondo.report.names import run_around, show_names
        from rondo.vocabulary.edit_file import write_edits
        from rondo.vocabulary.edits import Edits

        if edits == self.edits:
            return
        write_edits(self.folder, Edits(edits.history[self.n_before :]))
        run = run_around(self.model) if self.folder == self.model else None
        if run is not None:
            show_names(run)


def open_edits(model: Path, stream: Path | None) -> Edited:
    """The vocabulary of a model, or as a stream that began with it has grown it."""
    from rondo.continual.checkpoint import fingerprint
    from rondo.live.session import checkpoint_folder, edits_with, grown_stream
    from rondo.model import Rondo
    from rondo.vocabulary.edit_file import read_edits

    folder = model_folder(model)
    fitted = Rondo.load(folder)
    if stream is None:
        return Edited(folder, folder, fitted.edits_, 0, fitted.entry_ids(), fitted.own_motifs())
    fitted.stream_ = grown_stream(fitted, fingerprint(folder), stream)
    where = checkpoint_folder(stream)
    edits = edits_with(fitted, where)
    n_before = len(edits.history) - len(read_edits(where).history)
    return Edited(folder, where, edits, n_before, fitted.entry_ids(), fitted.own_motifs())
