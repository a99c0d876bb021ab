"""Writes fixtures/metrics.json: corpora made here, and their scores by sacreBLEU 2.6.0.

Usage: make_fixtures_metrics.py [OUTPUT] [--lines HYPOTHESES REFERENCES...]
With --lines the one corpus is read from line-aligned files instead, to compare at length; nothing of that is committed.
"""

import argparse
import itertools
import json
import pathlib
import random

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

assert sacrebleu.__version__ == "2.6.0"

WORDS = """der die das ein eine Mann Frau Hund Kind Straße Häuser über für können läuft sitzt steht rot grün groß klein
U.S. 3.14 2,000 1-2 z.B. it's don't (hi) "quoted" „so“ – … & &amp; &lt; &quot;x&quot; Ärger İSTANBUL ΑΣ ΣΑΣ ΌΣΟΣ. ß ﬁn 東京 日本語 naïve
a.b a..b ... 5. 5.no $5,- €5,- l'été foo/bar_(baz) [1] {a} -- x-y 10-mal Satz, Satz. Ende! Ende? <skipped> 100% @-@ #tag 👩‍👩‍👧 e\u0301 ¿qué?""".split()
SPACES = [" "] * 30 + ["  ", "\u00a0", "\u3000", "\t", "\u2009", "\x1c", "\u0085", "\u2028", "\u200b", "\u1680", "\u205f"]

# Chinese and Japanese words, and what the tokenizers treat in ways of their own: characters beyond the BMP, radicals, full-width and
# half-width forms, enclosed and compatibility characters, digits of other scripts, symbols, quotation marks that "zh" takes for Chinese.
CHINESE = """我 你 他们 喜欢 看 书 学校 中国 北京 今天 天气 很好 不 在 的 了 说 公园里 有 两只 狗 3.14 2,000 10% 1-2 5. ，5 3。 ，，， …… ， 。 、 ？ ！ ； ： 「这」 『那』
（好） 《书》 【一】 “真的” ‘是’ — ― … ・ ～ ＡＢＣ １２３ ．５ ｱｲｳ ｡ ﾞ 東京に行く カタカナ ひらがな ㇰㇱ 한국어 𠀀𪛖 丽 ⺀ ⼀ ⿰ ㄅㄆ ㆠ ㇀ ㈠ ㊀ ㌀ ㍿ ︐ ︵ ☀ ➀ ½ ② ٣.٥ ٣،٥ x² € $5 ¥100 № §7 ©™
+ = <b> a|b ^_^ `x` it's Anna's 's'S 's! BERT-base GPT4, end. ok? e\u0301 \u0644\u0627 — -- 5--6 7-8 &quot;是&quot; &amp;lt; Σ ΑΣ""".split()


def mixed_sentence(rng, low=1, high=14):
    return "".join(rng.choice(CHINESE) + rng.choice(["", "", "", " ", "\u3000"]) for _ in range(rng.randint(low, high)))


def perturbed_characters(rng, text):
    characters = list(text)
    for _ in range(rng.randint(0, 5)):
        at = rng.randrange(len(characters) + 1)
        kind = rng.random()
        if kind < 0.3:
            characters[at : at + 1] = []
        elif kind < 0.7:
            characters[at:at] = rng.choice(CHINESE)
        else:
            block, rest = characters[at : at + 4], characters[:at] + characters[at + 4 :]
            to = rng.randrange(len(rest) + 1)
            characters = rest[:to] + block + rest[to:]
    return "".join(characters)


def sentence(rng, low=0, high=24):
    text = "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randint(low, high)))
    return text if rng.random() < 0.1 else text.strip(" ")


def perturbed(rng, text):
    """A translation of the same source by someone else: words lost, doubled, replaced, and blocks moved."""
    words = text.split(" ")
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(words) + 1)
        kind = rng.random()
        if kind < 0.25:
            words[at : at + 1] = []
        elif kind < 0.4:
            words[at:at] = [rng.choice(WORDS)]
        elif kind < 0.55:
            words[at : at + 1] = [rng.choice(WORDS)]
        elif kind < 0.65:
            words[at : at + 1] = words[at : at + 1] * 2
        elif kind < 0.75:
            words[at : at + 1] = [word.swapcase() for word in words[at : at + 1]]
        else:
            end = at + rng.randint(1, 12)
            block, rest = words[at:end], words[:at] + words[end:]
            to = rng.randrange(len(rest) + 1)
            words = rest[:to] + block + rest[to:]
    return " ".join(words)


