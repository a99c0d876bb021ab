#include "analysis/positions.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

constexpr std::int64_t kShown = 128;  // sinusoids, whose number has no limit

std::vector<double> similarity_of(const torch::Tensor& encodings_TH) {
  const torch::Tensor x_TH = encodings_TH.to(at::kDouble);
  const torch::Tensor unit_TH = x_TH / x_TH.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
  const torch::Tensor cosine_TT = unit_TH.mm(unit_TH.t());
  std::vector<double> similarity;
  for (std::int64_t d = 0; d < x_TH.size(0); ++d) similarity.push_back(cosine_TT.diagonal(d).mean().item<double>());
  return similarity;
}

// Every k-th of `count` numbers, at most `most` of them.
std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> numbers;
  const std::int64_t step = (count + most - 1) / most;
  for (std::int64_t i = 0; i < count; i += step) numbers.push_back(i);
  return numbers;
}

std::vector<std::string> names_of(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> names;
  for (const std::int64_t number : numbers) names.push_back(std::to_string(number));
  return names;
}

std::string with_positions(PositionKind kind) { return "model with --positions " + std::string(name_of(kind)); }

std::vector<PositionEncodings> added_by(const torch::nn::Module& model, const std::string& name,
                                        const std::string& model_kind) {
  std::vector<PositionEncodings> found;
  for (const auto& module : model.named_modules()) {
    if (module.key() != "positions" && module.key() != "embeddings.positions") continue;
    const auto& table = dynamic_cast<const RowTableImpl&>(*module.value());
    found.push_back(position_encodings("sinusoids", table.rows(0, kShown)));
  }
  const auto parameters = model.named_parameters();
  for (const auto& [parameter, kind] : {std::pair("embeddings.position_embeddings.weight", "learnt"),
                                        std::pair("src_position_embedding.weight", "learnt, source"),
                                        std::pair("tgt_position_embedding.weight", "learnt, target")}) {
    const torch::Tensor* const table_TH = parameters.find(parameter);
    if (table_TH != nullptr) found.push_back(position_encodings(kind, *table_TH));
  }
  if (found.empty()) {
    throw UserError(name + ": the model, a " + model_kind + ", has no position encodings in its embeddings",
                    "name a run of a Transformer or BERT with --positions sinusoidal or learned");
  }
  return found;
}

}  // namespace

PositionEncodings position_encodings(std::string kind, const torch::Tensor& encodings_TH) {
  const torch::Tensor own_TH = encodings_TH.detach().cpu().to(at::kFloat).contiguous();
  return {.kind = std::move(kind), .encodings_TH = own_TH, .similarity = similarity_of(own_TH)};
}

std::vector<PositionEncodings> position_encodings(const TranslationRun& run, const std::string& name) {
  const bool transformer = run.options.model == ModelKind::transformer;
  return added_by(*run.model, name,
                  transformer ? with_positions(run.options.block.positions) : std::string(name_of(run.options.model)));
}

std::vector<PositionEncodings> position_encodings(const BertImpl& bert, const std::string& name) {
  return added_by(bert, name, with_positions(bert.options().block.positions));
}

HeatMap heat_map(const PositionEncodings& positions, std::int64_t most_rows, std::int64_t most_columns) {
  const auto rows = sampled(positions.encodings_TH.size(0), most_rows);
  const auto columns = sampled(positions.encodings_TH.size(1), most_columns);
  HeatMap map{
      .title = fmt::format("position encodings ({}): {} of {} positions, {} of {} dimensions", positions.kind,
                           rows.size(), positions.encodings_TH.size(0), columns.size(), positions.encodings_TH.size(1)),
      .row_axis = "position",
      .column_axis = "dimension",
      .rows = names_of(rows),
      .columns = names_of(columns),
      .values = {}};
  const auto values = positions.encodings_TH.accessor<float, 2>();
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) map.values.push_back(values[row][column]);
  }
  const auto [low, high] = std::ranges::minmax(map.values);
  map.low = low;
  map.high = high;
  return map;
}

std::string similarity_text(const PositionEncodings& positions) {
  constexpr double kBar = 40;
  std::string text = "distance  cosine\n";
  for (std::size_t d = 0; d < positions.similarity.size(); d += std::max<std::size_t>(1, d / 4)) {
    const double cosine = positions.similarity[d];
    fmt::format_to(std::back_inserter(text), "{:8}  {:6.3f}", d, cosine);
    if (cosine > 0) text += "  ";
    for (int i = 0; i < static_cast<int>(cosine * kBar + 0.5); ++i) text += "█";
    text += '\n';
  }
  return text;
}

LineChart similarity_chart(const PositionEncodings& positions) {
  Series series{"cosine"};
  for (const double cosine : positions.similarity) {
    series.points.push_back({static_cast<double>(series.points.size()), cosine});
  }
  return {"Cosine similarity of position encodings by distance", "Distance", "Cosine similarity", {std::move(series)}};
}

std::string to_json(const PositionEncodings& positions) {
  std::string text = fmt::format("{{\"kind\":\"{}\",\"encodings\":[", positions.kind);
  const std::size_t width = positions.encodings_TH.size(1);
  const float* row = positions.encodings_TH.const_data_ptr<float>();
  for (std::int64_t t = 0; t < positions.encodings_TH.size(0); ++t, row += width) {
    fmt::format_to(std::back_inserter(text), "{}[{:.6g}]", t == 0 ? "" : ",", fmt::join(std::span(row, width), ","));
  }
  return text + fmt::format("],\"similarity\":[{:.6g}]}}\n", fmt::join(positions.similarity, ","));
}

}  // namespace attend
