// Processors against repetition, for beams and samples. Repeating the prompt counts, too.
#pragma once

#include "eval/search/processor.hpp"

namespace attend {

// Multiplies log p of every token that the hypothesis contains by a factor, once however often it occurs (Keskar et al.
// 2019, arXiv 1909.05858, section 4.1). The paper divides logits, whose sign it leaves open; as in Transformers' beam
// search, a score above 0 is divided and any other, as log p is, multiplied.
LogitsProcessor penalise_repetition(double penalty);

// Excludes every token that would complete a sequence of `length` tokens for a second time (Paulus et al. 2018, arXiv
// 1705.04304, section 2.5, for trigrams; as in fairseq and Transformers). Example, length 2: after "a b a", b cannot
// follow.
LogitsProcessor forbid_repeated_ngrams(std::int64_t length);

}  // namespace attend
