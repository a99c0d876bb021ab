"""Compares the ids and decoded texts of `tokenizers`, from attend's tokenizer.json files, with those of attend's Tokenizer.

Usage: ATTEND_TOKENIZER_JSON=DIR attend_tests_plain --gtest_filter=TokenizerJson.* ; check_tokenizer_json.py DIR
"""
import json
import pathlib
import sys

from tokenizers import Tokenizer

failed = 0
for folder in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # the text "<mask>" stays a text
    recorded = json.loads((folder / "encoded.json").read_text(encoding="utf8"))
    unk = recorded["unk"]
    ids = texts = 0
    for case in recorded["texts"]:
        found = tokenizer.encode(case["text"], add_special_tokens=False).ids
        if folder.name.startswith("word"):  # neighbouring unknown words are one of ours
            found = [x for i, x in enumerate(found) if i == 0 or x != unk or found[i - 1] != unk]
        if found != case["ids"]:
            ids += 1
            print(folder.name, "ids", ascii(case["text"]), case["ids"], found)
        elif unk not in found and (decoded := tokenizer.decode(found, skip_special_tokens=True)) != case["decoded"]:
            texts += 1
            print(folder.name, "text", ascii(case["text"]), ascii(case["decoded"]), ascii(decoded))
    print(f"{folder.name}: {len(recorded['texts'])} texts, {ids} with other ids, {texts} decoded otherwise")
    failed += ids + texts
sys.exit(1 if failed else 0)
