"""`hybridrag tune`: find settings that do better on questions with marked documents."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from hybridrag import (
    METRICS,
    TUNE_KNOBS,
    Dataset,
    Engine,
    InvalidInput,
    PairedDifference,
    Recipe,
    Settings,
    SettingsChoice,
    Tuned,
    TuneMeasure,
    TuneTrial,
    choice_as_toml,
    dataset_halves,
    find_recipes,
    load_dataset,
    load_settings,
    metric_values,
    outcomes_of,
    run_searches,
    tune,
)
from hybridrag.apps.cli.evaluate import open_dataset_index, search_with, take_in
from hybridrag.apps.cli.options import config_option, json_option, quiet_option
from hybridrag.apps.cli.output import print_json
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt

INTERRUPTED = 130


@click.command(name="tune")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--recipe", "name", default="hybrid", metavar="NAME", help="The way of searching to tune: hybrid.")
@click.option("--metric", type=click.Choice(list(METRICS)), default="nDCG@10", help="What to raise: nDCG@10.")
@click.option(
    "--knob",
    "names",
    multiple=True,
    type=click.Choice([knob.name for knob in TUNE_KNOBS]),
    help="Turn only this one; may be repeated.",
)
@click.option("--grid", is_flag=True, help="Try every combination instead of one knob after the other.")
@click.option("--limit", type=click.IntRange(min=4), metavar="N", help="Ask so many of the questions only.")
@click.option("--split", metavar="NAME", help="Which of several qrels: test, dev, ...")
@click.option("--files", type=click.Path(path_type=Path), metavar="DIR", help="Take the documents from this folder.")
@click.option(
    "--index",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the index here, not in the cache.",
)
@click.option(
    "--write", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write what to set into this file."
)
@config_option
@quiet_option
@json_option
@click.pass_context
def tune_command(
    ctx: click.Context,
    *,
    dataset: Path,
    name: str,
    metric: str,
    names: tuple[str, ...],
    grid: bool,
    limit: int | None,
    split: str | None,
    files: Path | None,
    index: Path | None,
    write: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Try settings on one half of a data set's questions, and say what the best are worth on the other half.

    Prints a fragment for hybridrag.toml where the other half does no worse with it.
    """
    (recipe,) = find_recipes([name])
    data = load_dataset(dataset, split=split, files=files).first(limit)
    if len(data.queries) < 4:
        raise InvalidInput(f"{dataset} has {len(data.queries)} questions; two halves need at least four.")
    settings = load_settings(config).settings
    knobs = [knob for knob in TUNE_KNOBS if not names or knob.name in names]
    with ExitStack() as stack:
        engine = stack.enter_context(open_dataset_index(data, settings, index, fresh=False))
        stop = stack.enter_context(stop_on_interrupt())
        with progress_bar(quiet=quiet or as_json) as show:
            if data.has_corpus and take_in(engine, data, own=index is None, on_progress=show, stop=stop).interrupted:
                ctx.exit(INTERRUPTED)
        train, other = dataset_halves(data)
        found = tune(
            _measure(engine, train, recipe, metric, config),
            _measure(engine, other, recipe, metric, config),
            knobs=knobs,
            current=_current(settings, [key for knob in knobs for one in knob.alternatives for key in one]),
            grid=grid,
            on_trial=None if quiet or as_json else _tell,
        )
    if write is not None and found.is_worth_it:
        _write(write, found)
    _print(found, metric, sizes=(len(train.queries), len(other.queries)), as_json=as_json)


def _current(settings: Settings, keys: list[str]) -> dict[str, str | int | float | bool]:
    """What the settings say now."""
    values = settings.model_dump()
    return {key: values[key.split(".")[0]][key.split(".")[1]] for key in dict.fromkeys(keys)}


def _measure(engine: Engine, data: Dataset, recipe: Recipe, metric: str, config: Path | None) -> TuneMeasure:
    """Asks these questions of the same index under other settings."""

    def measure(choice: SettingsChoice) -> Mapping[str, float]:
        settings = load_settings(config, overrides={"search.cache_size": 0, **choice}).settings
        with Engine.open(engine.path, settings=settings, embedder=engine.embedder(), create=False) as trial:
            run = run_searches(data, {recipe.name: search_with(trial, recipe)})
        return metric_values(outcomes_of(run, recipe.name), metric)

    return measure


def _tell(trial: TuneTrial) -> None:
    click.echo(f"{trial.mean:.4f}  {', '.join(f'{key} {value}' for key, value in trial.choice.items())}", err=True)


def _write(file: Path, found: Tuned) -> None:
    try:
        file.write_text(choice_as_toml(found.choice), encoding="utf-8")
    except OSError as cause:
        raise InvalidInput(f"{file} cannot be written ({cause.strerror or cause}).") from None


def _print(found: Tuned, metric: str, *, sizes: tuple[int, int], as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "metric": metric,
                "choice": dict(found.choice),
                "worthIt": found.is_worth_it,
                "training": {"queries": sizes[0], **asdict(found.training)},
                "heldOut": {"queries": sizes[1], **asdict(found.held_out)},
                "trials": [asdict(trial) for trial in found.trials],
            }
        )
        return
    if not found.choice:
        click.echo(f"Nothing did better than what is set ({len(found.trials)} tried).")
        return
    click.echo(f"{metric} on the {sizes[0]} questions it was chosen by: {_said(found.training)}")
    click.echo(f"{metric} on the {sizes[1]} others: {_said(found.held_out)}")
    if found.is_worth_it:
        click.echo(f"\n{choice_as_toml(found.choice)}", nl=False)
    else:
        click.echo("The others did worse with it; keep what is set.")


def _said(difference: PairedDifference) -> str:
    return f"{difference.mean:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"
