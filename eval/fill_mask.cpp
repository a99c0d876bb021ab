#include "eval/fill_mask.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>

#include "models/layers/pass.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

constexpr std::string_view kMask = "[MASK]";

// A piece in readable form: a word, or ## and a piece that does not begin a word.
std::string shown(const Tokenizer& tokenizer, std::int32_t id) {
  constexpr std::string_view kInside = "##";
  const std::string& piece = tokenizer.piece(id);
  if (piece.starts_with(kSpaceMark) && piece.size() > kSpaceMark.size()) return piece.substr(kSpaceMark.size());
  if (tokenizer.begins_word(id) || piece.starts_with(kInside)) return piece;
  return std::string(kInside) + piece;
}

// Removes the space that a tokenizer puts before every text, if the text continues a word.
void remove_space(const Tokenizer& tokenizer, std::vector<std::int32_t>& ids) {
  if (ids.empty() || !tokenizer.piece(ids[0]).starts_with(kSpaceMark)) return;
  const std::string rest = tokenizer.piece(ids[0]).substr(kSpaceMark.size());
  if (rest.empty()) {
    ids.erase(ids.begin());
  } else if (const std::int32_t id = tokenizer.id_of(rest); id != tokenizer.special().unk) {
    ids[0] = id;
  }
}

}  // namespace

FilledText fill_masks(const BertForPretrainingImpl& model, const Tokenizer& tokenizer, std::string_view text,
                      std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto longest = static_cast<std::size_t>(model.bert->config().max_length) - 1;  // before [SEP]
  FilledText filled;
  std::vector<std::int64_t> ids = {tokenizer.special().cls}, masked;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(kMask, begin), text.size());
    if (!filled.cut) {
      const std::string_view part = text.substr(begin, end - begin);
      const bool inside = begin > 0 && !part.empty() && part[0] != ' ';
      Beginning read = tokenizer.encode_beginning(part, longest - ids.size());
      if (inside) remove_space(tokenizer, read.ids);
      ids.insert(ids.end(), read.ids.begin(), read.ids.end());
      filled.cut = read.cut;
    }
    if (end == text.size()) break;
    filled.masks.emplace_back();
    filled.cut = filled.cut || ids.size() == longest;
    if (!filled.cut) {
      masked.push_back(std::ssize(ids));
      ids.push_back(tokenizer.special().mask);
    }
    begin = end + kMask.size();
  }
  if (masked.empty()) return filled;
  ids.push_back(tokenizer.special().sep);
  const torch::Device device = model.parameters().front().device();
  SegmentedSequences input;
  input.tokens.ids_M = at::tensor(ids, at::kLong).to(device);
  input.tokens.layout = {.offsets = {0, std::ssize(ids)}, .max_length = std::ssize(ids)};
  input.segments_M = at::zeros_like(input.tokens.ids_M);
  Pass pass = Pass::inference();
  const at::Tensor hidden_KH = model.states_of_masked(input, select(masked, input.tokens.layout, device), pass);
  const at::Tensor read_KE = model.predictions->transform(hidden_KH);
  const at::Tensor logits_KV = ops::logits(read_KE, model.bert->table(), model.predictions->bias);
  const auto [probabilities, pieces] = at::softmax(logits_KV, 1).topk(std::min(count, logits_KV.size(1)), 1);
  const at::Tensor p = probabilities.cpu().to(at::kDouble), id = pieces.cpu();
  for (std::int64_t k = 0; k < std::ssize(masked); ++k) {
    for (std::int64_t i = 0; i < p.size(1); ++i) {
      filled.masks[static_cast<std::size_t>(k)].push_back(
          {.word = shown(tokenizer, static_cast<std::int32_t>(id[k][i].item<std::int64_t>())),
           .probability = p[k][i].item<double>()});
    }
  }
  return filled;
}

}  // namespace attend
