"""docs/results/claims.md: what papers and courses say about attention, beside the number that it has here, and a verdict that follows from the
number and its noise alone."""

import dataclasses
import math
import statistics
from collections.abc import Callable

import rates_page
from page_parts import LENGTHS, Difference, bleu_between_seeds, table, values
from scores import gain_and_noise, pooled_deviation

HOLDS, NOT_HERE, NOISE, OPEN = "holds", "does not hold at this size", "within noise", "open"


@dataclasses.dataclass
class Found:
    """A number with its noise, and whether it lies on the side that the claim says (1), on the other (-1) or within the noise (0)."""
    words: str
    side: int


@dataclasses.dataclass
class Claim:
    """`found` returns nothing if rows are missing; `reason` is said where the claim does not hold."""
    words: str
    source: str
    command: str
    found: Callable
    reason: str = ""


def side_of(value, noise, direction):
    """Direction 0 claims that there is no difference, which unknown noise cannot support."""
    beyond = abs(value) > noise
    return (-1 if beyond else 1 if math.isfinite(noise) else 0) if direction == 0 else 0 if not beyond else 1 if value * direction > 0 else -1


class Results:
    """What the claims are tested on: the rows of translation models by kind, those of rates, and single files by name."""

    def __init__(self, kinds, rates, file):
        self.kinds, self.rates, self.file = kinds, rates, file

    def noise_of_loss(self):
        """Two standard deviations of the difference of two held-out losses between seeds."""
        return 2 * math.sqrt(2) * pooled_deviation([row["valid_loss"] for row in side] for side in self.kinds.values())

    def bleu(self, kind, other, direction):
        if kind not in self.kinds or other not in self.kinds:
            return None
        found = Difference.of(self.kinds[kind], self.kinds[other], bleu_between_seeds(self.kinds))
        return Found(f"{found.mean:+.1f} BLEU, noise of seeds ± {found.seeds:.1f}", side_of(found.mean, found.seeds, direction))

    def alignment(self, kind, other, direction):
        if kind not in self.kinds or other not in self.kinds:
            return None
        rows, others = ([row for row in self.kinds[name] if row.get("aer")] for name in (kind, other))
        mean, base = (statistics.mean(row["aer"]["score"] for row in side) for side in (rows, others))
        between = pooled_deviation([row["aer"]["score"] for row in side if row.get("aer")] for side in self.kinds.values())
        noise = 2 * between * math.sqrt(1 / len(rows) + 1 / len(others))
        return Found(f"alignment error {mean:.1f} and {base:.1f} %, noise of seeds ± {noise:.1f}", side_of(mean - base, noise, direction))

    def little(self, kind, other, direction):
        """BLEU with 3,000 pairs."""
        sides = [[row for seed in ("", "_seed2", "_seed3") if (row := self.file(f"small_data/{name}{seed}.json"))] for name in (kind, other)]
        if not all(sides):
            return None
        gain, noise = gain_and_noise(*map(values, sides))
        return Found(f"{gain:+.1f} BLEU with 3,000 pairs, seeds: {len(sides[0])} and {len(sides[1])}", side_of(gain, noise, direction))

    def tuned(self, family, other, amount, direction):
        """Held-out losses, each at its best rate; their noise is that of the same model's other seeds."""
        losses = rates_page.losses(self.rates, amount, rates_page.usual_warmup(self.rates)) if self.rates else {}
        if any(len(losses.get(name, {})) < rates_page.FEWEST for name in (family, other)):
            return None
        ours, theirs = (min(losses[name].values()) for name in (family, other))
        noise = self.noise_of_loss()
        return Found(f"held-out loss {ours:.3f} and {theirs:.3f} at {amount} M tokens, each at its best rate, noise of seeds ± {noise:.3f}",
                     side_of(ours - theirs, noise, direction))

    def long_sentences(self, kind, other):
        """What is left of the BLEU of short sentences in long ones."""
        if kind not in self.kinds or other not in self.kinds:
            return None
        shares, squares = [], 0
        for name in kind, other:
            lengths = self.kinds[name][0]["bleu_by_length"]
            short, long = lengths[LENGTHS[0]], lengths[LENGTHS[-1]]
            shares.append(long["score"] / short["score"])
            squares += sum(((part["high"] - part["low"]) / 2 / part["score"]) ** 2 for part in (short, long))
        return Found(f"with 20 words and more {shares[0]:.0%} of the BLEU under 10 words, and {shares[1]:.0%}",
                     side_of(math.log(shares[0] / shares[1]), math.sqrt(squares), -1))

    def tasks(self, task, model, other, direction):
        found = self.file("language_tasks.json")
        if not found or model not in found["models"]:
            return None
        ours, theirs = (found["models"][name]["tasks"][task] for name in (model, other))
        gain, noise = gain_and_noise(ours["scores"], theirs["scores"])
        return Found(f"{statistics.mean(ours['scores']):.1f} and {statistics.mean(theirs['scores']):.1f} {ours['metric']}, three seeds each",
                     side_of(gain, noise, direction))

    def agreement(self, distance, model, other, direction):
        found = self.file("challenges.json")
        if not found:
            return None
        sides = [[100 * seed["agreement"][distance]["right"] / seed["agreement"][distance]["pairs"] for seed in found["models"]["en-de"][name]]
                 for name in (model, other)]
        gain, noise = gain_and_noise(*sides)
        return Found(f"{statistics.mean(sides[0]):.0f} and {statistics.mean(sides[1]):.0f} % of the pairs right at {distance} words, three seeds",
                     side_of(gain, noise, direction))

    def exact(self, row, length, other, other_length, direction):
        """Exact answers to sequences of a length, in words or pairs."""
        found = [self.file(f"copy_and_recall/{name}.json") for name in (row, other)]
        if not all(found):
            return None
        sides = [[seed["accuracy"][str(at)] for seed in row["seeds"]] for row, at in zip(found, (length, other_length))]
        gain, noise = gain_and_noise(*sides)
        return Found(f"{statistics.mean(sides[0]):.0f} and {statistics.mean(sides[1]):.0f} % right at {length} and {other_length}, three seeds each",
                     side_of(gain, noise, direction))

    def optimisers(self, family, amount):
        """Held-out losses with Muon and AdamW, each at its best rate."""
        warmup = rates_page.usual_warmup(self.rates) if self.rates else 0
        muon, adamw = (rates_page.losses(self.rates, amount, warmup, name).get(family, {}) for name in ("muon", "adamw"))
        if min(len(muon), len(adamw)) < rates_page.FEWEST:
            return None
        ours, theirs = (min(side.values()) for side in (muon, adamw))
        noise = self.noise_of_loss()
        return Found(f"held-out loss {ours:.3f} and {theirs:.3f} after {amount} M tokens, each at its best rate, noise of seeds ± {noise:.3f}",
                     side_of(ours - theirs, noise, -1))

    def encoders(self, task, system, other, direction):
        """The first metric of attend compare on the test set."""
        report = self.file(f"encoders/{task}.json")
        found = {row["name"]: [run["quality"][report["metrics"][0]["key"]]["value"] for run in row["runs"]] for row in report["systems"]} if report else {}
        if system not in found or other not in found:
            return None
        gain, noise = gain_and_noise(found[system], found[other])
        ours, theirs = (statistics.mean(found[name]) for name in (system, other))
        return Found(f"{ours:.1f} and {theirs:.1f} {report['metrics'][0]['name'].lower()} on {task}, three seeds each", side_of(gain, noise, direction))

    def antecedents(self, kind, place):
        """The weight of "it" on its noun in the head that gives most, beside what its distance alone explains."""
        found = self.file(f"antecedents/{kind}.json")
        if not found:
            return None
        head = max((head for head in found["attention"] if head["place"] == place), key=lambda head: head["share"] - head["expected"])
        noise = 2 * math.sqrt(head["share"] * (1 - head["share"]) / found["instances"])  # of a mean of numbers from 0 to 1, at most
        return Found(f"{head['share']:.0%} in head {head['layer']}.{head['head']}, {head['expected']:.0%} from position alone",
                     side_of(head["share"] - head["expected"], noise, 1))

    def cut(self, kind, change, other):
        """How often "it" has the right gender with the attention to its noun cut, and with that to another noun."""
        found = self.file(f"antecedents/{kind}.json")
        if not found:
            return None
        shares = [found["effects"][name]["right"] / found["instances"] for name in (change, other)]
        noise = 2 * math.sqrt(sum(share * (1 - share) / found["instances"] for share in shares))
        return Found(f"{shares[0]:.0%} right without attention to the noun, {shares[1]:.0%} without that to another",
                     side_of(shares[0] - shares[1], noise, -1))

    def replaced(self, weights):
        found = self.file("looking_inside/luong.json")
        if not found:
            return None
        change = next(row for row in found["replacement"]["weights"] if row["weights"] == weights)["loss_change"]["change"]
        return Found(f"loss {change['value']:+.2f} ({change['low']:+.2f} to {change['high']:+.2f}) with {weights} weights instead",
                     1 if change["low"] > 0 else -1 if change["high"] < 0 else 0)

    def pruned(self, share):
        found = self.file("looking_inside/transformer_rotary.json")
        if not found:
            return None
        row = next(row for row in found["pruning"] if row["share"] == share)
        change = row["loss_change"]
        return Found(f"loss {change['value']:+.3f} ({change['low']:+.3f} to {change['high']:+.3f}) without {row['removed']} of {found['heads']} heads",
                     -1 if change["low"] > 0 else 1)

    def relations(self, model):
        found = self.file("heads.json")
        if not found:
            return None
        row = found["models"][model]
        return Found(f"a head finds {row['found']} of {row['relations']} relations more often than the best fixed offset does", 1 if row["found"] else -1)

    def guided(self, guide, other, direction):
        found = self.file("guided_relations.json")
        if not found:
            return None
        sides = [[row["bleu"] for row in found["rows"] if row["guide"] == name] for name in (guide, other)]
        gain, noise = gain_and_noise(*sides)
        return Found(f"{gain:+.1f} BLEU, three seeds each", side_of(gain, noise, direction))

    def attachment(self, name, read):
        """Structural probes of the best layer against the same layer with random weights."""
        found = self.file(name)
        if not found:
            return None
        row = read(found)
        ours, random = max(zip(row["attachment"], row["random_attachment"]), key=lambda pair: pair[0]["mean"])
        return Found(f"{100 * ours['mean']:.1f} % of the heads right, {100 * random['mean']:.1f} with random weights",
                     side_of(ours["mean"] - random["mean"], ours["deviation"] + random["deviation"], 1))

    def explains(self, run, name, other=None):
        """Kendall's τ with gradient × input: high (0.5 and more), or higher than another explanation's by its standard error."""
        found = self.file(f"looking_inside/{run}.json")
        if not found:
            return None
        taus = {row["name"]: row["gradient"] for row in found["faithfulness"]["explanations"] if row["gradient"]}
        ours = taus[name]["tau"]
        if other is None:
            return Found(f"τ {ours['mean']:.2f} ± {ours['deviation']:.2f} with gradient × input", 1 if ours["mean"] < 0.5 else -1)
        theirs = taus[other]["tau"]
        noise = 2 * math.hypot(*(side["tau"]["deviation"] / math.sqrt(side["measured"]) for side in (taus[name], taus[other])))
        return Found(f"τ with gradient × input {ours['mean']:.2f} and {theirs['mean']:.2f}", side_of(ours["mean"] - theirs["mean"], noise, 1))

    def adversarial(self, run):
        found = self.file(f"looking_inside/{run}.json")
        if not found:
            return None
        weights = found["faithfulness"]["weights"]
        return Found(f"Jensen-Shannon divergence {weights['divergence']['mean']:.2f} of at most 0.69 where the prediction changes by "
                     f"{weights['change']['mean']:.3f}", 1 if weights["divergence"]["mean"] > 0.35 else -1)

    def searches(self, run, search, other_run, other, direction):
        """Both searches translate the same sentences; one BLEU is the least that a reader would call a difference."""
        ours, theirs = (self.file(f"searches/{name}.{how}.json") for name, how in ((run, search), (other_run, other)))
        if not ours or not theirs:
            return None
        gain = ours["bleu"]["score"] - theirs["bleu"]["score"]
        return Found(f"{gain:+.1f} BLEU, one model; less than 1 counts as noise", side_of(gain, 1, direction))

    def beyond_training(self, kind, direction):
        """Loss per word with twice the context of training against that with the context of training."""
        found = self.file(f"language/{kind}.json")
        at, beyond = (found and found["loss_by_context"].get(length) for length in ("128", "256"))
        if not at or not beyond:
            return None
        return Found(f"{at:.2f} nats per word after 128 tokens, the length of training, {beyond:.2f} after 256", side_of(beyond - at, 0.02, direction))

    def rank(self, post, pre):
        if post not in self.kinds or pre not in self.kinds:
            return None
        ours, theirs = (self.kinds[kind][0]["watch"]["start"]["rank_one/encoder.12"] for kind in (post, pre))
        return Found(f"distance from rank one at the start {ours:.2f} with post-norm, {theirs:.2f} with pre-norm", 1 if theirs > ours else -1)


