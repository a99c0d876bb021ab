"""Rows of four families of small translation models: a baseline of each, changes of its options, and learning rates, on the first pairs of
Multi30k English-German. The best checkpoint by held-out loss is scored."""

import dataclasses

import rows
from recipe import words
from scores import validations

FAMILIES = {
    "fixed": {"model": "fixed"},
    "luong": {"model": "luong", "score": "general"},
    "bahdanau": {"model": "bahdanau"},
    "transformer": {"model": "transformer", "encoder-layers": 2, "decoder-layers": 2, "feed-forward": 256, "heads": 4, "norm": "pre"},
}
COMMON = {"width": 128, "dropout": 0.3, "warmup-steps": 300, "keep-last": 2, "precision": "auto"}
# The best by held-out loss of the rows FAMILY_learning-rate_* of recipes/variants.
RATE = {"fixed": "8e-3", "luong": "5e-3", "bahdanau": "8e-3", "transformer": "8e-3"}
RATES = ("1e-3", "2e-3", "3e-3", "5e-3", "8e-3", "1.2e-2")
# The same for little text, by the rows of recipes/small_data.
RATE_OF_LITTLE = {"transformer": "5e-3", "bahdanau": "8e-3"}


@dataclasses.dataclass(frozen=True)
class Text:
    """The first pairs of the text, the size of their joint tokenizer, the pieces of a batch, and the updates of a training."""
    pairs: int
    pieces: int
    max_tokens: int = 2048
    updates: int = 1500

    def folder(self, args):
        return args.runs / f"text_{self.pairs}"

    def prepare(self, args, *tokenizers):
        place = self.folder(args)
        place.mkdir(exist_ok=True)
        rows.write_first_pairs(args, place, self.pairs)
        for kind in tokenizers or ("bpe",):
            rows.learn_tokenizer(place / f"{kind}.model", place, self.pieces, kind)


LITTLE = Text(3000, 2000, max_tokens=1024)


@dataclasses.dataclass
class Row(rows.Row):
    text: Text
    family: str
    change: dict
    tokenizer: str  # its kind


def each(option, *values):
    """One change per value of an option."""
    return {f"{option}_{value}": {option: value} for value in values}


def at_rates(kind, change, rates):
    """A kind at other learning rates."""
    return {f"{kind}_learning-rate_{rate}": change | {"learning-rate": rate} for rate in rates}


def family_of(kind):
    """The family that its name begins with, or else the Transformer."""
    first = kind.split("_", 1)[0]
    return first if first in FAMILIES else "transformer"


def rows_of(text, rates, kinds, seeds=(1,)):
    """The rows of kinds {KIND: change} by name, with the learning rate of each family. A change of vocab-type names a tokenizer of the text."""
    def row(kind, seed):
        family = family_of(kind)
        options = COMMON | {"max-tokens": text.max_tokens, "learning-rate": rates[family]} | FAMILIES[family] | kinds[kind]
        tokenizer = options.pop("vocab-type", "bpe")
        return Row(kind, seed, words(options), text, family, kinds[kind], tokenizer)

    return {name: row(of.kind, of.seed) for name, of in rows.rows_of(kinds, seeds).items()}


def train(args, row, run, updates=None, *more):
    place = row.text.folder(args)
    updates = updates or args.updates or row.text.updates
    rows.train(run, [*row.options, *more], place, args.text / "val", place / f"{row.tokenizer}.model", updates, row.seed)


def scores(args, row, run):
    """Of the best checkpoint."""
    best = min(event["loss"] for _, _, event in validations(run))
    return {"model": row.family, "change": row.change, "pairs": row.text.pairs, **rows.trained(run), "best_loss": best,
            **rows.translations(args, run)}


def result_of(args, name, row):
    train(args, row, args.runs / name)
    return scores(args, row, args.runs / name)


def arguments(about, name, table, *folders):
    options = rows.parser(about, name, table)
    options.add_argument("--updates", type=int, help="updates of every training, for a trial; rows are made without it")
    return rows.parse(options, "multi30k_en_de_fr", *folders)


def complete(args, table, result_of=result_of, train=train):
    """Completes the chosen rows of a table, whose texts are prepared, and exits."""
    rows.scoring_python(args)
    rows.complete(args, table, result_of, lambda args, row, run: train(args, row, run, rows.SPEED_UPDATES))
