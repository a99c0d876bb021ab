"""Writes fixtures/wordpiece.json: a vocabulary and texts made here, and their tokens by Hugging Face's `tokenizers` with the parts
of transformers' BertTokenizer; and its treatment of every code point.

Usage: make_fixtures_wordpiece.py [OUTPUT [COUNT]]     COUNT generated texts, to compare at length
"""
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import odd_texts

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# The options of BertTokenizer.
SETTINGS = [{"do_lower_case": True}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False},
            {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}]


def bert_tokenizer(pieces, do_lower_case, strip_accents=None, tokenize_chinese_chars=True):
    """Without special tokens that would be cut out of a text first: as with split_special_tokens."""
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=tokenize_chinese_chars,
                                                      strip_accents=strip_accents, lowercase=do_lower_case)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def vocabulary(texts):
    """Most characters that are left after cleaning, and beginnings and parts of words."""
    rng = random.Random(7)
    characters, parts = set(), {}
    for text in texts:
        for lower in (True, False):
            normaliser = normalizers.BertNormalizer(lowercase=lower)
            for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normaliser.normalize_str(text)):
                characters |= set(word)
                if 2 <= len(word) <= 12:
                    begin = rng.randrange(len(word) - 1)
                    parts[("##" if begin else "") + word[begin:rng.randint(begin + 1, len(word))]] = None
    kept = [c for c in sorted(characters) if rng.random() < 0.9]
    return list(dict.fromkeys(SPECIAL + kept + ["##" + c for c in kept] + rng.sample(sorted(parts), len(parts) // 2)))


def encode(tokenizer, text):
    """Ids, and the bytes of each, in one list."""
    bytes_before = [0]
    for c in text:
        bytes_before.append(bytes_before[-1] + len(c.encode()))
    one = tokenizer.encode(text)
    return [x for i, (begin, end) in zip(one.ids, one.offsets) for x in (i, bytes_before[begin], bytes_before[end])]


def ranges(code_points):
    result = []
    for c in code_points:
        if result and result[-1][1] == c:
            result[-1][1] = c + 1
        else:
            result.append([c, c + 1])
    return result


def classes(tokenizer):
    """Which characters between a and b vanish, are a space, or stand for themselves; all others are part of the word."""
    found = {"gone": [], "space": [], "apart": []}
    kept = [c for c in range(0x110000) if c < 0xD800 or 0xE000 <= c < 0x32000 or 0xE0000 <= c < 0xE0200 or c >= 0x10FFF0]
    for begin in range(0, len(kept), 256):
        some = kept[begin:begin + 256]
        one = tokenizer.encode("".join(f"a{chr(c)}b " for c in some))
        tokens = [[] for _ in some]
        for token, (at, _) in zip(one.tokens, one.offsets):
            tokens[at // 4].append(token)
        for c, three in zip(some, tokens):
            if len(three) == 3:
                found["apart"].append(c)
            elif len(three) == 2:
                found["gone" if three[1] == "##b" else "space"].append(c)
    return {name: ranges(found[name]) for name in found}


output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "fixtures" / "wordpiece.json"
texts = list(odd_texts.fixed()) + list(odd_texts.mixed(3, int(sys.argv[2]) if len(sys.argv) > 2 else 250))
pieces = vocabulary(texts)
result = {"vocabulary": pieces, "texts": texts, "settings": []}
for setting in SETTINGS:
    tokenizer = bert_tokenizer(pieces, **setting)
    result["settings"].append({**setting, "encoded": [encode(tokenizer, text) for text in texts]})
    if len(result["settings"]) <= 2:  # the others only join what these do
        result["settings"][-1]["classes"] = classes(bert_tokenizer(SPECIAL + ["a", "b", "##b"], **setting))
# Hangul syllables follow from arithmetic.
letters = [c for c in range(0x20000) if not 0xD800 <= c < 0xE000 and not 0xAC10 <= c < 0xD790]
for name, setting in (("lowered", {"strip_accents": False, "lowercase": True}), ("stripped", {"strip_accents": True, "lowercase": False})):
    normaliser = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, **setting)
    changed = ((chr(c), normaliser.normalize_str(chr(c))) for c in letters)
    result[name] = {c: to for c, to in changed if to and to != c}
output.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf8")
print(output, output.stat().st_size, "bytes,", len(texts), "texts,", len(pieces), "pieces")
