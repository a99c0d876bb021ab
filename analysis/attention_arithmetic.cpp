#include "analysis/attention_arithmetic.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/report/characters.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "models/ops/ops.hpp"

namespace attend {
namespace {

std::vector<bool> to_bools(const at::Tensor& x) {
  const std::vector<double> numbers = ops::to_doubles(x);
  return {numbers.begin(), numbers.end()};
}

// For one query, the values that it reads at each position: the contexts if all weight were there, [N, S, W].
at::Tensor values_of(const AttentionOperands& own) {
  const std::int64_t N = own.values_BNSW.size(1), S = own.values_BNSW.size(2);
  const at::Tensor one_hot_1NSS = at::eye(S, own.values_BNSW.options()).expand({1, N, S, S});
  return own.scope->context(one_hot_1NSS, own.values_BNSW, own.places)[0];
}

// True if a threshold has changed the weights.
bool is_cut(const QueryArithmetic& steps) {
  for (std::size_t s = 0; s < steps.weights.size(); ++s) {
    const double factor = steps.factor.empty() ? 1 : steps.factor[s];
    if (std::abs(steps.weights[s] - factor * steps.softmax[s]) > 1e-6) return true;
  }
  return false;
}

// Cells of a table; every column but those of words is aligned to the right.
struct PrintedColumn {
  std::string heading;
  std::vector<std::string> cells;
  bool of_words = false;
};

std::string number_in_words(double number) {
  if (std::isfinite(number) && std::abs(number) >= 1e5) return fmt::format("{:.3g}", number);
  return fmt::format("{:.4f}", number);
}

std::string aligned(const std::vector<PrintedColumn>& columns) {
  const auto printed = [](const std::string& text) { return abbreviated(characters_of(text), 24); };
  std::vector<std::string> lines(columns.front().cells.size() + 1);
  for (const PrintedColumn& column : columns) {
    std::vector<std::vector<Character>> cells{printed(column.heading)};
    for (const std::string& cell : column.cells) cells.push_back(printed(cell));
    std::size_t width = 0;
    for (const auto& cell : cells) width = std::max(width, width_of(cell));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(width - width_of(cells[i]), ' ');
      if (!lines[i].empty()) lines[i] += "  ";
      lines[i] += column.of_words ? join(cells[i]) + space : space + join(cells[i]);
    }
  }
  std::string table;
  for (const std::string& line : lines) table += line + "\n";
  return table;
}

std::vector<PrintedColumn> columns_of(const QueryArithmetic& steps) {
  std::vector<PrintedColumn> columns(2);
  columns[1] = {.heading = "piece", .cells = steps.positions, .of_words = true};
  for (std::size_t s = 0; s < steps.positions.size(); ++s) columns[0].cells.push_back(std::to_string(s));
  const auto add = [&](const char* heading, const std::vector<double>& numbers) {
    if (numbers.empty()) return;
    PrintedColumn& column = columns.emplace_back(PrintedColumn{.heading = heading, .cells = {}});
    for (const double number : numbers) column.cells.push_back(number_in_words(number));
  };
  add("product", steps.products);
  add("energy", steps.energies);
  add("bias", steps.bias);
  if (std::ranges::find(steps.outside, true) != steps.outside.end()) {
    std::vector<double> mask;
    for (const bool outside : steps.outside) mask.push_back(outside ? -std::numeric_limits<double>::infinity() : 0);
    add("mask", mask);
  }
  if (!steps.factor.empty() || is_cut(steps)) add("softmax", steps.softmax);
  add("factor", steps.factor);
  add("weight", steps.weights);
  add("‖value‖", steps.value_norms);
  add("‖weight value‖", steps.weighted_norms);
  return columns;
}

std::string equations_of(const QueryArithmetic& steps) {
  std::string text;
  if (steps.scale) text += fmt::format("energy = {} product\n", number_in_words(*steps.scale));
  std::string summed = "energy";
  if (!steps.bias.empty()) summed += " + bias";
  if (std::ranges::find(steps.outside, true) != steps.outside.end()) summed += " + mask";
  text += fmt::format("weight = {}softmax({}){}\n", steps.factor.empty() ? "" : "factor ", summed,
                      is_cut(steps) ? ", cut by --attention-threshold" : "");
  return text + (steps.weighted_norms.empty() ? "vector = value of the largest weight\n" : "vector = Σ weight value\n");
}

nlohmann::ordered_json json_of(const QueryArithmetic& steps) {
  nlohmann::ordered_json object{
      {"place", name_of(steps.place)}, {"layer", steps.layer}, {"head", steps.head},
      {"query", steps.query},          {"piece", steps.piece}, {"positions", steps.positions}};
  if (steps.scale) object["scale"] = *steps.scale;
  const auto add = [&](const char* name, const std::vector<double>& numbers) {
    if (!numbers.empty()) object[name] = numbers;
  };
  add("products", steps.products);
  add("energies", steps.energies);
  add("bias", steps.bias);
  object["outside"] = steps.outside;
  add("softmax", steps.softmax);
  add("factor", steps.factor);
  add("weights", steps.weights);
  add("value_norms", steps.value_norms);
  add("weighted_norms", steps.weighted_norms);
  object["vector_norm"] = steps.vector_norm;
  return object;
}

class ArithmeticInFile final : public AttentionOutput {
 public:
  ArithmeticInFile(const std::string& file, const QueryChoice& choice) : choice_(choice), file_(file) {}
  void add(std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) override {
    ++number_;
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < windows; ++i) {
      const SentenceAttention sentence = part(i);
      parts.push_back(sentence.layers.empty() ? nlohmann::ordered_json{{"positions", sentence.source}}
                                              : json_of(arithmetic_of(sentence, choice_, number_)));
    }
    const nlohmann::ordered_json line = windows > 1 ? nlohmann::ordered_json{{"windows", parts}} : parts[0];
    file_.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  void finish() override { file_.commit(); }

