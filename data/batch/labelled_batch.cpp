#include "data/batch/labelled_batch.hpp"

namespace attend {
namespace {

torch::Tensor labels_of(std::span<const Sample* const> samples, TaskKind kind) {
  std::vector<double> numbers;
  std::vector<std::int64_t> places;
  for (const Sample* sample : samples) {
    numbers.insert(numbers.end(), sample->targets.begin(), sample->targets.end());
    if (kind == TaskKind::spans) places.insert(places.end(), sample->places.begin(), sample->places.end());
    if (kind == TaskKind::tags) places.insert(places.end(), sample->tags.begin(), sample->tags.end());
  }
  const auto rows = std::ssize(samples);
  switch (kind) {
    case TaskKind::tags:
      return torch::tensor(places, torch::kLong);
    case TaskKind::spans:
      return torch::tensor(places, torch::kLong).view({rows, 2});
    default:
      break;
  }
  if (numbers.empty()) return {};
  const torch::Tensor targets = torch::tensor(numbers, torch::kFloat);
  if (kind == TaskKind::classification) return targets.to(torch::kLong);
  return kind == TaskKind::multi_label ? targets.view({rows, -1}) : targets;
}

}  // namespace

LabelledBatch make_labelled_batch(std::span<const Sample* const> samples, TaskKind kind) {
  LabelledBatch batch;
  Layout& layout = batch.input.tokens.layout;
  std::vector<std::int64_t> ids, segments;
  for (const Sample* sample : samples) {
    const auto begin = std::ssize(ids);
    ids.insert(ids.end(), sample->ids.begin(), sample->ids.end());
    segments.resize(begin + sample->first, 0);
    segments.resize(ids.size(), 1);
    if (kind == TaskKind::tags) {
      for (const std::uint32_t place : sample->places) batch.places.push_back(begin + place);
    }
    layout.append(std::ssize(sample->ids));
    batch.examples.push_back(sample->example);
  }
  batch.input.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.input.segments_M = torch::tensor(segments, torch::kLong);
  batch.labels = labels_of(samples, kind);
  return batch;
}

}  // namespace attend
