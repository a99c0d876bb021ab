"""Writes fixtures/gpt2/: a small random GPT-2 as transformers saves it, with a byte-level BPE trained here; in recorded.json the ids of
odd texts and a greedy continuation; in recorded.safetensors the logits, the loss and every gradient for two texts, and the losses of ten
updates.
Run: python tests/parity/make_fixtures_gpt2.py   (pip install transformers)"""
import json
import shutil

import torch
from fixture_support import FIXTURES, gradients, losses_of_updates, save
from odd_texts import fixed, mixed
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel

FOLDER = FIXTURES / "gpt2"
END = "<|endoftext|>"
LINES = ["The old farmer's dog sees a small house, and the cat doesn't.", "They've said that we'll sing in the garden in 1999!",
         "  An odd line:\tthe tree, the trees   and 25 % of the birds ...", "Die Häuser am Fluss sind größer als die anderen."]
TEXTS = ["The old dog sees the house.", "In the garden, we'll sing"]
PROMPT, STEPS, POSITIONS = "The cat", 16, 24


def byte_level_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.encode_special_tokens = True  # END in a text is what its letters are
    return tokenizer


def odd_texts():
    """Those in which the pattern or a byte may go wrong, and some of what stands in every script."""
    yield from LINES
    yield from ["it's 'twas don't I'm we're I've she'll he'd O'SHEA'S '' 's", " 's x  's", "a  b   c\n\n d\t\te \n", "\n", " \n ", "x ", "x  ",
                "1a2 b3", "x²³½ Ⅷ٣ 3.14", "...!? --- ,a", "\u00a0a\u00a0\u00a0b", "\u3000\u3000x", "a\u2028b\u0085c\x1cd", "e\u0301 \u0301x ञ्ञ", "_a_b __ "]
    texts = list(fixed())
    yield from texts[:20]
    yield from texts[20::9]
    yield from mixed(5, 20)


def piece_ids(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


shutil.rmtree(FOLDER, ignore_errors=True)
model_folder = FOLDER / "model"
torch.manual_seed(20261126)
tokenizer = byte_level_bpe()
end = tokenizer.token_to_id(END)
config = GPT2Config(vocab_size=tokenizer.get_vocab_size(), n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, n_inner=48, bos_token_id=end,
                    eos_token_id=end, embd_pdrop=0, resid_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(config)
with torch.no_grad():
    for name, parameter in model.named_parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.4 + (".ln_" in name and name.endswith("weight")))
model.eval()
model.save_pretrained(model_folder)
tokenizer.save(str(model_folder / "tokenizer.json"))
tokenizer.model.save(str(FOLDER))  # vocab.json and merges.txt, as older directories have them

# A text begins with the end of the one before it, and the end follows its last piece.
texts = [[end, *piece_ids(tokenizer, text), end] for text in TEXTS]
lengths = [len(ids) - 1 for ids in texts]
assert max(lengths) <= POSITIONS, lengths


def logits():
    return torch.cat([model(torch.tensor([ids[:-1]])).logits[0] for ids in texts])


labels = torch.tensor([i for ids in texts for i in ids[1:]])
loss = torch.nn.functional.cross_entropy(logits(), labels)
loss.backward()
tensors = {"ids": torch.tensor([i for ids in texts for i in ids[:-1]]), "lengths": torch.tensor(lengths), "labels": labels,
           "logits": logits().detach(), "loss": loss.detach()}
tensors |= gradients(model)
prompt = [end, *piece_ids(tokenizer, PROMPT)]
read = torch.tensor([prompt])
# The first token is an end token, which would be taken for padding without a mask.
greedy = model.generate(read, attention_mask=torch.ones_like(read), max_new_tokens=STEPS, do_sample=False, eos_token_id=None,
                        pad_token_id=end)[0, len(prompt):].tolist()
spaced = Tokenizer.from_str(tokenizer.to_str())
spaced.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
spaced.encode_special_tokens = True
odd = list(dict.fromkeys(odd_texts()))
recorded = {"prompt": prompt, "greedy": greedy,
            "texts": [{"text": text, "ids": piece_ids(tokenizer, text), "after_space": piece_ids(spaced, text)} for text in odd],
            "decoded": [{"ids": ids, "text": tokenizer.decode(ids)} for ids in (greedy, *(piece_ids(tokenizer, "東é👍🏽")[cut:] for cut in range(6)),
                                                                              *(piece_ids(tokenizer, "a東é👍🏽")[:cut] for cut in range(3, 12)))]}
for one in recorded["texts"]:
    assert tokenizer.decode(one["ids"]) == one["text"], one
tensors["losses"] = losses_of_updates(model, lambda: torch.nn.functional.cross_entropy(logits(), labels))
(FOLDER / "recorded.json").write_text(json.dumps(recorded, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="utf8")
save("gpt2/recorded", tensors)
print(lengths, greedy, len(odd))
