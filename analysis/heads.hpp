// The measurements of `attend heads`: what each attention head of a Transformer attends to in sentences with dependency
// trees, and what the model loses without it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "eval/score.hpp"
#include "models/ops/weight.hpp"

namespace attend {

struct HeadStudy {
  std::string run;                     // of attend train, pretrain or finetune
  std::string data;                    // sentences in CoNLL-U
  std::vector<std::string> test = {};  // sources and translations, by which heads of translation runs are silenced
  std::int64_t sentences = 500;        // the most that are read for each silenced head
  std::string checkpoint = "auto";
  Precision precision = Precision::automatic;
  std::string device = "auto";
  ScoreConfig scoring = {};
};

// All but the command line. The self-attention is that of the encoder of a translation run, of a BERT, or of a causal
// Transformer. Heads are silenced by the loss of masked pieces (a BERT), of all pieces (a language model), or of the
// translations in `test`; without these, and for a fine-tuned BERT, they are not. UserError for a run without
// self-attention, with source factors, or to whose tokenizer no word of the data is known, and for data without a
// relation between words that the model sees. Interrupted after SIGINT or SIGTERM.
HeadReport study_heads(const HeadStudy& study);

}  // namespace attend
