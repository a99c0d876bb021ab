// The results of `attend probe`, as one plain value, and the sections that show them. docs/probes.md defines each
// number. Layer 0 is the embedded input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

struct LinearProbeLayer {
  Spread accuracy = {};
  Spread control = {};      // accuracy of the control task
  Spread selectivity = {};  // accuracy - control
  Spread random = {};       // accuracy with random weights
  double bits = 0;          // of the online code
  double compression = 0;
  JSON_MEMBERS(accuracy, control, selectivity, random, bits, compression);
};

struct LinearProbeTask {
  std::string id = {};     // "part_of_speech"
  std::string title = {};  // "Part of speech"
  std::int64_t labels = 0;
  std::int64_t fitted = 0, held_out = 0, tested = 0;  // words
  std::string most_frequent = {};                     // label
  double most_frequent_accuracy = 0;
  std::vector<LinearProbeLayer> layers = {};
  JSON_MEMBERS(id, title, labels, fitted, held_out, tested, most_frequent, most_frequent_accuracy, layers);
};

struct StructuralProbeLayer {
  Spread attachment = {}, distance_correlation = {}, root_accuracy = {}, depth_correlation = {};
  JSON_MEMBERS(attachment, distance_correlation, root_accuracy, depth_correlation);
};

struct Probing : Making {
  std::string run = {};
  std::string checkpoint = {};
  std::string model = {};  // "the encoder of a translation model (luong)"
  std::string data = {};
  std::int64_t sentences = 0, left_out = 0, words = 0;
  std::int64_t fitted = 0, held_out = 0, tested = 0;  // sentences
  std::int64_t seeds = 0;
  std::vector<std::string> not_measured = {};  // sentences: which tasks, and why
  std::vector<LinearProbeTask> tasks = {};
  double left_neighbour_attachment = 0;
  std::vector<StructuralProbeLayer> structure = {}, random_structure = {};  // by layer
  JSON_MEMBERS(attend, command, made, run, checkpoint, model, data, sentences, left_out, words, fitted, held_out,
               tested, seeds, not_measured, tasks, left_neighbour_attachment, structure, random_structure);
};

SectionReport section_report(const Probing& probing);

}  // namespace attend
