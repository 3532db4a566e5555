"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.discover import announce
from rondo.cli.progress import progress

if TYPE_CHECKING:
    from rondo.files.reading import Reading
    from rondo.model.rondo import Rondo


Adapt = Annotated[
    bool, typer.Option("--adapt", metavar="", help="Transfer: move the units to where these recordings have them.")
]
RefitMotifs = Annotated[
    bool, typer.Option("--refit-motifs", metavar="", help="Transfer: keep the units, learn the motifs again.")
]
Resample = Annotated[
    bool, typer.Option("--resample", metavar="", help="Read recordings of another rate at the rate of the model.")
]
MotifSeed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="For --refit-motifs; the seed of the model if not given.")
]


@options.takes_reading(before="seed")
def label(
    model: options.FittedModel,
    paths: options.Recordings,
    out: options.RunPlace,
    reading: Reading,
    adapt: Adapt = False,
    refit_motifs: RefitMotifs = False,
    resample: Resample = False,
    seed: MotifSeed = None,
    device: options.Device = None,
    group_by: options.Groups = None,
    engine: options.EngineName = None,
    workers: options.Workers = None,
    ray_address: options.RayAddress = None,
    json: options.Json = False,
) -> None:
    """Label recordings with a fitted model; its vocabulary stays as it is.

    With --adapt, for another person, machine or day, the ids stay and the units move to where these recordings have
    them. The model in --out is the moved one.

    If MODEL is the folder of a stream, recordings are read with what the stream has learned so far, even while it runs.

    Many recordings, or more than fit into memory, are read file by file, and a run that was stopped goes on when the
    same command is given again.

    Example: rondo label run day2.csv --rate 100 --out run2
    """
    from rondo.discovery import channels_of, follows_stream, label_with
    from rondo.edit import model_folder
    from rondo.many.unfinished import check_place
    from rondo.methods import load_model, method_of, refuse_idle

    check_place(out)
    folder = model_folder(model)
    if (name := method_of(folder)) == "rondo":
        fitted: Any = _loaded(folder, {"seed": seed, "device": device})
        with_stream = follows_stream(folder)
    else:
        learning = {"--adapt": adapt, "--refit-motifs": refit_motifs, "--seed": seed}
        refuse_idle(learning | {"--device": device, "--group-by": group_by}, f"a model of {name}")
        fitted, with_stream = load_model(folder), False
    with progress() as tell:
        result = label_with(
            fitted,
            paths,
            replace(reading, known=channels_of(fitted)),
            out,
            adapt=adapt,
            refit_motifs=refit_motifs,
            resample=resample,
            with_stream=with_stream,
            group_by=group_by,
            engine=engine,
            workers=workers,
            ray_address=ray_address,
            progress=tell,
        )
    announce(out, result.summary, json)
    raise typer.Exit(2 if result.summary.failed else 0)


def _loaded(folder: Path, chosen: dict[str, Any]) -> Rondo:
    """The model, with what its stream has learned since if it has one, and the settings that were given."""
    from rondo.model.describe import carrying
    from rondo.model.folder import config_of
    from rondo.model.method import grown_model

    fitted = carrying(grown_model(folder))
    config_of(fitted.set_params(**{name: value for name, value in chosen.items() if value is not None}))  # refuses
    return fitted
