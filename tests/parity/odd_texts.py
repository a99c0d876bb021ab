"""Texts that tokenizers disagree about, all made here."""
import random

WORDS = """der die das ein eine Straße Häuser über ﬁn İSTANBUL ıI ΑΣ ΣΑΣ ΌΣΟΣ. ß ẞ 東京 日本語テスト 한국어 naïve Ärger
can't z.B. U.S. 3.14 2,000 1-2 (hi) "quoted" „so“ – … ½ x² ℌ ﷺ Ǆ ŉ ﬃ ｶﾞ ＡＢＣ ～ e\u0301 E\u0301 u\u0308ber M\u0304 ệ e\u0323\u0302 Vie\u0323\u0302t
が か\u3099 \u1112\u1161\u11ab\u1100\u1173\u11af ไทย हिन्दी क\u094dष עִבְרִית العربية ٱلْعَرَبِيَّة 👩‍👩‍👧 👍🏽 🇩🇪 🇩🇪🇫🇷 ❤️ 1️⃣ ☃ a\u200bb a\u200db
[MASK] [CLS] a[SEP]b [UNK] <unk> </s> <s> <mask> <pad> <0x41> ▁ ▁▁a a▁b <|endoftext|> aaaaaaaa abababab
#hash @at a_b a+b=c 50% $5 €5 ^ ` ~ | \\ / { } [ ] § ¿qué? ¡sí! « » « — ‰ † • ※ 〜 、 。 「 」 ・ ー 々""".split()
SPACES = [" "] * 20 + ["  ", "\u00a0", "\u3000", "\t", "\u2009", "\n", "\r\n", "\x0b", "\x0c", "\x1c", "\u0085", "\u2028",
                       "\u200b", "\u1680", "\u205f", ""]
ODD = ["\0", "\x01", "\x1b", "\x7f", "\x80", "\u00ad", "\u061c", "\u200c", "\u200d", "\u200e", "\u202e", "\u2060", "\ufeff",
       "\ufffd", "\ufffe", "\uffff", "\ufe0f", "\ue000", "\U000f0000", "\U0010ffff", "\u0378", "\U000e0041", "\u0300", "\u0301",
       "\u0323", "\u3099", "\u1160", "\u0600", "\u08e2", "\u0890", "\u180e", "\u302e", "\u1b44", "\u0345", "\U0002b740",
       "\U0002b820", "\U00020000", "\u4dc0", "\u9fff", "\uf900", "\U0001d400", "\U0001f600", "\u2126", "\u212a", "\u0130", "\u03f4",
       "\u13a0", "\uab70", "\u10a0", "\u1c90", "\u00a8", "\u0340", "\u037e", "\u0958", "\u2adc", "\u1e9b\u0323"]


def fixed():
    yield from ["", " ", "\t \n", "a", "A", ".", "a" * 100, "a" * 101, "ä" * 100, "e\u0301" * 60, "x" * 3000, "東" * 50,
                " leading", "trailing ", "  two  spaces  ", "".join(map(chr, range(33, 127))), " ".join(map(chr, range(33, 127))),
                "".join(map(chr, range(128))), "".join(map(chr, range(128, 0x250)))]
    yield from WORDS
    yield from ODD
    yield from (f"a{odd}b {odd} {odd}{odd}c" for odd in ODD)


def mixed(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        text = ""
        for _ in range(rng.randint(1, 9)):
            word = rng.choice(WORDS)
            kind = rng.random()
            if kind < 0.1:
                word = "".join(rng.sample(word, len(word)))
            elif kind < 0.2:
                word = word.swapcase()
            elif kind < 0.3:
                at = rng.randrange(len(word) + 1)
                word = word[:at] + rng.choice(ODD) + word[at:]
            elif kind < 0.35:
                word = chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x30000)]))
            text += word + rng.choice(SPACES)
        yield text
