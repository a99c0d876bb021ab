#include "data/batch/labelled_batch.hpp"

namespace attend {
namespace {

template <class T>
torch::Tensor tensor_of(const std::vector<T>& numbers, torch::ScalarType type) {
  return numbers.empty() ? torch::Tensor() : torch::tensor(numbers, type);
}

}  // namespace

LabelledBatch make_labelled_batch(std::span<const Sample* const> samples) {
  LabelledBatch batch;
  Layout& layout = batch.input.tokens.layout;
  std::vector<std::int64_t> ids, segments, label, begin, end, tag;
  std::vector<float> labels;
  std::vector<double> number;
  for (const Sample* sample : samples) {
    const auto first_row = std::ssize(ids);
    ids.insert(ids.end(), sample->ids.begin(), sample->ids.end());
    segments.resize(first_row + sample->first, 0);
    segments.resize(ids.size(), 1);
    layout.append(std::ssize(sample->ids));
    batch.examples.push_back(sample->example);

    if (sample->gold.label) label.push_back(static_cast<std::int64_t>(*sample->gold.label));
    if (sample->gold.number) number.push_back(*sample->gold.number);
    labels.insert(labels.end(), sample->gold.labels.begin(), sample->gold.labels.end());
    if (sample->answer) {
      begin.push_back(sample->answer->begin);
      end.push_back(sample->answer->end);
    }
    tag.insert(tag.end(), sample->tags.begin(), sample->tags.end());
    for (const std::uint32_t word : sample->words) batch.words.push_back(first_row + word);
  }
  batch.input.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.input.segments_M = torch::tensor(segments, torch::kLong);
  batch.label_B = tensor_of(label, torch::kLong);
  if (!labels.empty()) batch.labels_BL = torch::tensor(labels).view({std::ssize(samples), -1});
  batch.number_B = tensor_of(number, torch::kFloat);
  batch.begin_B = tensor_of(begin, torch::kLong);
  batch.end_B = tensor_of(end, torch::kLong);
  batch.tag_K = tensor_of(tag, torch::kLong);
  return batch;
}

}  // namespace attend
