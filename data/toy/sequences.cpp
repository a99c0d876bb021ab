#include "data/toy/sequences.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "core/error.hpp"
#include "core/files.hpp"

namespace attend::toy {
namespace {

constexpr std::string_view kKeyOnsets = "bdgklmnt", kKeyVowels = "aeiou";
constexpr std::string_view kValueOnsets = "BDGKLMNT", kValueVowels = "AEIOU";
constexpr std::uint64_t kNumSyllables = kKeyOnsets.size() * kKeyVowels.size();
static_assert(kNumSyllables >= static_cast<std::uint64_t>(std::ranges::max(kTestLengths)));

// A word to copy, or a key.
std::string key(std::uint64_t number) {
  return {kKeyOnsets[number / kKeyVowels.size()], kKeyVowels[number % kKeyVowels.size()]};
}

std::string value(std::uint64_t number) {
  return {kValueOnsets[number / kValueVowels.size()], kValueVowels[number % kValueVowels.size()]};
}

SequencePair draw_copy(std::int64_t length, RandomStream& random) {
  SequencePair pair;
  for (std::int64_t i = 0; i < length; ++i) {
    pair.source += (i > 0 ? " " : "") + key(random.below(kNumSyllables));
    pair.alignment.push_back({i, i});
  }
  pair.target = pair.source;
  return pair;
}

SequencePair draw_recall(std::int64_t length, RandomStream& random) {
  std::vector<std::uint64_t> keys(kNumSyllables);
  for (std::uint64_t i = 0; i < kNumSyllables; ++i) keys[i] = i;
  shuffle(keys, random);
  const auto asked = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(length)));
  SequencePair pair;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::string drawn = value(random.below(kNumSyllables));
    pair.source += key(keys[i]) + ' ' + drawn + ' ';
    if (i == asked) pair.target = drawn;
  }
  pair.source += key(keys[asked]);
  pair.alignment = {{2 * asked + 1, 0}};
  return pair;
}

// Of the random streams' keys, after the seed; other sets of the corpus use lower numbers.
constexpr std::uint64_t kSequenceStreams = 1000;
constexpr std::string_view kSequenceSides[] = {".source", ".target", ".align"};

// The task's folder.
std::string_view folder_of(SequenceTask task) { return task == SequenceTask::copy ? "copy" : "recall"; }

std::string test_set(std::int64_t length) { return fmt::format("test.{}", length); }

}  // namespace

SequencePair draw_sequence(SequenceTask task, std::int64_t length, RandomStream& random) {
  ensure(length > 0 && length <= std::ranges::max(kTestLengths), "a length from 1 to 40");
  return task == SequenceTask::copy ? draw_copy(length, random) : draw_recall(length, random);
}

std::vector<std::string> sequence_files(SequenceTask task) {
  std::vector<std::string> sets = {"train", "valid"}, files;
  std::ranges::transform(kTestLengths, std::back_inserter(sets), test_set);
  for (const std::string& set : sets) {
    for (const std::string_view side : kSequenceSides)
      files.push_back(fmt::format("{}/{}{}", folder_of(task), set, side));
  }
  return files;
}

ToyPart write_sequences(const std::filesystem::path& directory, SequenceTask task, const SequenceSizes& sizes) {
  const std::filesystem::path folder = directory / folder_of(task);
  make_directories(folder);
  const std::uint64_t longest_in_training = task == SequenceTask::copy ? 20 : 10;
  std::unordered_set<std::string> tests;  // sources of all test sets
  // Sequences of one length, of a test set; 0: of the lengths of training.
  const auto write = [&](const std::string& set, std::int64_t length, std::int64_t size) {
    AtomicFile sources(folder / (set + ".source")), targets(folder / (set + ".target"));
    AtomicFile alignments(folder / (set + ".align"));
    for (std::int64_t i = 0; i < size; ++i) {
      RandomStream random(combine_keys(sizes.seed, kSequenceStreams, task, set == "valid", length, i));
      const std::int64_t drawn = length > 0 ? length : 1 + static_cast<std::int64_t>(random.below(longest_in_training));
      SequencePair pair = draw_sequence(task, drawn, random);
      while (length > 0 ? !tests.insert(pair.source).second : tests.contains(pair.source)) {
        pair = draw_sequence(task, drawn, random);
      }
      sources.write(pair.source + '\n');
      targets.write(pair.target + '\n');
      alignments.write(to_text(pair.alignment) + '\n');
    }
    sources.commit();
    targets.commit();
    alignments.commit();
  };
  for (const std::int64_t length : kTestLengths) write(test_set(length), length, sizes.test);
  write("valid", 0, sizes.valid);
  write("train", 0, sizes.train);
  return {.name = std::string(folder_of(task)),
          .unit = "sequences",
          .train = sizes.train,
          .dev = sizes.valid,
          .test = std::ssize(kTestLengths) * sizes.test};
}

}  // namespace attend::toy