def corpora():
    rng = random.Random(20)
    yield "empty hypothesis", [""], [["a b c"]]
    yield "empty reference", ["a b c"], [[""]]
    yield "both empty", [""], [[""]]
    yield "one empty line", ["", "a b c d e"], [["x y", "a b c d e"]]
    yield "three words", ["a b c"], [["a b c"]]
    yield "two characters", ["ab"], [["ab"]]
    yield "smoothing", ["the x y z"], [["the cat sat on"]]
    yield "smoothing twice", ["the cat y z w"], [["the cat sat on mat"]]
    yield "nothing in common", ["q w e r t"], [["a s d f g"]]
    yield "brevity", ["the cat sat on the"], [["the cat sat on the red mat"]]
    yield "closest length is the shorter", ["a b c d e"], [["a b c d"], ["a b c d e f"]]
    yield "white space", ["a\u00a0b c d", "a\u3000b"], [["a b c d", "ab"]]
    yield "case", ["İSTANBUL ΑΣ a b"], [["i̇stanbul ας a b"]]
    yield "chrF++", ["the cat sat."], [["The cats sat!"]]
    yield "punctuation", ["(hi) ... ! -a- «b» é!"], [["( hi ) . !! -a «b» !é"]]
    yield "shift", ["c d a b"], [["a b c d"]]
    yield "more edits than words", ["a b c d e f"], [["x"]]
    yield "line breaks", ["end-\nline new\nline-\n"], [["endline new line-"]]
    yield (
        "documentation",
        ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."],
        [
            ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
            ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."],
        ],
    )
    for count in (1, 2, 3):
        originals = [sentence(rng) for _ in range(60)]
        hypotheses = [perturbed(rng, text) for text in originals]
        yield f"generated, {count} references", hypotheses, [[perturbed(rng, text) for text in originals] for _ in range(count)]
    # The limits of TER, from both sides: block size 10, distance 50, beam 25.
    numbers = [str(i) for i in range(120)]
    limits = [numbers[40:40 + size] + numbers[:40] + numbers[40 + size:] for size in (9, 10, 11, 12)]
    limits += [numbers[1:1 + far] + numbers[:1] + numbers[1 + far:] for far in (49, 50, 51, 52)]
    limits += [numbers[far:far + 1] + numbers[:far] + numbers[far + 1:] for far in (49, 50, 51, 52)]
    limits += [["new"] * lost + numbers[:120 - lost] for lost in (23, 24, 25, 26, 27)]
    limits += [numbers[lost:] + ["new"] * lost for lost in (23, 24, 25, 26, 27)]
    yield "limits of TER", [" ".join(words) for words in limits], [[" ".join(numbers)] * len(limits)]
    short = [[" ".join(rng.choice("abc") for _ in range(rng.randint(1, 9))) for _ in range(100)] for _ in range(2)]
    yield "few different words", short[0], [short[1]]
    # More than the 1,000 shifts that are tried.
    many = [[" ".join(rng.choice("abc") for _ in range(45)) for _ in range(12)] for _ in range(2)]
    yield "many shifts", many[0], [many[1]]
    # Long lines leave the beam of the edit distance, and repeated words make many shifts.
    originals = [" ".join(rng.choice("abcdefgh") for _ in range(rng.randint(1, 100))) for _ in range(8)]
    yield "long", [perturbed(rng, perturbed(rng, text)) for text in originals], [originals]
    others = [" ".join(rng.choice("abcdefgh") for _ in range(rng.choice([1, 3, 60, 200]))) for _ in originals]
    yield "unequal lengths", others, [originals]
    rng = random.Random(27)
    for count in (1, 2):
        originals = [mixed_sentence(rng) for _ in range(40)]
        hypotheses = [perturbed_characters(rng, text) for text in originals]
        yield (f"Chinese and mixed, {count} references", hypotheses,
               [[perturbed_characters(rng, text) for text in originals] for _ in range(count)])


