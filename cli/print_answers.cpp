#include "cli/print_answers.hpp"

#include <spdlog/fmt/fmt.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace attend {

void print_lines(const TaskAnswers& answers, const std::vector<std::optional<std::int64_t>>& records, bool json) {
  for (const std::optional<std::int64_t>& record : records) {
    if (!record) {
      std::cout << (json ? "{}\n" : "\n");
      continue;
    }
    const auto i = static_cast<std::size_t>(*record);
    std::cout << (json ? answers.json(i).dump() : answers.text(i));
    if (const auto p = answers.probability(i); p && !json) std::cout << fmt::format("\t{:.4f}", *p);
    std::cout << '\n';
  }
}

void print_records(const TaskAnswers& answers, bool json) {
  if (!json) return answers.write(std::cout);
  for (std::size_t i = 0; i < static_cast<std::size_t>(answers.split().size()); ++i) {
    nlohmann::ordered_json object = answers.name(i);
    object.update(answers.json(i));
    std::cout << object.dump() << '\n';
  }
}

}  // namespace attend
