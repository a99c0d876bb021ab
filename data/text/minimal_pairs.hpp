// Minimal pairs: two sentences of which one is right and the other differs from it by an error. Tab-separated lines
// without quoting and without a header:
//
//   better  worse
//   kind  better  worse
//   kind  distance  better  worse
//
//   agreement	3	The boys with the hat are tired.	The boys with the hat is tired.
//
// Pairs of translations (Sennrich 2017, arXiv 1612.04629) have the sentence that they translate before the better one:
//
//   source  better  worse
//   kind  source  better  worse
//   kind  distance  source  better  worse
//
//   article	0	The woman is tired.	Die Frau ist müde.	Das Frau ist müde.
//
// The distance is a whole number, such as the words between subject and verb.
//
// Files *.jsonl are those of BLiMP (Warstadt et al. 2020, arXiv 1912.00582), an object in each line; the kind is the
// UID or, without one, the name of the file:
//
//   {"sentence_good": "The boys are tired.", "sentence_bad": "The boys is tired.", "UID": "regular_agreement",
//    "linguistics_term": "subject_verb_agreement", "field": "morphology"}
//
// Seven of its 67,000 pairs are the same sentence twice; they are kept, and a model gets them wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {

struct MinimalPair {
  std::string kind = {};  // empty: the file names none
  std::string term = {};  // of BLiMP: the phenomenon, of several kinds; empty: none
  std::optional<std::int64_t> distance = {};
  std::string source = {};  // of translations
  std::string better = {}, worse = {};
};

enum class PairsOf { texts, translations };

// The pairs of a file, which may be .gz or - (standard input, tab-separated). Throws UserError naming the file and its
// line if a line has another number of fields than 2, 3 or 4 (of translations 3, 4 or 5), or than the first one, a
// blank field, a distance that is not a number from 0, a source that is one, or the same sentence twice; or the file,
// if it is empty, or if most lines of three fields are those of the other kind: a kind that ends as a sentence (. ! ?),
// or a source that does not, before a better sentence that does. Of *.jsonl, UserError for a line that is not such an
// object, and for translations, which have sources.
std::vector<MinimalPair> read_minimal_pairs(const std::filesystem::path& path, PairsOf what);

// The better sentence of each pair, and after it the worse one.
std::vector<std::string> sentences_of(std::span<const MinimalPair> pairs);
// The source of each of these.
std::vector<std::string> sources_of(std::span<const MinimalPair> pairs);

}  // namespace attend
