// Combinations of the options of a model, drawn from a seed; contradictory ones must be refused with the name of an
// option. ATTEND_TEST_VARIANTS is the number of combinations of each kind of model that are tested, by default 24.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/options.hpp"
#include "core/random.hpp"

namespace attend {

inline std::size_t num_combinations() {
  const char* wanted = std::getenv("ATTEND_TEST_VARIANTS");
  return wanted != nullptr ? std::stoul(wanted) : 24;
}

// Sets every option that applies to one of its names, if it has names, or to one of these numbers.
inline void draw_options(BoundOptions options, const std::map<std::string_view, std::vector<std::int64_t>>& numbers,
                         RandomStream& random) {
  for (BoundOption& option : options) {
    if (option.name == "model" || !applies(options, option)) continue;
    if (option.kind == OptionKind::choice) {
      option.set(std::string(option.choices[random.below(option.choices.size())]));
    } else if (option.kind == OptionKind::flag) {
      option.set(random.below(2) == 1);
    } else if (const auto found = numbers.find(option.name); found != numbers.end()) {
      option.set(found->second[random.below(found->second.size())]);
    }
  }
}

// The options that differ from their defaults, as words of a command line.
template <class Config>
std::string words_of(const Config& config) {
  std::string words;
  const OptionTexts defaults = default_texts<Config>();
  for (const auto& [name, text] : texts_of(bind(config))) {
    if (text != defaults.at(name)) words += " --" + name + " " + text;
  }
  return words;
}

template <class Config>
void expect_names_an_option(const Config& config, const UserError& error) {
  const std::string said = error.what();
  const BoundOptions options = bind(config);
  EXPECT_TRUE(std::ranges::any_of(options, [&](const BoundOption& option) {
    return said.find(option.name) != std::string::npos;
  })) << said;
  EXPECT_FALSE(error.remedy().empty()) << said;
}

// Calls `f` with num_combinations() combinations and their models. Combinations for which `make` throws UserError do
// not count.
template <class Draw, class Make, class F>
void for_each_combination(const Draw& draw, const Make& make, const F& f) {
  std::size_t num_refused = 0;
  for (std::size_t seed = 1, num_made = 0; num_made < num_combinations(); ++seed) {
    RandomStream random(seed);
    const auto config = draw(random);
    SCOPED_TRACE("combination " + std::to_string(seed) + ":" + words_of(config));
    decltype(make(config)) model;
    try {
      model = make(config);
    } catch (const UserError& error) {
      expect_names_an_option(config, error);
      ASSERT_LT(++num_refused, 50 + 20 * num_made) << "the options allow less than they did";
      continue;
    }
    ++num_made;
    f(config, *model);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(num_refused, 0U) << "what contradicts itself is made";
}

}  // namespace attend
