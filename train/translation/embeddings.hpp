// Embedding tables of a translation model that begin with published vectors of words (data/text/word_vectors.hpp), by
// piece (data/corpus/piece_vectors.hpp). Vectors are multiplied by one number, so that their standard deviation is that
// of the table as it was initialised: the rest of the model expects it. Rows of pieces without a vector stay as they
// are.
//
// One table for both languages takes the vectors of both: a piece has that of the target's file, else the source's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer/tokenizer_pair.hpp"
#include "models/translation/seq2seq.hpp"
#include "train/translation/config.hpp"

namespace attend {

// Reads the files of --init-embeddings-src and --init-embeddings-tgt, if any, and logs which share of the pieces and of
// the training text they cover. Gives the same under "src_pieces", "src_tokens", "tgt_pieces" and "tgt_tokens".
// UserError as read_piece_vectors.
std::vector<std::pair<std::string, double>> initialise_embeddings(const Seq2SeqImpl& model,
                                                                  const TokenizerPair& tokenizers,
                                                                  const TranslationConfig& config);

}  // namespace attend
