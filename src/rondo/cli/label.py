"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.discover import announce, read_all
from rondo.cli.progress import progress
from rondo.errors import SettingError

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.model.rondo import Rondo
    from rondo.run.summary import RunSummary


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
    from rondo.discovery import channels_of, follows_stream, why_labelled_at_once
    from rondo.edit import model_folder
    from rondo.files.inputs import Reading
    from rondo.files.reading import with_kept
    from rondo.many.unfinished import check_place
    from rondo.many.way import Asked, goes_file_by_file, many_files, why_not_split
    from rondo.methods import load_model, method_of, refuse_idle
    from rondo.store.folder import check_free

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
    asked = Asked(engine, workers, ray_address, group_by)
    columns = with_kept(label_column, keep_column, channels_of(fitted))
    reading = Reading(rate, key, columns, split_by, session)
    many = many_files(paths, asked, reading)
    why = why_labelled_at_once(fitted, adapt=adapt, refit_motifs=refit_motifs, with_stream=with_stream)
    file_by_file = goes_file_by_file(many, asked, why or why_not_split(split_by))
    if file_by_file:
        from rondo.many.driver import label_many

        with progress() as tell:
            summary = label_many(many, fitted, out, resample=resample, progress=tell)
        announce(out, summary, json)
        raise typer.Exit(2 if summary.failed else 0)
    check_free(out)
    how = {"adapt": adapt, "refit_motifs": refit_motifs, "resample": resample, "with_stream": with_stream}
    announce(out, _labelled_at_once(fitted, read_all(paths, reading), how, group_by, out), json)


def _labelled_at_once(
    model: Any, recordings: list[Recording], how: dict[str, bool], group_by: str | None, out: Path
) -> RunSummary:
    from rondo.discovery import labelled

    with progress() as tell:
        result = labelled(model, recordings, **how, group_by=group_by, progress=tell)
        tell("writing", len(recordings), len(recordings))
        result.save(out)
    return result.summary


def _loaded(folder: Path, stream: Path | None, chosen: dict[str, Any]) -> Rondo:
    """The model, with what a stream has learned since if one is named, and the settings that were given."""
    from rondo.model.describe import carrying
    from rondo.model.folder import config_of
    from rondo.model.method import grown_model

    fitted = carrying(grown_model(folder, stream))
    config_of(fitted.set_params(**{name: value for name, value in chosen.items() if value is not None}))  # refuses
    return fitted
