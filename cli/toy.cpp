// attend toy DIR: writes the built-in corpus.
#include "cli/command.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/toy/corpus.hpp"

namespace attend {
namespace {

void run(const ToyConfig& config, const OptionOrigins&) {
  const ToyReport corpus = write_toy_corpus(config);
  for (const ToySet& set : corpus.translation) {
    log::info("{}/{}.{{en,de}}: {}, {} English and {} German words, {:.1f} per sentence, at most {}", config.directory,
              set.name, counted(set.sentences, "sentence pair"), fixed(set.english_words), fixed(set.german_words),
              static_cast<double>(set.english_words) / static_cast<double>(set.sentences), set.longest);
  }
  log::info("{}/{{train,valid,test}}.en.tags: a part of speech for each English word", config.directory);
  log::info("{}/test.align: gold word alignments of the test set", config.directory);
  log::info("{}/{{train,valid,test}}.{{en,de}}.antecedents: the nouns that pronouns stand for", config.directory);
  for (const ToySet& set : corpus.translation) {
    if (set.trees == 0) continue;
    log::info("{}/trees.{}.{{en,de}}.conllu: dependency trees of the first {}", config.directory, set.name,
              counted(set.trees, "sentence pair"));
  }
  for (const ToyPart& part : corpus.parts) {
    log::info("{}/{}: {} training {}, {} dev{}", config.directory, part.name, fixed(part.train), part.unit,
              fixed(part.dev), part.test > 0 ? fmt::format(", {} test", fixed(part.test)) : "");
  }
  if (config.challenge) {
    log::info(
        "{}/challenge/{{english,german,en-de}}.tsv: {} English and {} German minimal pairs, and {} of translations",
        config.directory, fixed(corpus.english_pairs), fixed(corpus.german_pairs), fixed(corpus.translation_pairs));
  }
}

}  // namespace

Command toy_command() {
  return make_command<ToyConfig>(
      "toy", "write the built-in corpus: English-German sentence pairs, documents, summaries and labelled sets", run,
      "corpus");
}

}  // namespace attend
