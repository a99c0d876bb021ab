#include "models/translation/seq2seq.hpp"

#include <numeric>
#include <vector>

namespace attend {

EncodedSource::EncodedSource(const Seq2SeqImpl& model, const Sequences& src, Pass& pass)
    : model_(model), device_(src.ids_M.device()), memory_(model.encode(src, pass)) {}

std::unique_ptr<DecoderState> EncodedSource::start() const {
  std::vector<std::int64_t> sentences(memory_->layout.size());
  std::iota(sentences.begin(), sentences.end(), 0);
  return model_.start(*memory_, sentences);
}

}  // namespace attend
