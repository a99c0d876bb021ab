"""The page of recipes/language."""

from page_parts import blanks, in_order, made, options, speed, spread, table

NAMES = {
    "gpt": "GPT",
    "gpt_rotary": "GPT, rotary positions",
    "gpt_memory": "GPT, rotary positions, memory of 128",
    "gpt_transformer-xl": "GPT, relative positions of Transformer-XL, memory of 128",
    "gpt_muon_2e-3": "GPT, Muon 2e-3",
    "lstm": "LSTM",
    "gru": "GRU",
    "tanh": "tanh cells",
}


def scores(results):
    rows = []
    for row in results:
        score = row["score"]
        rows.append([NAMES[row["kind"]], f"{row['parameters'] / 1e6:.2f} M", speed(row), f"{row['valid_loss']:.3f}",
                     f"{score['perplexity_word']:,.0f}", f"{score['bits_per_byte']:.3f}"])
    return table(["model", "parameters", "tokens/s", "held-out loss", "perplexity per word", "bits per byte"], rows) + blanks(results)


def contexts(results):
    def loss(row, tokens):
        value = row["loss_by_context"].get(tokens)
        return "" if value is None else f"{value:.2f}"

    lengths = sorted({tokens for row in results for tokens in row["loss_by_context"]}, key=int)
    return table(["model", *lengths], [[NAMES[row["kind"]], *(loss(row, tokens) for tokens in lengths)] for row in results])


def page(results):
    score = results[0]["score"]
    return "\n".join([
        "# Language models\n",
        made(results, "language", "English Wikipedia", "language"),
        f"Every row uses the settings of recipes/wikipedia_causal.toml, the options below and the same tokenizer of 8,192 pieces, and is "
        f"trained on {spread(row['tokens'] / 1e6 for row in results)} million tokens with one seed, so the noise of seeds is unknown. "
        "Held-out loss: nats per piece at the end of training, in segments of the training length; recurrent models carry their state from "
        f"one segment to the next. Perplexity and bits per byte: of {score['lines']:,} held-out documents, {score['words']:,} words "
        "including ends of documents. Transformers read documents in overlapping windows of the training length, plus the memory; recurrent "
        "models read whole documents.\n",
        scores(results),
        "## Length of context\n\nNats per word when exactly this many tokens precede each piece: the mean over 1,000 words preceded by at least "
        "as many tokens as in the last column of the row. Rows that end in different columns have different words. Blank where the model has "
        "fewer positions.\n",
        contexts(results),
        "## Options\n",
        options([(NAMES[row["kind"]], row["options"]) for row in results]),
    ])


def files(results):
    return {"language.md": page(in_order(results, NAMES))}
