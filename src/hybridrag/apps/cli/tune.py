"""`hybridrag tune`: find settings that do better on questions with marked documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from math import prod
from pathlib import Path

import click

from hybridrag import Embedder, Engine, InvalidInput, LoadedSettings, QueryType, Recipe, find_recipes, load_settings
from hybridrag.apps.cli.evaluate import open_dataset_index, search_with, take_in
from hybridrag.apps.cli.options import config_option, json_option, quiet_option
from hybridrag.apps.cli.output import print_json
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt
from hybridrag.evaluate import (
    METRICS,
    TUNE_KNOBS,
    Dataset,
    PairedDifference,
    RememberingEmbedder,
    SettingsChoice,
    Tuned,
    TuneKnob,
    TuneMeasure,
    TuneTrial,
    choice_as_toml,
    dataset_halves,
    load_dataset,
    metric_values,
    outcomes_of,
    run_searches,
    tune,
)

INTERRUPTED = 130
MOST_COMBINATIONS = 2000
"""Of a grid: with a hundred questions, some hours."""
WEIGHTS = "search.weights."

SettingKey = tuple[tuple[str, str | int | float | bool], ...]


@click.command(name="tune")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--recipe", "name", default="hybrid", metavar="NAME", help="The way of searching to tune: hybrid.")
@click.option("--metric", type=click.Choice(list(METRICS)), default="nDCG@10", help="What to raise: nDCG@10.")
@click.option(
    "--knob",
    "names",
    multiple=True,
    type=click.Choice([knob.name for knob in TUNE_KNOBS]),
    metavar="NAME",
    help=f"Turn only this one; may be repeated. One of {', '.join(knob.name for knob in TUNE_KNOBS)}.",
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

    Prints a fragment for hybridrag.toml where the other half does no worse with it. docs/tuning.md says what each
    knob turns.
    """
    (recipe,) = find_recipes([name])
    data = load_dataset(dataset, split=split, files=files).first(limit)
    if len(data.queries) < 4:
        raise InvalidInput(f"{dataset} has {len(data.queries)} questions; two halves need at least four.")
    loaded = load_settings(config)
    knobs = [knob for knob in TUNE_KNOBS if knob.name in names or (not names and knob.usual)]
    if grid:
        _check_size(knobs)
    with ExitStack() as stack:
        engine = stack.enter_context(open_dataset_index(data, loaded.settings, index, fresh=False))
        stop = stack.enter_context(stop_on_interrupt())
        with progress_bar(quiet=quiet or as_json) as show:
            if data.has_corpus and take_in(engine, data, own=index is None, on_progress=show, stop=stop).interrupted:
                ctx.exit(INTERRUPTED)
        train, other = dataset_halves(data)
        embedder = RememberingEmbedder(engine.embedder())
        current = _current(loaded, knobs)

        def measure(half: Dataset) -> TuneMeasure:
            return _measure(partial(_trial, engine, embedder, config), half, recipe, metric)

        found = tune(
            measure(train),
            measure(other),
            knobs=knobs,
            current=current,
            grid=grid,
            on_trial=None if quiet or as_json else partial(_tell, current),
        )
    if write is not None and found.is_worth_it:
        _write(write, found)
    _print(found, metric, sizes=(len(train.queries), len(other.queries)), as_json=as_json)


def _check_size(knobs: Sequence[TuneKnob]) -> None:
    """A grid over everything would not end."""
    combinations = prod(len(knob.alternatives) for knob in knobs)
    if combinations > MOST_COMBINATIONS:
        raise InvalidInput(
            f"A grid over these knobs has {combinations:,} combinations, and at most {MOST_COMBINATIONS:,} are tried.",
            hint="Name fewer with --knob, or leave out --grid to turn one after the other.",
        )


def _current(loaded: LoadedSettings, knobs: Sequence[TuneKnob]) -> dict[str, str | int | float | bool]:
    """What the settings say now of what the knobs turn."""
    values = {shown.key: shown.value for shown in loaded.shown()}
    return {key: values[key] for knob in knobs for one in knob.alternatives for key in one}


def _trial(engine: Engine, embedder: Embedder, config: Path | None, choice: SettingsChoice) -> Engine:
    """The same open index under other settings."""
    # Answers that were kept would be those of the trial before.
    settings = load_settings(config, overrides={"search.cache_size": 0, **choice}).settings
    return engine.with_settings(settings, embedder=embedder)


def _measure(trial: Callable[[SettingsChoice], Engine], data: Dataset, recipe: Recipe, metric: str) -> TuneMeasure:
    """Asks these questions under other settings; those that nothing changed for since they were asked are not again."""
    known: dict[tuple[str, SettingKey], tuple[str, float | None]] = {}

    def measure(choice: SettingsChoice) -> Mapping[str, float]:
        found = {query.id: _known_by(known, query.id, choice) for query in data.queries}
        open_ids = {name for name, value in found.items() if value is None}
        if open_ids:
            missing = replace(data, queries=tuple(query for query in data.queries if query.id in open_ids))
            pairs = outcomes_of(run_searches(missing, {recipe.name: search_with(trial(choice), recipe)}), recipe.name)
            values = metric_values(pairs, metric)
            for query, outcome in pairs:
                kind = outcome.classified or ""
                found[query.id] = (kind, values.get(query.id))
                known[query.id, _relevant(choice, kind)] = (kind, values.get(query.id))
        return {name: value[1] for name, value in found.items() if value is not None and value[1] is not None}

    return measure


def _known_by(
    known: Mapping[tuple[str, SettingKey], tuple[str, float | None]], query: str, choice: SettingsChoice
) -> tuple[str, float | None] | None:
    """What is known of a question under these settings, whatever they say of other kinds of question."""
    for kind in QueryType:
        value = known.get((query, _relevant(choice, kind.value)))
        if value is not None and value[0] == kind.value:
            return value
    return None


def _relevant(choice: SettingsChoice, kind: str) -> SettingKey:
    """The settings without the weights of the kinds that a question is not of."""
    own = f"{WEIGHTS}{kind}."
    return tuple(sorted((key, value) for key, value in choice.items() if not key.startswith(WEIGHTS) or own in key))


def _tell(current: SettingsChoice, trial: TuneTrial) -> None:
    changed = [f"{key} {value}" for key, value in trial.choice.items() if current[key] != value]
    click.echo(f"{trial.mean:.4f}  {', '.join(changed) or 'what is set'}", err=True)


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
