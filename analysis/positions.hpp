// Position encodings: the vectors that a Transformer adds to embeddings, and their similarity by distance d: the mean
// cosine of the encodings of positions i and i + d, over all i. For sinusoids the cosine depends only on d.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/heat_map.hpp"
#include "models/bert/bert.hpp"
#include "models/run/run.hpp"

namespace attend {

struct PositionEncodings {
  std::string kind;                // "sinusoids", or "learnt", of a Transformer "learnt, source" and "learnt, target"
  torch::Tensor encodings_TH;      // fp32, on the CPU
  std::vector<double> similarity;  // by distance 0, 1, …, T - 1
};

PositionEncodings position_encodings(std::string kind, const torch::Tensor& encodings_TH);

// Those that a model adds to its embeddings: the first 128 sinusoids, or its learnt tables. UserError naming the run
// `name` for a model that adds none.
std::vector<PositionEncodings> position_encodings(const TranslationRun& run, const std::string& name);
std::vector<PositionEncodings> position_encodings(const BertImpl& bert, const std::string& name);

// The encodings as a map: every k-th row and column, at most so many of them; the title has both numbers.
HeatMap heat_map(const PositionEncodings& positions, std::int64_t most_rows, std::int64_t most_columns);

// Lines "DISTANCE COSINE BAR": every short distance, then fewer.
std::string similarity_text(const PositionEncodings& positions);

LineChart similarity_chart(const PositionEncodings& positions);

// {"kind": …, "encodings": [[…], …], "similarity": […]}, on one line.
std::string to_json(const PositionEncodings& positions);

}  // namespace attend
