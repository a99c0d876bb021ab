#include "data/text/minimal_pairs.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

constexpr const char* kPairRemedy =
    "write lines \"better TAB worse\", \"kind TAB better TAB worse\" or \"kind TAB distance TAB better TAB worse\"";

MinimalPair pair_of(std::vector<std::string>& fields, const std::string& place) {
  const std::size_t count = fields.size();
  if (const auto blank = std::ranges::find_if(fields, is_blank); blank != fields.end()) {
    throw UserError(fmt::format("{}: field {} is blank", place, blank - fields.begin() + 1), kPairRemedy);
  }
  MinimalPair pair{.better = std::move(fields[count - 2]), .worse = std::move(fields[count - 1])};
  if (pair.better == pair.worse) {
    throw UserError(place + ": both sentences are \"" + pair.better + "\"", "give two that differ");
  }
  if (count > 2) pair.kind = std::move(fields[0]);
  if (count < 4) return pair;
  pair.distance = parse_number<std::int64_t>(fields[1]);
  if (!pair.distance || *pair.distance < 0) {
    throw UserError(place + ": the distance is \"" + fields[1] + "\", expected a whole number from 0", kPairRemedy);
  }
  return pair;
}

}  // namespace

std::vector<MinimalPair> read_minimal_pairs(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<MinimalPair> pairs;
  std::size_t count = 0;  // of fields
  for (std::string line; reader.next(line);) {
    std::vector<std::string> fields = split_at(line, '\t');
    if (pairs.empty() && fields.size() >= 2 && fields.size() <= 4) count = fields.size();
    if (fields.size() != count) {
      throw UserError(
          fmt::format("{}: {}, expected {}", reader.place(), counted(std::ssize(fields), "tab-separated field"),
                      count == 0 ? "2, 3 or 4" : fmt::format("{} as in the first line", count)),
          kPairRemedy);
    }
    pairs.push_back(pair_of(fields, reader.place()));
  }
  if (pairs.empty()) throw UserError(name_of_input(path) + ": empty", kPairRemedy);
  reader.counts().log(path.string());
  return pairs;
}

}  // namespace attend
