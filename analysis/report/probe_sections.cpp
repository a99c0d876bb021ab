#include "analysis/report/probe_sections.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

std::string mean_percent(const Spread& share) { return with_deviation(share, 100, 1); }
std::string correlation(const Spread& value) { return with_deviation(value, 1, 3); }

// The place of a layer among them, as a column.
auto number_in(const auto& layers) {
  return [&](const auto& layer) { return &layer - layers.data(); };
}

// A line of `value` over layers.
template <class Layers, class Value>
Series over_layers(const std::string& name, std::size_t colour, const Layers& layers, const Value& value) {
  Series series{name, colour, colour};
  for (std::size_t l = 0; l < layers.size(); ++l) series.points.push_back({static_cast<double>(l), value(layers[l])});
  return series;
}

Section probed_section(const Probing& it) {
  Section section{"probed", "What was probed", ""};
  section.add(
      Items{{fmt::format("Run: {}, {}; weights: {}.", it.run, it.model, it.checkpoint),
             fmt::format("Sentences: {}, {} with {}; {} were left out: the model does not read all their words.",
                         it.data, counted(it.sentences, "sentence"), counted(it.words, "word"), it.left_out),
             fmt::format("The first {} sentences are fitted, {} choose the stopping point, the last {} are tested.",
                         it.fitted, it.held_out, it.tested),
             fmt::format("{}: numbers are their mean (± standard deviation).", counted(it.seeds, "seed")),
             "Random weights: the same model before training, with other weights for each seed."}});
  for (const std::string& why : it.not_measured) section.add(Paragraph{why});
  return section;
}

Figure figure_of(const LinearProbeTask& task) {
  using Layer = LinearProbeLayer;
  LineChart chart{"Accuracy by layer", "Layer", "Accuracy in percent"};
  chart.series = {
      over_layers("Trained", 0, task.layers, [](const Layer& layer) { return 100 * layer.accuracy.mean; }),
      over_layers("Random weights", 1, task.layers, [](const Layer& layer) { return 100 * layer.random.mean; }),
      over_layers("Control task", 2, task.layers, [](const Layer& layer) { return 100 * layer.control.mean; }),
      over_layers("Most frequent label", 3, task.layers,
                  [&](const Layer&) { return 100 * task.most_frequent_accuracy; })};
  LineChart compression{"Compression by layer", "Layer", "Compression"};
  compression.series = {over_layers("Trained", 0, task.layers, [](const Layer& layer) { return layer.compression; })};
  return {task.title,
          fmt::format("{}; {} fitted, {} held out and {} tested. The most frequent label is {}.",
                      counted(task.labels, "label"), counted(task.fitted, "word"), task.held_out, task.tested,
                      task.most_frequent),
          {std::move(chart), std::move(compression)},
          table_of(task.layers, task.title + ": accuracy in percent, and the online code",
                   {{"Layer", number_in(task.layers)},
                    {"Accuracy", &Layer::accuracy, mean_percent},
                    {"Random weights", &Layer::random, mean_percent},
                    {"Most frequent label", [&](const Layer&) { return task.most_frequent_accuracy; }, percent(1)},
                    {"Control task", &Layer::control, mean_percent},
                    {"Selectivity", &Layer::selectivity, mean_percent},
                    {"Code in bits", &Layer::bits, decimals(0)},
                    {"Compression", &Layer::compression, decimals(2)}})};
}

Section labels_section(const Probing& it) {
  Section section{"labels", "1. Labels of words",
                  "Softmax regression from a word's vector to its label. A layer says more of a label than the words "
                  "themselves do where its accuracy exceeds that of random weights; the probe, rather than the layer, "
                  "may know the label where selectivity, accuracy minus control task, is low. A greater compression: "
                  "the label is easier to find with few examples."};
  for (const LinearProbeTask& task : it.tasks) section.add(figure_of(task));
  if (it.tasks.empty()) section.add(Paragraph{"No label was measured."});
  return section;
}

// One measure of the structural probes, with trained and with random weights.
LineChart structure_chart(const Probing& it, const std::string& title, const std::string& axis,
                          Spread StructuralProbeLayer::*measure, double factor) {
  const auto value = [&](const StructuralProbeLayer& layer) { return factor * (layer.*measure).mean; };
  return {
      title,
      "Layer",
      axis,
      {over_layers("Trained", 0, it.structure, value), over_layers("Random weights", 1, it.random_structure, value)}};
}

Section trees_section(const Probing& it) {
  using Layer = StructuralProbeLayer;
  Section section{"trees", "2. Trees",
                  "Linear maps after which squared distances of words are distances in the tree, and squared norms "
                  "are depths. A tree is in a layer, beyond what the order of words tells, where attachment exceeds "
                  "that of random weights and of the left neighbour."};
  LineChart attachment = structure_chart(it, "Attachment by layer", "Edges found in percent", &Layer::attachment, 100);
  attachment.series.push_back(
      over_layers("Left neighbour", 3, it.structure, [&](const Layer&) { return 100 * it.left_neighbour_attachment; }));
  const auto random = [&](Spread Layer::*measure) {  // of the same layer
    return [&, measure](const Layer& layer) { return it.random_structure[&layer - it.structure.data()].*measure; };
  };
  section.add(
      Figure{"Distances",
             "Attachment: the percentage of the edges of the trees, without direction and punctuation, that are in the "
             "spanning tree of least predicted distance. Correlation: Spearman's, of predicted and true distances.",
             {std::move(attachment),
              structure_chart(it, "Correlation of distances by layer", "Correlation", &Layer::distance_correlation, 1)},
             table_of(it.structure, "Distances",
                      {{"Layer", number_in(it.structure)},
                       {"Attachment", &Layer::attachment, mean_percent},
                       {"Random weights", random(&Layer::attachment), mean_percent},
                       {"Left neighbour", [&](const Layer&) { return it.left_neighbour_attachment; }, percent(1)},
                       {"Correlation", &Layer::distance_correlation, correlation},
                       {"Correlation, random weights", random(&Layer::distance_correlation), correlation}})});
  section.add(Figure{
      "Depths",
      "Root found: the percentage of sentences in which the root is the word of least predicted depth. Correlation: "
      "Spearman's, of predicted and true depths.",
      {structure_chart(it, "Root by layer", "Roots found in percent", &Layer::root_accuracy, 100),
       structure_chart(it, "Correlation of depths by layer", "Correlation", &Layer::depth_correlation, 1)},
      table_of(it.structure, "Depths",
               {{"Layer", number_in(it.structure)},
                {"Root found", &Layer::root_accuracy, mean_percent},
                {"Random weights", random(&Layer::root_accuracy), mean_percent},
                {"Correlation", &Layer::depth_correlation, correlation},
                {"Correlation, random weights", random(&Layer::depth_correlation), correlation}})});
  return section;
}

}  // namespace

SectionReport section_report(const Probing& probing) {
  return {"Probes of " + probing.run,
          {probed_section(probing), labels_section(probing), trees_section(probing)},
          made_by(probing) + ": " + probing.command};
}

}  // namespace attend
