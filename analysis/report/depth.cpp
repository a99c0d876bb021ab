// Section 6, gradients and hidden states by depth: layers, and the time steps of an RNN, on one axis.
#include <algorithm>
#include <cmath>

#include "analysis/report/characters.hpp"
#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

// The first or the last; a single one is the last.
template <class T>
const T* end_of(const std::vector<T>& all, bool last) {
  if (all.empty() || (!last && all.size() == 1)) return nullptr;
  return last ? &all.back() : &all.front();
}

// The values at depths from 0 to 1; a single one is at the top.
std::vector<Point> by_depth(const std::vector<double>& values) {
  std::vector<Point> points;
  const double steps = static_cast<double>(values.size()) - 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.push_back({steps > 0 ? static_cast<double>(i) / steps : 1, values[i]});
  }
  return points;
}

// The reach of the gradient from the farthest distance that was measured to 0; empty if it was not probed.
std::vector<double> over_time_steps(const std::optional<Probe>& probe, std::size_t s, bool last) {
  if (!probe || s >= probe->systems.size()) return {};
  const GradientReach* reach = end_of(probe->systems[s].reach, last);
  if (reach == nullptr) return {};
  std::vector<double> steps(reach->by_distance.rbegin(), reach->by_distance.rend());
  steps.erase(steps.begin(), std::ranges::find_if(steps, [](double value) { return std::isfinite(value); }));
  return steps;
}

}  // namespace

Figure depth_figure(const Comparison& comparison) {
  Figure figure{
      "Gradients and hidden states by depth",
      "Gradient: its norm by layer, relative to the top layer; depth 0 is the lowest layer of the encoder or decoder, "
      "1 the top one. Time steps: the reach of the gradient (section 7, with --probe), from the farthest source piece, "
      "0, to the nearest, 1: the depth of a recurrent network in time. Distance from rank one: from the embedded "
      "input, 0, to the top layer, 1; at a distance of 0 all tokens of a sentence have the same hidden state. Numbers "
      "of each system's first run.",
      {},
      {"Watched updates",
       {{"System", false},
        {"Stack", false},
        {"Update"},
        {"Layer"},
        {"Relative gradient"},
        {"Distance from rank one"}}}};
  for (const bool last : {false, true}) {
    const std::string when = last ? "last watched update" : "first watched update";
    LineChart gradient{"Gradient by depth, " + when, "Depth", "Relative norm"};
    LineChart rank_one{"Distance from rank one by depth, " + when, "Depth", "Distance"};
    for (std::size_t s = 0; s < comparison.systems.size(); ++s) {
      const System& system = comparison.systems[s];
      const WatchedUpdate* update = end_of(system.runs[0].watched, last);
      if (update == nullptr) continue;
      for (std::size_t k = 0; k < update->stacks.size(); ++k) {
        const WatchedStack& stack = update->stacks[k];
        std::vector<double> norms = stack.gradient;
        for (double& norm : norms) norm /= stack.gradient.back();
        gradient.series.push_back({system.name + ", " + stack.place, s, k, by_depth(norms)});
        rank_one.series.push_back({system.name + ", " + stack.place, s, k, by_depth(stack.rank_one)});
        norms.insert(norms.begin(), kNotMeasured);  // the input has no parameters of its own
        norms.resize(stack.rank_one.size(), kNotMeasured);
        for (std::size_t layer = 0; layer < norms.size(); ++layer) {
          figure.numbers.rows.push_back({system.name, capitalised(stack.place), std::to_string(update->update),
                                         layer == 0 ? "Input" : std::to_string(layer), fixed(norms[layer], 3),
                                         fixed(stack.rank_one[layer], 3)});
        }
      }
      Series steps{system.name + ", time steps", s, 2, by_depth(over_time_steps(comparison.probe, s, last))};
      if (!steps.points.empty()) gradient.series.push_back(std::move(steps));
    }
    if (gradient.series.empty()) continue;
    figure.charts.emplace_back(std::move(gradient));
    figure.charts.emplace_back(std::move(rank_one));
  }
  return figure;
}

}  // namespace attend
