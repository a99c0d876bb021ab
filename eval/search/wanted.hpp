// Processors for the requests of a sentence (Wanted).
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

// Ends an output for which Wanted::stops is true: only eos may follow, with score 0. The reported log p of eos remains
// the model's.
LogitsProcessor stop_at_text(std::int64_t eos);

}  // namespace attend
