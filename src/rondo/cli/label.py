"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.discover import announce
from rondo.cli.progress import progress
from rondo.errors import SettingError

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo


Adapt = Annotated[
    bool, typer.Option("--adapt", metavar="", help="Transfer: move the units to where these recordings have them.")
]
RefitMotifs = Annotated[
    bool, typer.Option("--refit-motifs", metavar="", help="Transfer: keep the units, learn the motifs again.")
]
GrownStream = Annotated[
    Path | None,
    typer.Option("--stream", metavar="DIR", help="Units and motifs as they have grown in this --out of `stream`."),
]
Resample = Annotated[
    bool, typer.Option("--resample", metavar="", help="Read recordings of another rate at the rate of the model.")
]
MotifSeed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="For --refit-motifs; the seed of the model if not given.")
]


def label(
    model: options.FittedModel,
    paths: options.Recordings,
    out: options.RunPlace,
    adapt: Adapt = False,
    refit_motifs: RefitMotifs = False,
    stream: GrownStream = None,
    resample: Resample = False,
    rate: options.Rate = None,
    key: options.Key = None,
    label_column: options.LabelColumns = None,
    split_by: options.SplitBy = None,
    session: options.OneSession = False,
    keep_column: options.KeepColumns = None,
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

    With --stream, recordings are read again with what a stream that began with this model has learned since. The labels
    that it has issued stay issued. The folder of a stream, given as MODEL, is read so too.

    Many recordings, or more than fit into memory, are read file by file, and a run that was stopped goes on when the
    same command is given again.

    Example: rondo label run day2.csv --rate 100 --out run2
    """
    from rondo.discovery import channels_of, follows_stream, label_with
    from rondo.edit import model_folder
    from rondo.files.inputs import Reading
    from rondo.files.reading import with_kept
    from rondo.many.unfinished import check_place
    from rondo.methods import load_model, method_of, refuse_idle

    if stream is not None and (refit_motifs or adapt):
        given = "--refit-motifs" if refit_motifs else "--adapt"
        raise SettingError(f"--stream reads with what a stream has learned, {given} learns from what is read; give one")
    check_place(out)
    folder = model_folder(model)
    if (name := method_of(folder)) == "rondo":
        fitted: Any = _loaded(folder, stream, {"seed": seed, "device": device})
        with_stream = stream is not None or follows_stream(folder)
    else:
        learning = {"--adapt": adapt, "--refit-motifs": refit_motifs, "--stream": stream, "--seed": seed}
        refuse_idle(learning | {"--device": device, "--group-by": group_by}, f"a model of {name}")
        fitted, with_stream = load_model(folder), False
    columns = with_kept(label_column, keep_column, channels_of(fitted))
    with progress() as tell:
        result = label_with(
            fitted,
            paths,
            Reading(rate, key, columns, split_by, session),
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


def _loaded(folder: Path, stream: Path | None, chosen: dict[str, Any]) -> Rondo:
    """The model, with what a stream has learned since if one is named, and the settings that were given."""
    from rondo.model.folder import config_of
    from rondo.model.method import grown_model

    fitted = grown_model(folder, stream)
    config_of(fitted.set_params(**{name: value for name, value in chosen.items() if value is not None}))  # refuses
    return fitted
