#include "train/start_vectors.hpp"

#include <torch/types.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/text/lines.hpp"
#include "data/text/word_vectors.hpp"
#include "eval/metrics/tokenizers.hpp"
#include "eval/neighbours.hpp"

namespace attend {

using torch::Tensor;

void start_with(const std::vector<std::string>& files, const Tokenizer& tokenizer, const ops::Weight& table_VE) {
  const torch::NoGradGuard no_grad;
  const std::int64_t width = table_VE.master().size(1);
  std::vector<std::string> words;  // of each piece; empty if it is none
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) words.push_back(whole_word(tokenizer, id));
  std::map<std::int64_t, Tensor> rows;  // by id
  for (const std::string& file : files) {
    const std::string name = name_of_input(file);
    const WordTable given = table_of(read_word_vectors(file, std::numeric_limits<std::int64_t>::max()), name);
    if (given.vectors_VE.size(1) != width) {
      throw UserError(name + ": vectors of " + std::to_string(given.vectors_VE.size(1)) +
                          " numbers, but the embeddings of the model have " + std::to_string(width),
                      "give vectors of that size, or the model theirs, with --width");
    }
    std::unordered_map<std::string_view, std::int64_t> places;
    for (std::int64_t v = 0; v < std::ssize(given.words); ++v) places.emplace(given.words[v], v);
    std::int64_t found = 0;
    for (std::int64_t id = 0; id < std::ssize(words); ++id) {
      if (words[id].empty()) continue;
      auto place = places.find(words[id]);
      if (place == places.end()) place = places.find(metrics::lower_case(words[id]));
      if (place == places.end()) continue;
      ++found;
      rows.try_emplace(id, given.vectors_VE[place->second].clone());
    }
    if (found == 0) {
      throw UserError(name + ": none of its words is a piece of the vocabulary",
                      "give vectors of the text's language, or a larger vocabulary");
    }
    log::info("{}: the vectors of {} of {} pieces", name, found, tokenizer.size());
  }
  std::vector<std::int64_t> ids;
  std::vector<Tensor> vectors;
  for (auto& [id, vector_E] : rows) {
    ids.push_back(id);
    vectors.push_back(std::move(vector_E));
  }
  const Tensor places_K = torch::tensor(ids, torch::kLong), vectors_KE = torch::stack(vectors);
  const Tensor& master_VE = table_VE.master();
  const Tensor replaced_KE = master_VE.index_select(0, places_K);
  master_VE.index_copy_(0, places_K, vectors_KE * (replaced_KE.std() / vectors_KE.std()));
}

}  // namespace attend