 private:
  QueryChoice choice_;
  AtomicFile file_;
  std::int64_t number_ = 0;
};

}  // namespace

QueryArithmetic arithmetic_of(const SentenceAttention& sentence, const QueryChoice& choice, std::int64_t number) {
  const c10::InferenceMode inference;
  const SentenceAttention narrowed =
      chosen(sentence, {.place = choice.place, .layer = choice.layer, .head = choice.head});
  const LayerAttention& layer = narrowed.layers.back();
  ensure(layer.operands.has_value(), "a pass whose operands were recorded");
  AttentionAxes axes = axes_of(sentence, choice.place, choice.beginning);
  const std::int64_t count = std::ssize(axes.rows), query = choice.query.value_or(count - 1);
  if (query >= count) {
    throw UserError(fmt::format("--query {}: in line {}, {} attend", query, number, counted(count, "piece")),
                    count == 1 ? "choose query 0" : fmt::format("choose one from 0 to {}", count - 1));
  }
  const AttentionOperands own = layer.operands->of_query(layer.sentence, query);
  const Window window = own.scope->window(own.queries_BNTH, own.places);
  const at::Tensor energies = own.score->energies(own.queries_BNTH, own.keys_BNSA, own.places);
  const at::Tensor weights_S = layer.weights[0][query];
  const auto row = [&](const at::Tensor& x) {  // of the head, without padding
    return x.defined() ? x.expand_as(energies)[0][choice.head][0].narrow(0, 0, weights_S.size(0)) : at::zeros({0});
  };
  const at::Tensor values_SD = values_of(own)[choice.head].narrow(0, 0, weights_S.size(0)).cpu();
  const at::Tensor vector_D = own.takes_largest ? values_SD[weights_S.argmax()] : at::matmul(weights_S, values_SD);
  QueryArithmetic steps{.place = choice.place,
                        .layer = layer.layer,
                        .head = choice.head,
                        .query = query,
                        .piece = axes.rows[static_cast<std::size_t>(query)],
                        .positions = std::move(axes.columns),
                        .energies = ops::to_doubles(row(energies)),
                        .bias = ops::to_doubles(row(window.bias_TS)),
                        .outside = to_bools(row(window.outside_TS)),
                        .softmax = ops::to_doubles(row(window.softmax(energies))),
                        .factor = ops::to_doubles(row(window.factor_TS)),
                        .weights = ops::to_doubles(weights_S),
                        .value_norms = ops::to_doubles(values_SD.norm(2, -1)),
                        .vector_norm = vector_D.norm().item<double>()};
  if (const at::Tensor scale = own.score->scale(own.keys_BNSA); scale.defined()) {
    const std::vector<double> scales = ops::to_doubles(scale);
    steps.scale = scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(choice.head)];
    for (const double energy : steps.energies) steps.products.push_back(energy / *steps.scale);
  }
  if (!own.takes_largest) {
    for (std::size_t s = 0; s < steps.weights.size(); ++s) {
      steps.weighted_norms.push_back(steps.weights[s] * steps.value_norms[s]);
    }
  }
  return steps;
}

std::string to_text(const QueryArithmetic& steps) {
  const std::string piece = join(characters_of(steps.piece));
  const double sum = std::accumulate(steps.weights.begin(), steps.weights.end(), 0.0);
  return fmt::format("{}, layer {}, head {}, query {}: {}{}\n{}\n{}\nΣ weight = {}, ‖vector‖ = {}\n",
                     title_of(steps.place), steps.layer, steps.head, steps.query,
                     steps.place == AttentionPlace::encoder ? "" : "predicts ", piece, equations_of(steps),
                     aligned(columns_of(steps)), number_in_words(sum), number_in_words(steps.vector_norm));
}

std::unique_ptr<AttentionOutput> arithmetic_on_terminal(const QueryChoice& choice) {
  return texts_on_terminal([choice](const SentenceAttention& sentence, std::int64_t number) {
    return to_text(arithmetic_of(sentence, choice, number));
  });
}

std::unique_ptr<AttentionOutput> arithmetic_in_file(const std::string& file, const QueryChoice& choice) {
  return std::make_unique<ArithmeticInFile>(file, choice);
}

}  // namespace attend
