"""Writes fixtures/marian/: two small random MarianMT models as transformers saves them, with SentencePiece models trained here, and in
NAME.json and NAME.safetensors their ids, translations, hidden states and logits for some sentences.

  tied     one table and one vocab.json, which lacks a few pieces of source.spm and target.spm and has a language code; swish; odd width
  untied   two tables and two vocabularies; relu; an encoder and a decoder of unequal depth; tensors in two files

Run: python tests/parity/make_fixtures_marian.py   (pip install transformers sentencepiece)"""
import io
import json
import random
import shutil

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

import fixture_support

FIXTURES = fixture_support.FIXTURES / "marian"
SOURCE = ["the dog sees a small house", "a cat sleeps in the garden", "many birds sing in the old trees", "the child reads a new book"]
TARGET = ["der Hund sieht ein kleines Haus", "eine Katze schläft im Garten", "viele Vögel singen in den alten Bäumen", "das Kind liest ein Buch"]
TEXTS = ["the dog sees the cat", "a small bird sings in the garden", "many old books", "the 犬 sees qx", "x", "the child sleeps in a new house"]
SENTENCES = ["die Katze sieht den Hund", "viele Vögel singen", "viele alte Bücher", "Quarz 犬", "ja", "das Kind schläft im neuen Haus"]
CODE = ">>deu<<"
UPDATES = 350


def train(lines, size):
    """A SentencePiece model of sentences made of the words of `lines`, without a table of normalisation."""
    words = [word for line in lines for word in line.split()]
    draw = random.Random(7)
    sentences = lines + [" ".join(draw.choices(words, k=6)) for _ in range(200)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, vocab_size=size, hard_vocab_limit=False,
                                             character_coverage=1.0, normalization_rule_name="identity", minloglevel=2)
    return model.getvalue()


def pieces(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size()) if not processor.is_control(i) and not processor.is_unknown(i)]


def vocabulary(*names):
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def learn(model, pairs):
    """Some updates, so that translations end."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.copy_(torch.randn_like(parameter) * 0.25 + ("norm.weight" in name))
    optimiser = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad], lr=3e-3)
    for _ in range(UPDATES):
        optimiser.zero_grad()
        sum(model(**inputs, labels=labels).loss for inputs, labels in pairs).backward()
        optimiser.step()


def save(name, config, files, texts, seed, shard="10GB"):
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file, content in files.items():
        content = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False, indent=0).encode()
        (folder / file).write_bytes(content)
    torch.manual_seed(seed)
    model, tokenizer = MarianMTModel(config), MarianTokenizer.from_pretrained(folder)
    model.final_logits_bias.normal_(0, 0.5)
    pairs = [(tokenizer(text, return_tensors="pt"), tokenizer(text_target=sentence, return_tensors="pt").input_ids)
             for text, sentence in zip(texts, SENTENCES)]
    learn(model, pairs)
    model.eval()
    model.save_pretrained(folder, max_shard_size=shard)
    eos = config.eos_token_id
    recorded, tensors = {"texts": texts, "targets": SENTENCES, "ids": [], "greedy": [], "beam": []}, {}
    for i, (inputs, labels) in enumerate(pairs):
        search = dict(max_new_tokens=60, early_stopping=True, length_penalty=1.0, forced_eos_token_id=None, bad_words_ids=[[config.pad_token_id]])
        for kind, beams in ("greedy", 1), ("beam", 4):
            with torch.no_grad():
                (ids,) = model.generate(**inputs, **search | ({} if beams > 1 else {"early_stopping": False}), num_beams=beams)
            assert ids[-1] == eos and len(ids) > 2, (texts[i], kind, ids)
            pieces_of = tokenizer.convert_ids_to_tokens(ids[1:-1])
            recorded[kind].append({"ids": ids[1:-1].tolist(), "text": tokenizer.spm_target.decode_pieces(pieces_of).replace("\u2581", " ")})
        with torch.no_grad():
            out = model(**inputs, labels=labels, output_hidden_states=True)
        recorded["ids"].append({"source": inputs.input_ids[0].tolist(), "target": labels[0].tolist()})
        tensors[f"logits.{i}"] = out.logits[0]
        for side in "encoder", "decoder":
            tensors[f"{side}.{i}"] = torch.stack([states[0] for states in getattr(out, f"{side}_hidden_states")])
    (FIXTURES / f"{name}.json").write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf8")
    fixture_support.save(f"marian/{name}", tensors)
    print(name, [len(one["ids"]) for one in recorded["greedy"] + recorded["beam"]], config.vocab_size)


source, target = train(SOURCE, 44), train(TARGET, 48)
lacking = {"▁sees", "ing", "▁the", "▁Hund", "zz"}
joint = vocabulary("</s>", "<unk>", *(piece for piece in pieces(source) + [CODE] + pieces(target) if piece not in lacking), "<pad>")  # as OPUS-MT's
assert lacking & set(pieces(source)) and lacking & set(pieces(target)), (pieces(source), pieces(target))
common = dict(eos_token_id=0, forced_eos_token_id=0, bos_token_id=0, scale_embedding=True, max_position_embeddings=64)
save("tied", MarianConfig(vocab_size=len(joint), d_model=15, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=3,
                          encoder_ffn_dim=20, decoder_ffn_dim=20, activation_function="swish", pad_token_id=len(joint) - 1,
                          decoder_start_token_id=len(joint) - 1, **common),
     {"source.spm": source, "target.spm": target, "vocab.json": joint, "tokenizer_config.json": {"tokenizer_class": "MarianTokenizer"}},
     [TEXTS[0], f"{CODE} {TEXTS[1]}", *TEXTS[2:]], seed=1)
ours, theirs = (vocabulary("</s>", "<unk>", "<pad>", *pieces(model)) for model in (source, target))
untied = MarianConfig(vocab_size=len(ours), decoder_vocab_size=len(theirs), d_model=12, encoder_layers=3, decoder_layers=1, encoder_attention_heads=2,
                      decoder_attention_heads=2, encoder_ffn_dim=19, decoder_ffn_dim=19, activation_function="relu",
                      share_encoder_decoder_embeddings=False, pad_token_id=2, decoder_start_token_id=2, **common)
save("untied", untied, {"source.spm": source, "target.spm": target, "vocab.json": ours, "target_vocab.json": theirs,
                        "tokenizer_config.json": {"tokenizer_class": "MarianTokenizer", "separate_vocabs": True}}, TEXTS, seed=1, shard="20KB")