METRICS = {
    "bleu": [{}, {"lowercase": True}, {"tokenize": "none"}, {"tokenize": "char"}, {"smooth_method": "none"},
             {"smooth_method": "floor"}, {"smooth_method": "add-k"}, {"effective_order": True}],
    "chrf": [{}, {"word_order": 2}, {"word_order": 1, "lowercase": True}],
    "ter": [{}, {"case_sensitive": True}],
}
TERCOM = ("normalized", "no_punct", "asian_support", "case_sensitive")
OF_TEXT = {
    "bleu": [{"tokenize": "intl"}, {"tokenize": "zh"}, {"tokenize": "zh", "lowercase": True}],
    "ter": [{"normalized": True}, {"no_punct": True}, {"normalized": True, "asian_support": True},
            {"no_punct": True, "asian_support": True}, dict.fromkeys(TERCOM, True)],
}
CLASSES = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def judge(kind, options, hypotheses, references, segments):
    metric = CLASSES[kind](**options, **({"force": True} if kind == "bleu" else {}))
    score = metric.corpus_score(hypotheses, references)
    result = {"metric": kind, "options": options, "score": score.score,
              "line": score.format(width=1, signature=metric.get_signature().format())}
    if kind == "bleu":
        result["precisions"] = score.precisions
    if segments:
        rows = metric._extract_corpus_statistics(hypotheses, references)
        single = CLASSES[kind](**{**options, **({"effective_order": True} if kind == "bleu" else {})})
        values = [single.sentence_score(hypothesis, list(refs)).score for hypothesis, *refs in zip(hypotheses, *references)]
        result["rows"] = rows
        result["segments"] = [round(value, 10) for value in values]
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output", nargs="?", default=str(pathlib.Path(__file__).parent / "fixtures" / "metrics.json"))
    parser.add_argument("--lines", nargs="+", default=[])
    args = parser.parse_args()

    if args.lines:
        texts = [pathlib.Path(path).read_text(encoding="utf8").split("\n")[:-1] for path in args.lines]
        chosen = [("lines", texts[0], texts[1:])]
    else:
        chosen = corpora()
    cases = []
    for name, hypotheses, references in chosen:
        results = []
        of_text = OF_TEXT if name.startswith(("Chinese", "generated", "line", "punctuation")) else {}
        for kind, variants in METRICS.items():
            for options in variants + of_text.get(kind, []):
                # Rows and segment scores only where the variant changes more than a constant.
                segments = not options or options.get("word_order") == 2 or options == {"tokenize": "char"}
                results.append(judge(kind, options, hypotheses, references, segments))
        cases.append({"name": name, "hypotheses": hypotheses, "references": references, "results": results})

    rng = random.Random(13)
    lines = ["It's 3.14, i.e. U.S.-based.", "1-2 a-b 2,000.50", "&amp;lt; &quot;x&quot; &apos; &#39;", "„Guten Tag“ – sagte er…",
             "a..b ...", "end-\nline new\nline", "foo/bar_(baz) [1] {a}", "no5. 5.no", "$5,- €5,-", "l'été aujourd'hui", "",
             "<ski<skipped>pped>", "1--2", "1-,-2", "5.,5,.5", ".", ",.", "5-", "trailing-\n"]
    lines += ["".join(rng.choice(".,,..-59a ü&") for _ in range(rng.randint(1, 30))) for _ in range(300)]
    mixed = [mixed_sentence(rng) for _ in range(100)] + ["".join(rng.choice("".join(CHINESE) + " ") for _ in range(20)) for _ in range(100)]
    mixed += ["", " ", "。", ".", ".5", " .5", "\u3000.5 。\u3000", "a-\nb\n-c", "ひらがな", "カタカナ", "it's", "'s"]
    tokenizers = {"13a": (Tokenizer13a(), lines), "intl": (TokenizerV14International(), lines[:60] + mixed),
                  "zh": (TokenizerZh(), lines[:60] + mixed)}
    tokenized = [{"tokenize": name, "lines": [[line, tokenize(line.rstrip())] for line in texts]}
                 for name, (tokenize, texts) in tokenizers.items()]
    tercom = []
    for values in itertools.product((False, True), repeat=4):
        options = dict(zip(TERCOM, values))
        tokenize = TercomTokenizer(**options)
        tercom.append({"options": options, "lines": [[line, tokenize(line.rstrip())] for line in lines[:19] + mixed[::7] + mixed[-12:]]})
    text = json.dumps({"cases": cases, "tokenized": tokenized, "tercom": tercom}, ensure_ascii=False, separators=(",", ":"))
    pathlib.Path(args.output).write_text(text + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
