// Probes of the differences between recurrent models and Transformers: the reach of gradients, and the time of an
// update by the length of its sentences and the number of threads.
//
// Gradient reach (after Hochreiter et al. 2001, Gradient flow in recurrent nets, and arXiv 1211.5063). For target piece
// t of T and source piece s of S, with e_s the embedding that the encoder reads,
//
//   g(t, s) = |∂ log p(y_t | y_<t, x) / ∂ e_s|,   a(t) = min(round(t S / T), S - 1),   distance d = a(t) - s ≥ 0
//   reach(d) = mean of g over all pairs at distance d, divided by the mean at distance 0
//
// The diagonal a(t) stands for the source piece that y_t translates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "models/run/run.hpp"

namespace attend {

// reach(0 … farthest) of a model; NaN at distances without pairs. Every target position takes a pass over all
// sentences, so this is meant for a few dozen of them. The model must not be frozen.
std::vector<double> gradient_reach(const TranslationRun& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& target, std::int64_t farthest);

// The same for each saved checkpoint of the run in a directory, the oldest first. UserError as in load_run.
std::vector<GradientReach> gradient_reach_of_checkpoints(const std::filesystem::path& run,
                                                         const std::vector<std::string>& source,
                                                         const std::vector<std::string>& target, std::int64_t farthest);

// The time of an update of each length, with one thread and with all that this process may use (usable_processors): the
// median of several, after one that is not counted. `now` is a clock in milliseconds.
using Milliseconds = std::function<double()>;
using UpdateOfLength = std::function<std::function<void()>(std::int64_t length)>;
std::vector<StepTime> times_of_updates(const std::vector<std::int64_t>& lengths, const UpdateOfLength& update_of,
                                       const Milliseconds& now);

// The same for the forward and backward pass, in fp32, over about `pieces` random target pieces in sentences of each
// length on both sides. Uses a new model of the run's architecture; lengths that it cannot read (--longest-source) are
// left out.
std::vector<StepTime> step_times(const TranslationRun& run, std::int64_t pieces = 800,
                                 std::vector<std::int64_t> lengths = {10, 20, 40, 80});

}  // namespace attend
