// Processors for what is asked of a sentence (Wanted).
#pragma once

#include "eval/search/processor.hpp"

namespace attend {

// A prefix with which the output begins: only its next token may follow, with the model's log p, which counts. Other
// processors do not change the prefix; they act after it.
LogitsProcessor force_prefix(LogitsProcessors after);

// Phrases that must not occur, as Transformers' bad_words_ids: the last token of a phrase may not follow the others. A
// word at a place without a space before it may be tokenized differently; that form is forbidden where no word
// precedes.
//
//   forbidden "dog": spaced {▁dog}, unspaced {dog}
//   ▁the ▁dog    not this one
//   ▁( dog       nor this one
//   ▁bull dog    allowed: another word
LogitsProcessor forbid_phrases();

// The end of an output that stops before the model ends it, as at a text that it must not pass: only eos may follow,
// which costs nothing. The log p of eos that is reported remains the model's.
LogitsProcessor stop_at_text(std::int64_t eos);

}  // namespace attend