def sequences(row, length, other, other_length, direction):
    rows = " ".join(dict.fromkeys((row, other)))
    return f"recipes/copy_and_recall --rows {rows}", lambda results: results.exact(row, length, other, other_length, direction)


def rows_of(kinds, name, *args):
    """Kinds of recipes/variants."""
    return f"recipes/variants --rows {' '.join(kinds)}", lambda results: getattr(results, name)(*kinds, *args)


def recurrent(kind, other, direction, name="bleu"):
    return rows_of((kind, other), name, direction)


def variant(kind, direction, other="transformer"):
    return rows_of((kind, other), "bleu", direction)


def little(kind, direction):
    rows = f"transformer_{kind}", "transformer"
    return f"recipes/small_data --rows {' '.join(rows)}", lambda results: results.little(*rows, direction)


def searched(run, search, other_run, other, direction, reranker=None):
    words = [f"runs/variants/{name}" for name in run.split("_+_")] + (["--reranker", f"runs/variants/{reranker}"] if reranker else [])
    return f"recipes/searches {' '.join(words)}", lambda results: results.searches(run, search, other_run, other, direction)


def measured(command, name, *args):
    return command, lambda results: getattr(results, name)(*args)


TABLE_3 = "Vaswani et al. 2017, table 3"
SHORT = "The models are small and see 2.5 million words, where what learns quickly wins"
CLAIMS = {
    "The bottleneck": [
        Claim("Attention translates better than one fixed vector", "Bahdanau et al. 2015, table 1", *recurrent("bahdanau", "fixed", 1)),
        Claim("A fixed vector forgets: it loses more on long sentences than attention does", "Cho et al. 2014; Bahdanau et al. 2015, figure 2",
              *rows_of(("fixed", "bahdanau"), "long_sentences")),
        Claim("The fixed vector should be an input of every step of the decoder", "Cho et al. 2014", *recurrent("fixed_every", "fixed", 1)),
        Claim("It cannot hold a sequence that is to be copied: 15 words", "Bahdanau et al. 2015", *sequences("copy_fixed", 15, "copy_luong", 15, -1)),
        Claim("Attention looks up one of many pairs: 40, trained on 1 to 10", "Graves et al. 2014, section 4.3",
              *sequences("recall_luong", 40, "recall_fixed", 40, 1)),
    ],
    "Alignment": [
        Claim("A trained decoder needs its attention: uniform weights break it", "Bahdanau et al. 2015",
              *measured("recipes/looking_inside --runs luong", "replaced", "uniform")),
        Claim("Attention learns more than the diagonal", "Luong et al. 2015, section 5.4",
              *measured("recipes/looking_inside --runs luong", "replaced", "diagonal")),
        Claim("Weights by position alone do not align", "Luong et al. 2015, table 4",
              *recurrent("luong_location", "luong", 1, "alignment")),
        Claim("Coverage lowers the alignment error", "Tu et al. 2016",
              *recurrent("luong_additive_coverage", "luong_additive", -1, "alignment")),
        Claim("Coverage translates better", "Tu et al. 2016", *recurrent("luong_additive_coverage", "luong_additive", 1)),
    ],
    "Scores and windows": [
        Claim("Global attention: dot is better than general", "Luong et al. 2015, section 5.3", *recurrent("luong_dot", "luong", 1)),
        Claim("Additive scores are better than multiplicative ones", "Britz et al. 2017", *recurrent("luong_additive", "luong_dot", 1)),
        Claim("Scores by location are the worst", "Luong et al. 2015, table 4", *recurrent("luong_location", "luong", -1)),
        Claim("A dot product should be scaled", "Vaswani et al. 2017, section 3.2.1", *recurrent("luong_scaled_dot", "luong_dot", 1),
              "One head of 128 in an RNN: the states are bounded by tanh, so energies do not grow as they do in a Transformer"),
        Claim("Predictive windows (local-p) are the best", "Luong et al. 2015, table 4", *recurrent("luong_general_local_p", "luong", 1),
              "The equations and gradients are those of the paper and of its authors' code"),
        Claim("Monotonic windows (local-m) are better than global attention", "Luong et al. 2015, table 4",
              *recurrent("luong_general_local_m", "luong", 1)),
        Claim("Input feeding helps", "Luong et al. 2015, table 1", *recurrent("luong", "luong_general_no_feeding", 1)),
        Claim("Linear attention is as good as softmax", "Katharopoulos et al. 2020", *recurrent("luong_elu1", "luong", 0),
              "With elu(x) + 1 no weight can be near 0 or 1: alignments stay blurred"),
        Claim("LSTM cells are better than GRU cells", "Britz et al. 2017", *recurrent("luong", "luong_general_gru", 1)),
        Claim("Gates are better than plain tanh cells", "Hochreiter and Schmidhuber 1997", *recurrent("luong", "luong_general_tanh", 1)),
    ],
    "Hard and soft": [
        Claim("Hard attention is as good as soft attention", "Xu et al. 2015, table 1", *recurrent("luong_general_hard", "luong", 0)),
        Claim("Scheduled sampling helps", "Bengio et al. 2015, table 1", *recurrent("luong_general_sampling", "luong", 1)),
    ],
    "Self-attention": [
        Claim("The Transformer is better than recurrent attention", "Vaswani et al. 2017, table 2",
              *measured("recipes/rates --rows transformer_4M_5e-3 bahdanau_4M_5e-3", "tuned", "transformer", "bahdanau", 4, -1)),
        Claim("Attention and learnt random weights together are better: published +0.80", "Tay et al. 2020",
              *variant("self-attention_random-attention", 1)),
        Claim("Weights from each token alone (dense) lose little: published -0.24", "Tay et al. 2020", *variant("self-attention_dense", 0)),
        Claim("Learnt weights that no token changes (random) lose little: published -0.40", "Tay et al. 2020",
              *variant("self-attention_random", 0), SHORT),
        Claim("Random weights that are not learnt are worse than learnt ones", "Tay et al. 2020",
              *variant("self-attention_fixed-random", -1, "self-attention_random")),
        Claim("Fixed patterns in the encoder do better with little text", "Raganato et al. 2020",
              *variant("self-attention_patterns_encoder", 1)),
        Claim("Eight heads of which seven are patterns are better than eight learnt ones", "Raganato et al. 2020",
              *variant("self-attention_patterns_encoder_8_heads", 1, "heads_8")),
        Claim("A Fourier transform loses little", "Lee-Thorp et al. 2021", *variant("self-attention_fourier_encoder", 0), SHORT),
        Claim("Keys and queries may share their projection", "Kitaev et al. 2020", *variant("projections_shared-qk", 0), SHORT),
    ],
    "Positions": [
        Claim("Without positions, a Transformer loses the order of words", "Vaswani et al. 2017, section 3.5", *variant("positions_none", -1)),
        Claim("Learned positions are as good as sinusoids: published -0.1", TABLE_3, *variant("positions_learned", 0), SHORT),
        Claim("Relative positions are better", "Shaw et al. 2018, table 1", *variant("positions_relative", 1)),
        Claim("Rotary positions are better: published +0.2", "Su et al. 2021, table 1", *variant("positions_rotary", 1)),
        Claim("ALiBi is better than no positions", "Press et al. 2022", *variant("positions_alibi", 1, "positions_none")),
        Claim("ALiBi is as good as sinusoids", "Press et al. 2022", *variant("positions_alibi", 0)),
        Claim("A Transformer does not copy beyond the length of training: 25 words, trained on 1 to 20", "Kazemnejad et al. 2023",
              *sequences("copy_transformer_rotary", 25, "copy_transformer_rotary", 20, -1)),
        Claim("Recurrent attention does: 25 words", "Dubois et al. 2020", *sequences("copy_luong", 25, "copy_transformer_rotary", 25, 1)),
        Claim("Without positions it goes further than with sinusoids: 25 words", "Kazemnejad et al. 2023",
              *sequences("copy_transformer_none", 25, "copy_transformer_sinusoidal", 25, 1)),
        Claim("Rotary positions fail beyond the length of training", "Press et al. 2022, figure 1",
              *measured("recipes/language --rows gpt_rotary", "beyond_training", "gpt_rotary", 1)),
        Claim("A recurrent language model reads on beyond the length of training", "Khandelwal et al. 2018",
              *measured("recipes/language --rows lstm", "beyond_training", "lstm", 0)),
    ],
    "Depth, residuals, norms": [
        Claim("Without residual connections, nothing is learnt", "Dong et al. 2021", *variant("no_residual", -1)),
        Claim("Without them, a deep stack is worse, too", "Dong et al. 2021", *variant("layers_12_pre_no_residual", -1, "layers_12_pre")),
        Claim("Deep stacks need pre-norm", "Xiong et al. 2020", *variant("layers_12_pre", 1, "layers_12_post")),
        Claim("Post-norm lets the tokens of a sentence become equal", "Dong et al. 2021",
              *rows_of(("layers_12_post", "layers_12_pre"), "rank")),
        Claim("RMS norm is as good as layer norm", "Zhang and Sennrich 2019", *variant("norm-kind_rms", 0)),
        Claim("Batch norm is worse than layer norm", "Shen et al. 2020", *variant("norm-kind_batch", -1)),
        Claim("Feed-forward layers are needed", "Dong et al. 2021", *variant("no_feed-forward", -1)),
        Claim("Gated feed-forward layers (GEGLU) are better", "Shazeer 2020, table 1", *variant("activation_geglu", 1)),
        Claim("Gated feed-forward layers (SwiGLU) are better", "Shazeer 2020, table 1", *variant("activation_swiglu", 1)),
        Claim("GELU is better than ReLU", "Hendrycks and Gimpel 2016", *variant("activation_gelu", 1)),
    ],
    "Size and regularisation": [
        Claim("One layer is worse than several", TABLE_3, *variant("layers_1", -1)),
        Claim("Half the width is worse: published -1.3", TABLE_3, *variant("width_64", -1)),
        Claim("Half the feed-forward layer is worse: published -0.4", TABLE_3, *variant("feed-forward_128", -1)),
        Claim("Twice the feed-forward layer is better: published +0.4", TABLE_3, *variant("feed-forward_512", 1)),
        Claim("Dropout is needed: published -1.2 without", TABLE_3, *little("dropout_0", -1)),
        Claim("Label smoothing helps: published -0.5 without", TABLE_3, *little("label-smoothing_0", -1)),
    ],
    "Heads": [
        Claim("One head is worse than several: published -0.6", TABLE_3, *variant("heads_1", -1)),
        Claim("More heads are better: 16 instead of 4, published +0.3", TABLE_3, *variant("heads_16", 1)),
        Claim("A fifth of the heads can be removed without loss", "Michel et al. 2019",
              *measured("recipes/looking_inside --runs transformer_rotary", "pruned", 0.2),
              "24 heads, not 144: few are spare. After 200 more updates 0.4 BLEU are missing"),
        Claim("Heads of a language model find grammatical relations", "Clark et al. 2019, table 1",
              *measured("recipes/heads", "relations", "language model")),
        Claim("Heads of BERT find grammatical relations", "Clark et al. 2019, table 1", *measured("recipes/heads", "relations", "BERT"),
              "One layer of four heads on the built-in corpus; a larger one on Wikipedia finds 3 of 54 ([looking_inside](looking_inside.md))"),
        Claim("A head of the encoder attends from \"it\" to what it stands for", "Voita et al. 2018",
              *measured("recipes/antecedents --rows transformer", "antecedents", "transformer", "encoder")),
        Claim("The translation of \"it\" needs that attention", "Voita et al. 2018",
              *measured("recipes/antecedents --rows transformer", "cut", "transformer", "encoder: noun", "encoder: other")),
        Claim("So does the attention of an RNN: from er, sie, es to the noun", "the same question",
              *measured("recipes/antecedents --rows bahdanau", "antecedents", "bahdanau", "cross")),
        Claim("A head that is guided by trees translates better", "Strubell et al. 2018; Bugliarello and Okazaki 2020",
              *measured("recipes/guided_relations", "guided", "trees", "none", 1)),
        Claim("It is the syntax that helps: more than a head that is guided to the previous word", "the control of the row above",
              *measured("recipes/guided_relations", "guided", "trees", "chain", 1),
              "With 2,000 pairs, any sharp head at the start is what the encoder lacks"),
        Claim("At long distances, Transformers agree in number no better than RNNs", "Tang et al. 2018",
              *measured("recipes/challenges", "agreement", "8", "transformer", "bahdanau", 0)),
    ],
    "Pretraining and fine-tuning": [
        Claim("Reading in both directions tags words better than from left to right", "Devlin et al. 2019, section 5.1",
              *measured("recipes/toy_language_tasks", "tasks", "entities", "BERT", "GPT", 1)),
        Claim("It also compares two sentences better", "Devlin et al. 2019, table 1",
              *measured("recipes/toy_language_tasks", "tasks", "similarity", "BERT", "GPT", 1)),
        Claim("Predicting permuted words is better than masked ones", "Yang et al. 2019, table 6",
              *measured("recipes/toy_language_tasks", "tasks", "entities", "permuted", "BERT", 1)),
        Claim("Predicting masked and next words in one model is better than masked ones alone", "Charpentier and Samuel 2024",
              *measured("recipes/toy_language_tasks", "tasks", "inference", "hybrid", "BERT", 1)),
        Claim("A pretrained encoder is better than one of random weights: 10 minutes of pretraining, 6,700 labels", "Devlin et al. 2019",
              *measured("recipes/encoders --rows sst2_bert sst2_bert_random", "encoders", "sst2", "bert", "bert_random", 1)),
        Claim("So it is where words are tagged", "Devlin et al. 2019, table 7",
              *measured("recipes/encoders --rows conll2003_bert conll2003_bert_random", "encoders", "conll2003", "bert", "bert_random", 1)),
        Claim("An LSTM reads a text better by a learnt query than by its last states", "Lin et al. 2017; Yang et al. 2016",
              *measured("recipes/encoders --rows sst2_lstm_query sst2_lstm_last", "encoders", "sst2", "lstm_query", "lstm_last", 1)),
        Claim("Hidden states hold the tree of a sentence", "Hewitt and Manning 2019, table 1",
              *measured("recipes/looking_inside --runs bert_mini", "attachment", "looking_inside/bert_mini.json", lambda found: found)),
    ],
    "What weights explain": [
        Claim("Attention agrees little with gradients (τ below 0.5)", "Jain and Wallace 2019, table 2",
              *measured("recipes/looking_inside --runs lstm_attention", "explains", "lstm_attention", "attention")),
        Claim("Other weights lead to the same prediction", "Jain and Wallace 2019, section 4.2",
              *measured("recipes/looking_inside --runs lstm_attention", "adversarial", "lstm_attention")),
        Claim("Rollout agrees with gradients better than the weights of the last layer", "Abnar and Zuidema 2020",
              *measured("recipes/looking_inside --runs bert_mini_sst2", "explains", "bert_mini_sst2", "rollout", "attention, mean of the heads")),
    ],
    "Optimisers": [
        Claim("A Transformer learns more from as many updates with Muon than with AdamW", "Jordan 2024",
              *measured("recipes/rates --rows transformer_1M_muon_5e-3 transformer_1M_5e-3", "optimisers", "transformer", 1)),
        Claim("So does an RNN with attention", "the same question", *measured(
            "recipes/rates --rows bahdanau_1M_muon_3e-3 bahdanau_1M_5e-3", "optimisers", "bahdanau", 1)),
    ],
    "Search": [
        Claim("A beam is better than greedy search", "Sutskever et al. 2014, table 1", *searched("luong", "beam_5", "luong", "greedy", 1)),
        Claim("Large beams hurt", "Koehn and Knowles 2017, figure 10", *searched("luong", "beam_20", "luong", "beam_5", -1)),
        Claim("Hypotheses that a model from right to left likes, too, are better", "Sennrich et al. 2016, Edinburgh at WMT16",
              *searched("luong", "beam_10_reranked", "luong", "beam_10", 1, "luong_reverse-target")),
        Claim("Unknown words are better translated by a dictionary, at the word that is attended to", "Luong et al. 2015, table 1",
              *searched("luong_words", "beam_5_unknown_words_translated", "luong_words", "beam_5", 1)),
        Claim("An ensemble of both families is better than either", "Chen et al. 2018",
              *searched("bahdanau_+_transformer", "beam_5_linear", "bahdanau", "beam_5", 1)),
    ],
}


