// Position encodings: the vectors that a Transformer adds to embeddings, and how alike they are by distance: the mean
// cosine of the encodings of all positions i and i + d. Of sinusoids it depends on d alone.
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
  std::string kind;                // "sinusoids" or "learnt"
  torch::Tensor encodings_TH;      // fp32, on the CPU
  std::vector<double> similarity;  // by distance 0, 1, …, T - 1
};

PositionEncodings position_encodings(std::string kind, const torch::Tensor& encodings_TH);

// Of a Transformer the first 128. UserError naming `name`, the run, for a model that has none.
PositionEncodings position_encodings(const Run& run, const std::string& name);
// All that the encoder has.
PositionEncodings position_encodings(const BertImpl& bert);

// The encodings as a map with at most so many rows and columns: every k-th, which the title says.
HeatMap heat_map(const PositionEncodings& positions, std::int64_t most_rows, std::int64_t most_columns);

// Lines "DISTANCE COSINE BAR": near distances one by one, then fewer.
std::string similarity_text(const PositionEncodings& positions);

// {"kind": …, "encodings": [[…], …], "similarity": […]}, a line.
std::string to_json(const PositionEncodings& positions);

}  // namespace attend
