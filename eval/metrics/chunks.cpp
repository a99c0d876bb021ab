#include "eval/metrics/chunks.hpp"

#include <compare>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace attend::metrics {
namespace {

// B and PER of B-PER; of a tag without a type the type is _.
struct Tag {
  char prefix = 'O';
  std::string type;
};

Tag parse(const std::string& tag) {
  if (tag.empty()) return {};
  const std::size_t dash = tag.find('-', 1);
  std::string type = dash == std::string::npos ? tag.substr(1) : tag.substr(dash + 1);
  if (type.empty()) type = "_";
  return {.prefix = tag[0], .type = std::move(type)};
}

bool ends(const Tag& before, const Tag& now) {
  if (before.prefix == 'E' || before.prefix == 'S') return true;
  const bool open = before.prefix == 'B' || before.prefix == 'I';
  if (open && (now.prefix == 'B' || now.prefix == 'S' || now.prefix == 'O')) return true;
  return before.prefix != 'O' && before.prefix != '.' && before.type != now.type;
}

bool begins(const Tag& before, const Tag& now) {
  if (now.prefix == 'B' || now.prefix == 'S') return true;
  const bool closed = before.prefix == 'E' || before.prefix == 'S' || before.prefix == 'O';
  if (closed && (now.prefix == 'E' || now.prefix == 'I')) return true;
  return now.prefix != 'O' && now.prefix != '.' && before.type != now.type;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Chunk {
  std::string type;
  std::size_t begin = 0, end = 0;  // tags begin … end - 1 of the sentence
  auto operator<=>(const Chunk&) const = default;
};

// The chunks of one sentence from its tags, such as B-PER I-PER O; prefixes B, I, E, S and O are supported.
std::vector<Chunk> chunks_of(const std::vector<std::string>& tags) {
  std::vector<Chunk> chunks;
  Tag before;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    Tag now = i < tags.size() ? parse(tags[i]) : Tag();
    if (ends(before, now)) chunks.push_back({.type = before.type, .begin = begin, .end = i});
    if (begins(before, now)) begin = i;
    before = std::move(now);
  }
  return chunks;
}

}  // namespace

double ChunkTally::Counts::precision() const { return share(both, predicted); }
double ChunkTally::Counts::recall() const { return share(both, gold); }
double ChunkTally::Counts::f1() const { return share(2 * both, predicted + gold); }

void ChunkTally::add(const std::vector<std::string>& predicted, const std::vector<std::string>& gold) {
  ensure(predicted.size() == gold.size(), "there is one predicted tag per gold tag");
  tokens_ += gold.size();
  for (std::size_t i = 0; i < gold.size(); ++i) equal_tokens_ += predicted[i] == gold[i];
  const std::vector<Chunk> ours = chunks_of(predicted), theirs = chunks_of(gold);
  const std::set<Chunk> right(theirs.begin(), theirs.end());
  total_.gold += theirs.size();
  total_.predicted += ours.size();
  for (const Chunk& chunk : ours) total_.both += right.contains(chunk);
}

void ChunkTally::add(const ChunkTally& other) {
  total_.predicted += other.total_.predicted;
  total_.gold += other.total_.gold;
  total_.both += other.total_.both;
  tokens_ += other.tokens_;
  equal_tokens_ += other.equal_tokens_;
}

double ChunkTally::token_accuracy() const { return share(equal_tokens_, tokens_); }

}  // namespace attend::metrics