def verdict(found):
    return OPEN if found is None else {1: HOLDS, 0: NOISE, -1: NOT_HERE}[found.side]


def files(kinds, rates, file):
    """The page; `kinds` has the rows of translation models by kind, `file` reads a file of results or returns nothing."""
    results = Results(kinds, rates, file)
    counts, sections = dict.fromkeys((HOLDS, NOISE, NOT_HERE, OPEN), 0), []
    for group, claims in CLAIMS.items():
        rows = []
        for claim in claims:
            found = claim.found(results)
            said = verdict(found)
            counts[said] += 1
            rows.append([claim.words, claim.source, found.words if found else "rows are missing", f"**{said}**", f"`{claim.command}`",
                         claim.reason if said == NOT_HERE else ""])
        sections += [f"## {group}\n", table(["claim", "source", "here", "verdict", "command", "why not"], rows)]
    return {"claims.md": "\n".join([
        "# Claims about attention, tested\n",
        "What papers and courses say, beside what attend's own models of 1 to 6 million parameters show after minutes of training on a processor. "
        "`recipes/attention_pages` writes this page from the files of results; the verdict follows from the number and its noise: *holds*, *does not "
        "hold at this size*, *within noise*, or *open* where a row is missing. A claim of equality holds if no difference exceeds the noise. BLEU: "
        "Multi30k English-German, test_2016_flickr; noise of seeds: two standard deviations of the difference. Models that are compared have each its own best learning rate by held-out loss where their rows have several. The command trains and measures the "
        "rows that are missing.\n",
        f"Of {sum(counts.values())} claims, {counts[HOLDS]} hold, {counts[NOT_HERE]} do not hold at this size, {counts[NOISE]} are within noise and "
        f"{counts[OPEN]} are open.\n",
        *sections])}
